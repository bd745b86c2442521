"""One address of a decision service: its connection, the stream over it, and what is open there.

Requests come encoded and are never parsed here. Those that wait to be sent share a message where the service reads
such, since messages are what costs.

A stream carries the token it was opened with, so another is opened before that ends, and the older one is half-closed:
what is open there is answered first. Nothing but the stream's own tasks reads or writes it, because a gRPC stream whose
reader or writer is cancelled ends for everybody.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import grpc
import grpc.aio

from rami.ai.v1 import decision_service_pb2, decision_service_pb2_grpc
from rami_kit.channels import close_channels
from rami_kit.errors import retry_seconds, status_of
from rami_kit.tracing import trace_parent, traced
from rami_wire import encode_field, encode_varint_field

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Sequence

    from rami_kit.auth import ServiceTokens

    _Call = grpc.aio.StreamStreamCall[Any, decision_service_pb2.DecideManyResponse]

STREAM_SECONDS: Final = 20.0
"""How long a stream is used: tokens are good for half a minute at least when they are shown."""
UNARY_SECONDS: Final = 60.0
"""How long a service that has no DecideMany is taken not to have it."""
SHUNNED_SECONDS: Final = 1.0
"""How long an address that failed comes after all others."""
FIRST_ID: Final = 1
MAX_MORE: Final = 15
"""Requests that go out together with another: each has one or two KB at most, and a message may have 64."""
RETIRE_SECONDS: Final = 60.0
"""The longest that open decisions of an address that is gone are waited for."""


class Answer(NamedTuple):
    """What came of a question: the place of the chosen action, or a word for what went wrong."""

    outcome: str
    """"ok", "malformed", or a gRPC code in lower case."""
    place: int | None = None
    retry_after_seconds: float = 0.0
    """When the service asks to be asked again; 0 for not said."""


UNAVAILABLE: Final = "unavailable"
_SERVICE: Final = decision_service_pb2.DESCRIPTOR.services_by_name["DecisionService"].full_name
_REQUEST_FIELDS: Final = decision_service_pb2.DecideManyRequest.DESCRIPTOR.fields_by_name
_CALL_ID: Final = _REQUEST_FIELDS["call_id"].number
_REQUEST: Final = _REQUEST_FIELDS["request"].number
_TRACE_PARENT: Final = _REQUEST_FIELDS["trace_parent"].number
_MORE: Final = _REQUEST_FIELDS["more"].number
_TAKES_MORE: Final = encode_varint_field(_REQUEST_FIELDS["takes_more"].number, 1)
_BROKEN: Final = "broken"
"""A stream that ended while it was written to: gRPC makes INTERNAL of that, whatever the service had said."""
_UNHEALTHY: Final = frozenset(
    {UNAVAILABLE, "deadline_exceeded", "malformed", "unauthenticated", "cancelled", "internal"}
)


class DecisionPeer:
    """One address. `outstanding` and `failed_until` are for who chooses among several."""

    def __init__(self, address: str, name: str | None, channel: grpc.aio.Channel, tokens: ServiceTokens) -> None:
        """`name` is what the address was looked up under. Connects when it is first asked."""
        self.address = address
        self.name = name
        self.outstanding = 0
        self.failed_until = 0.0
        """By time.monotonic()."""
        self._channel = channel
        self._stub: decision_service_pb2_grpc.DecisionServiceAsyncStub = decision_service_pb2_grpc.DecisionServiceStub(
            channel
        )
        self._decide = channel.unary_unary(
            f"/{_SERVICE}/Decide",
            request_serializer=bytes,
            response_deserializer=decision_service_pb2.DecideResponse.FromString,
        )
        self._decide_many = channel.stream_stream(
            f"/{_SERVICE}/DecideMany",
            request_serializer=bytes,
            response_deserializer=decision_service_pb2.DecideManyResponse.FromString,
        )
        self._tokens = tokens
        self._line: _Line | None = None
        self._lines: set[_Line] = set()
        self._unary_until = 0.0
        self._idle = asyncio.Event()
        self._idle.set()

    async def ask(self, request: bytes, seconds: float) -> Answer:
        """One answer to a serialized DecideRequest within some seconds; never raises but when cancelled."""
        self.outstanding += 1
        self._idle.clear()
        try:
            answer = await self._ask(request, seconds)
        finally:
            self.outstanding -= 1
            if not self.outstanding:
                self._idle.set()
        self.failed_until = time.monotonic() + SHUNNED_SECONDS if answer.outcome in _UNHEALTHY else 0.0
        return answer

    async def list_bots(self, seconds: float) -> Sequence[decision_service_pb2.Bot]:
        """The first page of the bots that the service plays; none when it does not answer."""
        try:
            response: decision_service_pb2.ListBotsResponse | None = await self._stub.ListBots(
                decision_service_pb2.ListBotsRequest(), timeout=seconds, metadata=self._tokens.metadata()
            )
        except grpc.aio.AioRpcError:
            return []
        return [] if response is None else response.bots

    async def retire(self) -> None:
        """Let what is open be answered, then close."""
        for line in list(self._lines):
            line.end()
        with suppress(TimeoutError):
            async with asyncio.timeout(RETIRE_SECONDS):
                await self._idle.wait()
        await self.close()

    async def close(self) -> None:
        """End the connection and whatever is open there."""
        for line in list(self._lines):
            line.cancel()
        await close_channels(self._channel)

    async def _ask(self, request: bytes, seconds: float) -> Answer:
        if time.monotonic() < self._unary_until:
            return await self._ask_by_call(request, seconds)
        answer = await self._open_line().ask(request, seconds)
        if answer.outcome == "unimplemented":
            self._unary_until = time.monotonic() + UNARY_SECONDS
        elif answer.outcome != _BROKEN:
            return answer
        return await self._ask_by_call(request, seconds)

    async def _ask_by_call(self, request: bytes, seconds: float) -> Answer:
        try:
            response: decision_service_pb2.DecideResponse | None = await self._decide(
                request, timeout=max(0.0, seconds), metadata=traced(self._tokens.metadata())
            )
        except grpc.aio.AioRpcError as error:
            return Answer(error.code().name.lower(), None, retry_seconds(status_of(error)))
        # None is what gRPC makes of bytes that it cannot parse.
        return Answer("malformed") if response is None else Answer("ok", response.action_index)

    def _open_line(self) -> _Line:
        """The stream for what is asked now."""
        line = self._line
        if line is None or line.over or time.monotonic() - line.began >= STREAM_SECONDS:
            if line is not None:
                line.end()
            line = self._line = _Line(self._decide_many(metadata=self._tokens.metadata()), self._lines)
        return line


class _Line:
    """One stream of decisions."""

    def __init__(self, call: _Call, lines: set[_Line]) -> None:
        self.began = time.monotonic()
        self.over = False
        """Nothing more can be asked here."""
        self._takes_more = False
        """Whether the service reads several requests in a message."""
        self._open: dict[int, asyncio.Future[Answer]] = {}
        self._ids = itertools.count(FIRST_ID)
        self._unsent: asyncio.Queue[bytes | None] = asyncio.Queue()
        """Serialized requests of DecideMany; None after the last."""
        self._call = call
        self._tasks = (
            asyncio.create_task(self._write(), name="decisions-out"),
            asyncio.create_task(self._read(), name="decisions-in"),
        )
        lines.add(self)
        self._tasks[1].add_done_callback(lambda _: lines.discard(self))

    async def ask(self, request: bytes, seconds: float) -> Answer:
        """One answer within some seconds."""
        call_id = next(self._ids)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._open[call_id] = answer
        parts = [
            encode_varint_field(_CALL_ID, call_id),
            _encode_timeout(max(1, int(seconds * 1000))),
            encode_field(_REQUEST, request),
        ]
        if call_id == FIRST_ID:
            parts.append(_TAKES_MORE)
        if parent := trace_parent():
            parts.append(encode_field(_TRACE_PARENT, parent.encode()))
        self._unsent.put_nowait(b"".join(parts))
        timer = loop.call_later(max(0.0, seconds), _end_late, answer)
        try:
            return await answer
        finally:
            timer.cancel()
            del self._open[call_id]

    def end(self) -> None:
        """Ask nothing more; the stream ends when all is answered."""
        if not self.over:
            self.over = True
            self._unsent.put_nowait(None)

    def cancel(self) -> None:
        """End at once."""
        self.over = True
        self._call.cancel()

    async def _write(self) -> None:
        try:
            while (message := await self._unsent.get()) is not None:
                await self._call.write(self._gather(message) if self._takes_more else message)
            await self._call.done_writing()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            pass  # the reader hears why

    def _gather(self, message: bytes) -> bytes:
        """A request that brings along what else is to be sent."""
        parts = [message]
        while len(parts) <= MAX_MORE and not self._unsent.empty():
            further = self._unsent.get_nowait()
            if further is None:
                self._unsent.put_nowait(None)  # it was the last, and is so again
                break
            parts.append(encode_field(_MORE, further))
        return b"".join(parts)

    async def _read(self) -> None:
        outcome = UNAVAILABLE
        # What gRPC makes of bytes that it cannot parse is None.
        responses: AsyncIterable[decision_service_pb2.DecideManyResponse | None] = self._call
        try:
            async for response in responses:
                if response is None:
                    outcome = "malformed"
                    self._call.cancel()
                    break
                self._takes_more = self._takes_more or response.takes_more
                self._hear(response)
                for further in response.more:
                    self._hear(further)
        except grpc.aio.AioRpcError as error:
            outcome = _BROKEN if error.code() is grpc.StatusCode.INTERNAL else error.code().name.lower()
        finally:
            self.over = True
            self._tasks[0].cancel()
            for answer in self._open.values():
                if not answer.done():
                    answer.set_result(Answer(outcome))

    def _hear(self, response: decision_service_pb2.DecideManyResponse) -> None:
        answer = self._open.get(response.call_id)
        if answer is None or answer.done():
            return
        match response.WhichOneof("result"):
            case "decision":
                answer.set_result(Answer("ok", response.decision.action_index))
            case "error":
                code = _CODES.get(response.error.code, grpc.StatusCode.UNKNOWN)
                answer.set_result(Answer(code.name.lower(), None, retry_seconds(response.error)))
            case _:
                answer.set_result(Answer("malformed"))


@lru_cache(maxsize=1024)
def _encode_timeout(ms: int) -> bytes:
    """The field of a serialized DecideManyRequest: few are given at one time, since most decisions have the same."""
    message = decision_service_pb2.DecideManyRequest()
    message.timeout.FromMilliseconds(ms)
    return message.SerializeToString()


def _end_late(answer: asyncio.Future[Answer]) -> None:
    """The time for an answer is over."""
    if not answer.done():
        answer.set_result(Answer("deadline_exceeded"))


_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}

__all__ = ["Answer", "DecisionPeer"]
