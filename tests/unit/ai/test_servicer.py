"""The servicer by itself: what comes when it drains already."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry

from ai_decision.pool import WorkerPool
from ai_decision.servicer import DecisionServicer
from rami.ai.v1 import decision_service_pb2 as pb
from rami_kit.errors import RamiError, reasons
from rami_kit.metrics import AiMetrics
from support.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def nothing_yet() -> AsyncIterator[pb.DecideManyRequest]:
    await asyncio.Event().wait()
    yield pb.DecideManyRequest()


async def test_a_stream_that_comes_when_the_service_drains_already_ends_at_once() -> None:
    """As one does whose call was there before the port was closed, or that is opened while balancers are told."""
    metrics = AiMetrics(CollectorRegistry())
    pool = WorkerPool(workers=0, queue_limit=1, recycle_decisions=0, start_seconds=1, metrics=metrics)
    servicer = DecisionServicer(pool, metrics)
    context: Any = None
    servicer.drain()
    async with asyncio.timeout(WAIT_SECONDS):
        with pytest.raises(RamiError) as caught:
            await anext(servicer.DecideMany(nothing_yet(), context))
    assert caught.value.reason == reasons.ERROR_REASON_SHUTTING_DOWN
