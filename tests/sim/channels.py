"""What stands for grpc.aio.Channel: the client's end of calls, what befalls them on their way, and who writes it down.

A call may arrive twice, perhaps at two servers: because the network repeats it, or because the client does. The first
answer is the caller's; the other one is told to the observer as well.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import grpc
import grpc.aio

from rami.game.v1 import game_service_pb2
from sim.calls import BROKEN_CONNECTION, Call, Ear, Ending
from sim.world import this_machine, until

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncIterator, Callable

    from sim.servers import Network

_Code: Final = grpc.StatusCode


class Method(NamedTuple):
    """A method of a stub."""

    path: str
    serialize: Callable[[Any], bytes]
    deserialize: Callable[[bytes], Any]


class Observer:
    """Whoever writes down what a client asks and is told. This one does not."""

    def asked(self, path: str, request: Any) -> object:
        """A unary call is about to be sent; what `answered` gets back."""

    def answered(self, ticket: object, answer: Any, error: grpc.aio.AioRpcError | None) -> None:
        """It has ended, before its caller knows. Called again for each time that it arrived once more."""

    def opened(self, path: str) -> object:
        """A stream is opened; what the others get back."""

    def said(self, ticket: object, request: Any) -> None:
        """The client sends on a stream."""

    def told(self, ticket: object, message: bytes) -> None:
        """A message has come."""

    def ended(self, ticket: object, ending: Ending) -> None:
        """The stream is over."""


class Channel:
    """Every call goes to one of the servers of the target, drawn anew."""

    def __init__(self, network: Network, target: str, chance: random.Random, observer: Observer | None = None) -> None:
        self.network = network
        self.target = target
        self.machine = this_machine()
        self.observer = observer or Observer()
        self.calls: dict[Call, None] = {}
        self.twice = 0.0
        """How many unary calls, and actions on streams, the client sends twice at once."""
        self._chance = chance

    def new_call(self, path: str, metadata: Any, deadline: float | None, ear: Ear) -> Call:
        """A call to one of the servers, which has not been sent yet."""
        server = self.network.pick(self.target, self._chance)
        return Call(self.network, server, self.machine, ear, path=path, metadata=metadata, deadline=deadline)

    def says_twice(self) -> bool:
        """Whether the client sends the next message once more."""
        return self.twice > 0 and self._chance.random() < self.twice

    def unary_unary(self, path: str, request_serializer: Any, response_deserializer: Any, **_: object) -> Any:
        method = Method(path, request_serializer, response_deserializer)

        def call(request: Any, *, timeout: float | None = None, metadata: Any = None) -> Any:
            return _unary(self, method, request, timeout, metadata)

        return call

    def unary_stream(self, path: str, request_serializer: Any, response_deserializer: Any, **_: object) -> Any:
        method = Method(path, request_serializer, response_deserializer)

        def call(request: Any, *, metadata: Any = None) -> StreamCall:
            stream = StreamCall(self, method, metadata)
            self.observer.said(stream.ticket, request)
            stream.call.begin(request_serializer(request))
            return stream

        return call

    def stream_stream(self, path: str, request_serializer: Any, response_deserializer: Any, **_: object) -> Any:
        method = Method(path, request_serializer, response_deserializer)

        def call(*, metadata: Any = None) -> StreamCall:
            stream = StreamCall(self, method, metadata)
            stream.call.begin(None)
            return stream

        return call

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:  # noqa: ARG002 - nothing to connect
        servers = self.network.servers.get(self.target, [])
        ready = any(server.machine.alive and server.serving for server in servers)
        return grpc.ChannelConnectivity.READY if ready else grpc.ChannelConnectivity.TRANSIENT_FAILURE

    async def channel_ready(self) -> None:
        await until(lambda: self.get_state() is grpc.ChannelConnectivity.READY, math.inf)

    async def close(self, grace: float | None = None) -> None:  # noqa: ARG002 - nothing here needs one
        for call in list(self.calls):
            call.give_up(Ending(_Code.CANCELLED, "the channel is closed"))
        self.calls.clear()


async def _unary(channel: Channel, method: Method, request: Any, seconds: float | None, metadata: Any) -> Any:
    loop, observer = channel.network.loop, channel.observer
    raw, deadline = method.serialize(request), loop.now + seconds if seconds is not None else None
    ticket = observer.asked(method.path, request)
    future: asyncio.Future[Ending] = loop.create_future()

    def on_end(ending: Ending) -> None:
        if not future.done():
            future.set_result(ending)
        elif not future.cancelled():
            _outcome(observer, ticket, method, ending)  # of the other one of two that were sent

    def new_call() -> Call:
        return channel.new_call(method.path, metadata, deadline, Ear(_ignore, on_end))

    call = new_call()
    channel.calls[call] = None
    timer = loop.call_later(seconds, call.give_up, Ending(_Code.DEADLINE_EXCEEDED)) if seconds is not None else None
    channel.network.note(call.client, method.path[-14:], raw)
    _send(channel, call, raw)
    if channel.says_twice() or channel.network.troubles.strikes(channel.network.troubles.doubled):
        new_call().begin(raw)
    try:
        ending = await future
    except asyncio.CancelledError:
        call.give_up()
        raise
    finally:
        channel.calls.pop(call, None)
        if timer is not None:
            timer.cancel()
    outcome = _outcome(observer, ticket, method, ending)
    if isinstance(outcome, grpc.aio.AioRpcError):
        raise outcome
    return outcome


def _outcome(observer: Observer, ticket: object, method: Method, ending: Ending) -> Any:
    """The answer of a call that has ended, or its error; the observer hears of it first."""
    if ending.code is not _Code.OK:
        error = ending.error()
        observer.answered(ticket, None, error)
        return error
    answer = method.deserialize(ending.answer)
    observer.answered(ticket, answer, None)
    return answer


def _send(channel: Channel, call: Call, raw: bytes) -> None:
    """Send a unary call into the troubles of the moment."""
    loop, troubles = channel.network.loop, channel.network.troubles
    broken = Ending(_Code.UNAVAILABLE, BROKEN_CONNECTION)
    if troubles.strikes(troubles.lost_requests):
        if not troubles.strikes(troubles.silent):
            call.down.send(call.finish, broken)
        return
    call.begin(raw)
    if troubles.strikes(troubles.lost_answers):
        loop.call_later(troubles.moment(0.02), _lose_answer, call, broken, troubles.strikes(troubles.silent))
    elif troubles.strikes(troubles.impatient):
        loop.call_later(troubles.moment(0.02), call.give_up, Ending(_Code.DEADLINE_EXCEEDED))


def _lose_answer(call: Call, ending: Ending, silent: bool) -> None:
    if call.over:
        return
    if silent:
        call.down.cut = True
    else:
        call.break_off(ending)


def _ignore(_: object) -> None:
    """Unary calls have no messages of their own."""


class StreamCall:
    """The client's end of a stream."""

    def __init__(self, channel: Channel, method: Method, metadata: Any) -> None:
        self._channel = channel
        self._method = method
        self._messages: deque[bytes] = deque()
        self._ending: Ending | None = None
        self._news = asyncio.Event()
        self.ticket = channel.observer.opened(method.path)
        self.call = channel.new_call(method.path, metadata, None, Ear(self._on_message, self._on_end))
        channel.calls[self.call] = None

    async def write(self, request: Any) -> None:
        if self._ending is not None:
            raise asyncio.InvalidStateError("the stream is over")
        self._say(request)
        is_action = isinstance(request, game_service_pb2.PlayRequest) and request.HasField("action")
        if is_action and self._channel.says_twice():
            self._say(request)

    def _say(self, request: Any) -> None:
        self._channel.observer.said(self.ticket, request)
        self.call.ask(self._method.serialize(request))

    async def done_writing(self) -> None:
        self.call.ask(None)

    async def read(self) -> Any:
        while not self._messages:
            if self._ending is not None:
                if self._ending.code is _Code.OK:
                    return grpc.aio.EOF
                if self._ending.code is _Code.CANCELLED and self.call.over and not self._ending.text:
                    raise asyncio.CancelledError
                raise self._ending.error()
            self._news.clear()
            await self._news.wait()
        message = self._messages.popleft()
        self._channel.observer.told(self.ticket, message)
        return self._method.deserialize(message)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._iterate()

    async def _iterate(self) -> AsyncIterator[Any]:
        while (message := await self.read()) is not grpc.aio.EOF:
            yield message

    def cancel(self) -> bool:
        if self._ending is not None:
            return False
        self.call.give_up(Ending(_Code.CANCELLED))
        return True

    def _on_message(self, message: bytes) -> None:
        self._messages.append(message)
        self._news.set()

    def _on_end(self, ending: Ending) -> None:
        self._ending = ending
        self._channel.calls.pop(self.call, None)
        self._channel.observer.ended(self.ticket, ending)
        self._news.set()


__all__ = ["Channel", "Method", "Observer", "StreamCall"]
