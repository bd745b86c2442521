"""What the front of the AI service writes: decisions, the queue before the workers, the workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rami_kit.instruments import ReadGauge, counter, gauge, histogram
from rami_kit.metrics.buckets import DECISION_SECONDS

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class AiMetrics:
    """Decisions and the queue before the workers; written by the front of the AI service."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.decisions = counter(
            registry, "rami_ai_decisions_total", "Decisions by level and outcome.", "level", "outcome"
        )
        self.seconds = histogram(
            registry,
            "rami_ai_decision_seconds",
            "Time from admission to the decision, queue included.",
            "level",
            buckets=DECISION_SECONDS,
        )
        self.queue_depth = gauge(registry, "rami_ai_queue_depth", "Decisions waiting for a worker.")
        self.queue_seconds = histogram(
            registry,
            "rami_ai_queue_seconds",
            "Time a decision waited for a worker, by who waits for it: people, bots_only.",
            "class",
            buckets=DECISION_SECONDS,
        )
        self.queue_age = ReadGauge(
            registry,
            "rami_ai_queue_age_seconds",
            "How long the oldest decision of the queue has waited; 0 if none waits.",
        )
        self.busy_seconds = counter(
            registry,
            "rami_ai_worker_busy_seconds_total",
            "Time that workers spent on decisions; its rate by the number of workers is their busy share.",
        )
        self.workers = gauge(registry, "rami_ai_workers", "Worker processes by state.", "state")
        self.worker_restarts = counter(
            registry, "rami_ai_worker_restarts_total", "Worker processes that died and were replaced."
        )


__all__ = ["AiMetrics"]
