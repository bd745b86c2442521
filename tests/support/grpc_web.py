"""gRPC-Web as a browser speaks it: HTTP/1.1 POST, and the trailers as the last frame of the body."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.details import status_of_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from google.protobuf.message import Message
    from google.rpc import status_pb2

TRAILERS = 0x80
LIMIT_SECONDS = 60.0


@dataclass
class Response:
    """An answer whose head has been read; its messages come from `message`."""

    status: int
    headers: dict[str, str]
    body: asyncio.StreamReader
    chunked: bool
    trailers: dict[str, str] = field(default_factory=dict)
    _rest: bytes = b""
    _left: int = 0

    async def message(self) -> bytes | None:
        """The next message; None when the trailers have come, which are then in `trailers`."""
        async with asyncio.timeout(LIMIT_SECONDS):
            head = await self._take(5)
            if not head:
                self.trailers = self.trailers or self.headers
                return None
            payload = await self._take(int.from_bytes(head[1:], "big"))
        if head[0] & TRAILERS:
            lines = payload.decode().split("\r\n")
            self.trailers = {key: value.strip() for key, _, value in (line.partition(":") for line in lines if line)}
            return None
        return payload

    def details(self) -> status_pb2.Status:
        """The google.rpc.Status of the trailers."""
        return status_of_text(self.trailers["grpc-status-details-bin"])

    async def _take(self, size: int) -> bytes:
        while len(self._rest) < size:
            more = await self._more()
            if not more:
                assert not self._rest, "the body ended inside a frame"
                return b""
            self._rest += more
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    async def _more(self) -> bytes:
        if not self.chunked:
            more = await self.body.read(self._left)
            self._left -= len(more)
            return more
        size = int(await self.body.readline(), 16)
        chunk = await self.body.readexactly(size)
        await self.body.readexactly(2)
        return chunk


@asynccontextmanager
async def request(
    target: str, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", *, source: str = "127.0.0.1"
) -> AsyncIterator[Response]:
    """Sends one HTTP/1.1 request on a connection of its own, from an address; leaving cuts the connection."""
    host, _, port = target.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), local_addr=(source, 0))
    try:
        lines = {"host": target, "content-length": str(len(body)), **headers}
        head = "".join(f"{key}: {value}\r\n" for key, value in lines.items())
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        async with asyncio.timeout(LIMIT_SECONDS):
            status = int((await reader.readline()).split()[1])
            received: dict[str, str] = {}
            while (line := (await reader.readline()).decode().strip()) != "":
                key, _, value = line.partition(":")
                received[key.lower()] = value.strip()
        chunked = received.get("transfer-encoding") == "chunked"
        yield Response(status, received, reader, chunked, _left=int(received.get("content-length", "0")))
    finally:
        writer.close()


@asynccontextmanager
async def call(
    target: str, path: str, message: Message, *, source: str = "127.0.0.1", **metadata: str
) -> AsyncIterator[Response]:
    """Calls a method; underscores in names of metadata stand for hyphens."""
    payload = message.SerializeToString()
    headers = {
        "content-type": "application/grpc-web+proto",
        "x-grpc-web": "1",
        **{key.replace("_", "-"): value for key, value in metadata.items()},
    }
    body = b"\0" + len(payload).to_bytes(4, "big") + payload
    async with request(target, "POST", path, headers, body, source=source) as response:
        yield response
