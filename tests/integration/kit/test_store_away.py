"""A store that goes away, stalls, comes back or refuses: what callers are told, and that they are told the truth."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest
import redis

from rami_kit.embedded import EmbeddedStore
from rami_kit.errors import StoreError, StoreUnavailable, StoreUncertain
from rami_kit.metrics import Metrics
from rami_kit.redis_store import Script, Store
from rami_kit.settings import ServiceSettings
from rami_kit.testing import make_settings
from support.stores import ADD, ECHO, admin, connected, hurried, outcomes
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

SPIN = Script("spin", "for i = 1, 2e9 do end return 1")


@pytest.fixture
def server() -> Iterator[EmbeddedStore]:
    """A server of the test's own, to be stopped and stalled."""
    with EmbeddedStore() as own:
        yield own


def is_busy(client: redis.Redis) -> bool:
    try:
        client.ping()
    except redis.exceptions.ResponseError as error:
        return str(error).startswith("BUSY")
    return False


async def test_a_killed_server_is_unavailable_or_uncertain_and_comes_back(server: EmbeddedStore) -> None:
    async with connected(server.url, redis_timeout_seconds=30.0) as store:
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
        assert abs(store.clock.now() - time.time()) < 1 + store.clock._error


async def test_s6_a_server_busy_for_longer_than_the_timeout_is_uncertain(server: EmbeddedStore) -> None:
    async with connected(server.url, redis_timeout_seconds=30.0) as store:
        await store.run(ADD, ["n"], [1])
        server.pause()
        try:
            with hurried(store, 0.4):
                results = await asyncio.gather(*(store.run(ADD, ["n"], [1]) for _ in range(5)), return_exceptions=True)
        finally:
            server.resume()
        assert {type(result) for result in results} == {StoreUncertain}
        await eventually(lambda: store.healthy, "the store is healthy again")
        # No answer of the paused batch is ever taken for another's.
        assert await store.run(ECHO, ["k"], ["v"]) == [b"k", b"v", 7, None]
        assert await store.read("GET", "n") in {b"1", b"6"}


async def test_connections_killed_by_the_server_are_replaced(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rami_kit.redis_store.PROBE_SECONDS", 3600.0)  # a probe would open the next one
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
    async with connected(server.url, redis_timeout_seconds=30.0) as store:
        with admin(server.url) as client:
            client.config_set("busy-reply-threshold", 50)
            spinning = store.run(SPIN, ["n"])
            await eventually(lambda: is_busy(client), "the script runs for longer than it may")
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


async def test_a_replica_is_not_taken_for_the_store() -> None:
    # As a former primary is when it has just come back: still empty, so that every room seems never to have been.
    with EmbeddedStore(options={"replicaof": "127.0.0.1 1"}) as back:
        async with connected(back.url) as store:
            assert not store.healthy
            with pytest.raises(StoreUnavailable):
                await store.read("GET", "n")
            await asyncio.to_thread(admin(back.url).replicaof, "NO", "ONE")
            await eventually(lambda: store.healthy, "the store is healthy")
            assert await store.run(ADD, ["n"], [1]) == 1
