"""Bots that do not play as they should, and the workers that decide for them."""

from __future__ import annotations

from typing import Final

from monitoring.alerts.causes import AI_DOWN
from monitoring.rules import Alert, Condition

BOT_ALERTS: Final = (
    Alert(
        name="Fallbacks",
        conditions=(Condition("rami:fallbacks:ratio_rate5m", "> 0.01"),),
        hold="2m",
        severity="page",
        summary="More than 1 % of the bots' actions are the built-in fallback's: bots play badly.",
        but_not_while=(AI_DOWN,),
    ),
    Alert(
        name="DecisionQueueOld",
        conditions=(Condition("rami:ai_queue_age_seconds:max", "> 1"),),
        hold="2m",
        severity="ticket",
        summary="Decisions wait longer than a second for a worker: there are too few.",
    ),
    Alert(
        name="DecisionsRefused",
        conditions=(
            Condition(
                'sum(rate(rami_ai_decisions_total{outcome="queue_full"}[5m])) / sum(rate(rami_ai_decisions_total[5m]))',
                "> 0.01",
            ),
        ),
        hold="5m",
        severity="ticket",
        summary="More than 1 % of the decisions are refused: the queue of the AI service is full.",
    ),
    Alert(
        name="WorkersDying",
        conditions=(Condition("sum(increase(rami_ai_worker_restarts_total[10m]))", "> 2"),),
        hold="0m",
        severity="ticket",
        summary="Worker processes of the AI service die again and again.",
    ),
    Alert(
        name="NoWorkers",
        conditions=(Condition('min by (instance) (rami_app_check_info{check="workers"})', "== 0"),),
        hold="1m",
        severity="page",
        summary="The AI service at {{ $labels.instance }} has no worker that decides.",
    ),
)
