"""Clocks over real time, with short settings: turns, stand-ins, idle rooms, and the keys that are left."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

from rami.game.v1 import event_pb2, room_pb2, rules_pb2
from rami_engine import DRAW_STOCK, verify_link
from rami_wire import action_to_proto
from support.game_bots import at_random, plain
from support.game_cluster import game_cluster, refusal, room_options
from support.game_store import StoreView
from support.game_streams import PlayStream, Watch, play_over
from support.waiting import eventually

if TYPE_CHECKING:
    from support.game_bots import FakeBots

AUTOPILOT = event_pb2.ACTION_SOURCE_AUTOPILOT
BOT = event_pb2.ACTION_SOURCE_BOT
PLAYER = event_pb2.ACTION_SOURCE_PLAYER


def happened(watch: Watch) -> list[Any]:
    """The changes that were seen, with seats that changed as cause and actions as source."""
    told: list[Any] = []
    for event in watch.events:
        for change in event.changes:
            if change.HasField("seat_changed"):
                told.append(
                    event_pb2.SeatChangeCause.Name(change.seat_changed.cause).removeprefix("SEAT_CHANGE_CAUSE_")
                )
            elif change.HasField("action_played"):
                told.append((change.action_played.seat, change.action_played.source))
            else:
                told.append(change.WhichOneof("kind"))
    return told


async def test_v6_autopilot_plays_for_a_person_who_does_not_and_after_two_turns_a_bot(
    store_url: str, bots: FakeBots
) -> None:
    bots.choose = plain
    async with game_cluster(store_url, 2, ai_address=bots.target, sweep_seconds=0.05) as cluster:
        ann = cluster.player("ann")
        room = await ann.create(room_options(2, turn_limit=60, bot_pace=0), {1: "hard"})
        async with Watch(ann, room.room_id) as watch:
            await watch.read()
            await ann.start(room.room_id)
            for _ in range(2):
                await watch.until(lambda: watch.mirror.room.HasField("turn") and watch.mirror.room.turn.seat == 0)
                with StoreView(store_url) as store:
                    store.hasten(room.room_id, turn_deadline_ms=store.now_ms())
                await watch.until(lambda: watch.mirror.room.turn.seat == 1)
            assert watch.stand_in(0)
            await watch.until(lambda: watch.mirror.room.turn.seat == 0)
            await watch.until(lambda: watch.mirror.room.turn.seat == 1)
            told = happened(watch)[2:]
            turns = [told[place : place + 3] for place in (0, 5)]
            assert turns == [["TIMED_OUT", (0, AUTOPILOT), (0, AUTOPILOT)], ["TIMED_OUT", (0, BOT), (0, BOT)]]
            assert told[3:5] == told[8:10] == [(1, BOT), (1, BOT)]
            assert told[10:12] == [(0, BOT), (0, BOT)], "the third turn has no clock any more"
            assert {request.bot for request in bots.requests if request.view.seat == 0} == {"easy"}

            version = (await ann.join(room.room_id)).room.version
            await watch.until_version(version)
            assert not watch.stand_in(0)
            assert "RETURNED" in happened(watch)
        total = sum(cluster.sample("rami_game_autopilot_turns_total", replica) for replica in (0, 1))
        assert total == sum(entry == "TIMED_OUT" for entry in told)


async def test_a_person_who_acts_in_time_meets_no_autopilot(store_url: str, bots: FakeBots) -> None:
    async with game_cluster(store_url, ai_address=bots.target) as cluster:
        ann, bob = cluster.player("ann"), cluster.player("bob")
        room = await ann.create(room_options(2, turn_limit=30, target=1))
        await bob.join(room.room_id)
        async with PlayStream(ann, room.room_id) as first, PlayStream(bob, room.room_id) as second:
            await first.read()
            await ann.start(room.room_id)
            await play_over({0: first, 1: second}, random.Random(1))
        sources = {source for played in (await ann.replay(room.room_id)).rounds for source in _sources(played)}
        assert sources == {PLAYER}


def _sources(played: Any) -> list[int]:
    return [action.source for action in played.actions]


async def test_v6_after_a_match_no_timer_fires_until_the_room_is_gone(store_url: str, bots: FakeBots) -> None:
    settings = {"finished_seconds": 0.6, "sweep_seconds": 0.05}
    async with game_cluster(store_url, 2, ai_address=bots.target, **settings) as cluster:
        ann = cluster.player("ann")
        room = await ann.create(room_options(2, target=1, turn_limit=0.1), {0: "easy", 1: "easy"}, observe=True)
        async with Watch(ann, room.room_id) as watch:
            await watch.read()
            await ann.start(room.room_id)
            await watch.until(lambda: watch.mirror.room.HasField("result"))
            over = watch.version
            await watch.until(lambda: watch.version > over)
            assert watch.events[-1].changes[0].room_closed.reason == event_pb2.ROOM_CLOSE_REASON_EXPIRED
            assert watch.version == over + 1
            lived = watch.events[-1].time.ToMilliseconds() - watch.events[-2].time.ToMilliseconds()
            assert lived >= 600
        with StoreView(store_url) as store:
            assert store.room_keys() == set()
            assert store.entries(room.room_id) == set()
        assert (await refusal(ann.room(room.room_id))).reason == "ROOM_NOT_FOUND"


async def test_a_lobby_in_which_nothing_happens_is_closed_and_leaves_no_key(store_url: str) -> None:
    async with game_cluster(store_url) as cluster:
        await cluster.add_replica(lobby_idle_seconds=0.4, sweep_seconds=0.05)
        ann, hasty = cluster.player("ann"), cluster.player("ann", 1)
        public = await ann.create(room_options(2))
        private = await ann.create(room_options(2, public=False))
        async with Watch(ann, public.room_id) as watch, Watch(ann, private.room_id) as other:
            for stream in (watch, other):
                await stream.read()
                await hasty.bring(stream.room_id, b"the last that happens")
            for stream in (watch, other):
                await stream.until(lambda stream=stream: stream.mirror.room.status == room_pb2.ROOM_STATUS_CLOSED)  # type: ignore[misc]
                lived = stream.events[-1].time.ToMilliseconds() - stream.events[-2].time.ToMilliseconds()
                assert lived >= 400
        with StoreView(store_url) as store:
            # Nobody waits for what is noted of players.
            await eventually(lambda: store.all_keys() == set(), "no key is left")
        assert (await refusal(ann.join_with(private.join_code))).reason == "JOIN_CODE_NOT_FOUND"


async def test_a_match_in_which_nothing_happens_is_abandoned_with_its_seed(store_url: str) -> None:
    async with game_cluster(store_url, match_idle_seconds=0.4, sweep_seconds=0.05) as cluster:
        ann, bob = cluster.player("ann"), cluster.player("bob")
        room = await ann.create(room_options(2, turn_limit=0))
        await bob.join(room.room_id)
        async with Watch(bob, room.room_id) as watch:
            await watch.read()
            await ann.start(room.room_id)
            await watch.until(lambda: watch.mirror.room.HasField("result"))
            ended = watch.events[-1].changes[-1].match_ended
        assert ended.result.reason == rules_pb2.MATCH_END_REASON_ABANDONED
        assert verify_link(ended.seed, room.commitment)
        assert (await ann.rematch(room.room_id)).room.status == room_pb2.ROOM_STATUS_LOBBY


async def test_s7_every_key_of_a_room_has_a_ttl_after_every_step(store_url: str, bots: FakeBots) -> None:
    bots.choose = at_random(8)
    async with game_cluster(store_url, ai_address=bots.target) as cluster:
        ann, bob = cluster.player("ann"), cluster.player("bob")
        room = await ann.create(room_options(3, public=False, target=1000), {1: "easy"})
        await bob.join_with(room.join_code)
        chance = random.Random(3)
        with StoreView(store_url) as store:
            keys = store.room_keys()
            assert len(keys) == 3

            def check() -> None:
                assert store.room_keys() == keys
                for key in keys:
                    ttl = store.client.pttl(key)
                    assert 1_000 < ttl <= 86_400_000 + 60_000, f"{key} lives for {ttl} ms"

            check()
            async with PlayStream(ann, room.room_id) as first, PlayStream(bob, room.room_id) as second:
                await first.read()
                await second.read()
                await ann.start(room.room_id)
                for _ in range(60):
                    await play_over({0: first, 2: second}, chance, actions=1)
                    check()
                assert first.version > 80
            await ann.leave(room.room_id)
            await bob.leave(room.room_id)
            check()
            for key in keys:
                assert store.client.pttl(key) <= 3_600_000 + 60_000


async def test_keys_go_by_themselves_where_no_replica_closes_the_room(store_url: str) -> None:
    """Nobody looked for so long that the keys ran out: what names the room goes when somebody looks."""
    async with game_cluster(store_url, sweep_seconds=10) as cluster:
        ann = cluster.player("ann")
        room = await ann.create(room_options(2))
        with StoreView(store_url) as store:
            for key in store.room_keys():
                store.client.delete(key)
            assert len(store.entries(room.room_id)) == 2
            await cluster.add_replica(sweep_seconds=0.05)
            store.client.zadd("{p0}:due", {store.place(room.room_id)[1]: 1})
            await eventually(lambda: "{p0}:due" not in store.entries(room.room_id), "the due set forgets the room")
            assert store.entries(room.room_id) == {"{p0}:list:lobby"}
            await _listed(cluster.player("eve"))
            assert store.entries(room.room_id) == set()
            assert store.room_keys() == set()
            # What is kept of the player goes by itself.
            assert all(store.client.pttl(key) > 0 for key in store.all_keys())


async def _listed(player: Any) -> None:
    from rami.game.v1 import game_service_pb2 as pb

    assert not (await player.call(player.stub.ListRooms, pb.ListRoomsRequest())).rooms


async def test_coming_and_going_holds_no_table_up(store_url: str, bots: FakeBots) -> None:
    """Ann leaves and joins all the time and never plays: her turns pass, and Bob gets his."""
    async with game_cluster(store_url, ai_address=bots.target, sweep_seconds=0.05) as cluster:
        ann, bob = cluster.player("ann"), cluster.player("bob")
        room = await ann.create(room_options(2, turn_limit=0.5, bot_pace=0.3))
        await bob.join(room.room_id)
        await ann.start(room.room_id)
        stop = asyncio.Event()

        async def come_and_go() -> None:
            while not stop.is_set():
                await ann.leave(room.room_id)
                await ann.join(room.room_id)

        going = asyncio.ensure_future(come_and_go())
        async with Watch(bob, room.room_id) as watch:
            await watch.until(lambda: watch.mirror.room.turn.seat == 1)
            stop.set()
            await going
            assert (await refusal(ann.submit(room.room_id, 1, action_to_proto(DRAW_STOCK)))).reason == "STALE_VERSION"
