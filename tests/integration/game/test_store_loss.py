"""A store that goes away, stalls and comes back while people play."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1 import room_pb2
from rami_engine import DRAW_STOCK, verify_replay
from rami_kit.embedded import EmbeddedStore
from rami_kit.testing import channel_to
from rami_wire import action_to_proto, replay_record
from support.game_bots import at_random
from support.game_cluster import CALL_SECONDS, Refusal, game_cluster, refusal, request_id, room_options
from support.game_store import StoreView
from support.game_streams import PlayStream, Watch, play_over, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rami_kit.app import App
    from support.game_bots import FakeBots
    from support.game_cluster import Cluster

AWAY = Refusal("UNAVAILABLE", "STORE_UNAVAILABLE", {})
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.fixture
def own_store() -> Iterator[EmbeddedStore]:
    """A store that keeps its data over a restart, and that a test may stop."""
    with EmbeddedStore(append_only=True) as store:
        yield store


async def until_health_is(app: App, wanted: int) -> None:
    async with channel_to(app) as channel, asyncio.timeout(CALL_SECONDS):
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=""))
        async for answer in watch:
            if answer.status == wanted:
                return


async def test_calls_are_unavailable_while_the_store_is_away_and_play_goes_on_when_it_is_back(
    own_store: EmbeddedStore, bots: FakeBots
) -> None:
    bots.choose = at_random(2)
    async with game_cluster(own_store.url, ai_address=bots.target) as cluster:
        ann, eve = cluster.player("ann"), cluster.player("eve")
        room = await ann.create(room_options(2, target=1000), {1: "hard"})
        room_id = room.room_id
        watch, play = Watch(eve, room_id), PlayStream(ann, room_id)
        async with watch, play:
            await watch.read()
            await play.read()
            await ann.start(room_id)
            await play_over({0: play}, random.Random(1), actions=6)
            await play.until(lambda: bool(play.mirror.legal_actions))

            await asyncio.to_thread(own_store.kill)
            assert await refusal(ann.submit(room_id, play.version, action_to_proto(DRAW_STOCK))) == AWAY
            assert await refusal(ann.room(room_id)) == AWAY
            assert await refusal(ann.create(room_options(2))) == AWAY
            assert await refusal(ann.replay(room_id)) == AWAY
            assert await Watch(eve, room_id).end() == AWAY
            result = await play.act(play.mirror.legal_actions[0])
            assert reason_of(result) == "STORE_UNAVAILABLE"
            await until_health_is(cluster.apps[0], NOT_SERVING)

            await asyncio.to_thread(own_store.start)
            await until_health_is(cluster.apps[0], SERVING)
            await play_over({0: play}, random.Random(2), actions=10)
            await watch.until_version(play.version)
            for stream in (watch, play):
                first = stream.snapshots[0].room.version
                assert stream.versions == list(range(first + 1, stream.version + 1))
                assert len(stream.snapshots) == 1
        replay = await ann.replay(room_id)
        verify_replay(replay_record(replay.header, replay.rounds))
        method = "rami.game.v1.GameService/GetRoom"
        assert cluster.sample("rami_grpc_handled_total", method=method, code="UNAVAILABLE") == 1


async def test_bots_go_on_when_the_store_is_back(own_store: EmbeddedStore, bots: FakeBots) -> None:
    bots.choose = at_random(2)
    settings: dict[str, Any] = {"sweep_seconds": 0.1, "lease_seconds": 0.2}
    async with game_cluster(own_store.url, ai_address=bots.target, **settings) as cluster:
        ann = cluster.player("ann")
        room = await ann.create(room_options(2, target=1, bot_pace=0.01), {0: "easy", 1: "hard"}, observe=True)
        async with Watch(ann, room.room_id) as watch:
            await watch.read()
            await ann.start(room.room_id)
            await watch.until_version(6)
            await asyncio.to_thread(own_store.kill)
            await asyncio.to_thread(own_store.start)
            await watch.until(lambda: watch.mirror.room.HasField("result"))
            assert watch.versions == list(range(2, watch.version + 1))
        assert (await ann.room(room.room_id)).status == room_pb2.ROOM_STATUS_OVER


async def test_s6_an_action_whose_answer_the_store_kept_back_is_played_once(own_store: EmbeddedStore) -> None:
    async with game_cluster(own_store.url, 2) as cluster:
        hasty = await cluster.add_replica(redis_timeout_seconds=0.3)
        ann, bob = cluster.player("ann"), cluster.player("bob")
        room = await ann.create(room_options(2))
        await bob.join(room.room_id)
        version = await ann.start(room.room_id)
        key, action = request_id(), action_to_proto(DRAW_STOCK)
        own_store.pause()
        try:
            refused = await refusal(cluster.player("ann", 2).submit(room.room_id, version, action, key=key))
        finally:
            own_store.resume()
        assert refused == AWAY
        await until_health_is(hasty, SERVING)
        first = await repeated(cluster, room.room_id, version, key)
        assert first == version + 1
        assert await repeated(cluster, room.room_id, version, key) == version + 1
    with StoreView(own_store.url) as store:
        assert [number for number, _ in store.log(room.room_id)] == [1, 2, 3, 4]


async def repeated(cluster: Cluster, room_id: str, version: int, key: str) -> int:
    """The version that an action made, asked for again on the other replica."""
    ann = cluster.player("ann", 1)
    await until_health_is(cluster.apps[1], SERVING)
    return (await ann.submit(room_id, version, action_to_proto(DRAW_STOCK), key=key)).event.version


async def test_a_store_that_is_away_at_the_start_is_waited_for(own_store: EmbeddedStore) -> None:
    await asyncio.to_thread(own_store.stop)
    async with game_cluster(own_store.url) as cluster:
        ann = cluster.player("ann")
        await until_health_is(cluster.apps[0], NOT_SERVING)
        assert await refusal(ann.create(room_options(2))) == AWAY
        assert await refusal(ann.room("p0-aaaaaaaaaaaaaaaa")) == AWAY
        await asyncio.to_thread(own_store.start)
        await until_health_is(cluster.apps[0], SERVING)
        assert (await ann.create(room_options(2))).version == 1


async def test_a_room_that_a_newer_build_has_written_is_left_to_it_and_not_misread(store_url: str) -> None:
    async with game_cluster(store_url) as cluster:
        ann = cluster.player("ann")
        room = await ann.create(room_options(2))
        other = await ann.create(room_options(2))
        with StoreView(store_url) as store:
            stored = store.stored(room.room_id)
            assert stored is not None
            partition, token = store.place(room.room_id)
            later = bytes(7) + b"\x02" + stored[8:16] + b"\x08\x63" + stored[18:]
            store.client.set(f"{{p{partition}}}:room:{token}", later, px=60_000)
        refused = await refusal(ann.room(room.room_id))
        assert refused == Refusal("UNAVAILABLE", "PEER_UNAVAILABLE", {"peer": "game"})
        listed = await ann.call(ann.stub.ListRooms, pb.ListRoomsRequest())
        assert [shown.room_id for shown in listed.rooms] == [other.room_id], "the others are listed all the same"
