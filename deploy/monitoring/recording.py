"""Recording rules: the shares and percentiles that several alerts, dashboards and autoscalers read."""

from __future__ import annotations

from typing import Final

from monitoring.objectives import (
    ACTION_ERRORS,
    ACTION_FAULTS,
    ACTION_LATENCY,
    ACTION_SECONDS,
    BOT_TURNS,
    DECISION_SECONDS,
    NO_STREAMS,
    SERVER_FAULTS,
    WINDOWS,
)
from monitoring.rules import Recording


def _failed_actions(window: str) -> str:
    """Refusals are good answers; what counts is what players could not have avoided."""
    asked = f'sum(rate(rami_game_actions_total{{actor="player"}}[{window}]))'
    failed = f'sum(rate(rami_game_actions_total{{actor="player", {ACTION_FAULTS}}}[{window}]))'
    return f"{failed} / {asked}"


def _slow_actions(window: str) -> str:
    quick = f'sum(rate(rami_game_action_seconds_bucket{{le="{ACTION_SECONDS}"}}[{window}]))'
    return f"1 - {quick} / sum(rate(rami_game_action_seconds_count[{window}]))"


def _bad_decisions(window: str) -> str:
    """Only usable answers are timed: what is missing from the quick ones was slow, wrong or never came."""
    quick = f'sum(rate(rami_game_bot_decision_seconds_bucket{{le="{DECISION_SECONDS}"}}[{window}]))'
    return f"clamp_min(1 - {quick} / sum(rate(rami_game_bot_decisions_total[{window}])), 0)"


OBJECTIVE_RULES: Final = tuple(
    Recording(objective.series + window, query(window))
    for objective, query in (
        (ACTION_ERRORS, _failed_actions),
        (ACTION_LATENCY, _slow_actions),
        (BOT_TURNS, _bad_decisions),
    )
    for window in WINDOWS
)

SERVICE_RULES: Final = (
    Recording(
        "rami:grpc_failed:ratio_rate5m",
        f"sum by (job) (rate(rami_grpc_handled_total{{{NO_STREAMS}, {SERVER_FAULTS}}}[5m]))"
        f" / sum by (job) (rate(rami_grpc_handled_total{{{NO_STREAMS}}}[5m]))",
    ),
    Recording(
        "rami:grpc_seconds:p99_5m",
        f"histogram_quantile(0.99, sum by (job, method, le) (rate(rami_grpc_seconds_bucket{{{NO_STREAMS}}}[5m])))",
    ),
    Recording("rami:store_up:min", "min(rami_store_up_info)"),
    Recording(
        "rami:store_seconds:p99_5m",
        "histogram_quantile(0.99, sum by (le) (rate(rami_store_seconds_bucket[5m])))",
    ),
    Recording(
        "rami:loop_delay_seconds:p99_5m",
        "histogram_quantile(0.99, sum by (job, instance, le) (rate(rami_app_loop_delay_seconds_bucket[5m])))",
    ),
    Recording(
        "rami:commit_conflicts:ratio_rate5m",
        "sum(rate(rami_game_commit_conflicts_total[5m]))"
        " / (sum(rate(rami_game_commits_total[5m])) + sum(rate(rami_game_commit_conflicts_total[5m])))",
    ),
    Recording(
        "rami:fallbacks:ratio_rate5m",
        "sum(rate(rami_game_fallbacks_total[5m]))"
        ' / sum(rate(rami_game_actions_total{actor!="player", outcome="ok"}[5m]))',
    ),
    Recording("rami:ai_queue_age_seconds:max", "max(rami_ai_queue_age_seconds)"),
    Recording(
        "rami:ai_busy:ratio_rate2m",
        'sum(rate(rami_ai_worker_busy_seconds_total[2m])) / sum(rami_ai_workers{state=~"busy|idle"})',
    ),
    Recording(
        "rami:match_wait_seconds:p95_10m",
        "histogram_quantile(0.95, sum by (le) "
        '(rate(rami_matchmaking_wait_seconds_bucket{outcome=~"people|bots"}[10m])))',
    ),
)
