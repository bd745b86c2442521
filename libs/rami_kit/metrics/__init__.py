"""Every metric of every service: name, help text, labels and buckets.

Names are rami_<area>_<what>_<unit>; things that are counted have no unit, since `_count` is what Prometheus calls a
part of a histogram. Labels are few and come from code: methods, codes, kinds, outcomes, levels. Never a room,
player, ticket or request. The areas `app`, `grpc`, `store` and `task` are written by this package and exist in every
service; `game`, `ai` and `matchmaking` belong to the service of that name, which makes its own class once. Each
owner's metrics are a module.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

from rami_kit.metrics.ai import AiMetrics
from rami_kit.metrics.game import GameMetrics
from rami_kit.metrics.matchmaking import MatchmakingMetrics
from rami_kit.metrics.service import FAULT_CODES, AppMetrics, GrpcMetrics, TaskMetrics
from rami_kit.metrics.store import StoreMetrics

STORE_FAILURES: Final = ("error", "unavailable", "uncertain")
FAULT_REASONS: Final = ("INTERNAL", "PEER_UNAVAILABLE", "SHUTTING_DOWN", "STORE_UNAVAILABLE")
"""Outcomes of an action that are not the player's doing."""


class Metrics:
    """The registry of one process and the areas that every service has."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.grpc = GrpcMetrics(self.registry)
        self.tasks = TaskMetrics(self.registry)
        self.app = AppMetrics(self.registry)

    @cached_property
    def store(self) -> StoreMetrics:
        """What a service with a store writes; the page of one without shows nothing of it."""
        return StoreMetrics(self.registry)


__all__ = [
    "FAULT_CODES",
    "FAULT_REASONS",
    "STORE_FAILURES",
    "AiMetrics",
    "AppMetrics",
    "GameMetrics",
    "GrpcMetrics",
    "MatchmakingMetrics",
    "Metrics",
    "StoreMetrics",
    "TaskMetrics",
]
