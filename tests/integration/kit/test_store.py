"""The store against a real server: batches, lost scripts, lost answers, restarts."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

import pytest
import redis

from rami_kit.embedded import EmbeddedStore
from rami_kit.errors import StoreError, StoreUnavailable, StoreUncertain
from rami_kit.metrics import Metrics
from rami_kit.redis_store import Script, Store, StoreClock
from rami_kit.settings import ServiceSettings
from rami_kit.store_node import MAX_BATCH
from rami_kit.testing import make_settings
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

ADD = Script("add", "return redis.call('INCRBY', KEYS[1], ARGV[1])")
ECHO = Script("echo", "return {KEYS[1], ARGV[1], 7, false}")
WRONG = Script("wrong", "return redis.call('LPUSH', KEYS[1], 'x')")
BROKEN = Script("broken", "this is no Lua")
LATE = Script("late", "redis.call('SET', KEYS[1], 1) error('after the write')")
SPIN = Script("spin", "for i = 1, 2e9 do end return 1")


@contextlib.asynccontextmanager
async def connected(url: str, **values: Any) -> AsyncIterator[Store]:
    store = await Store.connect(make_settings(ServiceSettings, url, **values), Metrics())
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
def server() -> Iterator[EmbeddedStore]:
    """A server of the test's own, to be stopped and stalled."""
    with EmbeddedStore() as own:
        yield own


def outcomes(store: Store, command: str) -> dict[str, float]:
    found = {}
    for family in store.metrics.calls.collect():
        for sample in family.samples:
            if sample.labels["command"] == command:
                found[sample.labels["outcome"]] = sample.value
    return found


def batches(store: Store) -> int:
    return store.metrics.batch_size.labels().count


def admin(url: str) -> redis.Redis:
    return redis.Redis.from_url(url)


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


async def test_all_calls_of_one_turn_are_one_batch(store_url: str) -> None:
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


async def test_a_call_that_no_connection_comes_free_for_is_unavailable(server: EmbeddedStore) -> None:
    async with connected(server.url, redis_pool_size=1, redis_timeout_seconds=0.5) as store:
        await store.run(ADD, ["n"], [1])
        server.pause()
        try:
            sent = store.run(ADD, ["n"], [1])
            await asyncio.sleep(0.1)
            waiting = store.run(ADD, ["n"], [1])
            await asyncio.sleep(0)
            results = await asyncio.gather(sent, waiting, return_exceptions=True)
        finally:
            server.resume()
        assert type(results[0]) is StoreUncertain
        assert isinstance(results[1], StoreUnavailable)
        await eventually(lambda: store.healthy, "the store is healthy again")
        # The first was applied after all, which is what uncertain means; the second was or was not sent.
        assert await store.run(ADD, ["n"], [1]) in {3, 4}


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


# Servers that go and come.


async def test_a_killed_server_is_unavailable_or_uncertain_and_comes_back(server: EmbeddedStore) -> None:
    async with connected(server.url, redis_timeout_seconds=1.0) as store:
        await store.run(ADD, ["n"], [1])
        server.pause()  # so that what is sent now gets no answer before the end
        in_flight = [store.run(ADD, ["n"], [1]) for _ in range(10)]
        reads = [store.read("GET", "n") for _ in range(5)]
        await asyncio.sleep(0.05)
        await asyncio.to_thread(server.kill)
        results = await asyncio.gather(*in_flight, return_exceptions=True)
        assert {type(result) for result in results} == {StoreUncertain}
        # A read that is lost leaves no doubt behind.
        results = await asyncio.gather(*reads, return_exceptions=True)
        assert {type(result) for result in results} == {StoreUnavailable}

        for _ in range(3):
            with pytest.raises(StoreUnavailable) as caught:
                await store.run(ADD, ["n"], [1])
            assert type(caught.value) is StoreUnavailable
        await eventually(lambda: not store.healthy, "the store is seen to be away")
        assert store.open_connections == 0

        await asyncio.to_thread(server.start)
        await eventually(lambda: store.healthy, "the store is healthy again")
        assert await store.run(ADD, ["n"], [1]) == 1
        assert outcomes(store, "add")["uncertain"] == 10


async def test_a_restart_between_calls_is_not_noticed(server: EmbeddedStore) -> None:
    async with connected(server.url) as store:
        await asyncio.gather(*(store.run(ADD, ["n"], [1]) for _ in range(600)))
        await asyncio.to_thread(server.restart)
        await eventually(lambda: store.healthy, "the store is healthy again")
        assert await store.run(ADD, ["n"], [1]) == 1


async def test_a_server_that_is_away_at_start_is_waited_for(server: EmbeddedStore) -> None:
    server.stop()
    async with connected(server.url) as store:
        assert not store.healthy
        with pytest.raises(StoreUnavailable):
            store.clock.now()
        with pytest.raises(StoreUnavailable):
            await store.run(ADD, ["n"], [1])
        await asyncio.to_thread(server.start)
        await eventually(lambda: store.healthy, "the store is healthy")
        assert await store.run(ADD, ["n"], [1]) == 1
        assert abs(store.clock.now() - time.time()) < 1


async def test_s6_a_server_busy_for_longer_than_the_timeout_is_uncertain(server: EmbeddedStore) -> None:
    async with connected(server.url, redis_timeout_seconds=0.4) as store:
        await store.run(ADD, ["n"], [1])
        with admin(server.url) as client:
            client.execute_command("CLIENT", "PAUSE", 1500, "ALL")
            began = time.monotonic()
            results = await asyncio.gather(*(store.run(ADD, ["n"], [1]) for _ in range(5)), return_exceptions=True)
            assert {type(result) for result in results} == {StoreUncertain}
            assert time.monotonic() - began < 1.4, "the timeout is the store's, not the pause"
            client.execute_command("CLIENT", "UNPAUSE")
        await eventually(lambda: store.healthy, "the store is healthy again")
        # No answer of the paused batch is ever taken for another's.
        assert await store.run(ECHO, ["k"], ["v"]) == [b"k", b"v", 7, None]
        assert await store.read("GET", "n") in {b"1", b"6"}


async def test_connections_killed_by_the_server_are_replaced(store_url: str) -> None:
    async with connected(store_url) as store:
        with admin(store_url) as client:
            for _ in range(5):
                await store.run(ADD, ["n"], [1])
                client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
                await eventually(lambda: store.open_connections == 0, "the connection is seen to be closed")
        assert await store.run(ADD, ["n"], [1]) == 6


async def test_a_read_only_server_is_unavailable(server: EmbeddedStore) -> None:
    async with connected(server.url) as store:
        await store.run(ADD, ["n"], [1])
        with admin(server.url) as client:
            client.execute_command("REPLICAOF", "127.0.0.1", 1)
            with pytest.raises(StoreUnavailable, match="READONLY") as caught:
                await store.run(ADD, ["n"], [1])
            assert type(caught.value) is StoreUnavailable
            client.execute_command("REPLICAOF", "NO", "ONE")
        assert await store.run(ADD, ["n"], [1]) == 2


async def test_a_server_busy_with_a_script_is_unavailable(server: EmbeddedStore) -> None:
    async with connected(server.url, redis_timeout_seconds=5.0) as store:
        with admin(server.url) as client:
            client.config_set("busy-reply-threshold", 50)
            spinning = store.run(SPIN, ["n"])
            await asyncio.sleep(0.3)
            with pytest.raises(StoreUnavailable, match="BUSY"):
                await store.run(ADD, ["n"], [1])
            client.execute_command("SCRIPT", "KILL")
        with pytest.raises(StoreError):
            await spinning


async def test_a_wrong_password_is_unavailable_and_not_repeated_in_the_log(
    server: EmbeddedStore, caplog: pytest.LogCaptureFixture
) -> None:
    with admin(server.url) as client:
        client.config_set("requirepass", "right-password")
    url = server.url.replace("redis://", "redis://:wrong-password@")
    async with connected(url) as store:
        assert not store.healthy
        with pytest.raises(StoreUnavailable):
            await store.run(ADD, ["n"], [1])
    assert "WRONGPASS" in caplog.text
    assert "wrong-password" not in caplog.text
    url = server.url.replace("redis://", "redis://:right-password@").replace("/0", "/3")
    async with connected(url) as store:
        assert store.healthy
        await store.write("SET", "in-three", 1)
    with redis.Redis.from_url(url) as client:
        assert client.exists("in-three") == 1


async def test_a_closed_store_leaves_nobody_waiting(server: EmbeddedStore) -> None:
    store = await Store.connect(make_settings(ServiceSettings, server.url, redis_pool_size=1), Metrics())
    await store.run(ADD, ["n"], [1])
    server.pause()
    try:
        sent = store.run(ADD, ["n"], [1])
        await asyncio.sleep(0.05)
        waiting = store.run(ADD, ["n"], [1])
        await asyncio.sleep(0.05)
        await store.close()
        results = await asyncio.gather(sent, waiting, return_exceptions=True)
        assert [type(result) for result in results] == [StoreUncertain, StoreUnavailable]
        with pytest.raises(StoreUnavailable):
            await store.run(ADD, ["n"], [1])
    finally:
        server.resume()
    with admin(server.url) as client:
        await eventually(lambda: len(client.client_list()) == 1, "every connection is closed")


async def test_unix_sockets() -> None:
    with EmbeddedStore(unix_socket=True) as own:
        async with connected(own.url) as store:
            assert await store.run(ADD, ["n"], [1]) == 1


# Clock and metrics.


async def test_the_clock_is_the_stores(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(store_url) as store:
        seconds, micros = await store.read("TIME")
        assert abs(store.clock.now() - (int(seconds) + int(micros) / 1e6)) < 0.2
        monkeypatch.setattr(time, "time", lambda: 0.0)
        assert store.clock.now() > 1e9


def test_the_clock_takes_the_middle_of_a_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = StoreClock()
    clock.adjust(1000.0, 50.0, 52.0)
    monkeypatch.setattr(time, "monotonic", lambda: 51.5)
    assert clock.now() == 1000.5


async def test_every_call_is_timed_by_its_name(store_url: str) -> None:
    async with connected(store_url) as store:
        await asyncio.gather(*(store.run(ADD, ["n"], [1]) for _ in range(7)))
        await store.read("GET", "n")
        assert store.metrics.seconds.labels("add").count == 7
        assert store.metrics.seconds.labels("GET").count == 1
        assert outcomes(store, "add") == {"ok": 7}
        assert store.metrics.connections.labels().value == store.open_connections
        assert store.metrics.up.labels().value == 1
