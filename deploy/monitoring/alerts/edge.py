"""The edge: players who are turned away there, and services that it cannot use. Envoy's own metrics."""

from __future__ import annotations

from typing import Final

from monitoring.alerts.causes import GAME_DOWN, MATCHMAKING_DOWN, STORE_AWAY
from monitoring.objectives import EDGE
from monitoring.rules import Alert, Condition

_CALLS: Final = f"sum(rate(envoy_http_downstream_rq_total{{{EDGE}}}[5m]))"
_STREAMS: Final = 'envoy_cluster_name=~".+_streams"'
_USED: Final = f"envoy_cluster_upstream_rq_active{{{_STREAMS}}}"
_FREE: Final = f"envoy_cluster_circuit_breakers_default_remaining_rq{{{_STREAMS}}}"

EDGE_ALERTS: Final = (
    Alert(
        name="EdgeWithoutService",
        conditions=(
            Condition(
                'min by (envoy_cluster_name) (envoy_cluster_membership_healthy{envoy_cluster_name=~".+_calls"})', "== 0"
            ),
        ),
        hold="30s",
        severity="page",
        summary="An edge finds no service that is well behind {{ $labels.envoy_cluster_name }}: calls are refused.",
        but_not_while=(STORE_AWAY, GAME_DOWN, MATCHMAKING_DOWN),
    ),
    Alert(
        name="EdgeOverloaded",
        conditions=(
            Condition(
                f"sum(rate(envoy_http_adaptive_concurrency_gradient_controller_rq_blocked{{{EDGE}}}[5m])) / {_CALLS}",
                "> 0.05",
            ),
        ),
        hold="2m",
        severity="page",
        summary="More than 5 % of the calls are turned away at the edge: services do not answer in good time.",
        but_not_while=(STORE_AWAY, GAME_DOWN, MATCHMAKING_DOWN),
    ),
    Alert(
        name="EdgeRateLimiting",
        conditions=(Condition(f"sum(rate(envoy_http_local_rate_limit_rate_limited[5m])) / {_CALLS}", "> 0.05"),),
        hold="10m",
        severity="ticket",
        summary="More than 5 % of the calls are refused because their address makes too many.",
    ),
    Alert(
        name="EdgeRetrying",
        conditions=(
            Condition(
                "sum(rate(envoy_cluster_upstream_rq_retry[5m])) / sum(rate(envoy_cluster_upstream_rq_total[5m]))",
                "> 0.05",
            ),
        ),
        hold="5m",
        severity="ticket",
        summary="More than 5 % of the calls reach a service only at the second try: connections to some fail.",
        but_not_while=(GAME_DOWN, MATCHMAKING_DOWN),
    ),
    Alert(
        name="EdgeEjecting",
        conditions=(
            Condition("max by (envoy_cluster_name) (envoy_cluster_outlier_detection_ejections_active)", "> 0"),
        ),
        hold="5m",
        severity="ticket",
        summary="An edge has left out a replica behind {{ $labels.envoy_cluster_name }} for minutes.",
        but_not_while=(GAME_DOWN, MATCHMAKING_DOWN),
    ),
    Alert(
        name="EdgeStreamsFull",
        conditions=(Condition(f"max by (instance, envoy_cluster_name) ({_USED} / ({_USED} + {_FREE}))", "> 0.8"),),
        hold="5m",
        severity="ticket",
        summary="{{ $labels.instance }} holds 80 % of the streams to {{ $labels.envoy_cluster_name }} that it may.",
    ),
)
