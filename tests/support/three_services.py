"""The three services as the processes that they are, on one store; what they write is kept for who looks into it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.request import urlopen

import grpc.aio

from rami_kit.testing import JWT_SECRET, SERVICE_SECRET

if TYPE_CHECKING:
    from asyncio.subprocess import Process

START_SECONDS = 90.0
STOP_SECONDS = 60.0
MODULES = {"ai": "ai_decision", "game": "game_state", "matchmaking": "matchmaking"}
"""In the order in which they start: each knows the addresses of those before it."""


class Running:
    """One process."""

    def __init__(self, process: Process, log: Path, told: dict[str, Any]) -> None:
        self.process = process
        self.log = log
        self.address = f"127.0.0.1:{told['port']}"
        self.channel = grpc.aio.insecure_channel(self.address)
        self._metrics = f"http://127.0.0.1:{told['metrics_port']}/metrics"

    def resident_bytes(self) -> int:
        """Memory that the process holds now."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    async def metrics(self) -> str:
        """Its Prometheus page."""

        def read() -> str:
            with urlopen(self._metrics, timeout=STOP_SECONDS) as page:
                return str(page.read().decode())

        return await asyncio.to_thread(read)

    def logged(self) -> str:
        """Everything that it has written."""
        return self.log.read_text()


class ThreeServices:
    """Use it as an async context manager; at its end every process must have ended well."""

    def __init__(self, store_url: str, logs: Path, **values: object) -> None:
        """`logs` is a folder; `values` are settings of all three, named as fields."""
        settings = {
            "host": "127.0.0.1",
            "port": 0,
            "metrics_port": 0,
            "redis_url": store_url,
            "jwt_secret": JWT_SECRET,
            "service_secret": SERVICE_SECRET,
            "drain_grace_seconds": 20,
            "redis_timeout_seconds": 30,
            "guests_allowed": True,
        } | values
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("RAMI_")}
        self._environment |= {f"RAMI_{name.upper()}": str(value) for name, value in settings.items()}
        self._logs = logs
        self._stack = AsyncExitStack()
        self.services: dict[str, Running] = {}

    def __getitem__(self, name: str) -> Running:
        return self.services[name]

    async def __aenter__(self) -> Self:
        async with self._stack:
            for name, module in MODULES.items():
                self.services[name] = running = await self._start(name, module)
                self._environment[f"RAMI_{name.upper()}_ADDRESS"] = running.address
            self._stack = self._stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _start(self, name: str, module: str) -> Running:
        log = self._logs / f"{name}.log"
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                module,
                env=self._environment,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
            )
        self._stack.push_async_callback(_end, process, name)
        assert process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            line = await process.stdout.readline()
        assert line, f"{name} ended before it served:\n{log.read_text()}"
        running = Running(process, log, json.loads(line))
        self._stack.push_async_callback(running.channel.close)
        return running


async def _end(process: Process, name: str) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
    assert process.returncode == 0, f"{name} ended with code {process.returncode}"
