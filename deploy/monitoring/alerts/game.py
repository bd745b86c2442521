"""Rooms that do not move as they should."""

from __future__ import annotations

from typing import Final

from monitoring.alerts.causes import STORE_AWAY
from monitoring.rules import Alert, Condition

GAME_ALERTS: Final = (
    Alert(
        name="StuckRooms",
        conditions=(Condition("sum(rami_game_stuck_rooms)", "> 0"),),
        hold="1m",
        severity="page",
        summary="Rooms cannot be moved on: whoever sits there waits for ever.",
    ),
    Alert(
        name="RoomsLate",
        conditions=(
            Condition(
                "histogram_quantile(0.99, sum by (le) (rate(rami_game_due_delay_seconds_bucket[5m])))",
                "> 2",
            ),
        ),
        hold="5m",
        severity="ticket",
        summary="What is due in rooms happens seconds late: turn limits, deals, bots of replicas that died.",
        but_not_while=(STORE_AWAY,),
    ),
    Alert(
        name="CommitConflicts",
        conditions=(Condition("rami:commit_conflicts:ratio_rate5m", "> 0.1"),),
        hold="10m",
        severity="ticket",
        summary="More than a tenth of the commits lose against another replica's: rooms are not kept to one replica.",
    ),
    Alert(
        name="EventsLate",
        conditions=(
            Condition(
                "histogram_quantile(0.99, sum by (le) (rate(rami_game_event_delivery_seconds_bucket[5m])))",
                "> 1",
            ),
        ),
        hold="5m",
        severity="ticket",
        summary="Players see what happens at their table more than a second late.",
        but_not_while=(STORE_AWAY,),
    ),
    Alert(
        name="ArchiveLosing",
        conditions=(
            Condition('sum(increase(rami_game_archived_matches_total{outcome=~"lost|unreadable"}[30m]))', "> 0"),
        ),
        hold="0m",
        severity="ticket",
        summary="Finished matches are gone before they are archived.",
    ),
    Alert(
        name="ArchiveFailing",
        conditions=(Condition('sum(increase(rami_game_archived_matches_total{outcome="failed"}[10m]))', "> 3"),),
        hold="5m",
        severity="ticket",
        summary="Finished matches cannot be archived; they are tried again until their rooms expire.",
        but_not_while=(STORE_AWAY,),
    ),
)
