"""`rami settings`: the settings of every service, asked of the services themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Final

from rich.table import Table as Grid

from rami_cli.cluster import MODULES, ClusterError

_ASK_SECONDS: Final = 60.0
SERVICES: Final = ("game", "ai", "matchmaking")


@dataclass(frozen=True, slots=True)
class Setting:
    """One environment variable."""

    name: str
    type: str
    default: str
    """Empty for none."""
    value: str
    """What it is now; secrets show only that they are set."""
    description: str
    services: tuple[str, ...]
    """Who reads it."""


def read_settings() -> list[Setting]:
    """Every setting, those of all services first. Raises ClusterError when a service refuses to tell."""
    merged: dict[tuple[str, str, str], Setting] = {}
    for service in SERVICES:
        for row in _ask(service):
            # Ports differ by service, and so do not merge.
            key = (row["env"], row["default"], row["description"])
            known = merged.get(key)
            merged[key] = Setting(
                name=row["env"],
                type=row["type"],
                default=row["default"],
                value="" if row["value"] is None else str(row["value"]),
                description=row["description"],
                services=(*known.services, service) if known is not None else (service,),
            )
    return sorted(merged.values(), key=lambda setting: (-len(setting.services), SERVICES.index(setting.services[0])))


def draw_settings(settings: list[Setting]) -> Grid:
    """The table for a terminal: what is set now."""
    grid = Grid(show_edge=False, pad_edge=False)
    for heading in ("setting", "now", "services", "meaning"):
        grid.add_column(heading, overflow="fold")
    for setting in settings:
        now = setting.value if setting.value == setting.default else f"[bold]{setting.value}[/]"
        grid.add_row(setting.name, now, _named(setting), setting.description)
    return grid


def markdown_settings(settings: list[Setting]) -> str:
    """The table of the README: types and defaults."""
    lines = ["| setting | services | type | default | meaning |", "| --- | --- | --- | --- | --- |"]
    for setting in settings:
        default = f"`{setting.default}`" if setting.default else ""
        cells = (f"`{setting.name}`", _named(setting), setting.type, default, setting.description)
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines)


def _named(setting: Setting) -> str:
    return "all" if len(setting.services) == len(SERVICES) else ", ".join(setting.services)


def _ask(service: str) -> list[dict[str, str]]:
    # A store and a mode, so that a bare environment is complete; what is set already counts.
    environment = {"RAMI_MODE": "development", "RAMI_REDIS_URL": "redis://127.0.0.1:6379/0", **os.environ}
    answer = subprocess.run(  # noqa: S603 - our own modules
        [sys.executable, "-m", MODULES[service], "--print-settings"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=_ASK_SECONDS,
        check=False,
    )
    if answer.returncode:
        raise ClusterError(f"the {service} service refuses its settings: {answer.stderr.strip()}")
    rows: list[dict[str, str]] = json.loads(answer.stdout)
    return rows
