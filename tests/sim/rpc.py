"""Simulated gRPC: servers whose handlers and interceptors are the real ones, and channels with the calls of grpc.aio.

Messages travel as bytes. A call may lose its request, its answer or its connection, and arrive twice; a stream may
break at any message. What a client then sees is what gRPC shows it.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import grpc
import grpc.aio

from sim.links import Link
from sim.world import mark, this_machine, until

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence

    from sim.links import Weather
    from sim.world import Loop, Machine, Trace

_Code: Final = grpc.StatusCode
KEEPALIVE_SECONDS: Final = 3.0
"""A stream whose server has gone without a word is given up after so long."""


class Details(NamedTuple):
    """What an interceptor is told of a call."""

    method: str
    invocation_metadata: tuple[tuple[str, str], ...]


class Ending(NamedTuple):
    """How a call ends, as its client is told."""

    code: grpc.StatusCode
    text: str = ""
    trailers: tuple[tuple[str, Any], ...] = ()
    answer: bytes = b""

    def error(self) -> grpc.aio.AioRpcError:
        metadata = grpc.aio.Metadata(*self.trailers)
        return grpc.aio.AioRpcError(self.code, grpc.aio.Metadata(), metadata, self.text)


class Troubles:
    """How often calls meet with an accident now. One per world; faults change it."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.lost_requests = 0.0
        self.lost_answers = 0.0
        self.silent = 0.0
        """How many of the lost ones leave their caller waiting until its deadline."""
        self.doubled = 0.0
        self.impatient = 0.0
        """How many callers of unary calls hang up at some moment."""

    def strikes(self, share: float) -> bool:
        """Whether it happens this time."""
        return share > 0 and self._chance.random() < share

    def moment(self, seconds: float) -> float:
        """Some time before so many seconds have passed."""
        return self._chance.random() * seconds


class Network:
    """Who can be called by which name."""

    def __init__(self, loop: Loop, weather: Weather, troubles: Troubles, trace: Trace) -> None:
        self.loop = loop
        self.weather = weather
        self.troubles = troubles
        self.trace = trace
        self.servers: dict[str, list[Server]] = {}

    def pick(self, target: str, chance: random.Random) -> Server | None:
        """A server of a name that takes calls, or one that has just gone; None where there is none."""
        servers = self.servers.get(target, [])
        return servers[chance.randrange(len(servers))] if servers else None


class Server:
    """What stands for grpc.aio.Server: it holds the registered handlers and runs them for calls that arrive."""

    def __init__(self, network: Network, machine: Machine, interceptors: Sequence[Any]) -> None:
        self.machine = machine
        self.serving = False
        self.calls: dict[Call, None] = {}
        self._network = network
        self._interceptors = interceptors
        self._handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
        self._wrapped: dict[str, Any] = {}

    def add_generic_rpc_handlers(self, _handlers: object) -> None:
        """The registered ones are enough."""

    def add_registered_method_handlers(
        self, service: str, handlers: Mapping[str, grpc.RpcMethodHandler[Any, Any]]
    ) -> None:
        self._handlers.update((f"/{service}/{name}", handler) for name, handler in handlers.items())

    async def start(self) -> None:
        self.serving = True

    async def stop(self, grace: float | None) -> None:
        """Take no more calls; those that go on after the grace are cancelled."""
        self.serving = False
        await until(lambda: not self.calls, grace or 0)
        for call in list(self.calls):
            call.end_by_server(Ending(_Code.CANCELLED, "the server stops"))

    async def handler(self, call: Call) -> Any:
        """The handler of a call, as the interceptors wrap it; None for a method that there is not."""

        async def innermost(details: Any) -> grpc.RpcMethodHandler[Any, Any] | None:
            return self._handlers.get(details.method)

        if call.path not in self._wrapped:
            continuation: Any = innermost
            for interceptor in reversed(self._interceptors):
                continuation = _bound(interceptor, continuation)
            self._wrapped[call.path] = await continuation(Details(call.path, call.metadata))
        return self._wrapped[call.path]


def _bound(interceptor: Any, continuation: Any) -> Callable[[Any], Coroutine[Any, Any, Any]]:
    async def go_on(details: Any) -> Any:
        return await interceptor.intercept_service(continuation, details)

    return go_on


class Ear(NamedTuple):
    """Who hears of a call at its client."""

    on_message: Callable[[bytes], None]
    on_end: Callable[[Ending], None]


class Method(NamedTuple):
    """A method of a stub."""

    path: str
    serialize: Callable[[Any], bytes]
    deserialize: Callable[[bytes], Any]


class Call:
    """One RPC on its way: the server's end of it, and the lines between the two."""

    def __init__(
        self,
        channel: Channel,
        path: str,
        metadata: Any,
        deadline: float | None,
        ear: Ear,
    ) -> None:
        self.path = path
        self.metadata: tuple[tuple[str, str], ...] = tuple(metadata or ())
        self.deadline = deadline
        self.server = server = channel.pick()
        self.client = channel.machine
        self.over = False
        """The client has been told the end, or does not want to know it."""
        self.task: asyncio.Task[None] | None = None
        self.requests: deque[bytes | None] = deque()
        """Of a stream of requests: those that wait for the handler; None is the end."""
        self.requested = asyncio.Event()
        self._network = network = channel.network
        self._ear = ear
        context = server.machine.context if server is not None else None
        self.up = Link(network.weather, context)
        self.down = Link(network.weather, self.client.context)

    def begin(self, request: bytes | None) -> None:
        """Send the call; `request` None for a stream of requests."""
        if not self.client.alive:
            return  # what a machine does while it ends does not leave it
        if self.server is None or not self.server.machine.alive:
            self.down.send(self.finish, Ending(_Code.UNAVAILABLE, "failed to connect to all addresses"))
        else:
            self.up.send(self._arrive, request)

    def finish(self, ending: Ending) -> None:
        """The client learns how the call ends."""
        if not self.over:
            self.over = True
            self._network.trace.note(self._network.loop.now, self.client, self.path[-14:], ending.code.name)
            self._ear.on_end(ending)

    def give_up(self, ending: Ending | None = None) -> None:
        """The client wants no more of it; the server hears so in time."""
        if ending is not None:
            self.finish(ending)
        self.over = True
        self.up.send(self._cancel)

    def break_off(self, ending: Ending, *, after_seconds: float = 0.0) -> None:
        """The connection under the call breaks: nothing arrives any more, and both ends find out."""
        self.up.cut = self.down.cut = True
        loop = self._network.loop
        if after_seconds:
            loop.call_later(after_seconds, self.finish, ending, context=self.client.context)
        else:
            Link(self._network.weather, self.client.context).send(self.finish, ending)
        if self.server is not None:
            Link(self._network.weather, self.server.machine.context).send(self._cancel)

    def abandon(self) -> None:
        """The client's machine has stopped: the server finds out that nobody is there."""
        self.over = True
        self.up.cut = self.down.cut = True
        if self.server is not None:
            Link(self._network.weather, self.server.machine.context).send(self._cancel)

    def end_by_server(self, ending: Ending) -> None:
        """The server ends the call, its handler included."""
        self.down.send(self.finish, ending)
        self._cancel()

    def say(self, message: bytes) -> None:
        """The server sends a message of a stream."""
        self.down.send(self._hear, message)

    def ask(self, message: bytes | None) -> None:
        """The client sends a message of a stream; None ends its side."""
        self.up.send(self._asked, message)

    def _hear(self, message: bytes) -> None:
        if not self.over:
            self._network.trace.note(self._network.loop.now, self.client, self.path[-14:], mark(message))
            self._ear.on_message(message)

    def _asked(self, message: bytes | None) -> None:
        self.requests.append(message)
        self.requested.set()

    def _arrive(self, request: bytes | None) -> None:
        server = self.server
        assert server is not None
        if not server.machine.alive or not server.serving:
            self.down.send(self.finish, Ending(_Code.UNAVAILABLE, "the server takes no calls"))
            return
        server.calls[self] = None
        self.task = self._network.loop.create_task(self._handle(server, request), name=f"handle {self.path}")

    def _cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()

    async def _handle(self, server: Server, request: bytes | None) -> None:
        context = ServerContext(self._network, self)
        ending = Ending(_Code.UNKNOWN, "the handler failed")
        try:
            handler = await server.handler(self)
            if handler is None:
                ending = Ending(_Code.UNIMPLEMENTED, "no such method")
            elif not handler.response_streaming:
                answer = await handler.unary_unary(request, context)
                ending = Ending(_Code.OK, answer=answer)
            else:
                behaviour = handler.stream_stream if handler.request_streaming else handler.unary_stream
                await behaviour(self._read_requests() if handler.request_streaming else request, context)
                ending = Ending(_Code.OK)
        except asyncio.CancelledError:
            ending = Ending(_Code.CANCELLED, "the handler was cancelled")
            raise
        except grpc.aio.AbortError:
            assert context.aborted is not None
            ending = context.aborted
        finally:
            server.calls.pop(self, None)
            self.down.send(self.finish, ending)

    async def _read_requests(self) -> AsyncIterator[bytes]:
        while True:
            while not self.requests:
                self.requested.clear()
                await self.requested.wait()
            message = self.requests.popleft()
            if message is None:
                return
            yield message


class ServerContext:
    """What a handler learns of its call, and says in it."""

    def __init__(self, network: Network, call: Call) -> None:
        self._network = network
        self._call = call
        self.aborted: Ending | None = None

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return self._call.metadata

    def peer(self) -> str:
        return "ipv4:10.0.0.1:50000"

    def time_remaining(self) -> float | None:
        deadline = self._call.deadline
        return None if deadline is None else max(0.0, deadline - self._network.loop.now)

    def code(self) -> grpc.StatusCode | None:
        return self.aborted.code if self.aborted is not None else None

    async def write(self, message: bytes) -> None:
        self._call.say(message)

    async def abort(self, code: grpc.StatusCode, details: str = "", trailing_metadata: Any = ()) -> None:
        self.aborted = Ending(code, details, tuple(trailing_metadata))
        raise grpc.aio.AbortError


class Observer:
    """Whoever writes down what a client asks and is told. This one does not."""

    def asked(self, path: str, request: Any) -> object:
        """A unary call is about to be sent; what `answered` gets back."""

    def answered(self, ticket: object, answer: Any, error: grpc.aio.AioRpcError | None) -> None:
        """It has ended, before its caller knows."""

    def opened(self, path: str) -> object:
        """A stream is opened; what the others get back."""

    def said(self, ticket: object, request: Any) -> None:
        """The client sends on a stream."""

    def told(self, ticket: object, message: bytes) -> None:
        """A message has come."""

    def ended(self, ticket: object, ending: Ending) -> None:
        """The stream is over."""


class Channel:
    """What stands for grpc.aio.Channel. Every call goes to one of the servers of the target, drawn anew."""

    def __init__(self, network: Network, target: str, chance: random.Random, observer: Observer | None = None) -> None:
        self.network = network
        self.target = target
        self.chance = chance
        self.machine = this_machine()
        self.observer = observer or Observer()
        self.calls: dict[Call, None] = {}

    def pick(self) -> Server | None:
        """Where the next call goes."""
        return self.network.pick(self.target, self.chance)

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

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:  # noqa: ARG002
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
    loop = channel.network.loop
    raw, deadline = method.serialize(request), loop.now + seconds if seconds is not None else None
    ticket = channel.observer.asked(method.path, request)
    future: asyncio.Future[Ending] = loop.create_future()

    def on_end(ending: Ending) -> None:
        if not future.done():
            future.set_result(ending)

    call = Call(channel, method.path, metadata, deadline, Ear(_ignore, on_end))
    channel.calls[call] = None
    timer = loop.call_later(seconds, call.give_up, Ending(_Code.DEADLINE_EXCEEDED)) if seconds is not None else None
    channel.network.trace.note(loop.now, call.client, method.path[-14:], mark(raw))
    _send(channel, call, raw)
    try:
        ending = await future
    except asyncio.CancelledError:
        call.give_up()
        raise
    finally:
        channel.calls.pop(call, None)
        if timer is not None:
            timer.cancel()
    if ending.code is not _Code.OK:
        error = ending.error()
        channel.observer.answered(ticket, None, error)
        raise error
    answer = method.deserialize(ending.answer)
    channel.observer.answered(ticket, answer, None)
    return answer


def _send(channel: Channel, call: Call, raw: bytes) -> None:
    """Send a unary call into the troubles of the moment."""
    loop, troubles = channel.network.loop, channel.network.troubles
    broken = Ending(_Code.UNAVAILABLE, "the connection broke")
    if troubles.strikes(troubles.lost_requests):
        if not troubles.strikes(troubles.silent):
            call.down.send(call.finish, broken)
        return
    call.begin(raw)
    if troubles.strikes(troubles.lost_answers):
        loop.call_later(troubles.moment(0.02), _lose_answer, call, broken, troubles.strikes(troubles.silent))
    elif troubles.strikes(troubles.impatient):
        loop.call_later(troubles.moment(0.02), call.give_up, Ending(_Code.DEADLINE_EXCEEDED))
    if troubles.strikes(troubles.doubled):
        Call(channel, call.path, call.metadata, call.deadline, Ear(_ignore, _ignore)).begin(raw)


def _lose_answer(call: Call, ending: Ending, silent: bool) -> None:
    if call.over:
        return
    if silent:
        call.down.cut = True
    else:
        call.break_off(ending)


def _ignore(_: object) -> None:
    """Nobody waits for it."""


class StreamCall:
    """The client's end of a stream."""

    def __init__(self, channel: Channel, method: Method, metadata: Any) -> None:
        self._channel = channel
        self._method = method
        self._messages: deque[bytes] = deque()
        self._ending: Ending | None = None
        self._news = asyncio.Event()
        self.ticket = channel.observer.opened(method.path)
        self.call = Call(channel, method.path, metadata, None, Ear(self._on_message, self._on_end))
        channel.calls[self.call] = None

    async def write(self, request: Any) -> None:
        if self._ending is not None:
            raise asyncio.InvalidStateError("the stream is over")
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


__all__ = ["Channel", "Details", "Ending", "Network", "Observer", "Server", "Troubles"]
