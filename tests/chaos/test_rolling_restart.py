"""A rolling restart of two replicas while many people play, and replicas that are added behind one name (G6, G7)."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2

from support.chaos_checker import check_file
from support.chaos_journal import Ended, read_journal
from support.chaos_site import MEMORY, Site
from support.chaos_tables import Kind, Table

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from support.chaos_processes import Nursery

LONG_SECONDS = 900
THINK_SECONDS = 0.2
"""How long a player takes over an action, on average: many play, and nobody hurries."""
PATIENT = {"RAMI_REDIS_TIMEOUT_SECONDS": "20"}
"""Nothing happens to the store here: a busy machine that keeps it waiting is no reason not to serve for a moment."""
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Heard(NamedTuple):
    """What somebody who watches the health of a process was told, and how that ended."""

    statuses: list[int]
    code: grpc.StatusCode


@asynccontextmanager
async def health_watched(port: int) -> AsyncIterator[asyncio.Task[Heard]]:
    """Watches the health of a process to its end; returns once it has said that it serves."""
    serving = asyncio.Event()

    async def watch(channel: grpc.aio.Channel) -> Heard:
        call: Any = channel.unary_stream(
            "/grpc.health.v1.Health/Watch",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )(health_pb2.HealthCheckRequest())
        statuses: list[int] = []
        with suppress(grpc.aio.AioRpcError):
            async for answer in call:
                statuses.append(answer.status)
                serving.set()
        return Heard(statuses, await call.code())

    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        watching = asyncio.create_task(watch(channel))
        try:
            async with asyncio.timeout(30):
                await serving.wait()
            yield watching
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


async def roll(tables: int, rounds: int, directory: Path, nursery: Nursery) -> None:
    """Restart each of two replicas in turn, while two people play at each of so many tables."""
    async with Site(MEMORY, directory, nursery, bots=None, environment=PATIENT) as site:
        played = [Table(site, Kind.DUEL, f"duel{number}", f"{number}") for number in range(tables)]
        for table in played:
            table.think_seconds = THINK_SECONDS
        await asyncio.gather(*(table.open() for table in played))
        for _ in range(rounds):
            for replica in site.replicas:
                async with health_watched(replica.process.port) as watching:
                    assert await site.stop_replica(replica) == 0
                    async with asyncio.timeout(30):
                        heard = await watching
                    assert heard == ([SERVING, NOT_SERVING], grpc.StatusCode.UNAVAILABLE)
                assert await site.goes_on(f"{replica.process.name} has drained")
                await site.start_replica(replica)
                assert await site.goes_on(f"{replica.process.name} is back")
        await asyncio.gather(*(table.finish() for table in played))
        for table in played:
            await table.close()
    report = check_file(site.journal.path)
    print(f"\n{2 * tables} clients, {2 * rounds} restarts: {report}")  # noqa: T201 - with -s, what it has been through
    assert not report.findings, f"see {site.journal.path}:\n{report}"
    assert report.counts["streams resumed"] >= tables
    assert report.counts["acknowledgements that stand"] > tables
    ends = {(end.code, end.reason) for end in read_journal(site.journal.path) if isinstance(end, Ended)}
    assert ("UNAVAILABLE", "SHUTTING_DOWN") in ends
    # Besides: what `finish` cuts off, streams opened at a replica that was not there, and a store that a busy machine
    # has kept waiting.
    away = {("UNAVAILABLE", reason) for reason in ("SHUTTING_DOWN", "STORE_UNAVAILABLE", "")}
    assert ends <= {*away, ("CANCELLED", ""), ("OK", "")}, ends


async def test_g6_a_rolling_restart_loses_and_doubles_nothing(tmp_path: Path, nursery: Nursery) -> None:
    await roll(5, 1, tmp_path, nursery)


@pytest.mark.chaos_long
@pytest.mark.timeout(LONG_SECONDS)
async def test_g6_a_rolling_restart_under_50_clients_loses_and_doubles_nothing(
    tmp_path: Path, nursery: Nursery
) -> None:
    await roll(25, 2, tmp_path, nursery)
