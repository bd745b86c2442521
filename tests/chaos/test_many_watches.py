"""Watches at their full number on one real replica, and what they cost others (G1, G2, G3).

The short part holds fewer of them for less long. Figures are printed, with -s, and asserted nowhere: machines differ.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2

from rami_kit import server
from support.game_cluster import CALL_SECONDS, Player, game_cluster, room_options
from support.game_process import GameProcess
from support.game_store import StoreView
from support.game_streams import Watch
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from rami.game.v1 import game_service_pb2 as pb
    from rami.game.v1 import room_pb2

LONG_SECONDS = 900
CHANNELS = 10
LEFT_OVER_BYTES = 24 << 20
"""More than the allocator keeps for later; a watch that is left behind costs some 30 kB."""


class Scale(NamedTuple):
    """How many of what."""

    watches: int
    rounds: int
    calls: int


SHORT, FULL = Scale(100, 2, 50), Scale(500, 10, 500)


@asynccontextmanager
async def watching(process: GameProcess, room: room_pb2.Room, count: int) -> AsyncIterator[list[Watch]]:
    """So many spectators of a room, each with a snapshot, over a few connections."""
    async with AsyncExitStack() as stack:
        channels = []
        for number in range(CHANNELS):
            options = [("grpc.use_local_subchannel_pool", 1), ("rami.number", number)]
            channels.append(await stack.enter_async_context(grpc.aio.insecure_channel(process.target, options)))
        watches = [Watch(Player(f"w{n}", channels[n % CHANNELS]), room.room_id) for n in range(count)]
        for watch in watches:
            stack.push_async_callback(watch.close)
        await asyncio.gather(*(watch.read() for watch in watches))
        yield watches


async def begun(process: GameProcess) -> tuple[room_pb2.Room, tuple[Player, Player]]:
    """A match of two, and its players."""
    ann, bob = process.player("ann"), process.player("bob")
    room = await ann.create(room_options(2))
    await bob.join(room.room_id)
    await ann.start(room.room_id)
    return room, (ann, bob)


async def act(players: tuple[Player, Player], room: room_pb2.Room) -> int:
    """One action of whoever is to move; the version that it made."""
    for player in players:
        legal = (await player.view(room.room_id)).legal_actions
        if legal.actions:
            return (await player.submit(room.room_id, legal.version, legal.actions[0])).event.version
    raise AssertionError("nobody is to move")


def tell(what: str, seconds: Sequence[float]) -> None:
    percentiles = quantiles(seconds, n=100)
    text = f"p50 {percentiles[49] * 1000:.1f} ms, p99 {percentiles[98] * 1000:.1f} ms"
    print(f"\n{what}: {text}")  # noqa: T201 - with -s, what was measured


async def watch_many(store_url: str, scale: Scale) -> None:
    async with GameProcess(store_url, max_streams=scale.watches, max_streams_per_player=0) as process:
        room, players = await begun(process)
        async with watching(process, room, scale.watches) as watches:
            refused = Watch(process.player("late"), room.room_id)
            end = await refused.end()
            assert (end.code, end.reason) == ("RESOURCE_EXHAUSTED", "LIMIT_REACHED")
            check: Any = process.channel.unary_unary(  # type: ignore[union-attr]  # open while it is used
                "/grpc.health.v1.Health/Check",
                request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                response_deserializer=health_pb2.HealthCheckResponse.FromString,
            )
            views, healths = [], []
            for _ in range(scale.calls):
                began = time.perf_counter()
                await players[0].view(room.room_id)
                views.append(time.perf_counter() - began)
                began = time.perf_counter()
                answer = await check(health_pb2.HealthCheckRequest(), timeout=CALL_SECONDS)
                healths.append(time.perf_counter() - began)
                assert answer.status == health_pb2.HealthCheckResponse.SERVING
            tell(f"GetView beside {scale.watches} watches", views)
            tell(f"health beside {scale.watches} watches", healths)
            began = time.perf_counter()
            version = await act(players, room)
            await asyncio.gather(*(watch.until_version(version) for watch in watches))
            print(f"all watches told of a step after {(time.perf_counter() - began) * 1000:.0f} ms")  # noqa: T201
            assert all(watch.versions == [version] for watch in watches)
            await watches[0].close()
            await process.sampled('rami_game_watchers{viewer="spectator"}', scale.watches - 1)
            # The watcher is gone, and then its place among the streams is free.
            await process.sampled('rami_grpc_in_flight{method="rami.game.v1.GameService/WatchRoom"}', scale.watches - 1)
            async with Watch(process.player("late"), room.room_id) as late:
                await late.read()


async def open_and_cancel(store_url: str, scale: Scale) -> None:
    async with GameProcess(store_url, max_streams_per_player=0) as process:
        room, players = await begun(process)
        sizes = []
        for number in range(scale.rounds):
            async with watching(process, room, 2 * scale.watches) as watches:
                if number % 2:
                    await act(players, room)
                assert len(watches) == 2 * scale.watches
            for viewer in ("seat", "spectator"):
                await process.sampled(f'rami_game_watchers{{viewer="{viewer}"}}', 0)
            await process.sampled('rami_grpc_in_flight{method="rami.game.v1.GameService/WatchRoom"}', 0)
            with StoreView(store_url) as store:
                await eventually(lambda store=store: store.channels() == [], "no subscription is left")  # type: ignore[misc]
            sizes.append(resident_bytes(process.pid))
        print(f"\nmemory after each round, in MB: {[size >> 20 for size in sizes]}")  # noqa: T201 - with -s
        assert sizes[-1] - sizes[len(sizes) // 2 - 1] < LEFT_OVER_BYTES


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


async def test_g2_watches_leave_others_alone_and_have_a_limit(store_url: str) -> None:
    await watch_many(store_url, SHORT)


@pytest.mark.chaos_long
@pytest.mark.timeout(LONG_SECONDS)
async def test_g2_500_watches_leave_others_alone_and_have_a_limit(store_url: str) -> None:
    await watch_many(store_url, FULL)


@pytest.mark.chaos_long
@pytest.mark.timeout(LONG_SECONDS)
async def test_g3_1000_watches_opened_and_cancelled_leave_nothing(store_url: str) -> None:
    await open_and_cancel(store_url, FULL)


async def stay_silent(store_url: str, *, ping_seconds: float, silent_seconds: float) -> grpc.StatusCode | None:
    """A client that pings watches a room in which nothing happens; how that ends, None when it hears the next step."""
    async with game_cluster(store_url, heartbeat_seconds=2 * LONG_SECONDS) as cluster:
        room = await cluster.player("ann").create(room_options(2))
        options = [
            ("grpc.keepalive_time_ms", round(ping_seconds * 1000)),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.use_local_subchannel_pool", 1),
        ]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{cluster.apps[0].port}", options) as channel:
            watch = Watch(Player("eve", channel), room.room_id)
            await watch.read()
            reading = asyncio.create_task(watch.call.read())
            await asyncio.wait({reading}, timeout=silent_seconds)
            if reading.done():
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
                code: grpc.StatusCode = await watch.call.code()
                return code
            joined = await cluster.player("bob").join(room.room_id)
            message: pb.WatchRoomResponse = await reading
            assert message.events[0].version == joined.room.version
            await watch.close()
    return None


async def test_g1_a_client_that_pings_a_silent_watch_is_not_cut_off(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CLIENT_PING_SECONDS", 0.1)
    assert await stay_silent(store_url, ping_seconds=0.2, silent_seconds=2) is None
    # And so it would be, if the server allowed no such pings: the client does ping.
    monkeypatch.setattr(server, "CLIENT_PING_SECONDS", 300)
    assert await stay_silent(store_url, ping_seconds=0.2, silent_seconds=CALL_SECONDS) is grpc.StatusCode.UNAVAILABLE


@pytest.mark.chaos_long
@pytest.mark.timeout(LONG_SECONDS)
async def test_g1_a_client_pings_every_10_s_for_5_minutes(store_url: str) -> None:
    assert await stay_silent(store_url, ping_seconds=10, silent_seconds=300) is None
