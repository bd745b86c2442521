"""TCP proxies that stand before a server and can cut the way to it. Loopback only.

`Proxy` hands bytes on. `AnswerProxy` can also withhold what the server says, so that a call is carried out and its
answer never seen. The server behind a proxy may come and go, also on another port.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK_BYTES = 1 << 16
NOBODY = 0
"""The port of a server that is away. Its own may have been taken by somebody else meanwhile."""


class Link:
    """One client's connection and the one made to the server for it."""

    def __init__(
        self,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self.client_reader, self.client_writer = client
        self.server_reader, self.server_writer = server

    def cut(self) -> None:
        """End both connections now, whatever is on its way."""
        self.client_writer.transport.abort()
        self.server_writer.transport.abort()


class Proxy:
    """Hands bytes on both ways. Use it as an async context manager; `port` is where it listens."""

    def __init__(self) -> None:
        self.port = 0
        self.target_port = NOBODY
        """Where the server listens; clients are cut off when it does not."""
        self.refusing: Callable[[Link], bool] = lambda _: False
        """Decides on new connections: True cuts one off at once."""
        self.links: set[Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        """Where clients connect."""
        return f"127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for link in list(self.links):
            link.cut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def cut_all(self) -> None:
        """Cut every connection that there is."""
        for link in list(self.links):
            link.cut()

    async def upward(self, link: Link) -> None:
        """Hand on what the client says, until it or the connection ends."""
        while data := await link.client_reader.read(CHUNK_BYTES):
            link.server_writer.write(data)
            await link.server_writer.drain()

    async def downward(self, link: Link) -> None:
        """Hand on what the server says, until it or the connection ends."""
        while data := await link.server_reader.read(CHUNK_BYTES):
            link.client_writer.write(data)
            await link.client_writer.drain()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.target_port == NOBODY:
                raise ConnectionRefusedError
            server = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            writer.transport.abort()
            return
        link = Link((reader, writer), server)
        self.links.add(link)
        ways = [asyncio.create_task(self.upward(link)), asyncio.create_task(self.downward(link))]
        try:
            if not self.refusing(link):
                # Whoever ends first ends both: neither gRPC nor the store half-closes.
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self.links.discard(link)
            link.cut()


class AnswerProxy(Proxy):
    """A proxy for a service's callers, which can keep answers from them."""

    def __init__(self) -> None:
        super().__init__()
        self._open = asyncio.Event()
        self._open.set()
        self.withheld = asyncio.Event()
        """Something has been said by the server since answers are kept back."""

    def keep_answers_back(self) -> None:
        """From now on nothing that the server says reaches a client."""
        self.withheld.clear()
        self._open.clear()

    def let_answers_through(self) -> None:
        """Cut everybody who waits for an answer that was kept back, and hand on what comes from now on."""
        self.cut_all()
        self._open.set()

    async def downward(self, link: Link) -> None:
        while data := await link.server_reader.read(CHUNK_BYTES):
            if not self._open.is_set():
                self.withheld.set()
                # The connection is cut before this opens again: what was kept back is lost.
                with suppress(asyncio.CancelledError):
                    await self._open.wait()
                return
            link.client_writer.write(data)
            await link.client_writer.drain()
