"""The yardstick of calls: a server that does nothing but answer, with the options of ours and no interceptors.

    python -m rami_cli.bench_echo

Answers are as long as the first four bytes of a request say (big-endian). `Call` is a unary call, `Talk` answers every
message of a stream, `Watch` is a stream that writes whenever a topic is due, and `Drive` makes topics due: at a rate,
for a time. Its answer is how many messages were written.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import time
from collections import defaultdict
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
DRIVE: Final = struct.Struct(">IIdd")
"""Topics, bytes of a message, topics that are due in a second, seconds."""
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
        self._watchers: dict[int, list[asyncio.Queue[bytes]]] = defaultdict(list)

    async def call(self, request: bytes, _: object) -> bytes:
        """A unary call."""
        return _ANSWER[: SIZE.unpack_from(request)[0]]

    async def talk(self, requests: AsyncIterator[bytes], _: object) -> AsyncIterator[bytes]:
        """An answer for every message."""
        async for request in requests:
            yield _ANSWER[: SIZE.unpack_from(request)[0]]

    async def watch(self, request: bytes, _: object) -> AsyncIterator[bytes]:
        """A message whenever the topic, which the request is, is due; an empty one first."""
        due: asyncio.Queue[bytes] = asyncio.Queue()
        watchers = self._watchers[SIZE.unpack(request)[0]]
        watchers.append(due)
        try:
            yield b""
            while True:
                yield await due.get()
        finally:
            watchers.remove(due)

    async def drive(self, request: bytes, _: object) -> bytes:
        """Makes topics due, one after the other."""
        topics, size, rate, seconds = DRIVE.unpack(request)
        message, written, began = _ANSWER[:size], 0, time.monotonic()
        for number in range(round(rate * seconds)):
            wait = began + number / rate - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
            for due in self._watchers[number % topics]:
                due.put_nowait(message)
                written += 1
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
