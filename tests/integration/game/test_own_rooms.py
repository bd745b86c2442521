"""The rooms of a player: how somebody on another device finds back to its tables."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from game_state.own_rooms import KEPT
from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1 import match_room_service_pb2 as match_rooms
from rami.game.v1 import room_pb2
from support.game_cluster import CALL_SECONDS, game_cluster, refusal, request_id, room_options
from support.game_store import StoreView
from support.game_streams import Watch
from support.waiting import eventually

if TYPE_CHECKING:
    from support.game_cluster import Cluster, Player


async def own_rooms_become(player: Player, *expected: str) -> None:
    """Wait for the words of commits, for which nobody waits, to be there."""
    async with asyncio.timeout(CALL_SECONDS):
        while await player.own_rooms() != list(expected):
            pass  # asking takes its time


async def test_a_player_finds_the_rooms_it_hosts_or_sits_in_and_nobody_elses(twins: Cluster) -> None:
    ann, bob, eve = twins.player("ann"), twins.player("bob", 1), twins.player("eve", 1)
    private = await ann.create(room_options(3, public=False, spectators=False), {1: "easy"})
    observed = await ann.create(room_options(2), observe=True)
    await own_rooms_become(ann, observed.room_id, private.room_id)
    await bob.join_with(private.join_code)
    await own_rooms_become(bob, private.room_id)
    seen = await bob.call(bob.stub.ListOwnRooms, pb.ListOwnRoomsRequest())
    assert seen.rooms[0] == await bob.room(private.room_id), "with the join code, as who sits there sees it"
    assert await eve.own_rooms() == []


async def test_rooms_stay_through_the_match_and_after_it_and_go_with_the_seat_or_the_room(game: Cluster) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    room = await ann.create(room_options(2))
    await bob.join(room.room_id)
    await bob.leave(room.room_id)
    await own_rooms_become(bob)
    await bob.join(room.room_id)
    await ann.start(room.room_id)
    await bob.leave(room.room_id)
    await own_rooms_become(bob, room.room_id)  # a bot stands in: the seat is still there to come back to
    await ann.leave(room.room_id)
    answer = await bob.call(bob.stub.ListOwnRooms, pb.ListOwnRoomsRequest())
    assert [found.status for found in answer.rooms] == [room_pb2.ROOM_STATUS_OVER]

    lobby = await ann.create(room_options(2))
    await own_rooms_become(ann, lobby.room_id, room.room_id)
    await ann.leave(lobby.room_id)
    await own_rooms_become(ann, room.room_id)


async def test_a_table_of_the_queue_is_found_by_everybody_at_it(game: Cluster) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    stub, metadata = game.match_rooms()
    seats = [
        match_rooms.MatchSeat(player=room_pb2.SeatedPlayer(player_id=player.id, display_name=player.name))
        for player in (ann, bob)
    ]
    request = match_rooms.CreateMatchRoomRequest(match_id=request_id(), options=room_options(2), seats=seats)
    room_id = (await stub.CreateMatchRoom(request, timeout=CALL_SECONDS, metadata=metadata)).room_id
    for player in (ann, bob):
        await own_rooms_become(player, room_id)


async def test_what_got_lost_comes_back_with_the_start_of_the_match_or_a_stream(game: Cluster, store_url: str) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    room = await ann.create(room_options(2))
    await bob.join(room.room_id)
    for player in (ann, bob):
        await own_rooms_become(player, room.room_id)
    with StoreView(store_url) as store:

        def lose() -> None:
            assert store.client.delete(f"{{p0}}:own:{ann.id}", f"{{p0}}:own:{bob.id}") == 2

        lose()
        assert await ann.own_rooms() == await bob.own_rooms() == []
        await ann.start(room.room_id)
        for player in (ann, bob):
            await own_rooms_become(player, room.room_id)
        lose()
        async with Watch(bob, room.room_id) as watch, Watch(game.player("eve"), room.room_id) as other:
            await watch.read()
            await other.read()
        await own_rooms_become(bob, room.room_id)
        assert await ann.own_rooms() == [], "she has not come back yet"
        assert await game.player("eve").own_rooms() == [], "who watches has no room of her own"
        assert 0 < store.client.pttl(f"{{p0}}:own:{bob.id}") <= 30 * 24 * 3600 * 1000


async def test_rooms_that_are_gone_or_anothers_are_left_out_and_pages_filled_up(game: Cluster, store_url: str) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    made = [(await ann.create(room_options(2))) for _ in range(7)]
    others = await bob.create(room_options(2))
    with StoreView(store_url) as store:
        key = f"{{p0}}:own:{ann.id}"
        await eventually(lambda: store.client.zcard(key) == 7, "all are noted")
        store.client.zadd(key, {others.room_id: 1})
        gone = made[3].room_id
        store.client.delete(f"{{p0}}:room:{gone.partition('-')[2]}")
        expected = sorted(
            ((room.create_time.ToMilliseconds(), room.room_id) for room in made if room.room_id != gone), reverse=True
        )
        for size in (1, 3, 100):
            found: list[str] = []
            token = ""
            while True:
                request = pb.ListOwnRoomsRequest(page_size=size, page_token=token)
                page = await ann.call(ann.stub.ListOwnRooms, request)
                found += [room.room_id for room in page.rooms]
                token = page.next_page_token
                if not token:
                    break
                assert len(page.rooms) == size
            assert found == [room_id for _, room_id in expected]
        await eventually(lambda: store.client.zscore(key, gone) is None, "a room that is gone is forgotten")


async def test_the_set_of_a_player_is_bounded(game: Cluster, store_url: str) -> None:
    ann = game.player("ann")
    with StoreView(store_url) as store:
        key = f"{{p0}}:own:{ann.id}"
        letters = "abcdefghijklmnopqrstuvwxyz"
        gone = {f"p0-{'a' * 14}{letters[number // 26]}{letters[number % 26]}": number for number in range(KEPT)}
        store.client.zadd(key, gone)
        room = await ann.create(room_options(2))
        await eventually(lambda: store.client.zscore(key, room.room_id) is not None, "the room is noted")
        assert store.client.zcard(key) <= KEPT
    assert await ann.own_rooms() == [room.room_id]


@pytest.mark.parametrize(
    "page_token", ["x", "1", "1.", ".p0-aaaaaaaaaaaaaaaa", "-1.p0-aaaaaaaaaaaaaaaa", "1.p0-a", "1" * 99]
)
async def test_foreign_tokens_are_refused(game: Cluster, page_token: str) -> None:
    ann = game.player("ann")
    request = pb.ListOwnRoomsRequest(page_token=page_token)
    refused = await refusal(ann.call(ann.stub.ListOwnRooms, request))
    assert refused == ("INVALID_ARGUMENT", "INVALID_REQUEST", {"field": "page_token"})
    for size in (-1, 101):
        refused = await refusal(ann.call(ann.stub.ListOwnRooms, pb.ListOwnRoomsRequest(page_size=size)))
        assert refused == ("INVALID_ARGUMENT", "INVALID_REQUEST", {"field": "page_size"})


async def test_partitions_agree_on_where_a_players_rooms_are(store_url: str) -> None:
    async with game_cluster(store_url, 2, partitions=16) as cluster:
        ann = cluster.player("ann")
        rooms = {(await ann.create(room_options(2))).room_id for _ in range(4)}
        other = cluster.player("ann", 1)
        async with asyncio.timeout(CALL_SECONDS):
            while set(await other.own_rooms()) != rooms:
                pass  # asking takes its time
