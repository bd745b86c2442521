"""The AI service under more hard decisions than it has workers: others are answered all the same (G4)."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from rami.ai.v1.decision_service_pb2_grpc import DecisionServiceStub
from rami_engine import legal_actions
from rami_kit.testing import service
from support.chaos_processes import AI, ChaosProcess
from unit.ai.requests import request_for, some_turn
from unit.engine.positions import round_of

if TYPE_CHECKING:
    from pathlib import Path

    from rami.ai.v1.decision_service_pb2_grpc import DecisionServiceAsyncStub
    from support.chaos_processes import Nursery
    from unit.ai.requests import DecideRequest

CALL_SECONDS = 30.0
ROUNDS = 10


@pytest.mark.chaos_long
@pytest.mark.timeout(300)
async def test_g4_8_hard_decisions_at_once_keep_nobody_else_waiting(tmp_path: Path, nursery: Nursery) -> None:
    match = some_turn()
    legal = len(legal_actions(match, round_of(match).turn))
    front = ChaosProcess("ai", AI, {"RAMI_WORKERS": "2"}, tmp_path, nursery)
    await front.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{front.port}") as channel:
            stub: DecisionServiceAsyncStub = DecisionServiceStub(channel)
            health = health_pb2_grpc.HealthStub(channel)

            async def decide(request: DecideRequest) -> float:
                began = time.perf_counter()
                answer = await stub.Decide(request, timeout=CALL_SECONDS, metadata=service("rami-ai"))
                assert answer.action_index < legal
                return time.perf_counter() - began

            await decide(request_for(match, "easy"))
            healths, easy, hard = [], [], []
            for _ in range(ROUNDS):
                deciding = [asyncio.create_task(decide(request_for(match, "hard"))) for _ in range(8)]
                while not all(task.done() for task in deciding):
                    began = time.perf_counter()
                    answer = await health.Check(health_pb2.HealthCheckRequest(), timeout=CALL_SECONDS)
                    healths.append(time.perf_counter() - began)
                    assert answer.status == health_pb2.HealthCheckResponse.SERVING
                    easy.append(await decide(request_for(match, "easy")))
                hard += await asyncio.gather(*deciding)
            for what, seconds in (("health", healths), ("easy", easy), ("hard", hard)):
                print(f"\n{what}: longest {max(seconds) * 1000:.0f} ms of {len(seconds)}")  # noqa: T201 - with -s
            assert len(hard) == 8 * ROUNDS
    finally:
        assert await front.stop() == 0
