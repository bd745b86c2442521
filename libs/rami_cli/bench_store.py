"""The part `store`: what commits cost, what rooms take, and whether many rooms or long ones cost more.

The yardstick of a commit is a bare one: a script that only writes the state, appends the event and publishes it, sent
in pipelines as long as ours are, with as many bytes.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

import redis.asyncio

from rami_cli.bench_figures import Figure
from rami_cli.bench_harness import Site
from rami_cli.bench_part import MICRO, Part
from rami_cli.bench_tables import Tables, without_end
from rami_kit import keys

if TYPE_CHECKING:
    from rami_cli.bench_harness import Server
    from rami_cli.bench_part import Bench

TABLES: Final = 32
SOME, MANY = 1_000, 100_000
LONG_TABLES: Final = 6
LONG: Final = 2_000
"""Actions in a room before it counts as a long one."""
LONG_RUNS: Final = 5
WARM_SECONDS: Final = 0.3
"""That new rooms are played before they are measured."""
ENDED: Final = 16
"""Matches whose logs are weighed."""
CHUNK: Final = 2_000
YEAR_MS: Final = 365 * 24 * 3600 * 1000

BARE_COMMIT: Final = """
redis.call('SET', KEYS[1], ARGV[1])
redis.call('XADD', KEYS[2], '*', 's', ARGV[2])
redis.call('SPUBLISH', KEYS[1], ARGV[2])
return 1
"""
PLANT: Final = """
-- Rooms as like as eggs to one that is being played. KEYS 1 due. ARGV 1 prefix, 2 first number, 3 how many,
-- 4 state, 5 event, 6 due time, 7 events in a log
for number = ARGV[2], ARGV[2] + ARGV[3] - 1 do
  local token = string.format('bench%011d', number)
  redis.call('SET', ARGV[1] .. token, ARGV[4], 'PX', 86400000)
  for entry = 1, ARGV[7] do redis.call('XADD', ARGV[1] .. token .. ':log', entry .. '-0', 's', ARGV[5]) end
  redis.call('PEXPIRE', ARGV[1] .. token .. ':log', 86400000)
  redis.call('ZADD', KEYS[1], ARGV[6], token)
end
return 1
"""
CLEAR: Final = """
for number = ARGV[2], ARGV[2] + ARGV[3] - 1 do
  local token = string.format('bench%011d', number)
  redis.call('UNLINK', ARGV[1] .. token, ARGV[1] .. token .. ':log')
  redis.call('ZREM', KEYS[1], token)
end
return 1
"""
PLANTED_EVENTS: Final = 5
"""In the log of a planted room: it is the number of rooms that is in question."""


async def measure(bench: Bench) -> list[Figure]:
    """The figures."""
    commit = Figure("a commit", "us of store", "us, bare commit")
    state = Figure("a room in mid-round", "bytes", goal=1500.0, note="key and overhead, without its log")
    event = Figure("log of a finished match, an event", "bytes", goal=60.0, note="all overhead")
    some = Figure(f"action with {SOME:,} rooms in the store", "us of server and store", "us with few rooms", 1.05)
    many = Figure(f"action with {MANY:,} rooms in the store", "us of server and store", "us with few rooms", 1.05)
    long = Figure(f"action after {LONG:,} in its room", "us of server and store", "us at its beginning", 1.05)
    async with Site() as site:
        store, bare = await site.store(), await site.store()
        game = await site.game(store.ready["url"])
        client: Any = redis.asyncio.Redis.from_url(store.ready["url"])
        bare_client: Any = redis.asyncio.Redis.from_url(bare.ready["url"])
        try:
            async with Tables([game.target], TABLES, name="store") as tables:
                await tables.play(bench.seconds)
                await tables.settle()
                sample = await _sample(client, list(tables.rooms.values()))
                for size in sample.room_bytes:
                    state.add(size)
                for run in bench.rounds("few", "bare", "some", "many"):
                    bench.step(f"{TABLES} rooms")
                    few, used_by_store, batch = await _action_cost(tables, game, store, bench.seconds)
                    bench.step("bare commits")
                    commit.add(
                        used_by_store * MICRO,
                        MICRO * await _bare_commit(bare_client, bare, bench.seconds, sample, max(1, round(batch))),
                    )
                    bench.step(f"{SOME:,} rooms")
                    await _plant(client, sample, range(SOME))
                    cost, _, _ = await _action_cost(tables, game, store, bench.seconds)
                    some.add(cost * MICRO, few * MICRO)
                    bench.step(f"{MANY:,} rooms")
                    await _plant(client, sample, range(SOME, MANY))
                    cost, _, _ = await _action_cost(tables, game, store, bench.seconds)
                    many.add(cost * MICRO, few * MICRO)
                    if run < bench.runs - 1:
                        await _clear(client, MANY)
                await _clear(client, MANY)
            async with Tables([game.target], TABLES, target_score=100, name="short") as tables:
                while len(event.samples) < ENDED:
                    await tables.play(1.0)
                    event.samples = await _finished_logs(client)
            await _long_rooms(game, store, bench.seconds, long)
        finally:
            await client.aclose()
            await bare_client.aclose()
    return [commit, state, event, some, many, long]


class _Sample:
    """What rooms in mid-round look like in the store."""

    def __init__(self, states: list[bytes], room_bytes: list[int], events: list[bytes]) -> None:
        self.room_bytes = room_bytes
        self.state = sorted(states, key=len)[len(states) // 2]
        self.event = sorted(events, key=len)[len(events) // 2]


async def _sample(client: Any, room_ids: list[str]) -> _Sample:
    places = [place for room_id in room_ids if (place := keys.parse_room_id(room_id)) is not None]
    names = [keys.room_key(*place) for place in places]
    states = [state for state in await client.mget(names) if state is not None]
    sizes = [await client.memory_usage(name, samples=0) for name in names]
    events = [fields[b"s"] for place in places for _, fields in await client.xrevrange(keys.log_key(*place), count=10)]
    return _Sample(states, [size for size in sizes if size is not None], events)


async def _action_cost(tables: Tables, game: Server, store: Server, seconds: float) -> tuple[float, float, float]:
    """Processor seconds of an action in server and store, in the store alone, and commits in a batch."""
    before = game.cpu_seconds(), store.cpu_seconds()
    batches = [await game.counted(f"rami_store_batch_size_calls_{what}") for what in ("sum", "count")]
    seen = await tables.play(seconds)
    used = game.cpu_seconds() - before[0], store.cpu_seconds() - before[1]
    await tables.settle()
    calls, pipelines = [
        await game.counted(f"rami_store_batch_size_calls_{what}") - old
        for what, old in zip(("sum", "count"), batches, strict=True)
    ]
    return sum(used) / seen.actions, used[1] / seen.actions, calls / max(pipelines, 1)


async def _bare_commit(client: Any, store: Server, seconds: float, sample: _Sample, batch: int) -> float:
    """Processor seconds of a bare commit."""
    script = await client.script_load(BARE_COMMIT)
    before, done, began = store.cpu_seconds(), 0, time.monotonic()
    while time.monotonic() - began < seconds:
        pipeline = client.pipeline(transaction=False)
        for number in range(done, done + batch):
            room = f"{{p0}}:room:{number % TABLES}"
            pipeline.evalsha(script, 2, room, f"{room}:log", sample.state, sample.event)
        await pipeline.execute()
        done += batch
    used = store.cpu_seconds() - before
    await client.flushall()
    return used / done


async def _plant(client: Any, sample: _Sample, numbers: range) -> None:
    for first in range(numbers.start, numbers.stop, CHUNK):
        count = min(CHUNK, numbers.stop - first)
        await client.eval(
            PLANT, 1, keys.due_key(0), keys.room_key(0, ""), first, count, sample.state, sample.event,
            int(time.time() * 1000) + YEAR_MS, PLANTED_EVENTS,
        )  # fmt: skip


async def _clear(client: Any, count: int) -> None:
    for first in range(0, count, CHUNK):
        await client.eval(CLEAR, 1, keys.due_key(0), keys.room_key(0, ""), first, CHUNK)
    await asyncio.sleep(0.5)  # the store frees them in the background


async def _finished_logs(client: Any) -> list[float]:
    """Bytes an event of the matches that have ended."""
    sizes = []
    for token in await client.zrange(keys.listing_key(0, "over"), 0, 63):
        log = keys.log_key(0, token.decode())
        size, events = await client.memory_usage(log, samples=0), await client.xlen(log)
        if events:
            sizes.append(size / events)
    return sizes


async def _long_rooms(game: Server, store: Server, seconds: float, figure: Figure) -> None:
    """What an action costs when its room has seen thousands, beside rooms that have just begun, in turns."""
    async with Tables([game.target], LONG_TABLES, choose=without_end, name="long") as old:
        done = 0
        while done < LONG_TABLES * LONG:
            done += (await old.play(1.0)).actions
        for number in range(LONG_RUNS):
            async with Tables([game.target], LONG_TABLES, choose=without_end, name=f"young-{number}") as young:
                await young.play(WARM_SECONDS)
                await young.settle()
                beside, _, _ = await _action_cost(young, game, store, seconds / 3)
            cost, _, _ = await _action_cost(old, game, store, seconds / 3)
            figure.add(cost * MICRO, beside * MICRO)


STORE: Final = Part("store", measure)

__all__ = ["STORE"]
