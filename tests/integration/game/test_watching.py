"""Streams over real channels: openings, cursors, two replicas, heartbeats, superseding, draining, leaving nothing."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import grpc.aio
import pytest

from game_state.feeds import FILL_LIMIT
from rami.game.v1 import game_service_pb2 as pb
from rami_engine import DRAW_STOCK
from rami_kit.testing import bearer, player_token
from support.game_bots import at_random
from support.game_cluster import Refusal, game_cluster, room_options
from support.game_store import StoreView
from support.game_streams import PlayStream, Watch, end_of, play_over
from support.waiting import eventually

if TYPE_CHECKING:
    from rami.game.v1 import room_pb2
    from support.game_bots import FakeBots
    from support.game_cluster import Cluster, Player

SHUTTING_DOWN = ("UNAVAILABLE", "SHUTTING_DOWN")
SUPERSEDED = Refusal("ABORTED", "STREAM_SUPERSEDED", {})


async def begun(game: Cluster, *names: str, target: int = 1000) -> tuple[room_pb2.Room, list[Player]]:
    """A match of people, at its beginning."""
    players = [game.player(name) for name in names]
    room = await players[0].create(room_options(len(names), target=target))
    for player in players[1:]:
        await player.join(room.room_id)
    await players[0].start(room.room_id)
    return room, players


async def act(player: Player, room_id: str, actions: int = 1) -> int:
    """So many actions of the player, who is to move, the last legal one each time; the version afterwards."""
    version = 0
    for _ in range(actions):
        legal = (await player.view(room_id)).legal_actions
        version = (await player.submit(room_id, legal.version, legal.actions[-1])).event.version
    return version


async def test_a_stream_begins_with_a_snapshot_and_goes_on_with_every_event(twins: Cluster) -> None:
    room, (ann, bob) = await begun(twins, "ann", "bob")
    async with Watch(twins.player("eve", 1), room.room_id) as watch:
        first = await watch.read()
        assert first.HasField("snapshot")
        assert not first.snapshot.rewound
        assert first.snapshot.room.version == 3
        await act(ann, room.room_id, 2)
        version = await act(bob, room.room_id, 2)
        await watch.until_version(version)

    assert watch.versions == [4, 5, 6, 7]
    assert len(watch.snapshots) == 1
    for event in watch.events:
        assert event.HasField("time")
        assert len(event.cursor) == 16


async def test_snapshots_tell_the_time_of_the_store_and_with_it_what_is_left_of_a_turn(
    game: Cluster, store_url: str
) -> None:
    room, (ann, bob) = await begun(game, "ann", "bob")
    with StoreView(store_url) as store:
        before = store.now_ms()
        looked = (await ann.view(room.room_id)).snapshot
        async with Watch(bob, room.room_id) as watch:
            followed = (await watch.read()).snapshot
        after = store.now_ms()
    # The services follow the store's clock to within some milliseconds.
    for snapshot in (looked, followed):
        assert before - 1000 <= snapshot.time.ToMilliseconds() <= after + 1000
        left_ms = snapshot.room.turn.deadline.ToMilliseconds() - snapshot.time.ToMilliseconds()
        assert left_ms <= 61_000, "the turn has begun before the snapshot was made"


@pytest.mark.parametrize("replica", [0, 1])
async def test_a_cursor_brings_exactly_what_came_after_it(twins: Cluster, replica: int) -> None:
    room, (ann, bob) = await begun(twins, "ann", "bob")
    cursor = (await ann.view(room.room_id)).snapshot.cursor
    await act(ann, room.room_id, 2)
    version = await act(bob, room.room_id)
    async with Watch(twins.player("bob", replica), room.room_id, cursor, legal=True) as watch:
        watch.mirror.take_snapshot((await ann.view(room.room_id)).snapshot)
        message = await watch.call.read()
        assert not message.HasField("snapshot")
        assert [event.version for event in message.events] == [4, 5, 6]
        assert message.legal_actions.version == version, "and what bob may do now"
        middle = message.events[1].cursor
    async with Watch(ann, room.room_id, middle) as watch:
        message = await watch.call.read()
        assert [event.version for event in message.events] == [6]


async def test_a_cursor_of_now_brings_nothing_until_something_happens(game: Cluster) -> None:
    room, (ann, _) = await begun(game, "ann", "bob")
    cursor = (await ann.view(room.room_id)).snapshot.cursor
    async with Watch(ann, room.room_id, cursor) as watch:
        reading = asyncio.ensure_future(watch.call.read())
        await eventually(lambda: game.sample("rami_game_watchers", viewer="seat") == 1, "the watch is open")
        assert not reading.done()
        await act(ann, room.room_id)
        message = await reading
        assert [event.version for event in message.events] == [4]
        assert not message.HasField("snapshot")


@pytest.mark.parametrize(
    "cursor",
    [
        (3).to_bytes(8) + b"another!",
        (2).to_bytes(8) + b"another!",
        (400).to_bytes(8) + b"another!",
        bytes(16),
        b"\xff" * 16,
        (2**63).to_bytes(8) + bytes(8),
        (2**64 - 257).to_bytes(8) + bytes(8),
    ],
    ids=bytes.hex,
)
async def test_a_cursor_of_another_past_brings_a_snapshot_that_says_so(game: Cluster, cursor: bytes) -> None:
    room, (ann, _) = await begun(game, "ann", "bob")
    for stream in (Watch(ann, room.room_id, cursor), PlayStream(ann, room.room_id, cursor)):
        async with stream:
            message = await stream.read()
            assert message.snapshot.rewound
            assert message.snapshot.room.version == 3
            assert not message.events


async def test_a_cursor_of_long_ago_brings_a_snapshot_of_the_same_past(game: Cluster, bots: FakeBots) -> None:
    bots.choose = at_random(1)
    ann = game.player("ann")
    room = await ann.create(room_options(2, target=1000), {0: "easy", 1: "easy"}, observe=True)
    cursor = (await ann.view(room.room_id)).snapshot.cursor
    async with Watch(ann, room.room_id) as watch:
        await ann.start(room.room_id)
        await watch.until_version(FILL_LIMIT + 10)
    async with Watch(ann, room.room_id, cursor) as watch:
        message = await watch.read()
        assert message.HasField("snapshot")
        assert not message.snapshot.rewound


async def test_quiet_streams_carry_heartbeats(store_url: str) -> None:
    async with game_cluster(store_url, heartbeat_seconds=0.1) as cluster:
        ann = cluster.player("ann")
        room = await ann.create(room_options(2))
        async with Watch(ann, room.room_id) as watch, PlayStream(ann, room.room_id) as play:
            for stream in (watch, play):
                await stream.until(lambda stream=stream: stream.heartbeats >= 2)  # type: ignore[misc]
                beats = [message.heartbeat.time for message in stream.messages if message.HasField("heartbeat")]
                assert beats[0].ToMilliseconds() < beats[1].ToMilliseconds()


@pytest.mark.parametrize("replica", [0, 1])
async def test_a_newer_play_stream_takes_over_on_any_replica(twins: Cluster, replica: int) -> None:
    room, (ann, bob) = await begun(twins, "ann", "bob")
    async with PlayStream(ann, room.room_id) as old, PlayStream(bob, room.room_id) as other:
        await old.read()
        await other.read()
        async with PlayStream(twins.player("ann", replica), room.room_id, old.mirror.cursor) as new:
            assert await old.end() == SUPERSEDED
            new.mirror.take_snapshot(old.snapshots[0])
            result = await new.act(DRAW_STOCK)
            assert result.version == 4
            await other.until_version(4)
            assert new.versions == [4]


async def test_watches_of_a_seat_do_not_take_over_from_each_other(game: Cluster) -> None:
    room, (ann, _) = await begun(game, "ann", "bob")
    async with Watch(ann, room.room_id) as one, Watch(ann, room.room_id) as two, PlayStream(ann, room.room_id) as play:
        for stream in (one, two, play):
            await stream.read()
        await play.act(DRAW_STOCK)
        for stream in (one, two):
            await stream.until_version(4)


async def test_results_come_with_or_after_their_event(twins: Cluster) -> None:
    room, _ = await begun(twins, "ann", "bob", target=1)
    async with (
        PlayStream(twins.player("ann"), room.room_id) as first,
        PlayStream(twins.player("bob", 1), room.room_id) as second,
    ):
        await play_over({0: first, 1: second}, random.Random(5))
        for stream in (first, second):
            known = stream.snapshots[0].room.version
            for message in stream.messages:
                known = max([known, *(event.version for event in message.events)])
                assert isinstance(message, pb.PlayResponse)
                assert all(result.version <= known for result in message.results)


async def test_a_result_repeated_on_a_new_stream_is_the_first_answer(twins: Cluster) -> None:
    room, (ann, _) = await begun(twins, "ann", "bob")
    async with PlayStream(ann, room.room_id) as stream:
        await stream.read()
        key = await stream.send(DRAW_STOCK)
        await stream.until(lambda: key in stream.results)
    async with PlayStream(twins.player("ann", 1), room.room_id) as again:
        await again.read()
        result = await again.act(DRAW_STOCK, version=3, key=key)
        assert result.version == stream.results[key].version == 4
        assert again.version == 4


async def test_a_client_that_says_no_more_still_hears_everything(game: Cluster) -> None:
    room, (ann, _) = await begun(game, "ann", "bob")
    async with PlayStream(ann, room.room_id) as stream:
        await stream.read()
        await stream.call.done_writing()
        await stream.until_version(await act(ann, room.room_id))


async def test_s3_watchers_hear_of_everything_after_their_store_connection_was_cut(
    twins: Cluster, store_url: str
) -> None:
    room, (ann, _) = await begun(twins, "ann", "bob")
    async with Watch(twins.player("eve", 1), room.room_id) as far, Watch(twins.player("eve"), room.room_id) as near:
        await far.read()
        await near.read()
        version = 3
        for _ in range(2):
            with StoreView(store_url) as store:
                store.client.client_kill_filter(_type="pubsub")
            legal = (await ann.view(room.room_id)).legal_actions
            if not legal.actions:
                ann = twins.player("bob")
            version = await act(ann, room.room_id, 2)
            for watch in (far, near):
                await watch.until_version(version)
        assert far.versions == near.versions == list(range(4, version + 1))


async def test_g3_watches_that_are_gone_leave_nothing_behind(game: Cluster, store_url: str) -> None:
    ann = game.player("ann")
    rooms = [await ann.create(room_options(2)) for _ in range(5)]
    async with Watch(ann, rooms[0].room_id) as watch:
        await watch.read()  # the process keeps its one connection for published steps from now on
        with StoreView(store_url) as store:
            assert len(store.channels()) == 1
    await eventually(lambda: game.apps[0].interceptor.running == 0, "all calls are over")
    before = lasting_tasks()
    for round_number in range(4):
        watches = [Watch(game.player(f"player {number}"), rooms[number % 5].room_id) for number in range(50)]
        if round_number % 2:
            await asyncio.gather(*(watch.read() for watch in watches))
        for watch in watches:
            await watch.close()
    with StoreView(store_url) as store:
        await eventually(lambda: game.apps[0].interceptor.running == 0, "no stream is left")
        await eventually(lambda: store.channels() == [], "no subscription is left")
    for viewer in ("seat", "spectator"):
        assert game.sample("rami_game_watchers", viewer=viewer) == 0
    await eventually(lambda: lasting_tasks() == before, f"only the tasks {before} are left")


def lasting_tasks() -> list[str]:
    """The names of the tasks there are, but for those that every call has for a moment."""
    return sorted(task.get_name() for task in asyncio.all_tasks() if not task.get_name().startswith("Task-"))


async def test_play_streams_that_are_gone_leave_nothing_behind(game: Cluster, store_url: str) -> None:
    room, (ann, _) = await begun(game, "ann", "bob")
    for number in range(10):
        async with PlayStream(ann, room.room_id) as stream:
            if number % 2:
                await stream.read()
                await stream.send(DRAW_STOCK, version=1)
    with StoreView(store_url) as store:
        await eventually(lambda: game.apps[0].interceptor.running == 0, "no stream is left")
        await eventually(lambda: store.channels() == [], "no subscription is left")
    await eventually(
        lambda: not any(task.get_name() in ("play-reader", "feed-start") for task in asyncio.all_tasks()),
        "no reader is left",
    )


async def test_streams_end_at_the_drain_and_are_resumed_on_another_replica(store_url: str, bots: FakeBots) -> None:
    async with game_cluster(store_url, 2, ai_address=bots.target) as cluster:
        room, (ann, bob) = await begun(cluster, "ann", "bob")
        watch, play = Watch(bob, room.room_id), PlayStream(ann, room.room_id)
        async with watch, play:
            await watch.read()
            await play.read()
            await play.act(DRAW_STOCK)
            await watch.until_version(4)
            ends = asyncio.gather(watch.end(), play.end())
            await cluster.apps[0].drain()
            for end in await ends:
                assert end[:2] == SHUTTING_DOWN
        there = cluster.player("ann", 1)
        async with PlayStream(there, room.room_id, play.mirror.cursor) as resumed:
            resumed.mirror = play.mirror
            await resumed.act(play.mirror.legal_actions[-1])
            assert resumed.versions == [5]


async def test_a_stream_ends_with_its_token(game: Cluster) -> None:
    room, (ann, _) = await begun(game, "ann", "bob")
    # On a machine that stands still meanwhile, a life of a second may be over before the stream is open.
    heard: list[pb.WatchRoomResponse] = []
    for lifetime in (1.0, 5.0, 25.0):
        token = bearer(player_token("ann", lifetime_seconds=lifetime))
        call = ann.stub.WatchRoom(pb.WatchRoomRequest(room_id=room.room_id), metadata=token)
        assert await end_of(call, heard.append) == Refusal("UNAUTHENTICATED", "TOKEN_EXPIRED", {})
        if heard:
            break
    assert heard


async def test_a_closed_room_ends_streams_on_every_replica(twins: Cluster) -> None:
    ann = twins.player("ann")
    room = await ann.create(room_options(2))
    async with (
        Watch(twins.player("eve", 1), room.room_id) as far,
        Watch(twins.player("eve"), room.room_id) as near,
        PlayStream(ann, room.room_id) as play,
    ):
        for stream in (far, near, play):
            await stream.read()
        await ann.leave(room.room_id)
        for stream in (far, near, play):
            message = await stream.read()
            assert message.events[-1].changes[-1].HasField("room_closed")
            assert await stream.call.read() is grpc.aio.EOF
            assert await stream.call.code() is grpc.StatusCode.OK
