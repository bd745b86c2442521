"""Players who wait and get no table, and matches that do not count."""

from __future__ import annotations

from typing import Final

from monitoring.alerts.causes import GAME_DOWN, STORE_AWAY
from monitoring.rules import Alert, Condition

MATCHMAKING_ALERTS: Final = (
    Alert(
        name="MatchmakerDead",
        conditions=(Condition('min by (instance) (rami_app_check_info{check="matching"})', "== 0"),),
        hold="30s",
        severity="page",
        summary="The matchmaker at {{ $labels.instance }} makes no passes over the queue any more.",
        but_not_while=(STORE_AWAY,),
    ),
    Alert(
        name="QueueNotMoving",
        conditions=(
            Condition('max(rami_matchmaking_live_tickets{state="waiting"})', "> 10"),
            Condition('sum(increase(rami_matchmaking_tickets_total{event="matched"}[5m]))', "== 0"),
        ),
        hold="2m",
        severity="page",
        summary="Players wait in the queue and nobody has been matched for five minutes.",
        but_not_while=(STORE_AWAY, GAME_DOWN),
    ),
    Alert(
        name="MatchWaitsLong",
        conditions=(Condition("rami:match_wait_seconds:p95_10m", "> 60"),),
        hold="10m",
        severity="ticket",
        summary="One player in twenty waits longer than a minute for a table.",
    ),
    Alert(
        name="RoomsRefused",
        conditions=(Condition('sum(increase(rami_matchmaking_matches_total{outcome="refused"}[10m]))', "> 3"),),
        hold="0m",
        severity="ticket",
        summary="Matched players get no room and wait again.",
        but_not_while=(STORE_AWAY, GAME_DOWN),
    ),
    Alert(
        name="RatingsFailing",
        conditions=(
            Condition(
                'sum(increase(rami_matchmaking_rating_updates_total{outcome=~"failed|unreadable"}[30m]))',
                "> 0",
            ),
        ),
        hold="5m",
        severity="ticket",
        summary="Finished matches cannot be rated.",
    ),
    Alert(
        name="RecordsUnreadable",
        conditions=(Condition("sum(increase(rami_matchmaking_unreadable_records_total[30m]))", "> 0"),),
        hold="5m",
        severity="ticket",
        summary="Tickets or claims in the store cannot be read: two versions of the service disagree.",
    ),
)
