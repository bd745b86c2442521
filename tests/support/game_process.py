"""The game service as a process of its own, to be killed: `python -m game_state`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.request
from typing import TYPE_CHECKING, Any, Self

import grpc.aio

from rami_kit.testing import JWT_SECRET, SERVICE_SECRET
from support.game_cluster import NO_BOTS, PATIENT, Player

if TYPE_CHECKING:
    from asyncio.subprocess import Process

START_SECONDS = 60.0


class GameProcess:
    """One process. `values` are settings, named as the fields of GameSettings."""

    def __init__(self, store_url: str, *, ai_address: str = NO_BOTS, **values: Any) -> None:
        settings = (
            PATIENT
            | {
                "host": "127.0.0.1",
                "port": 0,
                "metrics_port": 0,
                "redis_url": store_url,
                "ai_address": ai_address,
                "jwt_secret": JWT_SECRET,
                "service_secret": SERVICE_SECRET,
                "drain_grace_seconds": 10,
            }
            | values
        )
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("RAMI_")}
        self._environment |= {f"RAMI_{name.upper()}": str(value) for name, value in settings.items()}
        self._process: Process | None = None
        self.channel: grpc.aio.Channel | None = None
        self.port = 0
        self._metrics_port = 0

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "game_state",
            env=self._environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert self._process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            line = await self._process.stdout.readline()
        said = json.loads(line)
        self.port, self._metrics_port = said["port"], said["metrics_port"]
        self.channel = grpc.aio.insecure_channel(self.target)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()
        if self.channel is not None:
            await self.channel.close()

    @property
    def target(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    async def sampled(self, sample: str, value: float) -> None:
        """Waits until a metric, named with its labels as on the metrics page, has a value; 0 where there is none."""
        url = f"http://127.0.0.1:{self._metrics_port}/metrics"
        async with asyncio.timeout(START_SECONDS):
            while True:
                page = await asyncio.to_thread(
                    lambda: urllib.request.urlopen(url, timeout=START_SECONDS).read().decode()
                )
                found = [line for line in page.splitlines() if line.startswith(f"{sample} ")]
                if value == (float(found[0].rpartition(" ")[2]) if found else 0):
                    return
                await asyncio.sleep(0.05)

    def player(self, name: str) -> Player:
        assert self.channel is not None
        return Player(name, self.channel)

    async def kill(self) -> None:
        """The hard way, as kill -9: no handler runs."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def drain(self) -> int:
        """SIGTERM, and the exit code that it ends with."""
        assert self._process is not None
        self._process.terminate()
        async with asyncio.timeout(START_SECONDS):
            return await self._process.wait()
