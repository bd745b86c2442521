"""The part `delivery`: 1,000 watchers of 250 tables on one replica.

What delivery costs is what an action costs more with everybody watching, as fast as actions go through. Its yardstick
is a server that does nothing but write messages of as many bytes to as many streams, as fast as it can. Latency is
taken at half the rate that goes through, and runs from the player's action to the watcher's event, commit included.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1 import game_service_pb2_grpc
from rami_cli.bench_echo import DRIVE, SERVICE, SIZE
from rami_cli.bench_echo_load import channels_to
from rami_cli.bench_figures import Figure
from rami_cli.bench_harness import BenchError, Site
from rami_cli.bench_part import MICRO, Part
from rami_cli.bench_report import quantile
from rami_cli.bench_tables import Tables
from rami_kit.testing import player

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import grpc.aio

    from rami_cli.bench_harness import Server
    from rami_cli.bench_part import Bench
    from rami_cli.bench_tables import Stub

TABLES: Final = 250
WATCHERS: Final = 1_000
LOAD: Final = 0.5
OPEN_SECONDS: Final = 60.0
KILO: Final = 1024


@dataclass(slots=True)
class Heard:
    """What all watchers together have heard."""

    events: int = 0
    bytes: int = 0
    """Of the messages."""
    seconds: list[float] = field(default_factory=list)
    """From the player's action to the event."""


async def measure(bench: Bench) -> list[Figure]:
    """The figures."""
    cost = Figure("an event delivered to a watcher", "us of server", "us, bare stream write", goal=1.4)
    tail = Figure("action to watcher, p99 at half load", "ms", goal=50.0)
    middle = Figure("action to watcher, p50 at half load", "ms")
    memory = Figure("a watcher", "KB of server", "KB, bare stream", 40.0, goal_of_value=True)
    async with Site() as site:
        echo, store = await site.echo(), await site.store()
        game = await site.game(store.ready["url"])
        async with Tables([game.target], TABLES, spectators=True, name="delivery") as tables:
            for _ in bench.rounds("alone", "watched", "half", "bare"):
                bench.step("tables alone")
                tables.at_rate(None)
                alone, without = await _played(tables, game, bench.seconds)
                bench.step("tables, watched")
                empty = sum(game.resident_bytes())
                async with watching(game, tables) as watchers:
                    memory_of_one = (sum(game.resident_bytes()) - empty) / WATCHERS
                    watchers.heard = heard = Heard()
                    watched, with_watchers = await _played(tables, game, bench.seconds)
                    bench.step("at half the rate")
                    tables.at_rate(LOAD * watched / bench.seconds)
                    watchers.heard = paced = Heard()
                    await _played(tables, game, bench.seconds)
                bench.step("bare stream writes")
                size = round(heard.bytes / max(heard.events, 1))
                bare, bare_memory = await bare_writes(echo, bench.seconds, size=size)
                cost.add((with_watchers - without / alone * watched) / heard.events * MICRO, bare * MICRO)
                memory.add(memory_of_one / KILO, bare_memory / KILO)
                taken = sorted(paced.seconds)
                tail.add(quantile(taken, 0.99) * 1000)
                middle.add(quantile(taken, 0.5) * 1000)
                tail.note = f"{paced.events / bench.seconds:.0f} events a second"
    memory.note = "later runs use pages again that the first has left"
    return [cost, tail, middle, memory]


async def _played(tables: Tables, game: Server, seconds: float) -> tuple[int, float]:
    """Actions in so long, and the processor seconds of the service."""
    before = game.cpu_seconds()
    seen = await tables.play(seconds)
    await tables.settle()
    return seen.actions, game.cpu_seconds() - before


class Watchers:
    """Open watches of all tables. `heard` may be replaced by an empty one."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._open = 0
        self.all_open = asyncio.Event()
        self.heard = Heard()

    async def watch(self, channel: grpc.aio.Channel, number: int) -> None:
        """One watcher, for ever."""
        stub: Stub = game_service_pb2_grpc.GameServiceStub(channel)
        room_id = self._tables.rooms[number % TABLES]
        call = stub.WatchRoom(pb.WatchRoomRequest(room_id=room_id), metadata=player(f"watcher-{number}"))
        async for message in call:
            now = time.monotonic()
            if message.HasField("snapshot"):
                self._open += 1
                if self._open == WATCHERS:
                    self.all_open.set()
            if message.events:
                heard = self.heard
                heard.bytes += message.ByteSize()
                for event in message.events:
                    heard.events += 1
                    sent = self._tables.sent_at.get((room_id, event.version))
                    if sent is not None:
                        heard.seconds.append(now - sent)


@asynccontextmanager
async def watching(game: Server, tables: Tables) -> AsyncIterator[Watchers]:
    """All watchers, each with its snapshot. Raises BenchError when they do not all get one in time."""
    watchers = Watchers(tables)
    async with channels_to(game.target) as channels:
        tasks = [
            asyncio.create_task(watchers.watch(channels[number % len(channels)], number)) for number in range(WATCHERS)
        ]
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                await watchers.all_open.wait()
            yield watchers
        except TimeoutError:
            raise BenchError("the watchers did not all get a snapshot") from None
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def bare_writes(echo: Server, seconds: float, *, size: int) -> tuple[float, float]:
    """Processor seconds of a bare write, and bytes of a bare stream."""
    empty = sum(echo.resident_bytes())
    async with channels_to(echo.target) as channels:
        watches: list[Any] = [channel.unary_stream(f"/{SERVICE}/Watch") for channel in channels]
        drive: Any = channels[0].unary_unary(f"/{SERVICE}/Drive")
        calls = [watches[number % len(watches)](b"") for number in range(WATCHERS)]
        for call in calls:
            await call.read()
        kept = (sum(echo.resident_bytes()) - empty) / WATCHERS
        readers = [asyncio.create_task(_read_on(call)) for call in calls]
        before = echo.cpu_seconds()
        written = await drive(DRIVE.pack(size, seconds))
        used = echo.cpu_seconds() - before
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
    return used / max(SIZE.unpack(written)[0], 1), kept


async def _read_on(call: Any) -> None:
    async for _ in call:
        pass


DELIVERY: Final = Part("delivery", measure, seconds=3.0)

__all__ = ["DELIVERY"]
