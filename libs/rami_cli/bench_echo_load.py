"""Load on the yardstick: as many calls or messages as go through, or as many a second as are asked for."""

from __future__ import annotations

import asyncio
import contextlib
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import grpc.aio

from rami_cli.bench_echo import SERVICE, echo_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rami_cli.bench_harness import Server

CONNECTIONS: Final = 8
CALL_SECONDS: Final = 30.0


@asynccontextmanager
async def channels_to(target: str, count: int = CONNECTIONS) -> AsyncIterator[list[grpc.aio.Channel]]:
    """Channels with connections of their own."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.aio.insecure_channel(target, options) for _ in range(count)]
    try:
        yield channels
    finally:
        for channel in channels:
            await channel.close()


async def cpu_of_calls(server: Server, seconds: float, *, length: int, answer_length: int, callers: int = 64) -> float:
    """Processor seconds of a unary echo, with so many under way."""
    request = echo_request(length, answer_length)
    done = 0

    async def call_on(channel: grpc.aio.Channel, until: float) -> None:
        nonlocal done
        method: Any = channel.unary_unary(f"/{SERVICE}/Call")
        while time.monotonic() < until:
            await method(request, timeout=CALL_SECONDS)
            done += 1

    async with channels_to(server.target) as channels:
        await asyncio.gather(*(channel.channel_ready() for channel in channels))
        before, until = server.cpu_seconds(), time.monotonic() + seconds
        await asyncio.gather(*(call_on(channels[one % len(channels)], until) for one in range(callers)))
        return (server.cpu_seconds() - before) / done


async def cpu_of_messages(
    server: Server,
    seconds: float,
    *,
    length: int,
    answer_length: int,
    streams: int = 128,
    rate: float | None = None,
) -> tuple[float, list[float]]:
    """Processor seconds of a message on an open stream and its answer, and how long each took, in seconds.

    With a rate so many messages a second are sent altogether.
    """
    request = echo_request(length, answer_length)
    taken: list[float] = []

    async def talk_on(call: Any, until: float) -> None:
        interval = streams / rate if rate is not None else 0.0
        while (sent := time.monotonic()) < until:
            await call.write(request)
            await call.read()
            answered = time.monotonic()
            taken.append(answered - sent)
            if interval:
                await asyncio.sleep(max(0.0, sent + interval - answered))

    async with channels_to(server.target) as channels:
        calls: list[Any] = [
            channels[number % len(channels)].stream_stream(f"/{SERVICE}/Talk")() for number in range(streams)
        ]
        for call in calls:
            await call.write(request)
            await call.read()
        before, until = server.cpu_seconds(), time.monotonic() + seconds
        await asyncio.gather(*(talk_on(call, until) for call in calls))
        cost = (server.cpu_seconds() - before) / len(taken)
        for call in calls:
            call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*(call.code() for call in calls))
    return cost, taken


__all__ = ["CALL_SECONDS", "CONNECTIONS", "channels_to", "cpu_of_calls", "cpu_of_messages"]
