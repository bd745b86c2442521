"""`rami settings`: the settings of every service, asked of the services themselves, and those of the edge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from rami_cli.cluster import MODULES, ClusterError
from rami_cli.edge_settings import EdgeSettingsError, edge_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

_ASK_SECONDS: Final = 60.0
_PRODUCTION: Final = "production"
_FILLED_IN: Final = frozenset({"RAMI_REDIS_URL", "RAMI_JWT_SECRET", "RAMI_SERVICE_SECRET"})
"""What a service asks for and development mode or this module gives."""
SERVICES: Final = ("game", "ai", "matchmaking")


@dataclass(frozen=True, slots=True)
class Setting:
    """One environment variable."""

    name: str
    type: str
    default: str
    """Empty for none."""
    value: str
    """What it is for a service that is started with this environment; secrets show only whether they are set."""
    description: str
    services: tuple[str, ...]
    """Who reads it."""


def read_settings() -> list[Setting]:
    """Every setting, those of all services first and those of the edge last.

    Raises ClusterError when a service or the edge cannot use what is set.
    """
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
                value=_value(row),
                description=row["description"],
                services=(*known.services, service) if known is not None else (service,),
            )
    told = sorted(merged.values(), key=lambda setting: (-len(setting.services), SERVICES.index(setting.services[0])))
    try:
        edge = [Setting(*row, services=("edge",)) for row in edge_rows()]
    except EdgeSettingsError as error:
        raise ClusterError(f"the edge refuses its settings: {error}") from None
    return [*told, *edge]


def draw_settings(settings: list[Setting]) -> RenderableType:
    """The list for a terminal: each setting with its value and who reads it, and below it what it means."""
    drawn: list[RenderableType] = []
    for setting in settings:
        value = Text(setting.value or "(none)", style="" if setting.value == setting.default else "bold yellow")
        drawn.append(Text.assemble((setting.name, "bold"), " = ", value, (f"   {_named(setting)}", "dim")))
        drawn.append(Padding(Text(setting.description, no_wrap=False, overflow="fold"), (0, 0, 0, 4)))
    return Group(*drawn)


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


def _value(row: Mapping[str, str]) -> str:
    """The value of a setting without what was filled in for asking."""
    name = row["env"]
    if name == "RAMI_MODE":
        return os.environ.get(name, row["default"])
    if name not in _FILLED_IN or name in os.environ:
        return "" if row["value"] is None else str(row["value"])
    if name != "RAMI_REDIS_URL" and os.environ.get("RAMI_MODE", _PRODUCTION) != _PRODUCTION:
        return "(built in)"
    if name == "RAMI_JWT_SECRET" and "RAMI_JWT_JWKS_FILE" in os.environ:
        return ""  # the file takes its place
    return "(missing)"


def _ask(service: str) -> list[dict[str, str]]:
    # A store and a mode with built-in secrets, so that a bare environment is complete; see `_value`.
    environment = {"RAMI_REDIS_URL": "redis://127.0.0.1:6379/0", **os.environ}
    if environment.get("RAMI_MODE", _PRODUCTION) == _PRODUCTION:
        environment["RAMI_MODE"] = "development"
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
