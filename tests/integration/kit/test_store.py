"""The store against a real server: batches, lost scripts, lost answers, restarts."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

import pytest

from rami_kit.embedded import EmbeddedStore
from rami_kit.errors import StoreError, StoreUnavailable, StoreUncertain
from rami_kit.redis_store import Script, Store
from rami_kit.store_node import MAX_BATCH
from support.stores import ADD, ECHO, admin, connected, hurried, outcomes

if TYPE_CHECKING:
    from collections.abc import Iterator

WRONG = Script("wrong", "return redis.call('LPUSH', KEYS[1], 'x')")
BROKEN = Script("broken", "this is no Lua")
LATE = Script("late", "redis.call('SET', KEYS[1], 1) error('after the write')")


@pytest.fixture
def server() -> Iterator[EmbeddedStore]:
    """A server of the test's own, to be stopped and stalled."""
    with EmbeddedStore() as own:
        yield own


def batches(store: Store) -> int:
    return store.metrics.batch_size.labels().count


# What a call gives.


async def test_replies_are_raw(store_url: str) -> None:
    async with connected(store_url) as store:
        assert await store.run(ECHO, ["k"], ["ä"]) == [b"k", "ä".encode(), 7, None]
        assert await store.run(ECHO, [b"\xff\x00"], [b"\r\n"]) == [b"\xff\x00", b"\r\n", 7, None]
        assert await store.read("GET", "nothing") is None
        assert await store.write("SET", "a", 5) == b"OK"
        assert await store.read("GET", "a") == b"5"


@pytest.mark.parametrize("argument", [None, object(), ["x"], True])
async def test_an_argument_that_is_none_fails_alone_and_at_once(store_url: str, argument: Any) -> None:
    async with connected(store_url) as store:
        fine = store.run(ADD, ["n"], [1])
        with pytest.raises(TypeError):
            store.run(ADD, ["n"], [argument])
        assert await fine == 1


async def test_all_calls_of_one_turn_are_one_batch(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rami_kit.redis_store.PROBE_SECONDS", 3600.0)  # a probe is a batch of its own
    async with connected(store_url) as store:
        await store.run(ADD, ["warm"], [1])
        before = batches(store)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_run(store, ADD, "n", 1)) for _ in range(50)]
            tasks += [group.create_task(_read(store, "GET", "n")) for _ in range(50)]
        assert [task.result() for task in tasks[:50]] == list(range(1, 51))
        assert [task.result() for task in tasks[50:]] == [b"50"] * 50
        assert batches(store) == before + 1


async def _run(store: Store, script: Script, key: str, argument: int) -> Any:
    return await store.run(script, [key], [argument])


async def _read(store: Store, *command: str) -> Any:
    return await store.read(*command)


async def test_a_batch_is_bounded(store_url: str) -> None:
    async with connected(store_url) as store:
        replies = await asyncio.gather(*(store.run(ADD, ["n"], [1]) for _ in range(3 * MAX_BATCH + 1)))
        assert sorted(replies) == list(range(1, 3 * MAX_BATCH + 2))
        child = store.metrics.batch_size.labels()
        assert child.counts[-1] == 0, "no batch is above the last bound"


async def test_errors_of_the_server_are_defects_and_spoil_nobody_elses_call(store_url: str) -> None:
    async with connected(store_url) as store:
        await store.write("SET", "text", "x")
        calls = [
            store.run(ADD, ["n"], [1]),
            store.run(WRONG, ["text"]),
            store.run(BROKEN, ["n"]),
            store.run(LATE, ["late"]),
            store.read("NO-SUCH-COMMAND"),
            store.run(ADD, ["text"], [1]),
            store.run(ADD, ["n"], [1]),
        ]
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert (results[0], results[-1]) == (1, 2)
        assert [type(result) for result in results[1:-1]] == [StoreError] * 5
        assert "WRONGTYPE" in str(results[1])
        assert await store.run(ADD, ["n"], [1]) == 3
        assert outcomes(store, "wrong") == {"error": 1}
        assert outcomes(store, "add") == {"ok": 3, "error": 1}


# Pool.


async def test_s1_500_calls_at_once_with_a_pool_of_20(store_url: str) -> None:
    async with connected(store_url, redis_pool_size=20) as store:
        # In one turn of the loop, which makes few batches,
        replies = await asyncio.gather(*(store.run(ADD, ["n"], [1]) for _ in range(500)))
        assert sorted(replies) == list(range(1, 501))

        # and each in a turn of its own, which makes as many batches as the pool allows.
        async def later(turns: int) -> Any:
            for _ in range(turns):
                await asyncio.sleep(0)
            return await store.run(ADD, ["m"], [1])

        replies = await asyncio.gather(*(later(turns) for turns in range(500)))
        assert sorted(replies) == list(range(1, 501))
        assert 1 <= store.open_connections <= 20


async def test_a_pool_of_one_never_deadlocks(store_url: str) -> None:
    async with connected(store_url, redis_pool_size=1) as store:

        async def chain() -> None:
            for _ in range(10):
                await store.run(ADD, ["n"], [1])

        await asyncio.gather(*(chain() for _ in range(50)))
        assert await store.read("GET", "n") == b"500"
        assert store.open_connections == 1


async def test_a_call_that_no_connection_comes_free_for_is_unavailable(
    server: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rami_kit.redis_store.PROBE_SECONDS", 3600.0)  # a probe would be on the one connection
    async with connected(server.url, redis_pool_size=1, redis_timeout_seconds=30.0) as store:
        await store.run(ADD, ["n"], [1])
        server.pause()
        try:
            with hurried(store, 0.5):
                sent = store.run(ADD, ["n"], [1])
                await asyncio.sleep(0.1)
                waiting = store.run(ADD, ["n"], [1])
                await asyncio.sleep(0)
                results = await asyncio.gather(sent, waiting, return_exceptions=True)
        finally:
            server.resume()
        assert type(results[0]) is StoreUncertain
        assert isinstance(results[1], StoreUnavailable)
        # The first was applied after all, which is what uncertain means; the second was or was not sent.
        counted = 0
        async with asyncio.timeout(30):
            while not counted:  # calls are refused for a moment after a connection could not be made
                with contextlib.suppress(StoreUnavailable):
                    counted = await store.run(ADD, ["n"], [1])
                await asyncio.sleep(0.01)
        assert counted in {3, 4}


# Scripts that the server does not know.


async def test_a_lost_script_is_loaded_once_and_run_once(store_url: str) -> None:
    async with connected(store_url) as store:
        with admin(store_url) as client:
            client.script_flush()
            assert await store.run(ADD, ["n"], [1]) == 1
            assert client.script_exists(ADD.sha.decode()) == [True]
            loads = store.metrics.script_loads.labels().value
            assert await store.run(ADD, ["n"], [1]) == 2
            assert store.metrics.script_loads.labels().value == loads


async def test_s2_script_flush_with_100_calls_in_flight(store_url: str) -> None:
    async with connected(store_url) as store:
        with admin(store_url) as client:
            for round_number in range(1, 6):
                calls = [store.run(ADD, ["n"], [1]) for _ in range(50)]
                calls += [store.run(ECHO, [str(n)], [n]) for n in range(50)]
                client.script_flush()
                replies = await asyncio.gather(*calls)
                assert sorted(replies[:50]) == list(range(50 * round_number - 49, 50 * round_number + 1))
                assert [reply[0] for reply in replies[50:]] == [str(n).encode() for n in range(50)]


async def test_s2_script_flush_under_load_from_outside(store_url: str) -> None:
    async with connected(store_url) as store:
        over = asyncio.Event()

        def flush_again_and_again() -> None:
            with admin(store_url) as client:
                while not over.is_set():
                    client.script_flush()

        flushing = asyncio.create_task(asyncio.to_thread(flush_again_and_again))
        try:
            for _ in range(20):
                await asyncio.gather(*(store.run(ADD, ["n"], [1]) for _ in range(50)))
        finally:
            over.set()
            await flushing
        assert await store.read("GET", "n") == b"1000"


# Callers that leave.


async def test_a_cancelled_caller_hurts_nobody(store_url: str) -> None:
    async with connected(store_url, redis_pool_size=1) as store:
        await store.run(ADD, ["warm"], [1])
        for round_number in range(20):
            tasks = [asyncio.create_task(_run(store, ECHO, str(n), n)) for n in range(20)]
            for _ in range(round_number % 4):
                await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            await asyncio.wait(tasks)
            for n, task in enumerate(tasks):
                assert (n % 2 == 0 and task.cancelled()) or task.result()[0] == str(n).encode()
        assert store.open_connections == 1
        assert await store.run(ECHO, ["k"], [1]) == [b"k", b"1", 7, None]


async def test_a_call_cancelled_before_its_turn_ends_is_not_sent(store_url: str) -> None:
    async with connected(store_url) as store:
        await store.run(ADD, ["n"], [1])
        call = store.run(ADD, ["n"], [1])
        assert isinstance(call, asyncio.Future)
        call.cancel()
        await asyncio.sleep(0)
        assert await store.run(ADD, ["n"], [1]) == 2


# Clock and metrics.


async def test_the_clock_is_the_stores(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(store_url) as store:
        doubt = store.clock._error + 0.01  # which only gets less
        before = store.clock.now()
        seconds, micros = await store.read("TIME")
        after = store.clock.now()
        assert before - doubt <= int(seconds) + int(micros) / 1e6 <= after + doubt
        monkeypatch.setattr(time, "time", lambda: 0.0)
        assert store.clock.now() > 1e9


async def test_every_call_is_timed_by_its_name(store_url: str) -> None:
    async with connected(store_url) as store:
        await asyncio.gather(*(store.run(ADD, ["n"], [1]) for _ in range(7)))
        await store.read("GET", "n")
        assert store.metrics.seconds.labels("add").count == 7
        assert store.metrics.seconds.labels("GET").count == 1
        assert outcomes(store, "add") == {"ok": 7}
        assert store.metrics.connections.labels().value == store.open_connections
        assert store.metrics.up.labels().value == 1
