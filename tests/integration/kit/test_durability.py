"""What RAMI_DURABILITY promises, and that a server which cannot keep it is refused."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import redis

from rami_kit.embedded import EmbeddedStore
from rami_kit.errors import StoreUncertain
from rami_kit.metrics import Metrics
from rami_kit.redis_store import Script, Store
from rami_kit.settings import Durability, ServiceSettings, SettingsError
from rami_kit.testing import make_settings
from support.stores import hurried_promise
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

ADD = Script("add", "return redis.call('INCRBY', KEYS[1], ARGV[1])")


@pytest.fixture
def server() -> Iterator[EmbeddedStore]:
    with EmbeddedStore(append_only=True) as own:
        yield own


async def connect(url: str, durability: Durability) -> Store:
    settings = make_settings(ServiceSettings, url, durability=durability, redis_timeout_seconds=30.0)
    return await Store.connect(settings, Metrics())


async def test_fsync_is_refused_without_an_append_only_file(store_url: str) -> None:
    with pytest.raises(SettingsError, match=r"RAMI_DURABILITY.*appendonly"):
        await connect(store_url, Durability.FSYNC)


async def test_replica_is_refused_without_a_replica(store_url: str) -> None:
    with pytest.raises(SettingsError, match=r"RAMI_DURABILITY.*replica"):
        await connect(store_url, Durability.REPLICA)


async def test_fsynced_steps_survive_kill_9(server: EmbeddedStore) -> None:
    store = await connect(server.url, Durability.FSYNC)
    try:
        replies = await asyncio.gather(*(store.run(ADD, ["n"], [1], durable=True) for _ in range(300)))
        assert sorted(replies) == list(range(1, 301))
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        await eventually(lambda: store.healthy, "the store is healthy again")
        assert await store.read("GET", "n") == b"300"
    finally:
        await store.close()


async def test_a_disk_that_syncs_once_a_second_is_waited_for(server: EmbeddedStore) -> None:
    with redis.Redis.from_url(server.url) as client:
        client.config_set("appendfsync", "everysec")
    store = await connect(server.url, Durability.FSYNC)
    try:
        assert await store.run(ADD, ["n"], [1], durable=True) == 1
    finally:
        await store.close()


async def test_what_is_not_durable_in_time_is_uncertain_and_the_rest_is_not(server: EmbeddedStore) -> None:
    store = await connect(server.url, Durability.FSYNC)
    try:
        await store.run(ADD, ["warm"], [1])
        with redis.Redis.from_url(server.url) as client:
            client.config_set("appendonly", "no")
        with hurried_promise(store, 0.75):
            durable = [store.run(ADD, ["n"], [1], durable=True) for _ in range(3)]
            plain = store.run(ADD, ["m"], [1])
            results = await asyncio.gather(*durable, plain, return_exceptions=True)
        assert [type(result) for result in results] == [StoreUncertain] * 3 + [int]
        # Applied all the same, and the connection is as good as before.
        assert await store.read("GET", "n") == b"3"
    finally:
        await store.close()


async def test_durable_steps_whose_script_was_lost_are_durable_too(server: EmbeddedStore) -> None:
    store = await connect(server.url, Durability.FSYNC)
    try:
        with redis.Redis.from_url(server.url) as client:
            client.script_flush()
        assert await store.run(ADD, ["n"], [1], durable=True) == 1
    finally:
        await store.close()


async def test_replicated_steps_are_on_the_replica_when_acknowledged(server: EmbeddedStore) -> None:
    with redis.Redis.from_url(server.url) as primary:
        primary.config_set("repl-diskless-sync-delay", 0)
    with (
        EmbeddedStore(options={"replicaof": f"127.0.0.1 {server.port}"}) as replica,
        redis.Redis.from_url(replica.url) as client,
        redis.Redis.from_url(server.url) as primary,
    ):

        def attached() -> bool:
            primary.set("probe", 1)
            return int(primary.wait(1, 100)) == 1

        await eventually(attached, "the replica is attached")
        store = await connect(server.url, Durability.REPLICA)
        try:
            for number in range(1, 21):
                assert await store.run(ADD, ["n"], [1], durable=True) == number
                assert client.get("n") == str(number).encode()
            replica.pause()
            try:
                with hurried_promise(store, 0.75), pytest.raises(StoreUncertain):
                    await store.run(ADD, ["n"], [1], durable=True)
                assert await store.run(ADD, ["n"], [1]) == 22
            finally:
                replica.resume()
        finally:
            await store.close()


async def test_the_replicas_of_a_server_that_is_not_trusted_are_shown(
    server: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new master without a replica is why moves wait, and an alert has to see it."""
    monkeypatch.setattr("rami_kit.store_servers.REPORT_SECONDS", 0.125)
    metrics = Metrics()
    with redis.Redis.from_url(server.url) as primary:
        primary.config_set("repl-diskless-sync-delay", 0)

    def shown() -> float | None:
        labels = {"server": f"127.0.0.1:{server.port}"}
        return metrics.registry.get_sample_value("rami_store_server_replicas", labels)

    with (
        EmbeddedStore(options={"replicaof": f"127.0.0.1 {server.port}"}) as replica,
        redis.Redis.from_url(server.url) as primary,
    ):
        await eventually(lambda: primary.info("replication")["connected_slaves"] == 1, "the replica is attached")
        store = await Store.connect(make_settings(ServiceSettings, server.url, durability="replica"), metrics)
        try:
            await eventually(lambda: shown() == 1, "the replica is shown")
            await asyncio.to_thread(server.kill)
            await eventually(lambda: not store.healthy, "the store is seen to be away")
            assert shown() == 1, "what was last known of a store that is away"
            # As after a failover: whoever answers there now has no replica, and never had one.
            await asyncio.to_thread(replica.stop)
            with EmbeddedStore(port=server.port):
                await eventually(lambda: shown() == 0, "it is shown that there is none")
                assert not store.healthy
        finally:
            await store.close()


async def test_a_server_that_comes_back_unable_is_not_trusted(
    server: EmbeddedStore, caplog: pytest.LogCaptureFixture
) -> None:
    store = await connect(server.url, Durability.FSYNC)
    try:
        await asyncio.to_thread(server.kill)
        await eventually(lambda: not store.healthy, "the store is seen to be away")
        with EmbeddedStore(port=server.port):
            await eventually(lambda: "unable to keep its promise" in caplog.text, "the log complains")
            assert not store.healthy
            with hurried_promise(store, 0.75), pytest.raises(StoreUncertain):
                await store.run(ADD, ["n"], [1], durable=True)
        assert caplog.text.count("unable to keep its promise") == 1
    finally:
        await store.close()
