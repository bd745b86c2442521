"""The store: away, slow, full, not writing, or without its copy."""

from __future__ import annotations

from typing import Final

from monitoring.alerts.causes import STORE_AWAY
from monitoring.rules import Alert, Condition

STORE_ALERTS: Final = (
    Alert(
        name="StoreAway",
        conditions=(Condition("rami:store_up:min", "== 0"),),
        hold="15s",
        severity="page",
        summary="The store does not answer: nobody can play.",
    ),
    Alert(
        name="StoreSlow",
        conditions=(Condition("rami:store_seconds:p99_5m", "> 0.1"),),
        hold="5m",
        severity="ticket",
        summary="One call in a hundred to the store takes longer than 100 ms.",
        but_not_while=(STORE_AWAY,),
    ),
    Alert(
        name="StoreCallsFailing",
        conditions=(
            Condition(
                'sum(rate(rami_store_calls_total{outcome!="ok"}[5m])) / sum(rate(rami_store_calls_total[5m]))',
                "> 0.01",
            ),
        ),
        hold="2m",
        severity="page",
        summary="More than 1 % of the calls to the store fail although it answers: a part of it may be away.",
        but_not_while=(STORE_AWAY,),
    ),
    Alert(
        name="StoreMemoryHigh",
        conditions=(
            Condition(
                "max by (server) (rami_store_server_memory_bytes)"
                " / (max by (server) (rami_store_server_memory_limit_bytes) > 0)",
                "> 0.8",
            ),
        ),
        hold="5m",
        severity="ticket",
        summary="The store at {{ $labels.server }} has used 80 % of its memory limit.",
    ),
    Alert(
        name="StoreEvicting",
        conditions=(Condition("max by (server) (delta(rami_store_server_evicted_keys[10m]))", "> 0"),),
        hold="0m",
        severity="page",
        summary="The store at {{ $labels.server }} throws keys away: rooms are being lost.",
    ),
    Alert(
        name="StoreNotPersisting",
        conditions=(Condition("min by (server) (rami_store_server_persistence_ok_info)", "== 0"),),
        hold="1m",
        severity="page",
        summary="The store at {{ $labels.server }} cannot write to its disk: a restart would lose rooms.",
    ),
    Alert(
        name="StoreReplicaMissing",
        # A server is missing one when a process that uses it waits for replicas: others may share the Prometheus.
        conditions=(
            Condition("max by (server) (rami_store_server_replicas)", "== 0"),
            Condition(
                "max by (server) (0 * rami_store_server_replicas"
                ' + on (job, instance) group_left () rami_store_durability_info{durability="replica"})',
                "> 0",
            ),
        ),
        hold="5m",  # a replica that is restarted, as by a rollout, is back before
        severity="page",
        summary="The store at {{ $labels.server }} has no replica, and moves wait for one: nobody can play there.",
    ),
)
