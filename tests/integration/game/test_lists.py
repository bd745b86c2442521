"""Lists of public rooms: newest first, page by page, over every partition, without rooms that are gone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from game_state.listing import LOOKED_AT, TIES_READ_AT_ONCE
from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1 import room_pb2
from support.game_cluster import game_cluster, refusal, request_id, room_options
from support.game_store import StoreView
from support.game_tables import EMPTY, TIMES, Table, table_options

if TYPE_CHECKING:
    from support.game_cluster import Cluster, Player


async def pages(
    player: Player, size: int, status: room_pb2.RoomStatus.ValueType = room_pb2.ROOM_STATUS_LOBBY
) -> list[list[str]]:
    """The room ids of every page."""
    found: list[list[str]] = []
    token = ""
    while True:
        request = pb.ListRoomsRequest(page_size=size, page_token=token, status=status)
        answer = await player.call(player.stub.ListRooms, request)
        found.append([room.room_id for room in answer.rooms])
        token = answer.next_page_token
        if not token:
            return found


@pytest.mark.parametrize("partitions", [1, 7])
async def test_every_room_is_on_one_page_and_newer_ones_come_before(store_url: str, partitions: int) -> None:
    async with game_cluster(store_url, partitions=partitions) as cluster:
        ann = cluster.player("ann")
        made = []
        for _ in range(25):
            room = await ann.create(room_options(2))
            partition, _, token = room.room_id.partition("-")
            made.append((room.create_time.ToMilliseconds(), token, int(partition[1:]), room.room_id))
            await asyncio.sleep(0.002)
        expected = [room_id for *_, room_id in sorted(made, reverse=True)]
        # Ids are random: that all 25 rooms fall into one of seven partitions does not happen.
        assert (len({room_id.partition("-")[0] for room_id in expected}) > 1) == (partitions > 1)

        for size in (1, 4, 25, 100):
            found = await pages(ann, size)
            assert [room_id for page in found for room_id in page] == expected
            assert all(len(page) == size for page in found[:-1])
            assert found[-1], "the last page is not empty"
        default = await ann.call(ann.stub.ListRooms, pb.ListRoomsRequest())
        assert len(default.rooms) == 20


async def test_rooms_of_the_same_millisecond_are_not_skipped(store_url: str) -> None:
    rooms = 2 * TIES_READ_AT_ONCE + 10
    with StoreView(store_url) as store:
        expire_ms = store.now_ms() + TIMES.lobby_ttl_ms
        for number in range(rooms):
            table = Table(["ann", EMPTY], options=table_options(public=True))
            letters = "abcdefghijklmnopqrstuvwxyz"
            table.room.room_id = f"p0-{letters[number // 26]}{letters[number % 26]}{'a' * 14}"
            table.room.expire_ms = expire_ms
            store.plant(table)
            store.client.zadd("{p0}:list:lobby", {store.place(table.room.room_id)[1]: table.room.create_ms})
    async with game_cluster(store_url) as cluster:
        found = await pages(cluster.player("ann"), 9)

    assert [len(page) for page in found] == [9] * (rooms // 9) + [rooms % 9]
    assert len({room_id for page in found for room_id in page}) == rooms


async def test_rooms_that_are_gone_are_left_out_and_pages_filled_up(store_url: str) -> None:
    async with game_cluster(store_url) as cluster:
        ann = cluster.player("ann")
        rooms = [await ann.create(room_options(2)) for _ in range(9)]
        with StoreView(store_url) as store:
            for room in rooms[::2]:
                place = store.place(room.room_id)
                store.client.delete(f"{{p{place[0]}}}:room:{place[1]}")
            assert store.client.zcard("{p0}:list:lobby") == 9
            found = await pages(ann, 3)
            assert store.client.zcard("{p0}:list:lobby") == 4

    assert {room_id for page in found for room_id in page} == {room.room_id for room in rooms[1::2]}
    assert len(found[0]) == 3


async def test_filters_leave_the_other_rooms_out(game: Cluster) -> None:
    ann, eve = game.player("ann"), game.player("eve")
    two = await ann.create(room_options(2, spectators=False))
    three = await ann.create(room_options(3, spectators=False), {1: "easy"})
    full = await ann.create(room_options(3), {1: "easy", 2: "easy"})

    async def listed(player: Player, **filters: Any) -> set[str]:
        answer = await player.call(player.stub.ListRooms, pb.ListRoomsRequest(**filters))
        assert answer.next_page_token == ""
        assert all(room.watchable == (player is ann or room.options.spectators_allowed) for room in answer.rooms)
        return {room.room_id for room in answer.rooms}

    everything = {two.room_id, three.room_id, full.room_id}
    assert await listed(eve) == await listed(eve, seats=0) == everything
    assert await listed(eve, seats=3) == {three.room_id, full.room_id}
    assert await listed(eve, seats=4) == set()
    assert await listed(eve, free_seat=True) == {two.room_id, three.room_id}
    assert await listed(eve, watchable=True) == {full.room_id}
    assert await listed(ann, watchable=True) == everything, "a host may watch"
    assert await listed(eve, seats=3, free_seat=True) == {three.room_id}
    assert await listed(eve, seats=3, free_seat=True, watchable=True) == set()
    for room_id in (three.room_id, full.room_id):
        await ann.call(
            ann.stub.UpdateSeats,
            pb.UpdateSeatsRequest(request_id=request_id(), room_id=room_id, changes=[pb.BotSeat(seat=2, bot="hard")]),
        )
        await ann.start(room_id)
    assert await listed(eve, status=room_pb2.ROOM_STATUS_IN_MATCH) == {three.room_id, full.room_id}
    assert await listed(eve, status=room_pb2.ROOM_STATUS_IN_MATCH, watchable=True) == {full.room_id}
    for seats in (1, 5, 2**32 - 1):
        refused = await refusal(eve.call(eve.stub.ListRooms, pb.ListRoomsRequest(seats=seats)))
        assert refused == ("INVALID_ARGUMENT", "INVALID_REQUEST", {"field": "seats"})


async def test_a_filter_looks_at_so_many_rooms_for_a_page_and_finds_all_in_the_end(store_url: str) -> None:
    rooms, letters = LOOKED_AT + 150, "abcdefghijklmnopqrstuvwxyz"
    with StoreView(store_url) as store:
        expire_ms = store.now_ms() + TIMES.lobby_ttl_ms
        wanted = set()
        for number in range(rooms):
            matches = number % 90 == 7
            table = Table(["ann", EMPTY, *([EMPTY] if matches else [])], options=table_options(public=True))
            table.room.room_id = f"p0-{letters[number // 26]}{letters[number % 26]}{'a' * 14}"
            table.room.expire_ms = expire_ms
            store.plant(table)
            store.client.zadd("{p0}:list:lobby", {store.place(table.room.room_id)[1]: number})
            if matches:
                wanted.add(table.room.room_id)
    async with game_cluster(store_url) as cluster:
        eve = cluster.player("eve")
        for size in (1, 2, 100):
            found: list[str] = []
            sizes, token = [], ""
            while True:
                request = pb.ListRoomsRequest(page_size=size, page_token=token, seats=3)
                page = await eve.call(eve.stub.ListRooms, request)
                found += [room.room_id for room in page.rooms]
                sizes.append(len(page.rooms))
                token = page.next_page_token
                if not token:
                    break
            assert len(found) == len(wanted)
            assert set(found) == wanted
            assert max(sizes) <= size
            assert len(sizes) > 1, "no page has looked at all of them"
        nothing = await eve.call(eve.stub.ListRooms, pb.ListRoomsRequest(seats=4))
        assert not nothing.rooms
        assert nothing.next_page_token, "there are rooms that were not looked at"


async def test_codes_and_ids_name_the_partition_of_their_room(store_url: str) -> None:
    async with game_cluster(store_url, 2, partitions=64) as cluster:
        ann, bob = cluster.player("ann"), cluster.player("bob", 1)
        for _ in range(5):
            room = await ann.create(room_options(2, public=False))
            assert len(room.join_code) == 8
            assert (await bob.join_with(room.join_code)).room.room_id == room.room_id
            with StoreView(store_url) as store:
                tag = f"{{{room.room_id.partition('-')[0]}}}:"
                keys = [key for key in store.room_keys() if key.startswith(tag)]
                assert len(keys) >= 3
            await ann.leave(room.room_id)
            await bob.leave(room.room_id)
        with StoreView(store_url) as store:
            assert store.room_keys() == set()
