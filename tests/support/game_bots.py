"""A decision service for tests of the game service: plays at once, in any way a test asks for, also badly."""

from __future__ import annotations

import asyncio
import inspect
import random
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import grpc
import grpc.aio

from rami.ai.v1 import decision_service_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Choice: TypeAlias = Callable[[pb.DecideRequest], "int | Awaitable[int]"]
    Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]


class Misbehaviour(Exception):  # noqa: N818 - what a test asks for, not a failure of the test
    """Ends a decision with a status."""

    def __init__(self, code: grpc.StatusCode) -> None:
        super().__init__(code.name)
        self.code = code


def first(_request: pb.DecideRequest) -> int:
    """The first legal action: draw from the stock, then lay what can be laid, then discard the lowest card."""
    return 0


def plain(request: pb.DecideRequest) -> int:
    """Two actions a turn: draw from the stock, discard the highest card."""
    return 0 if request.legal_actions[0].HasField("draw_stock") else len(request.legal_actions) - 1


def at_random(seed: int) -> Choice:
    """Any legal action, but melds and lay-offs where there are some, so that rounds come to an end."""
    chance = random.Random(seed)

    def choose(request: pb.DecideRequest) -> int:
        kinds = [action.WhichOneof("kind") for action in request.legal_actions]
        laying = [place for place, kind in enumerate(kinds) if kind in ("meld", "lay_off")]
        return chance.choice(laying or range(len(kinds)))

    return choose


def illegal(request: pb.DecideRequest) -> int:
    """An index beyond the legal actions."""
    return len(request.legal_actions)


async def silent(_request: pb.DecideRequest) -> int:
    """No answer within any deadline."""
    await asyncio.sleep(3600)
    raise AssertionError


def refusing(code: grpc.StatusCode) -> Choice:
    """A status in place of every answer."""

    def choose(_request: pb.DecideRequest) -> int:
        raise Misbehaviour(code)

    return choose


class FakeBots:
    """The server. Use it as an async context manager; `target` is where it listens."""

    def __init__(self, choose: Choice = first) -> None:
        self.choose = choose
        """How decisions are made from now on."""
        self.garbage = False
        """Whether answers are bytes that are no message."""
        self.requests: list[pb.DecideRequest] = []
        self.raw: list[bytes] = []
        """Every request as it was sent."""
        self.authorizations: list[str] = []
        self.target = ""
        self._server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
        decide = grpc.unary_unary_rpc_method_handler(
            self._decide,
            request_deserializer=self._parse,
            response_serializer=self._serialize,
        )
        service = grpc.method_handlers_generic_handler("rami.ai.v1.DecisionService", {"Decide": decide})
        self._server.add_generic_rpc_handlers((service,))

    async def __aenter__(self) -> Self:
        self.target = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop(None)

    async def _decide(self, request: pb.DecideRequest, context: Context) -> pb.DecideResponse:
        self.requests.append(request)
        metadata = dict(context.invocation_metadata() or ())
        self.authorizations.append(str(metadata.get("authorization", "")))
        try:
            choice = self.choose(request)
            index = await choice if inspect.isawaitable(choice) else choice
        except Misbehaviour as misbehaviour:
            await context.abort(misbehaviour.code, "as the test asked")
        return pb.DecideResponse(action_index=index)

    def _parse(self, raw: bytes) -> pb.DecideRequest:
        self.raw.append(raw)
        return pb.DecideRequest.FromString(raw)

    def _serialize(self, response: pb.DecideResponse) -> bytes:
        return b"\xff\xff\xff" if self.garbage else response.SerializeToString()
