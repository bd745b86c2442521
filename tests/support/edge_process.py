"""The edge as a process of its own in front of services that a test makes up."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2_grpc

from rami_kit import health

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

START_SECONDS = 60.0
STOP_SECONDS = 60.0


class FakeService:
    """A server that answers every unary call with an empty message, and remembers whose calls have come.

    Calls to methods named in `streams` stay open, after a first empty message, until the client goes or `end_streams`
    is set. `gate` holds unary calls back while it is clear.
    """

    def __init__(self, streams: frozenset[str] = frozenset({"Play", "WatchRoom"})) -> None:
        self.streams = streams
        self.calls: list[tuple[str, dict[str, str]]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.end_streams = asyncio.Event()
        self.waiting = 0
        self.refusal: grpc.StatusCode | None = None
        self.health = health.HealthServicer()
        self.health.set_serving(True)
        self.address = ""
        self._server: grpc.aio.Server | None = None

    def rooms(self) -> set[str]:
        """The rooms whose calls have come."""
        return {metadata["rami-room-id"] for _, metadata in self.calls if "rami-room-id" in metadata}

    async def start(self) -> None:
        server = self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        server.add_generic_rpc_handlers((_Everything(self),))
        _add_health(self.health, server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        self.address = f"127.0.0.1:{port}"

    async def stop(self, grace: float | None = None) -> None:
        self.gate.set()
        self.end_streams.set()
        if self._server is not None:
            await self._server.stop(grace)

    async def unary(self, path: str, context: grpc.aio.ServicerContext[Any, Any]) -> bytes:
        self._remember(path, context)
        self.waiting += 1
        try:
            await self.gate.wait()
        finally:
            self.waiting -= 1
        if self.refusal is not None:
            await context.abort(self.refusal, "as the test wants it")
        return b""

    async def stream(self, path: str, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[bytes]:
        self._remember(path, context)
        yield b""
        await self.end_streams.wait()
        yield b""

    def _remember(self, path: str, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        metadata = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
        self.calls.append((path, metadata))


class _Everything(grpc.GenericRpcHandler):
    """Handles whatever comes, but for health, which has a handler of its own."""

    def __init__(self, service: FakeService) -> None:
        self._service = service

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        path = handler_call_details.method
        if path.startswith("/grpc.health."):
            return None
        if path.rpartition("/")[2] in self._service.streams:

            async def stream(_request: Any, context: Any) -> AsyncIterator[bytes]:
                async for message in self._service.stream(path, context):
                    yield message

            return grpc.stream_stream_rpc_method_handler(stream)

        async def unary(_request: bytes, context: Any) -> bytes:
            return await self._service.unary(path, context)

        return grpc.unary_unary_rpc_method_handler(unary)


def _add_health(servicer: health.HealthServicer, server: grpc.aio.Server) -> None:
    stub: Any = servicer
    health_pb2_grpc.add_HealthServicer_to_server(stub, server)


@asynccontextmanager
async def fake_services(count: int = 1) -> AsyncIterator[list[FakeService]]:
    """So many servers on ports of their own."""
    services = [FakeService() for _ in range(count)]
    try:
        for service in services:
            await service.start()
        yield services
    finally:
        for service in services:
            await service.stop()


class Edge:
    """A running edge."""

    def __init__(self, process: asyncio.subprocess.Process, ready: dict[str, Any]) -> None:
        self.process = process
        self.target = f"127.0.0.1:{ready['port']}"
        self.metrics = f"127.0.0.1:{ready['metrics_port']}"
        self.log = ""

    async def end(self, *signals: signal.Signals) -> int:
        """Sends signals, and reads the log to its end; the exit code."""
        for number in signals:
            self.process.send_signal(number)
        assert self.process.stderr is not None
        async with asyncio.timeout(STOP_SECONDS):
            self.log += (await self.process.stderr.read()).decode()
            return await self.process.wait()


def edge_environment(game: list[FakeService], **settings: str) -> dict[str, str]:
    """The environment of an edge on free ports; keywords are settings without RAMI_EDGE_."""
    addresses = ",".join(service.address for service in game)
    named = {
        "HOST": "127.0.0.1",
        "PORT": "0",
        "METRICS_PORT": "0",
        "GAME_ADDRESSES": addresses,
        "MATCHMAKING_ADDRESSES": addresses,
        "DRAIN_SECONDS": "0",
        **settings,
    }
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAMI_")}
    return clean | {f"RAMI_EDGE_{name}": value for name, value in named.items()}


@asynccontextmanager
async def running_edge(game: list[FakeService], **settings: str) -> AsyncIterator[Edge]:
    """An edge in front of the services, ended in good order."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "rami_cli.edge_process"),
        env=edge_environment(game, **settings),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        async with asyncio.timeout(START_SECONDS):
            line = await process.stdout.readline()
            assert line, (await process.stderr.read()).decode()
        edge = Edge(process, json.loads(line))
        yield edge
        if process.returncode is None:
            assert await edge.end(signal.SIGTERM) == 0, edge.log
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
