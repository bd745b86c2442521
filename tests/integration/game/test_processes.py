"""Processes of the service that are killed or told to end, and what others make of it."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from rami.game.v1 import event_pb2, room_pb2
from rami_engine import verify_replay
from rami_wire import replay_record
from support.game_bots import at_random, plain, silent
from support.game_cluster import game_cluster, room_options
from support.game_process import GameProcess
from support.game_store import StoreView
from support.game_streams import PlayStream, Watch, play_over
from support.waiting import eventually

if TYPE_CHECKING:
    from support.game_bots import FakeBots

AUTOPILOT = event_pb2.ACTION_SOURCE_AUTOPILOT


async def test_v4_after_kill_9_watchers_resume_with_nothing_missing_and_nothing_twice(
    store_url: str, bots: FakeBots
) -> None:
    bots.choose = at_random(6)
    async with GameProcess(store_url, ai_address=bots.target) as process:
        ann, eve = process.player("ann"), process.player("eve")
        room = await ann.create(room_options(3, target=200), {1: "easy", 2: "hard"})
        watch, play = Watch(eve, room.room_id), PlayStream(ann, room.room_id)
        async with watch, play:
            await watch.read()
            await ann.start(room.room_id)
            await play_over({0: play}, random.Random(1), actions=12)
            ends = asyncio.gather(watch.end(), play.end())
            await process.kill()
            assert {end.code for end in await ends} == {"UNAVAILABLE"}
    assert play.version > 12

    async with game_cluster(store_url, ai_address=bots.target) as cluster:
        again = Watch(cluster.player("eve"), room.room_id, watch.mirror.cursor)
        resumed = PlayStream(cluster.player("ann"), room.room_id, play.mirror.cursor)
        again.mirror, resumed.mirror = watch.mirror, play.mirror
        async with again, resumed:
            await play_over({0: resumed}, random.Random(2), actions=12)
            await again.until_version(resumed.version)
            assert not again.snapshots
            assert not resumed.snapshots
            for before, after in ((watch, again), (play, resumed)):
                first = before.snapshots[0].room.version
                assert before.versions + after.versions == list(range(first + 1, after.version + 1))
        replay = await cluster.player("ann").replay(room.room_id)
        verify_replay(replay_record(replay.header, replay.rounds))


async def test_v6_a_turn_that_runs_out_while_the_service_is_down_is_played_once(store_url: str, bots: FakeBots) -> None:
    bots.choose = plain
    async with GameProcess(store_url, ai_address=bots.target) as process:
        ann, bob = process.player("ann"), process.player("bob")
        room = await ann.create(room_options(2, turn_limit=60, bot_pace=0))
        await bob.join(room.room_id)
        await ann.start(room.room_id)
        view = await bob.view(room.room_id)
        await process.kill()
    with StoreView(store_url) as store:
        deadline = store.now_ms() + 1000
        store.hasten(room.room_id, turn_deadline_ms=deadline)

    async with game_cluster(store_url, 2, ai_address=bots.target) as cluster:
        async with Watch(cluster.player("bob"), room.room_id, view.snapshot.cursor) as watch:
            watch.mirror.take_snapshot(view.snapshot)
            await watch.until(lambda: watch.mirror.room.turn.seat == 1)
        told = [change for event in watch.events for change in event.changes]
        assert [change.WhichOneof("kind") for change in told] == ["seat_changed", "action_played", "action_played"]
        assert told[0].seat_changed.cause == event_pb2.SEAT_CHANGE_CAUSE_TIMED_OUT
        assert [change.action_played.source for change in told[1:]] == [AUTOPILOT, AUTOPILOT]
        assert watch.events[0].time.ToMilliseconds() >= deadline
        assert sum(cluster.sample("rami_game_autopilot_turns_total", replica) for replica in (0, 1)) == 1


async def test_a_bot_that_was_to_move_when_its_replica_was_killed_is_moved_by_another(
    store_url: str, bots: FakeBots
) -> None:
    bots.choose = silent
    async with GameProcess(store_url, ai_address=bots.target, decision_timeout_seconds=60) as process:
        ann = process.player("ann")
        room = await ann.create(room_options(2, turn_limit=0), {0: "hard"})
        lobby = (await ann.view(room.room_id)).snapshot
        await ann.start(room.room_id)
        await eventually(lambda: bool(bots.requests), "the bot is asked")
        await process.kill()
    bots.choose = at_random(1)
    async with game_cluster(store_url, ai_address=bots.target) as cluster:
        async with Watch(cluster.player("ann"), room.room_id, lobby.cursor) as watch:
            watch.mirror.take_snapshot(lobby)
            await watch.until(lambda: watch.mirror.room.turn.seat == 1)
        assert watch.versions == list(range(2, watch.version + 1))


async def test_a_replica_that_is_told_to_end_does_so_in_good_order(store_url: str, bots: FakeBots) -> None:
    async with GameProcess(store_url, ai_address=bots.target) as process:
        ann = process.player("ann")
        # Slow enough that nobody who comes back has missed more than the log is read for.
        options = room_options(2, target=1000, bot_pace=0.05)
        room = await ann.create(options, {0: "easy", 1: "easy"}, observe=True)
        watch = Watch(ann, room.room_id)
        async with watch:
            await ann.start(room.room_id)
            await watch.until_version(20)
            ending = asyncio.ensure_future(watch.end())
            assert await process.drain() == 0
            end = await ending
            assert end[:2] == ("UNAVAILABLE", "SHUTTING_DOWN")
    async with game_cluster(store_url, ai_address=bots.target) as cluster:
        async with Watch(cluster.player("ann"), room.room_id, watch.mirror.cursor) as again:
            again.mirror = watch.mirror
            await again.until_version(watch.version + 20)
        assert not again.snapshots
        assert (await cluster.player("ann").room(room.room_id)).status == room_pb2.ROOM_STATUS_IN_MATCH
