"""Puts the AI service together: workers, servicer, check and closer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ai_decision.config import AiSettings
from ai_decision.pool import WorkerPool
from ai_decision.servicer import DecisionServicer
from rami.ai.v1 import decision_service_pb2, decision_service_pb2_grpc
from rami_kit.access import Access
from rami_kit.metrics import AiMetrics

if TYPE_CHECKING:
    from rami_kit.app import App

SERVICE_NAME: Final = "ai"
DECISION_SERVICE: Final = decision_service_pb2.DESCRIPTOR.services_by_name["DecisionService"].full_name


async def build(app: App) -> None:
    """Starts the workers, then serves: when it returns, all of them are warm."""
    settings = app.settings
    assert isinstance(settings, AiSettings), "main made them"
    metrics = AiMetrics(app.metrics.registry)
    pool = WorkerPool(
        workers=settings.worker_count,
        queue_limit=settings.queue_limit,
        recycle_decisions=settings.worker_recycle_decisions,
        start_seconds=settings.worker_start_seconds,
        metrics=metrics,
    )
    app.add_closer(pool.close)
    app.add_check("workers", lambda: pool.ready)
    await pool.start()
    servicer = DecisionServicer(pool, metrics)

    async def drain_streams() -> None:
        await app.draining.wait()
        servicer.drain()

    app.spawn("drain-streams", drain_streams)
    app.add_servicer(
        decision_service_pb2_grpc.add_DecisionServiceServicer_to_server,
        servicer,
        DECISION_SERVICE,
        access=Access.SERVICE,
    )
