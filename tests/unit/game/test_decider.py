"""How long a bot's turn bears with a decision service that is in trouble."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest
from prometheus_client import CollectorRegistry

from game_state.decider import Decider
from rami_kit.metrics import GameMetrics
from support.game_tables import Table

if TYPE_CHECKING:
    from rami.ai.v1 import decision_service_pb2

PATIENCE = TIMEOUT = 0.2


class DyingService:
    """A roster with one service, which is refused and hangs by turns: what one does that dies and comes back."""

    def __init__(self, *causes: str) -> None:
        self._causes = causes
        self.granted: list[float] = []
        """How long it was let hang each time."""

    def source(self, _bot: str) -> DyingService:
        return self

    async def ask(
        self, _request: decision_service_pb2.DecideRequest, seconds: float, tried: set[str]
    ) -> tuple[str, int | None, float]:
        cause = self._causes[len(tried) % len(self._causes)]
        tried.add(str(len(tried)))
        if cause == "deadline_exceeded":
            self.granted.append(seconds)
            await asyncio.sleep(seconds)
        return cause, None, 0.0


@pytest.mark.parametrize(
    "causes", [("unavailable", "deadline_exceeded"), ("unavailable", "deadline_exceeded", "deadline_exceeded")]
)
async def test_v7_all_troubles_of_a_service_that_dies_and_comes_back_have_one_bound(causes: tuple[str, ...]) -> None:
    table = Table(["ann", "bob"])
    table.start()
    service = DyingService(*causes)
    decider = Decider(cast("Any", service), GameMetrics(CollectorRegistry()), b"key", TIMEOUT, PATIENCE)
    async with asyncio.timeout(20):
        decision = await decider.decide(table.room, table.turn, "easy")
    assert decision.fallback
    assert decision.action in table.legal()
    assert service.granted
    assert sum(service.granted) <= PATIENCE + TIMEOUT
