"""The game service on a cluster: rooms of 16 partitions play to their end, also while a slot moves or a master dies."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from rami_engine import verify_replay
from rami_kit import keys
from rami_kit.slots import slot_of
from rami_wire import replay_record
from support.game_bots import FakeBots, at_random
from support.game_cluster import game_cluster, room_options
from support.game_streams import Watch
from support.redis_topologies import ClusterSite, needs_redis_server, until
from support.waiting import eventually

if TYPE_CHECKING:
    import pytest

    from support.game_cluster import Cluster

pytestmark = needs_redis_server

ROOMS = 20
TURNS = 30
"""Of a match: slots have moved long before it is over."""
_ROOM_KEY = re.compile(r"\{p(\d+)\}:room:([a-z2-7]{16})")


async def make_rooms(cluster: Cluster) -> list[str]:
    """Public rooms of two bots, made on the first replica, so many that every master has some."""
    ann = cluster.player("ann")
    options = room_options(2, target=1)
    rooms = [await ann.create(options, {0: "easy", 1: "hard"}, observe=True) for _ in range(ROOMS)]
    return [room.room_id for room in rooms]


async def play_to_the_end(cluster: Cluster, room_id: str) -> None:
    """Starts a match on the first replica and watches it on the second, event by event, until it is over."""
    watcher = cluster.player("ann", 1)
    watch = Watch(watcher, room_id)
    async with watch:
        await watch.read()
        await cluster.player("ann").start(room_id)
        await watch.until(lambda: watch.mirror.room.HasField("result"))
    replay = await watcher.replay(room_id)
    verify_replay(replay_record(replay.header, replay.rounds))


def partition_of(room_id: str) -> int:
    place = keys.parse_room_id(room_id)
    assert place is not None
    return place[0]


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was logged as an error, but for what is true of a master that has no replica for a moment."""
    errors = [record.getMessage() for record in caplog.records if record.levelname in {"ERROR", "CRITICAL"}]
    return [text for text in errors if "replica needs a store with a replica" not in text]


async def test_rooms_play_to_their_end_while_slots_move(
    cluster_site: ClusterSite, caplog: pytest.LogCaptureFixture
) -> None:
    await asyncio.to_thread(cluster_site.spread, [slot_of(keys.partition_tag(number)) for number in range(16)])
    async with (
        FakeBots(at_random(7)) as bots,
        game_cluster(
            cluster_site.url,
            2,
            ai_address=bots.target,
            partitions=16,
            max_turns_per_round=TURNS,
            max_turns_per_match=TURNS,
            redis_timeout_seconds=20.0,
        ) as cluster,
    ):
        rooms = await make_rooms(cluster)
        ann, ben = cluster.player("ann"), cluster.player("ben", 1)
        private = await ann.create(room_options(2, public=False))
        assert (await ben.join_with(private.join_code)).room.room_id == private.room_id
        playing = asyncio.gather(*(play_to_the_end(cluster, room_id) for room_id in rooms))
        await eventually(lambda: len(bots.requests) > 20, "the bots play")
        for room_id in rooms[:3]:
            slot = slot_of(keys.partition_tag(partition_of(room_id)))
            source = cluster_site.master_of(slot)
            target = next(one for one in cluster_site.masters if one is not source)
            await asyncio.to_thread(cluster_site.migrate, slot, target)
        await playing
        for room_id in rooms:
            assert (await ben.room(room_id)).HasField("result")

        homes: dict[tuple[str, str], set[int]] = defaultdict(set)
        for number, master in enumerate(cluster_site.masters):
            for key in master.ask("KEYS", "*"):
                tag = re.match(rb"\{p(\d+)\}:", key)
                assert tag is not None, key
                assert slot_of(key) == slot_of(keys.partition_tag(int(tag[1])))
                if found := _ROOM_KEY.match(key.decode()):
                    homes[found[1], found[2]].add(number)
        assert {f"p{partition}-{token}" for partition, token in homes} == {*rooms, private.room_id}
        assert all(len(home) == 1 for home in homes.values()), "all keys of a room lie on one master"
        assert len(set.union(*homes.values())) == 3, "and every master has rooms"
    assert complaints(caplog) == []
    assert "CROSSSLOT" not in caplog.text


async def test_rooms_play_on_after_a_master_was_killed(
    cluster_site: ClusterSite, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        FakeBots(at_random(11)) as bots,
        game_cluster(
            cluster_site.url,
            2,
            ai_address=bots.target,
            partitions=16,
            durability="replica",
            redis_timeout_seconds=5.0,
        ) as cluster,
    ):
        rooms = await make_rooms(cluster)
        ann = cluster.player("ann")
        for room_id in rooms:
            await ann.start(room_id)
        await eventually(lambda: len(bots.requests) > 20, "the bots play")
        victim = cluster_site.master_of(slot_of(keys.partition_tag(partition_of(rooms[0]))))
        others = [one for one in cluster_site.servers if one is not victim]
        await asyncio.to_thread(victim.kill)
        try:
            await asyncio.to_thread(
                until, lambda: sum(one.info("role") == "master" for one in others) == 3, "a replica takes over"
            )
        finally:
            await asyncio.to_thread(victim.start)
        await asyncio.to_thread(cluster_site.wait_until_whole)
        for room_id in rooms:
            watch = Watch(cluster.player("ann", 1), room_id)
            async with watch:
                await watch.read()
                await watch.until(lambda watch=watch: watch.mirror.room.HasField("result"))  # type: ignore[misc]
            replay = await ann.replay(room_id)
            verify_replay(replay_record(replay.header, replay.rounds))
        await eventually(lambda: all(app.require_store().healthy for app in cluster.apps), "all replicas are healthy")
    assert complaints(caplog) == []
