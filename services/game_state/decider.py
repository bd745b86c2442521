"""Asking the AI service what a bot does, and what is done without a usable answer.

The request is built from the seat's own view and nothing else; its policy seed has nothing to do with any shuffle.
A decision that fails is asked for again, elsewhere where there is more than one process; after that the engine's
fallback plays, so that no room ever waits for a bot.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import math
import time
from typing import TYPE_CHECKING, Final, NamedTuple

import grpc
import grpc.aio

from rami.ai.v1 import decision_service_pb2
from rami_engine import fallback_action, legal_actions, seat_view
from rami_wire import encode_actions, view_to_proto

if TYPE_CHECKING:
    from game_state.room import Room
    from rami.ai.v1.decision_service_pb2_grpc import DecisionServiceAsyncStub
    from rami_engine import Action
    from rami_kit.auth import ServiceTokens
    from rami_kit.metrics import GameMetrics

PAUSES_SECONDS: Final = (0.0, 0.05, 0.2)
"""Before each attempt; there are as many attempts as pauses."""
SHARE_OF_TURN: Final = 3
"""A decision may take this part of the time that people have for a turn: a turn without answers has two of them, the
draw and the discard."""

_LEGAL_ACTIONS: Final = decision_service_pb2.DecideRequest.DESCRIPTOR.fields_by_name["legal_actions"].number

_log = logging.getLogger(__name__)


class Decision(NamedTuple):
    """What a bot does."""

    action: Action
    fallback: bool
    """No usable answer came: the engine's fallback plays."""


class Decider:
    """Decides for bots. One per process."""

    def __init__(
        self,
        stub: DecisionServiceAsyncStub,
        tokens: ServiceTokens,
        metrics: GameMetrics,
        policy_key: bytes,
        timeout_seconds: float,
    ) -> None:
        self._stub = stub
        self._tokens = tokens
        self._metrics = metrics
        self._policy_key = policy_key
        self._timeout = timeout_seconds

    async def decide(self, room: Room, seat: int, bot: str) -> Decision:
        """The action of a bot in the seat to move. Always legal in the room as it is given."""
        match = room.current_match()
        legal = legal_actions(match, seat)
        request = decision_request(room, seat, bot, self._policy_seed(room, seat))
        cause = "none"
        limit = room.options.turn_limit_ms
        give_up_at = time.monotonic() + limit / 1000 / SHARE_OF_TURN if limit else math.inf
        for pause in PAUSES_SECONDS:
            if pause:
                await asyncio.sleep(pause)
            seconds = min(self._timeout, give_up_at - time.monotonic())
            if seconds <= 0:
                break
            cause, index = await self._ask(request, bot, seconds)
            if index is not None and index < len(legal):
                self._metrics.bot_decisions.labels(bot, "ok").inc()
                return Decision(legal[index], fallback=False)
            if index is not None:
                cause = "illegal"
            self._metrics.bot_decisions.labels(bot, cause).inc()
        self._metrics.fallbacks.labels(cause).inc()
        _log.warning("a bot gave no usable answer: the fallback plays", extra={"bot": bot, "cause": cause})
        return Decision(fallback_action(seat_view(match, seat)), fallback=True)

    async def _ask(
        self, request: decision_service_pb2.DecideRequest, bot: str, seconds: float
    ) -> tuple[str, int | None]:
        """The index that the AI service answers with; or None and what went wrong, in a word."""
        began = time.perf_counter()
        try:
            response: decision_service_pb2.DecideResponse | None = await self._stub.Decide(
                request, timeout=seconds, metadata=self._tokens.metadata()
            )
        except grpc.aio.AioRpcError as error:
            return error.code().name.lower(), None
        if response is None:
            # What gRPC makes of bytes that it cannot parse.
            return "malformed", None
        self._metrics.bot_seconds.labels(bot).observe(time.perf_counter() - began)
        return "ok", response.action_index

    def _policy_seed(self, room: Room, seat: int) -> int:
        """Breaks a bot's ties: the same for the same room, seat and version, and not to be guessed by players."""
        place = f"{room.room_id}/{seat}/{room.version}".encode()
        return int.from_bytes(hmac.new(self._policy_key, place, hashlib.sha256).digest()[:8])


def decision_request(room: Room, seat: int, bot: str, policy_seed: int) -> decision_service_pb2.DecideRequest:
    """What the AI service is asked for the seat to move: made of what the seat sees, and nothing else."""
    match = room.current_match()
    request = decision_service_pb2.DecideRequest(
        view=view_to_proto(seat_view(match, seat)), bot=bot, policy_seed=policy_seed
    )
    request.MergeFromString(encode_actions(legal_actions(match, seat), _LEGAL_ACTIONS))
    return request
