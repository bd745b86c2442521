"""The AI service in the test's own loop, over real worker processes and real gRPC, and as a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import urlopen

import grpc.aio

from ai_decision.config import AiSettings
from ai_decision.service import SERVICE_NAME, build
from rami.ai.v1 import decision_service_pb2_grpc
from rami_kit.testing import JWT_SECRET, SERVICE_SECRET, channel_to, make_settings, running_app, service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from rami.ai.v1.decision_service_pb2_grpc import DecisionServiceAsyncStub
    from rami_kit.app import App

CALL_SECONDS = 60.0


def caller() -> tuple[tuple[str, str], ...]:
    """Call metadata of a service that may call; a token lives for a minute, so every call gets its own."""
    return service("rami-ai")


class Served(NamedTuple):
    """A running service and a stub that calls it."""

    app: App
    stub: DecisionServiceAsyncStub
    channel: grpc.aio.Channel


@asynccontextmanager
async def serving(**settings: int) -> AsyncIterator[Served]:
    """The service in this loop."""
    async with (
        running_app(make_settings(AiSettings, None, drain_grace_seconds=30.0, **settings), build, SERVICE_NAME) as app,
        channel_to(app) as channel,
    ):
        yield Served(app, decision_service_pb2_grpc.DecisionServiceStub(channel), channel)


@asynccontextmanager
async def calling(process: ServiceProcess) -> AsyncIterator[DecisionServiceAsyncStub]:
    """A stub that calls a service process."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{process.port}") as channel:
        yield decision_service_pb2_grpc.DecisionServiceStub(channel)


class ServiceProcess:
    """`python -m ai_decision` as a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, metrics_port: int) -> None:
        self.process = process
        self.port = port
        self.metrics_port = metrics_port

    @property
    def pid(self) -> int:
        return self.process.pid

    def worker_pids(self) -> list[int]:
        return workers_of(self.pid)

    async def sampled(self, line: str, value: float) -> None:
        """Returns when a line of the Prometheus page has a value."""
        async with asyncio.timeout(CALL_SECONDS):
            while await self.sample(line) != value:  # noqa: ASYNC110 - the page of another process has no event
                await asyncio.sleep(0.01)

    async def sample(self, line: str) -> float:
        """The value of a line of the Prometheus page, given by name and labels."""
        with await asyncio.to_thread(
            urlopen, f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=CALL_SECONDS
        ) as page:
            rows = page.read().decode().splitlines()
        return next(float(row.rpartition(" ")[2]) for row in rows if row.startswith(line + " "))

    async def end(self) -> int:
        """SIGTERM, and the exit code."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(CALL_SECONDS):
            return await self.process.wait()


def workers_of(parent: int) -> list[int]:
    """The living worker processes of a process."""
    return [pid for pid, parent_of in _processes() if parent_of == parent and _is_worker(pid)]


@contextmanager
def held_workers() -> Iterator[None]:
    """The workers of this process's services are held: what they are given stays undecided until the end of it."""
    pids = workers_of(os.getpid())
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def living(pids: list[int]) -> set[int]:
    """Those of some processes that live."""
    return {pid for pid, _ in _processes()} & set(pids)


def _is_worker(pid: int) -> bool:
    try:
        return b"ai_decision.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False  # it ended while we looked


def _processes() -> list[tuple[int, int]]:
    """Process and parent ids of all that live; zombies do not."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue  # it ended while we looked
            if state != "Z":
                found.append((int(entry.name), int(parent)))
    return found


@asynccontextmanager
async def service_process(**settings: str) -> AsyncIterator[ServiceProcess]:
    """The service as a process that serves; ended at the end, its workers too."""
    environment = os.environ | {
        "RAMI_HOST": "127.0.0.1",
        "RAMI_PORT": "0",
        "RAMI_METRICS_PORT": "0",
        "RAMI_JWT_SECRET": JWT_SECRET,
        "RAMI_SERVICE_SECRET": SERVICE_SECRET,
        "RAMI_DRAIN_GRACE_SECONDS": "60",
        **{f"RAMI_{name.upper()}": value for name, value in settings.items()},
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "ai_decision", env=environment, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(CALL_SECONDS):
            line = json.loads(await process.stdout.readline())
        assert line["service"] == "ai"
        yield ServiceProcess(process, line["port"], line["metrics_port"])
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
