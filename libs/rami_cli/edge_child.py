"""The edge of a cluster on this machine: what `rami up --edge` runs beside the services."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rami_cli import edge_process
from rami_cli.child import ChildSpec, Ready

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WEB_FOLDER: Final = Path(__file__).parents[1] / "rami_web" / "dist"
"""The browser client, where it has been built: served under / unless RAMI_EDGE_STATIC_FOLDER names another folder."""

CALLS_PER_REPLICA: Final = 32
"""Calls that wait for a service at most: enough to keep it busy, few enough to be answered soon."""


def edge_child(
    environment: Mapping[str, str],
    *,
    host: str,
    ports: tuple[int, int],
    game: Sequence[str],
    matchmaking: str,
    folder: Path,
) -> ChildSpec:
    """The process to run in front of services at these addresses; `folder` is for what it writes.

    Settings of the edge in `environment` win over the defaults of a machine of one's own: any web page may call.
    """
    defaults = {
        "RAMI_EDGE_CORS_ORIGINS": "*",
        "RAMI_EDGE_DRAIN_SECONDS": "0",
        "RAMI_EDGE_MAX_CALLS": str(CALLS_PER_REPLICA * len(game)),
    }
    if WEB_FOLDER.is_dir():
        defaults["RAMI_EDGE_STATIC_FOLDER"] = str(WEB_FOLDER)
    fixed = {
        "RAMI_EDGE_HOST": environment.get("RAMI_EDGE_HOST", os.environ.get("RAMI_EDGE_HOST", host)),
        "RAMI_EDGE_PORT": str(ports[0]),
        "RAMI_EDGE_METRICS_PORT": str(ports[1]),
        "RAMI_EDGE_GAME_ADDRESSES": ",".join(game),
        "RAMI_EDGE_MATCHMAKING_ADDRESSES": matchmaking,
        "TMPDIR": str(folder),
    }
    command = (sys.executable, "-m", edge_process.__name__)
    return ChildSpec("edge", command, {**defaults, **os.environ, **environment, **fixed}, _pinned)


def page_of(edge: str) -> str:
    """Where a browser finds the table that an edge at this address serves; where it serves none, what to do."""
    if not os.environ.get("RAMI_EDGE_STATIC_FOLDER") and not WEB_FOLDER.is_dir():
        return "not built yet: make web, and start again"
    scheme = "https" if os.environ.get("RAMI_EDGE_TLS_CERT_FILE") else "http"
    return f"{scheme}://{edge}"


def _pinned(ready: Ready) -> Mapping[str, str]:
    return {"RAMI_EDGE_PORT": str(ready["port"]), "RAMI_EDGE_METRICS_PORT": str(ready["metrics_port"])}
