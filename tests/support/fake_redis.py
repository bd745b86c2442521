"""A server that answers commands as a test tells it to: for what real servers do only in rare moments."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

import hiredis

if TYPE_CHECKING:
    from collections.abc import Callable

    Answer = Callable[[list[bytes]], Any]


class FakeRedis:
    """Speaks the protocol on a free port. `answer` gets every command but the client's own, name in upper case.

    An answer is None, an int, bytes, a list of these, an Exception whose text is the error, or several of them in
    a tuple: replies of their own, as SSUBSCRIBE has.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.commands: list[list[bytes]] = []
        self.role = b"master"
        self.port = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._server.wait_closed()

    async def _serve(self, stream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        reader = hiredis.Reader(notEnoughData=...)
        try:
            while data := await stream.read(65536):
                reader.feed(data)
                while (command := reader.gets()) is not ...:
                    writer.write(self._reply_to(command))
        except ConnectionError:
            pass  # the client has gone
        finally:
            self._writers.discard(writer)
            writer.close()

    def _reply_to(self, command: list[bytes]) -> bytes:
        command = [command[0].upper(), *command[1:]]
        if command[0] == b"CLIENT":
            return b"+OK\r\n"
        if command[0] == b"HELLO":
            return _encoded([b"proto", 2, b"mode", b"standalone", b"role", self.role])
        self.commands.append(command)
        answer = self.answer(command)
        return b"".join(map(_encoded, answer)) if isinstance(answer, tuple) else _encoded(answer)


def _encoded(answer: Any) -> bytes:
    if answer is None:
        return b"$-1\r\n"
    if isinstance(answer, Exception):
        return b"-%b\r\n" % str(answer).encode()
    if isinstance(answer, int):
        return b":%d\r\n" % answer
    if isinstance(answer, list):
        return b"*%d\r\n" % len(answer) + b"".join(map(_encoded, answer))
    return b"$%d\r\n%b\r\n" % (len(answer), answer)


__all__ = ["FakeRedis"]
