"""The store behind sentinels: the master they name, its death, a planned switch, and what callers are told."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest
import redis

from rami_kit.errors import StoreUnavailable
from rami_kit.subscriber import Subscriber
from support.redis_topologies import SERVICE, SentinelSite, needs_redis_server, until
from support.store_load import Counting
from support.stores import ADD, connected
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rami_kit.redis_store import Store
    from support.redis_topologies import RedisServer

pytestmark = needs_redis_server

NAMES = [f"{{p{number}}}:n" for number in range(16)]


@pytest.fixture
def site(sentinel_site: SentinelSite) -> Iterator[SentinelSite]:
    """All is well in it before and after the test; the store is empty before."""
    sentinel_site.heal()
    sentinel_site.master.client.flushall()
    yield sentinel_site
    for server in (*sentinel_site.servers, *sentinel_site.sentinels):
        if not server.running:
            server.start()


def replica_of(site: SentinelSite) -> RedisServer:
    return next(one for one in site.servers if one is not site.master)


async def heard_after(store: Store, channel: str, heard: list[bytes | None]) -> None:
    """A listener hears the new master. For what is published while it is about to, a None stands."""
    async with asyncio.timeout(60):
        while b"after" not in heard:
            with contextlib.suppress(StoreUnavailable):
                await store.publish(channel, b"after")
            await asyncio.sleep(0.05)


async def test_calls_go_to_the_master_that_the_sentinels_name(site: SentinelSite) -> None:
    async with connected(site.url) as store:
        assert store.healthy
        assert [await store.run(ADD, [name], [1]) for name in NAMES] == [1] * 16
        assert [node.address.port for node in store.router.nodes] == [site.master.port]
        assert site.master.client.get(NAMES[0]) == b"1"
    assert store.open_connections == 0


async def test_sentinels_that_are_away_are_done_without(site: SentinelSite) -> None:
    for sentinel in site.sentinels[:2]:
        await asyncio.to_thread(sentinel.kill)
    async with connected(site.url) as store:
        assert await store.run(ADD, ["n"], [1]) == 1
        await asyncio.to_thread(site.sentinels[2].kill)
        # Nobody is left to ask, and nothing asks: the master is known.
        assert await store.run(ADD, ["n"], [1]) == 2
    async with connected(site.url) as store:
        assert not store.healthy
        with pytest.raises(StoreUnavailable):
            await store.run(ADD, ["n"], [1])
        for sentinel in site.sentinels:
            await asyncio.to_thread(sentinel.start)
        await eventually(lambda: store.healthy, "the store is healthy")
        assert await store.run(ADD, ["n"], [1]) == 3


async def test_a_service_that_the_sentinels_do_not_know_is_named(
    site: SentinelSite, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(site.url.replace(f"/{SERVICE}", "/other")) as store:
        assert not store.healthy
        with pytest.raises(StoreUnavailable):
            await store.run(ADD, ["n"], [1])
    assert "names no master of the service in RAMI_REDIS_URL" in caplog.text


async def test_a_password_is_the_servers_and_need_not_be_the_sentinels(site: SentinelSite) -> None:
    for server in site.servers:
        server.ask("CONFIG", "SET", "masterauth", "the-password")
    site.master.ask("ACL", "SETUSER", "rami", "on", ">the-password", "~*", "&*", "+@all")
    try:
        async with connected(site.url.replace("://", "://rami:the-password@")) as store:
            assert store.healthy
            assert await store.run(ADD, ["n"], [1]) == 1
        async with connected(site.url.replace("://", "://rami:wrong@")) as store:
            assert not store.healthy
        # Sentinels may ask for it as well.
        for sentinel in site.sentinels:
            sentinel.ask("ACL", "SETUSER", "rami", "on", ">the-password", "&*", "+@all")
            sentinel.ask("ACL", "SETUSER", "default", "-@all", "+auth", "+hello")
        async with connected(site.url.replace("://", "://rami:the-password@")) as store:
            assert await store.run(ADD, ["n"], [1]) == 2
        async with connected(site.url) as store:
            assert not store.healthy
    finally:
        for sentinel in site.sentinels:
            admin: Any = redis.Redis(port=sentinel.port, username="rami", password="the-password", protocol=2)
            admin.execute_command("ACL", "SETUSER", "default", "+@all")
            admin.execute_command("ACL", "DELUSER", "rami")
            admin.close()
        site.master.ask("ACL", "DELUSER", "rami")
        for server in site.servers:
            server.ask("CONFIG", "SET", "masterauth", "")


async def test_s5_a_killed_master_loses_nothing_acknowledged(site: SentinelSite) -> None:
    async with connected(site.url, durability="replica", redis_timeout_seconds=1.0) as store:
        counting = Counting(store, NAMES, durable=True)
        subscriber = Subscriber(store)
        heard: list[bytes | None] = []
        await subscriber.subscribe(f"{NAMES[0]}:events", heard.append)
        victim, heir = site.master, replica_of(site)
        try:
            async with counting.running():
                await eventually(lambda: min(counting.acknowledged.values()) > 20, "the load runs")
                await asyncio.to_thread(victim.kill)
                await asyncio.to_thread(until, lambda: site.master is heir, "the sentinels have decided")
                # Without a replica the new master can promise nothing: it gets one back.
                await asyncio.to_thread(victim.start, "--replicaof", f"127.0.0.1 {heir.port}")
                before = min(counting.acknowledged.values())
                await eventually(lambda: min(counting.acknowledged.values()) > before + 20, "writes work again")
            assert counting.refused > 0, "calls were refused meanwhile"
            await counting.check()
            await eventually(lambda: None in heard, "the listener is told")
            await eventually(lambda: store.healthy, "the store is healthy")
            heard.clear()
            await heard_after(store, f"{NAMES[0]}:events", heard)
        finally:
            await subscriber.close()


async def test_s5_a_frozen_master_is_given_up(site: SentinelSite) -> None:
    async with connected(site.url, redis_timeout_seconds=2.0) as store:
        subscriber = Subscriber(store)
        heard: list[bytes | None] = []
        await subscriber.subscribe("c", heard.append)
        victim, heir = site.master, replica_of(site)
        counting = Counting(store, NAMES[:4])
        victim.pause()
        try:
            async with counting.running():
                await asyncio.to_thread(until, lambda: site.master is heir, "the sentinels have decided")
                await eventually(lambda: min(counting.acknowledged.values()) > 20, "writes work again")
        finally:
            victim.resume()
        try:
            await eventually(lambda: None in heard, "the listener is told")
            await heard_after(store, "c", heard)
            # The old one is back, and nobody turns to it.
            assert [node.address.port for node in store.router.nodes] == [heir.port]
            # The sentinels would see to this too, in their own time.
            victim.ask("REPLICAOF", "127.0.0.1", heir.port)
        finally:
            await subscriber.close()


async def test_a_planned_switch_is_followed(site: SentinelSite) -> None:
    async with connected(site.url) as store:
        counting = Counting(store, NAMES)
        old, heir = site.master, replica_of(site)
        async with counting.running():
            await eventually(lambda: counting.total > 100, "the load runs")
            site.sentinels[0].ask("SENTINEL", "FAILOVER", SERVICE)
            await asyncio.to_thread(until, lambda: site.master is heir, "the sentinels have decided")
            await eventually(
                lambda: [node.address.port for node in store.router.nodes] == [heir.port], "the switch is seen"
            )
            before = counting.total
            await eventually(lambda: counting.total > before + 100, "the load goes on")
        assert old is not heir
        await eventually(lambda: store.healthy, "the store is healthy")
