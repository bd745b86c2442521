"""Processes that are measured: started on leashes, kept off the load generator's CPU, and asked what they have used.

    async with Site() as site:
        echo = await site.echo()
        game = await site.game()
        before = game.cpu_seconds()

The process of `rami bench` is the load generator. Where there is `taskset` and more than one CPU, it stays on the last
CPU and servers on the others. Cost is processor time as Linux accounts it, user and system, threads and the workers
of a service included: waiting costs nothing, and a busy machine changes it far less than it changes the clock.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from rami_cli import bench_cluster, store_process
from rami_cli.child import Child, ChildSpec
from rami_kit.testing import JWT_SECRET, SERVICE_SECRET

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from rami_cli.child import Ready

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 10.0
NOBODY: Final = "127.0.0.1:1"
"""An address at which nobody listens, for parts that need no such service."""
_PROC: Final = Path("/proc")


class BenchError(Exception):
    """A measurement that cannot be made here; the text says why."""


class Server:
    """A running process and what it uses."""

    def __init__(self, child: Child, ready: Ready) -> None:
        assert child.pid is not None
        self._child = child
        self.pid: int = child.pid
        self.ready = ready

    @property
    def target(self) -> str:
        """Its gRPC target."""
        return f"127.0.0.1:{self.ready['port']}"

    def cpu_seconds(self, *, workers: bool = True) -> float:
        """Processor time used so far, with that of its child processes, living and gone, unless they are left out."""
        return sum(_cpu_seconds(pid, gone=workers) for pid in (self.pids() if workers else [self.pid]))

    def thread_seconds(self, name: str) -> float:
        """Processor time used so far by the threads of the process that the system calls so."""
        tasks = (_PROC / str(self.pid) / "task").iterdir()
        return sum(_stat_seconds(task, gone=False) for task in tasks if (task / "comm").read_text().strip() == name)

    def resident_bytes(self) -> list[int]:
        """Resident memory of the process, then of each of its children."""
        return [_resident_bytes(pid) for pid in self.pids()]

    def pids(self) -> list[int]:
        """The process, then its children and theirs."""
        found = [self.pid]
        for pid in found:
            for listing in (_PROC / str(pid) / "task").glob("*/children"):
                found += map(int, listing.read_text().split())
        return found

    async def counted(self, name: str, **labels: str) -> float:
        """The sum of a metric over the series that have these labels, from the service's own page."""
        page = await asyncio.to_thread(_page, f"http://127.0.0.1:{self.ready['metrics_port']}/metrics")
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        return sum(
            float(line.rpartition(" ")[2])
            for line in page.splitlines()
            if line.partition("{")[0].partition(" ")[0] == name and all(one in line for one in wanted)
        )

    async def stop(self) -> None:
        """Ends it."""
        await self._child.stop(STOP_SECONDS)


class Site:
    """The processes of one measurement, ended with it. Raises BenchError where costs cannot be read."""

    def __init__(self, *, apart: bool = True) -> None:
        """`apart`: generator and servers get CPUs of their own; else they share all, for work that needs them."""
        if not (_PROC / "self/stat").exists():
            raise BenchError("measuring processor time needs Linux's /proc")
        self._folder = Path(tempfile.mkdtemp(prefix="rami-bench-"))
        self._children: list[Child] = []
        self._whole = os.sched_getaffinity(0)
        cpus = sorted(self._whole)
        taskset = shutil.which("taskset")
        self.pinned = apart and taskset is not None and len(cpus) > 1
        """Whether generator and servers have CPUs of their own."""
        others = ",".join(map(str, cpus[:-1]))
        self._prefix: tuple[str, ...] = (taskset, "-c", others) if taskset is not None and self.pinned else ()
        self._own = {cpus[-1]}

    async def __aenter__(self) -> Self:
        if self.pinned:
            os.sched_setaffinity(0, self._own)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            while self._children:
                await self._children[-1].stop(STOP_SECONDS)
                self._children.pop()
        finally:
            os.sched_setaffinity(0, self._whole)
            store_process.remove_folder(self._folder)

    async def echo(self) -> Server:
        """The yardstick of calls."""
        return await self.start("echo", "rami_cli.bench_echo")

    async def store(self) -> Server:
        """An embedded store, with its log written once a second; `cpu_seconds` covers the store alone."""
        directory = self._folder / f"store-{len(self._children)}"
        directory.mkdir()
        return await self.start("store", store_process.__name__, str(directory))

    async def cluster(self) -> Server:
        """A cluster of three stores, likewise."""
        directory = self._folder / f"cluster-{len(self._children)}"
        directory.mkdir()
        return await self.start("cluster", bench_cluster.__name__, str(directory))

    async def game(self, store_url: str, ai_target: str = NOBODY, **settings: str) -> Server:
        """A game service."""
        return await self._service("game_state", REDIS_URL=store_url, AI_ADDRESS=ai_target, **settings)

    async def ai(self, workers: int) -> Server:
        """An AI service."""
        return await self._service("ai_decision", WORKERS=str(workers))

    async def matchmaking(self, store_url: str, game_target: str) -> Server:
        """A matchmaking service."""
        return await self._service("matchmaking", REDIS_URL=store_url, GAME_ADDRESS=game_target)

    async def _service(self, module: str, **settings: str) -> Server:
        shared = {
            "MODE": "production",
            "HOST": "127.0.0.1",
            "PORT": "0",
            "METRICS_PORT": "0",
            "LOG_LEVEL": "WARNING",
            "JWT_SECRET": JWT_SECRET,
            "SERVICE_SECRET": SERVICE_SECRET,
        }
        environment = {f"RAMI_{name}": value for name, value in (shared | settings).items()}
        server = await self.start(module, module, environment=environment)
        await serving(server.target)
        return server

    async def start(
        self, name: str, module: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> Server:
        """Starts a module that says in a line when it is ready. Raises ChildDiedError.

        Settings of the shell that runs the bench do not reach it: a measurement depends on what it names alone.
        """
        known = {key: value for key, value in os.environ.items() if not key.startswith("RAMI_")}
        command = (*self._prefix, sys.executable, "-m", module, *arguments)
        spec = ChildSpec(name, command, known | dict(environment or {}))
        child = Child(spec, self._folder / f"{name}-{len(self._children)}.log")
        self._children.append(child)
        return Server(child, await child.start(START_SECONDS))


async def serving(target: str) -> None:
    """Waits until a service says SERVING. Raises BenchError when it does not within START_SECONDS."""
    try:
        async with asyncio.timeout(START_SECONDS), grpc.aio.insecure_channel(target) as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            while True:
                try:
                    answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=1.0)
                    if answer.status == health_pb2.HealthCheckResponse.SERVING:
                        return
                except grpc.aio.AioRpcError:
                    pass  # not listening yet
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise BenchError(f"{target} is not SERVING after {START_SECONDS:g} s") from None


def _cpu_seconds(pid: int, *, gone: bool) -> float:
    """User and system time of a process, and of its children that have ended and been waited for."""
    return _stat_seconds(_PROC / str(pid), gone=gone)


def _stat_seconds(place: Path, *, gone: bool) -> float:
    fields = (place / "stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11 : 15 if gone else 13])) / os.sysconf("SC_CLK_TCK")


def _resident_bytes(pid: int) -> int:
    status = (_PROC / str(pid) / "status").read_text()
    return next(1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))


def _page(url: str) -> str:
    with urllib.request.urlopen(url) as page:  # noqa: S310 - ours, on loopback
        text: str = page.read().decode()
    return text


__all__ = ["NOBODY", "BenchError", "Server", "Site", "serving"]
