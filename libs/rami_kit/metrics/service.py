"""What every service writes of itself: its RPCs, its background tasks, the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rami_kit.instruments import ReadGauge, counter, gauge, histogram
from rami_kit.metrics.buckets import LOOP_SECONDS, RPC_SECONDS

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

FAULT_CODES: Final = ("CANCELLED", "DEADLINE_EXCEEDED", "INTERNAL", "RESOURCE_EXHAUSTED", "UNAVAILABLE")
"""Codes that say more of the service than of its caller: shown for every method from the start."""


class GrpcMetrics:
    """Rate, errors and duration of every RPC; written by the interceptor."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.started = counter(registry, "rami_grpc_started_total", "RPCs begun.", "method")
        self.handled = counter(
            registry,
            "rami_grpc_handled_total",
            "RPCs ended, refused and cancelled ones too.",
            "method",
            "code",
        )
        self.seconds = histogram(
            registry,
            "rami_grpc_seconds",
            "Time from the start of an RPC to its end; a stream counts once.",
            "method",
            buckets=RPC_SECONDS,
        )
        self.in_flight = gauge(
            registry, "rami_grpc_in_flight", "RPCs begun whose handlers have not finished.", "method"
        )
        self.limited = counter(
            registry, "rami_grpc_limited_total", "Calls and messages refused by a rate or a cap of callers.", "limit"
        )

    def prepare(self, method: str) -> None:
        """Shows a method, such as "rami.game.v1.GameService/GetRoom", before it is called for the first time."""
        for family in (self.started, self.seconds, self.in_flight):
            family.labels(method)
        self.handled.prepare((method,), ("OK", *FAULT_CODES))


class TaskMetrics:
    """Background tasks; written by the app that runs them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.crashes = counter(
            registry, "rami_task_crashes_total", "Background tasks that crashed and were restarted.", "task"
        )


class AppMetrics:
    """The process: readiness, drain and the event loop; written by the app."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.build = gauge(
            registry, "rami_app_build_info", "1; says which service and version runs.", "service", "version"
        )
        self.ready = gauge(registry, "rami_app_ready_info", "1 while the process is SERVING, else 0.")
        self.checks = gauge(registry, "rami_app_check_info", "1 while a check of readiness holds, else 0.", "check")
        self.draining = ReadGauge(
            registry, "rami_app_draining_seconds", "How long the process has been draining; 0 while it is not."
        )
        self.drain_grace = gauge(registry, "rami_app_drain_grace_seconds", "The longest time that draining may take.")
        self.loop_delay = histogram(
            registry,
            "rami_app_loop_delay_seconds",
            "How late the event loop gets to what is due, looked at five times a second.",
            buckets=LOOP_SECONDS,
        )


__all__ = ["FAULT_CODES", "AppMetrics", "GrpcMetrics", "TaskMetrics"]
