"""All dashboards, one module each."""

from __future__ import annotations

from typing import Final

from monitoring.dashboards.ai import AI_DASHBOARD
from monitoring.dashboards.edge import EDGE_DASHBOARD
from monitoring.dashboards.game import GAME_DASHBOARD
from monitoring.dashboards.matchmaking import MATCHMAKING_DASHBOARD
from monitoring.dashboards.overview import OVERVIEW_DASHBOARD
from monitoring.dashboards.runtime import RUNTIME_DASHBOARD

DASHBOARDS: Final = (
    OVERVIEW_DASHBOARD,
    GAME_DASHBOARD,
    AI_DASHBOARD,
    MATCHMAKING_DASHBOARD,
    RUNTIME_DASHBOARD,
    EDGE_DASHBOARD,
)

__all__ = ["DASHBOARDS"]
