"""A matchmaking replica in a process of its own, to be killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING

from matchmaking.config import MatchmakingSettings
from rami_kit.channels import open_channel
from rami_kit.testing import JWT_SECRET, SERVICE_SECRET, make_settings
from support.queueing import QUICK, Client
from support.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import grpc.aio


class ProcessReplica(Client):
    """The stubs of the process, and its end."""

    def __init__(self, process: asyncio.subprocess.Process, channel: grpc.aio.Channel) -> None:
        super().__init__(channel)
        self._process = process

    async def kill(self) -> None:
        """Ends it as kill -9 does."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


@contextlib.asynccontextmanager
async def running_process(store_url: str, game: str, **values: object) -> AsyncIterator[ProcessReplica]:
    """`python -m matchmaking`, serving; killed at the end if it still runs."""
    variables = {
        "host": "127.0.0.1",
        "port": 0,
        "metrics_port": 0,
        "redis_url": store_url,
        "jwt_secret": JWT_SECRET,
        "service_secret": SERVICE_SECRET,
        "game_address": game,
    }
    environment = {f"RAMI_{name.upper()}": str(value) for name, value in (variables | QUICK | values).items()}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "matchmaking", env=os.environ | environment, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(WAIT_SECONDS):
            started = json.loads(await process.stdout.readline())
        assert started["service"] == "matchmaking"
        settings = make_settings(MatchmakingSettings, store_url)
        channel = open_channel(f"127.0.0.1:{started['port']}", settings)
        replica = ProcessReplica(process, channel)
        try:
            yield replica
        finally:
            await channel.close(None)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
