"""Replicas that end in good order: what they were about to do is due at once, and another does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from rami_kit import keys
from support.game_bots import at_random, silent
from support.game_cluster import game_cluster, room_options
from support.game_store import StoreView
from support.game_streams import Watch
from support.waiting import eventually

if TYPE_CHECKING:
    from support.game_bots import FakeBots

LEASE_SECONDS = 10
"""The longest lease there is: what is due before it has been handed over."""


def overdue_ms(store: StoreView, room_id: str) -> float:
    """How long ago a room became due."""
    partition, token = store.place(room_id)
    return store.now_ms() - cast("float", store.client.zscore(keys.due_key(partition), token))


async def test_a_bot_that_is_asked_when_its_replica_drains_is_moved_by_another(store_url: str, bots: FakeBots) -> None:
    bots.choose = silent
    values: dict[str, Any] = {"ai_address": bots.target, "lease_seconds": LEASE_SECONDS, "decision_timeout_seconds": 60}
    async with game_cluster(store_url, **values) as cluster:
        ann = cluster.player("ann")
        rooms = [await ann.create(room_options(2, turn_limit=0), {0: "hard"}) for _ in range(3)]
        for room in rooms:
            await ann.start(room.room_id)
        await eventually(lambda: len(bots.requests) == 3, "the bots are asked")
        with StoreView(store_url) as store:
            assert all(overdue_ms(store, room.room_id) < 0 for room in rooms)
            await cluster.apps[0].drain()
            assert all(overdue_ms(store, room.room_id) >= 0 for room in rooms)
        bots.choose = at_random(1)
        await cluster.add_replica()
        for room in rooms:
            async with Watch(cluster.player("ann", 1), room.room_id) as watch:
                await watch.until(lambda watch=watch: watch.mirror.room.turn.seat == 1)  # type: ignore[misc]


@pytest.mark.parametrize("waits", ["bot_pace", "round_interval"])
async def test_what_was_to_come_later_is_not_brought_forward(waits: str, store_url: str, bots: FakeBots) -> None:
    bots.choose = at_random(2)
    options = room_options(2, target=1000, bot_pace=1.0)
    if waits == "round_interval":
        options = room_options(2, target=1000, bot_pace=0, round_interval=1.0)
    async with game_cluster(store_url, 2, ai_address=bots.target, lease_seconds=LEASE_SECONDS) as cluster:
        ann = cluster.player("ann")
        room = await ann.create(options, {0: "easy", 1: "easy"}, observe=True)
        async with Watch(cluster.player("ann", 1), room.room_id) as watch:
            await watch.read()
            await ann.start(room.room_id)
            if waits == "round_interval":
                await watch.until(lambda: any(c.HasField("round_ended") for e in watch.events for c in e.changes))
            else:
                await watch.until_version(watch.version + 1)
            version = watch.version
            await cluster.apps[0].drain()
            await watch.until_version(version + 1)
        times = {event.version: event.time.ToMilliseconds() for event in watch.events}
        assert times[version + 1] - times[version] >= 1000


async def test_rooms_that_are_gone_are_not_made_due(store_url: str, bots: FakeBots) -> None:
    bots.choose = silent
    async with game_cluster(store_url, 1, ai_address=bots.target, decision_timeout_seconds=60) as cluster:
        ann = cluster.player("ann")
        room = await ann.create(room_options(2, turn_limit=0), {0: "hard"})
        await ann.start(room.room_id)
        await eventually(lambda: bool(bots.requests), "the bot is asked")
        with StoreView(store_url) as store:
            store.client.delete("{p0}:due")
            await cluster.apps[0].drain()
            assert not store.client.exists("{p0}:due")
