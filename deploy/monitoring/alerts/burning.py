"""Promises to players that are being broken, by how fast the month's budget burns."""

from __future__ import annotations

from typing import Final

from monitoring.alerts.causes import AI_DOWN, STORE_AWAY
from monitoring.objectives import BOT_TURNS, BURNS, OBJECTIVES, Burn, Objective
from monitoring.rules import Alert, Condition


def _alert(objective: Objective, burn: Burn) -> Alert:
    bound = f"> {burn.factor:g} * {1 - objective.target:g}"
    causes = (STORE_AWAY, AI_DOWN) if objective is BOT_TURNS else (STORE_AWAY,)
    return Alert(
        name=f"{objective.name}{burn.name}",
        conditions=(
            Condition(f"{objective.series}{burn.long}", bound),
            Condition(f"{objective.series}{burn.short}", bound),
        ),
        hold=burn.hold,
        severity=burn.severity,
        summary=f"Too many {objective.said}: the month's budget burns {burn.factor:g} times too fast.",
        but_not_while=causes,
    )


BURN_ALERTS: Final = tuple(_alert(objective, burn) for objective in OBJECTIVES for burn in BURNS)
