"""How streams end: with what was still to be told, with a closing where the room went unseen, for a newer stream."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest

from game_state.actions import ActionPlayer
from game_state.feeds import Feed
from game_state.play_notices import ANNOUNCEMENT, PlayNotice, decode_notice
from game_state.watcher import Watcher
from rami.game.v1 import event_pb2
from rami.game.v1 import game_service_pb2 as pb
from rami_engine import DRAW_STOCK
from rami_kit import keys
from support.game_cluster import game_cluster, room_options
from support.game_store import StoreView
from support.game_streams import PlayStream, Watch, reason_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rami.game.v1 import room_pb2
    from support.game_cluster import Cluster

SUPERSEDED = ("ABORTED", "STREAM_SUPERSEDED")


@pytest.fixture
async def twins(store_url: str) -> AsyncIterator[Cluster]:
    async with game_cluster(store_url, 2) as cluster:
        yield cluster


async def begun(cluster: Cluster) -> room_pb2.Room:
    """A match of ann, who is to move, and bob."""
    ann, bob = cluster.player("ann"), cluster.player("bob")
    room = await ann.create(room_options(2))
    await bob.join(room.room_id)
    await ann.start(room.room_id)
    return room


@pytest.mark.parametrize("bad", [pb.PlayRequest(hello=pb.PlayHello()), pb.PlayRequest()])
async def test_a_message_that_ends_the_stream_swallows_no_result(bad: pb.PlayRequest, store_url: str) -> None:
    async with game_cluster(store_url) as cluster:
        for _ in range(5):
            room = await begun(cluster)
            async with PlayStream(cluster.player("ann"), room.room_id) as stream:
                await stream.read()
                sent = [await stream.send(DRAW_STOCK) for _ in range(2)]
                await stream.call.write(bad)
                end = await stream.end()
            assert end.code == "INVALID_ARGUMENT"
            assert stream.results[sent[0]].version == stream.version
            assert stream.results[sent[1]].HasField("error")


async def test_a_drain_waits_for_what_becomes_of_an_action(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, drained = asyncio.Event(), asyncio.Event()
    play = ActionPlayer.play

    async def play_late(self: ActionPlayer, *args: Any) -> Any:
        taken.set()
        await drained.wait()
        return await play(self, *args)

    monkeypatch.setattr(ActionPlayer, "play", play_late)
    async with game_cluster(store_url, 1) as cluster:
        room = await begun(cluster)
        async with PlayStream(cluster.player("ann"), room.room_id) as stream:
            await stream.read()
            key = await stream.send(DRAW_STOCK)
            await taken.wait()
            untaken = await stream.send(DRAW_STOCK)
            draining = asyncio.create_task(cluster.apps[0].drain())
            await cluster.apps[0].draining.wait()
            drained.set()
            end = await stream.end()
            await draining
        assert (end.code, end.reason) == ("UNAVAILABLE", "SHUTTING_DOWN")
        assert stream.results[key].version == stream.version
        assert untaken not in stream.results or stream.results[untaken].HasField("error")


async def forget(room_id: str, store_url: str) -> None:
    """Remove a room from the store without a word to anybody."""
    with StoreView(store_url) as store:
        place = store.place(room_id)
        assert store.client.delete(keys.room_key(*place), keys.log_key(*place)) == 2


def require_gone(stream: Watch | PlayStream, version: int) -> None:
    event = stream.events[-1]
    assert event.changes[-1].room_closed.reason == event_pb2.ROOM_CLOSE_REASON_GONE
    assert stream.versions == [version + 1]


async def read_to_the_end(stream: Watch | PlayStream) -> grpc.StatusCode:
    while (message := await stream.call.read()) is not grpc.aio.EOF:
        stream.take(message)
    code: grpc.StatusCode = await stream.call.code()
    return code


async def test_a_room_that_went_unseen_ends_its_streams_with_a_closing(twins: Cluster, store_url: str) -> None:
    room = await begun(twins)
    async with (
        Watch(twins.player("eve", 1), room.room_id) as watch,
        PlayStream(twins.player("ann"), room.room_id) as play,
    ):
        await watch.read()
        await play.read()
        version = watch.version
        await forget(room.room_id, store_url)
        with StoreView(store_url) as store:
            store.client.client_kill_filter(_type="pubsub")
        for stream in (watch, play):
            assert await read_to_the_end(stream) is grpc.StatusCode.OK
            require_gone(stream, version)
    again = Watch(twins.player("eve", 1), room.room_id, watch.events[-1].cursor)
    assert (await again.end())[:2] == ("NOT_FOUND", "ROOM_NOT_FOUND")


async def test_a_quiet_stream_finds_out_that_its_room_is_gone(store_url: str) -> None:
    async with game_cluster(store_url, heartbeat_seconds=0.2) as cluster:
        room = await begun(cluster)
        async with Watch(cluster.player("eve"), room.room_id) as watch:
            await watch.read()
            version = watch.version
            await watch.until(lambda: watch.heartbeats > 0)
            await forget(room.room_id, store_url)
            assert await read_to_the_end(watch) is grpc.StatusCode.OK
            require_gone(watch, version)


async def test_a_quiet_stream_finds_steps_that_nobody_told(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with game_cluster(store_url, 2, heartbeat_seconds=0.2) as cluster:
        room = await begun(cluster)
        async with Watch(cluster.player("eve", 1), room.room_id) as watch:
            await watch.read()
            monkeypatch.setattr(Feed, "on_message", lambda _feed, _message: None)
            view = await cluster.player("ann").view(room.room_id)
            legal = view.legal_actions
            done = await cluster.player("ann").submit(room.room_id, legal.version, legal.actions[0])
            await watch.until_version(done.event.version)


async def test_a_newer_stream_whose_notice_was_lost_takes_over_all_the_same(
    twins: Cluster, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = await begun(twins)
    with monkeypatch.context() as patch:
        patch.setattr(Feed, "_hear_play", lambda *_, **__: None)
        older, newer = (PlayStream(twins.player("ann", replica), room.room_id) for replica in (0, 1))
        for stream in (older, newer):
            await stream.__aenter__()
            await stream.read()
        # Both believe to be the newest.
        for stream in (older, newer):
            assert reason_of(await stream.act(DRAW_STOCK, version=1)) == "STALE_VERSION"
    with StoreView(store_url) as store:
        store.client.client_kill_filter(_type="pubsub")
    assert (await older.end())[:2] == SUPERSEDED
    assert (await newer.act(DRAW_STOCK)).version == newer.version
    await older.close()
    await newer.close()


def test_the_newest_of_a_seat_is_who_the_store_says() -> None:
    first, second = PlayNotice(0, b"%016d" % 1, b"b" * 8), PlayNotice(0, b"%016d" % 2, b"a" * 8)
    twin, elsewhere = first._replace(stream_id=b"c" * 8), second._replace(seat=1)
    assert decode_notice(first.encode(ANNOUNCEMENT)) == first

    def playing(*heard_before: PlayNotice) -> Watcher:
        watcher = Watcher()
        watcher.plays(0)
        for notice in heard_before:
            assert watcher.hear_play(notice) is None
        watcher.announced(first)
        return watcher

    assert not playing(elsewhere).superseded
    assert playing(second).superseded, "also when it was heard of before the own notice was known"
    assert playing(twin).superseded
    later = playing()
    assert later.hear_play(elsewhere) is None
    assert later.hear_play(first) is None
    assert not later.superseded
    assert later.hear_play(first._replace(order=b"%016d" % 0)) == first, "an older one is answered"
    assert not later.superseded
    assert later.hear_play(second) is None
    assert later.superseded


def test_only_who_plays_has_doubts() -> None:
    watching = Watcher()
    watching.doubt()
    assert watching.take_doubt() is None
    playing = Watcher()
    playing.plays(1)
    playing.doubt()
    assert playing.take_doubt() is None, "nobody knows of it yet"
    notice = PlayNotice(1, b"%016d" % 5, b"x" * 8)
    playing.announced(notice)
    assert playing.take_doubt() == notice
    assert playing.take_doubt() is None
