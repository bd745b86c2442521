"""The store on a cluster: calls by slot, slots that move, masters that die, channels that follow."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from rami_kit.errors import StoreError, StoreUnavailable, StoreUncertain
from rami_kit.redis_store import Script
from rami_kit.settings import SettingsError
from rami_kit.slots import slot_of
from rami_kit.subscriber import Subscriber
from support.redis_topologies import ClusterSite, needs_redis_server, node_id, until
from support.store_load import Counting
from support.stores import ADD, ECHO, connected
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rami_kit.redis_store import Store

pytestmark = needs_redis_server

FINDER = Script(
    "finder",
    "redis.call('EXISTS', ARGV[1]) return {redis.call('INCR', KEYS[1]), redis.call('INCR', ARGV[1])}",
    finds_keys=True,
)
TAGS = [f"{{p{number}}}" for number in range(16)]


@pytest.fixture
def rare_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe is a batch of its own."""
    monkeypatch.setattr("rami_kit.redis_store.PROBE_SECONDS", 3600.0)


@pytest.fixture
async def store(cluster_site: ClusterSite) -> AsyncIterator[Store]:
    async with connected(cluster_site.url, redis_timeout_seconds=20.0) as one:
        yield one


@pytest.mark.usefixtures("rare_probes")
async def test_calls_go_to_the_master_of_their_slot(cluster_site: ClusterSite, store: Store) -> None:
    assert store.healthy
    assert len(store.router.nodes) == 3
    before = store.metrics.batch_size.labels().count
    replies = await asyncio.gather(
        *(store.run(ADD, [f"{tag}:n"], [number]) for number, tag in enumerate(TAGS)),
        *(store.write("SET", f"{tag}:s", tag) for tag in TAGS),
    )
    assert replies[:16] == list(range(16))
    assert store.metrics.batch_size.labels().count - before <= 6, "one batch a master, and one for lost scripts"
    assert await asyncio.gather(*(store.read("GET", f"{tag}:s") for tag in TAGS)) == [tag.encode() for tag in TAGS]
    assert {call for call, count in store.metrics.calls._children.items() if call[1] != "ok" and count.value} == set()
    held = [{key.decode() for key in master.ask("KEYS", "*")} for master in cluster_site.masters]
    assert all(held), "every master has some"
    for tag in TAGS:
        assert sum({f"{tag}:n", f"{tag}:s"} <= names for names in held) == 1
    assert int((await store.read("TIME"))[0]) > 0
    assert b"redis_version" in await store.read("INFO", "server")
    assert abs(store.clock.now() - time.time()) < 1 + store.clock._error


async def test_keys_of_two_slots_are_a_defect(store: Store) -> None:
    with pytest.raises(StoreError, match="CROSSSLOT"):
        await store.run(ECHO, ["{p1}:a", "{p2}:a"], [1])


async def test_a_moved_slot_is_followed_at_once(cluster_site: ClusterSite, store: Store) -> None:
    slot = slot_of("{p5}")
    assert await store.run(ADD, ["{p5}:n"], [1]) == 1
    source = cluster_site.master_of(slot)
    target = next(one for one in cluster_site.masters if one is not source)
    await asyncio.to_thread(cluster_site.migrate, slot, target)
    replies = await asyncio.gather(*(store.run(ADD, ["{p5}:n"], [1]) for _ in range(50)))
    assert sorted(replies) == list(range(2, 52))
    address = store.router.address_for(b"{p5}:events")
    assert address is not None
    assert address.port == target.port


async def test_a_slot_that_migrates_under_load_loses_nothing(cluster_site: ClusterSite, store: Store) -> None:
    names = [f"{{p3}}:{number}" for number in range(30)]
    slot = slot_of("{p3}")
    heard: dict[str, list[bytes | None]] = {name: [] for name in names}
    subscriber = Subscriber(store)
    try:
        for name in names:
            await subscriber.subscribe(f"{name}:events", heard[name].append)
        counting = Counting(store, names)
        async with counting.running():
            await eventually(lambda: counting.total > 300, "the load runs")
            for _ in range(3):
                source = cluster_site.master_of(slot)
                target = next(one for one in cluster_site.masters if one is not source)
                target.client.script_flush()
                told = {name: heard[name].count(None) for name in names}
                await asyncio.to_thread(cluster_site.migrate, slot, target)
                await eventually(
                    lambda told=told: all(heard[name].count(None) > told[name] for name in names),  # type: ignore[misc]
                    "every listener is told that its channel has moved",
                )
                now = counting.total
                await eventually(lambda now=now: counting.total > now + 300, "the load goes on")  # type: ignore[misc]
        await counting.check()
        assert counting.uncertain == 0, "a server that redirects has done nothing"
        for name in names:
            # Whatever is published now is heard: the channel is where the slot is.
            heard[name].clear()
            await store.publish(f"{name}:events", b"last")
        await eventually(lambda: all(heard[name][-1:] == [b"last"] for name in names), "all hear")
    finally:
        await subscriber.close()


@pytest.mark.parametrize("gone", ["a", "b"])
async def test_a_script_that_finds_its_keys_itself_never_runs_on_half_of_them(
    cluster_site: ClusterSite, store: Store, gone: str
) -> None:
    slot = slot_of("{p9}")
    assert await store.run(FINDER, ["{p9}:a"], ["{p9}:b"]) == [1, 1]
    source = cluster_site.master_of(slot)
    target = next(one for one in cluster_site.masters if one is not source)
    target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", node_id(source))
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", node_id(target))
    source.ask("MIGRATE", "127.0.0.1", target.port, f"{{p9}}:{gone}", 0, 5000)
    call = store.run(FINDER, ["{p9}:a"], ["{p9}:b"])
    if gone == "b":
        # It begins, looks for the other key, and ends there.
        with pytest.raises(StoreUncertain):
            await call
        await asyncio.to_thread(cluster_site.migrate, slot, target)
        assert await store.run(FINDER, ["{p9}:a"], ["{p9}:b"]) == [2, 2]
    else:
        # Where its one key has gone to, the other would look as if there were none: it waits for the slot.
        await asyncio.sleep(0.2)
        assert not call.done()
        await asyncio.to_thread(cluster_site.migrate, slot, target)
        assert await call == [2, 2]


async def test_s2_script_flush_on_one_node_with_calls_in_flight(cluster_site: ClusterSite, store: Store) -> None:
    for round_number in range(1, 4):
        calls = [store.run(ADD, [f"{tag}:n"], [1]) for tag in TAGS for _ in range(10)]
        cluster_site.masters[round_number % 3].client.script_flush()
        replies = await asyncio.gather(*calls)
        assert sorted(replies) == sorted(list(range(10 * round_number - 9, 10 * round_number + 1)) * 16)


async def test_replica_is_refused_while_one_master_has_none(cluster_site: ClusterSite) -> None:
    replica = next(one for one in cluster_site.servers if one.info("role") == "slave")
    await asyncio.to_thread(replica.kill)
    try:
        masters = [one for one in cluster_site.servers if one.running and one.info("role") == "master"]
        await asyncio.to_thread(
            until, lambda: any(one.info("connected_slaves") == 0 for one in masters), "the replica is missed"
        )
        with pytest.raises(SettingsError, match=r"RAMI_DURABILITY.*replica"):
            async with connected(cluster_site.url, durability="replica"):
                pass
    finally:
        await asyncio.to_thread(replica.start)


async def test_s5_a_killed_master_loses_nothing_acknowledged(cluster_site: ClusterSite) -> None:
    slot = slot_of("{p0}")
    async with connected(cluster_site.url, durability="replica", redis_timeout_seconds=1.0) as store:
        counting = Counting(store, [f"{tag}:n" for tag in TAGS], durable=True)
        subscriber = Subscriber(store)
        heard: list[bytes | None] = []
        await subscriber.subscribe("{p0}:n:events", heard.append)
        victim = cluster_site.master_of(slot)
        try:
            async with counting.running():
                await eventually(lambda: min(counting.acknowledged.values()) > 20, "the load runs")
                await asyncio.to_thread(victim.kill)
                others = [one for one in cluster_site.servers if one is not victim]
                await asyncio.to_thread(
                    until, lambda: sum(one.info("role") == "master" for one in others) == 3, "a replica takes over"
                )
                # Without a replica the new master can promise nothing: it gets one back.
                await asyncio.to_thread(victim.start)
                before = counting.acknowledged["{p0}:n"]
                await eventually(lambda: counting.acknowledged["{p0}:n"] > before + 20, "writes work again")
            assert counting.refused > 0, "calls were refused meanwhile"
            await counting.check()
            await eventually(lambda: None in heard, "the listener is told")
            await eventually(lambda: store.healthy, "the store is healthy")
            # The cluster may have failed over once more meanwhile: its own word counts.
            await asyncio.to_thread(cluster_site.wait_until_whole)
            in_charge = {one.port for one in cluster_site.masters}
            await eventually(
                lambda: {node.address.port for node in store.router.nodes} == in_charge, "the masters are known"
            )
            heard.clear()
            async with asyncio.timeout(60):
                while b"after" not in heard:  # what is published before the channel is there again, a None stands for
                    await store.publish("{p0}:n:events", b"after")
                    await asyncio.sleep(0.05)
        finally:
            await subscriber.close()
            if not victim.running:
                await asyncio.to_thread(victim.start)


async def test_a_server_that_is_no_node_is_said_to_be_none(store_url: str, caplog: pytest.LogCaptureFixture) -> None:
    url = store_url.replace("redis://", "redis+cluster://").removesuffix("/0")
    async with connected(url) as store:
        assert not store.healthy
        with pytest.raises(StoreUnavailable):
            await store.run(ADD, ["{p1}:n"], [1])
        with pytest.raises(StoreUnavailable):
            await store.read("TIME")
    assert "does not answer as a node of a cluster" in caplog.text


async def test_closing_leaves_no_connection(cluster_site: ClusterSite) -> None:
    async with connected(cluster_site.url) as store:
        subscriber = Subscriber(store)
        for tag in TAGS:
            await subscriber.subscribe(f"{tag}:c", lambda _message: None)
        await asyncio.gather(*(store.run(ADD, [f"{tag}:n"], [1]) for tag in TAGS))
        assert store.open_connections == store.metrics.connections.labels().value >= 3
        await subscriber.close()
    assert store.open_connections == store.metrics.connections.labels().value == 0
    for master in cluster_site.masters:
        await eventually(
            lambda one=master: b"name=rami" not in one.ask("CLIENT", "LIST"),  # type: ignore[misc]
            "only the test's connections are left",
        )
