"""The AI service of the simulation: the real policies and checks, and answers that are late, missing or nonsense."""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import grpc
from google.rpc import status_pb2

from ai_decision.deciding import decide
from ai_decision.decision_stream import DecisionStream
from ai_decision.frames import Chosen
from rami.ai.v1 import decision_service_pb2 as messages
from sim.servers import Server
from sim.world import Machine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sim.servers import Network

UNAVAILABLE: Final = grpc.StatusCode.UNAVAILABLE


class Decisions:
    """The AI service: one machine that decides in place, with the real policies and the real checks."""

    def __init__(self, network: Network, seed: str) -> None:
        self.machine = Machine("ai")
        self.late_share = 0.0
        self.failing_share = 0.0
        self.absurd_share = 0.0
        self._chance = random.Random(f"ai-{seed}")
        server = Server(network, self.machine, ())
        server.serving = True
        handlers: Any = {
            "Decide": grpc.unary_unary_rpc_method_handler(self._decide),
            "DecideMany": grpc.stream_stream_rpc_method_handler(self._decide_many),
        }
        server.add_registered_method_handlers("rami.ai.v1.DecisionService", handlers)
        network.servers["ai"] = [server]

    async def _decide(self, raw: bytes, context: Any) -> bytes:
        place = await self._place(raw)
        if place is None:
            await context.abort(UNAVAILABLE, "no")
            raise AssertionError("an abort ends the call")
        return messages.DecideResponse(action_index=place).SerializeToString()

    async def _decide_many(self, requests: AsyncIterator[bytes], context: Any) -> None:
        async def parsed() -> AsyncIterator[messages.DecideManyRequest]:
            async for raw in requests:
                yield messages.DecideManyRequest.FromString(raw)

        async with aclosing(DecisionStream(self._answer).responses(parsed())) as responses:
            async for response in responses:
                await context.write(response.SerializeToString())

    async def _answer(self, one: messages.DecideManyRequest) -> messages.DecideManyResponse:
        place = await self._place(one.request.SerializeToString())
        if place is None:
            refusal = status_pb2.Status(code=UNAVAILABLE.value[0], message="no")
            return messages.DecideManyResponse(call_id=one.call_id, error=refusal)
        decision = messages.DecideResponse(action_index=place)
        return messages.DecideManyResponse(call_id=one.call_id, decision=decision)

    async def _place(self, request: bytes) -> int | None:
        """Where the chosen action stands in the request; None for no answer, and nonsense now and then."""
        dice = self._chance.random()
        if dice < self.late_share:
            await asyncio.sleep(self._chance.uniform(0, 3))
        elif dice < self.late_share + self.failing_share:
            return None
        elif dice < self.late_share + self.failing_share + self.absurd_share:
            return 1000
        answer = decide(request, lambda: False)
        assert isinstance(answer, Chosen), "the game service asks for what can be decided"
        return answer.place


__all__ = ["Decisions"]
