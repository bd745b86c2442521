"""How long a bot's turn bears with a decision service that is in trouble."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from prometheus_client import CollectorRegistry

from game_state import decider
from rami_kit.metrics import GameMetrics
from support.game_tables import Table

if TYPE_CHECKING:
    from rami.ai.v1 import decision_service_pb2

PATIENCE = TIMEOUT = 0.2


class Clock:
    """What the decider takes for the time: it passes where somebody waits, and at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        read = SimpleNamespace(monotonic=lambda: self.now, perf_counter=lambda: self.now)
        monkeypatch.setattr(decider, "time", read)
        monkeypatch.setattr(decider, "asyncio", SimpleNamespace(sleep=self.sleep))

    async def sleep(self, seconds: float) -> None:
        self.now += max(0.0, seconds)
        await asyncio.sleep(0)


class DyingService:
    """A roster with one service, which is refused and hangs by turns: what one does that dies and comes back."""

    def __init__(self, clock: Clock, *causes: str) -> None:
        self._clock = clock
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
            await self._clock.sleep(seconds)
        return cause, None, 0.0


@pytest.mark.parametrize(
    "causes", [("unavailable", "deadline_exceeded"), ("unavailable", "deadline_exceeded", "deadline_exceeded")]
)
async def test_v7_all_troubles_of_a_service_that_dies_and_comes_back_have_one_bound(
    causes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(["ann", "bob"])
    table.start()
    clock = Clock(monkeypatch)
    service, began = DyingService(clock, *causes), clock.now
    deciding = decider.Decider(cast("Any", service), GameMetrics(CollectorRegistry()), b"key", TIMEOUT, PATIENCE)
    decision = await deciding.decide(table.room, table.turn, "easy")
    assert decision.fallback
    assert decision.action in table.legal()
    assert service.granted
    assert sum(service.granted) <= PATIENCE + TIMEOUT
    assert clock.now - began < PATIENCE + TIMEOUT + 0.5, "and the pauses are no longer than the longest"
