"""All alerts, one module per component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitoring.alerts.bots import BOT_ALERTS
from monitoring.alerts.burning import BURN_ALERTS
from monitoring.alerts.edge import EDGE_ALERTS
from monitoring.alerts.game import GAME_ALERTS
from monitoring.alerts.matchmaking import MATCHMAKING_ALERTS
from monitoring.alerts.processes import PROCESS_ALERTS
from monitoring.alerts.store import STORE_ALERTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitoring.rules import Alert

ALERTS: Final[Mapping[str, tuple[Alert, ...]]] = {
    "objectives": BURN_ALERTS,
    "game": GAME_ALERTS,
    "bots": BOT_ALERTS,
    "matchmaking": MATCHMAKING_ALERTS,
    "store": STORE_ALERTS,
    "edge": EDGE_ALERTS,
    "processes": PROCESS_ALERTS,
}
"""By component, in the order of the runbook."""

__all__ = ["ALERTS"]
