"""The yardstick of calls: a server that does nothing but answer, with the options of ours and no interceptors.

    python -m rami_cli.bench_echo

Answers are as long as the first four bytes of a request say (big-endian). `Call` is a unary call, `Talk` answers every
message of a stream, `Watch` is a stream that writes whenever it is told to, and `Drive` tells all of them, again and
again for a time, as soon as everybody has written. Its answer is how many messages were written.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import time
from typing import TYPE_CHECKING, Any, Final

import grpc
import grpc.aio
import uvloop

from rami_kit.server import make_server
from rami_kit.settings import ServiceSettings
from rami_kit.testing import make_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SERVICE: Final = "rami.bench.Echo"
SIZE: Final = struct.Struct(">I")
DRIVE: Final = struct.Struct(">Id")
"""Bytes of a message, seconds."""
LOOK_SECONDS: Final = 0.005
LARGEST: Final = 1 << 16
NO_STORE: Final = "redis://127.0.0.1:1"
"""Settings want one; nobody connects to it."""
_ANSWER: Final = b"x" * LARGEST


def echo_request(length: int, answer_length: int) -> bytes:
    """A request so long, but at least as long as the number in it, for an answer so long."""
    return SIZE.pack(min(answer_length, LARGEST)).ljust(length, b"x")


class Echo:
    """The handlers."""

    def __init__(self) -> None:
        self._watchers: set[asyncio.Queue[bytes]] = set()

    async def call(self, request: bytes, _: object) -> bytes:
        """A unary call."""
        return _ANSWER[: SIZE.unpack_from(request)[0]]

    async def talk(self, requests: AsyncIterator[bytes], _: object) -> AsyncIterator[bytes]:
        """An answer for every message."""
        async for request in requests:
            yield _ANSWER[: SIZE.unpack_from(request)[0]]

    async def watch(self, _request: bytes, _: object) -> AsyncIterator[bytes]:
        """A message whenever there is one; an empty one first."""
        due: asyncio.Queue[bytes] = asyncio.Queue()
        self._watchers.add(due)
        try:
            yield b""
            while True:
                yield await due.get()
        finally:
            self._watchers.discard(due)

    async def drive(self, request: bytes, _: object) -> bytes:
        """A message for everybody, and again when all have taken theirs."""
        size, seconds = DRIVE.unpack(request)
        message, written, until = _ANSWER[:size], 0, time.monotonic() + seconds
        while time.monotonic() < until:
            for due in self._watchers:
                due.put_nowait(message)
            written += len(self._watchers)
            while any(not due.empty() for due in self._watchers):  # noqa: ASYNC110 - a look costs less than a signal each
                await asyncio.sleep(LOOK_SECONDS)
        return SIZE.pack(written)


async def serve() -> None:
    """Serves until the process is ended."""
    server = make_server(make_settings(ServiceSettings, NO_STORE))
    echo = Echo()
    handlers: dict[str, Any] = {
        "Call": grpc.unary_unary_rpc_method_handler(echo.call),
        "Talk": grpc.stream_stream_rpc_method_handler(echo.talk),
        "Watch": grpc.unary_stream_rpc_method_handler(echo.watch),
        "Drive": grpc.unary_unary_rpc_method_handler(echo.drive),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(json.dumps({"service": "echo", "port": port}), flush=True)
    await server.wait_for_termination()


def main() -> int:
    """The process; ended by a signal."""
    uvloop.run(serve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
