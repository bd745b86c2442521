"""Processes of any service: gone, failing, hanging, or not ending."""

from __future__ import annotations

from typing import Final

from monitoring.alerts.causes import STORE_AWAY
from monitoring.objectives import JOBS
from monitoring.rules import Alert, Condition

PROCESS_ALERTS: Final = (
    Alert(
        name="ServiceDown",
        conditions=(Condition(f"max by (job) (up{{{JOBS}}})", "== 0"),),
        hold="30s",
        severity="page",
        summary="No process of {{ $labels.job }} can be reached.",
    ),
    Alert(
        name="InstanceDown",
        conditions=(
            Condition(f"min by (job) (up{{{JOBS}}})", "== 0"),
            Condition(f"max by (job) (up{{{JOBS}}})", "== 1"),
        ),
        hold="2m",
        severity="ticket",
        summary="A process of {{ $labels.job }} cannot be reached; others still are.",
    ),
    Alert(
        name="ErrorRatio",
        conditions=(Condition("rami:grpc_failed:ratio_rate5m", "> 0.01"),),
        hold="5m",
        severity="ticket",
        summary="More than 1 % of the calls to {{ $labels.job }} fail through no fault of the caller.",
        but_not_while=(STORE_AWAY,),
    ),
    Alert(
        name="LoopSlow",
        conditions=(Condition("rami:loop_delay_seconds:p99_5m", "> 0.25"),),
        hold="5m",
        severity="ticket",
        summary="The event loop of {{ $labels.instance }} ({{ $labels.job }}) hangs: it has too much to do.",
    ),
    Alert(
        name="TasksCrashing",
        conditions=(Condition("sum by (job, task) (increase(rami_task_crashes_total[10m]))", "> 2"),),
        hold="0m",
        severity="ticket",
        summary="The background task {{ $labels.task }} of {{ $labels.job }} crashes again and again.",
        but_not_while=(STORE_AWAY,),
    ),
    Alert(
        name="DrainStuck",
        conditions=(
            Condition(
                "max by (job, instance) (max_over_time(rami_app_draining_seconds[10m])"
                " / on (job, instance) max_over_time(rami_app_drain_grace_seconds[10m]))",
                "> 0.75",
            ),
        ),
        hold="0m",
        severity="ticket",
        summary="{{ $labels.instance }} ({{ $labels.job }}) takes nearly all of its grace to drain: calls are cut off.",
    ),
    Alert(
        name="VersionsMixed",
        conditions=(Condition("count(count by (version) (rami_app_build_info))", "> 1"),),
        hold="30m",
        severity="ticket",
        summary="Two versions have been running side by side for half an hour: a rollout hangs.",
    ),
)
