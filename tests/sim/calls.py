"""One simulated RPC on its way: the lines between its two ends, how it may break, and what its handler sees of it.

Messages travel as bytes. A call may lose its request, its answer or its connection; a stream may break at any
message. What a client then sees is what gRPC shows it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import grpc
import grpc.aio

from sim.links import Link

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from sim.servers import Network, Server
    from sim.world import Machine

_Code: Final = grpc.StatusCode
KEEPALIVE_SECONDS: Final = 3.0
"""A stream whose server has gone without a word is given up after so long."""
BROKEN_CONNECTION: Final = "the connection broke"


class Ending(NamedTuple):
    """How a call ends, as its client is told."""

    code: grpc.StatusCode
    text: str = ""
    trailers: tuple[tuple[str, Any], ...] = ()
    answer: bytes = b""

    def error(self) -> grpc.aio.AioRpcError:
        metadata = grpc.aio.Metadata(*self.trailers)
        return grpc.aio.AioRpcError(self.code, grpc.aio.Metadata(), metadata, self.text)


class Ear(NamedTuple):
    """Who hears of a call at its client."""

    on_message: Callable[[bytes], None]
    on_end: Callable[[Ending], None]


class Call:
    """One RPC on its way: the server's end of it, and the lines between the two."""

    def __init__(
        self,
        network: Network,
        server: Server | None,
        client: Machine,
        ear: Ear,
        *,
        path: str,
        metadata: Any,
        deadline: float | None,
    ) -> None:
        """`server` None: there is none of that name."""
        self.path = path
        self.metadata: tuple[tuple[str, str], ...] = tuple(metadata or ())
        self.deadline = deadline
        self.server = server
        self.client = client
        self.over = False
        """The client has been told the end, or does not want to know it."""
        self.task: asyncio.Task[None] | None = None
        self.requests: deque[bytes | None] = deque()
        """Of a stream of requests: those that wait for the handler; None is the end."""
        self.requested = asyncio.Event()
        self._network = network
        self._ear = ear
        self.up = Link(network.weather, server.machine.context if server is not None else None)
        self.down = Link(network.weather, client.context)

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
            self._network.note(self.client, self.path[-14:], ending.code.name)
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
            self._network.note(self.client, self.path[-14:], message)
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


__all__ = ["BROKEN_CONNECTION", "KEEPALIVE_SECONDS", "Call", "Ear", "Ending", "ServerContext"]
