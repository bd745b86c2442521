"""Calls that are repeated after the caller has done something else: they apply once, and say what the first one did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rami.game.v1 import game_service_pb2 as pb
from support.game_cluster import Refusal, game_cluster, refusal, request_id, room_options

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    from support.game_cluster import Cluster, Player

REUSED = ("INVALID_ARGUMENT", "REQUEST_ID_REUSED")


@pytest.fixture
async def twins(store_url: str) -> AsyncIterator[Cluster]:
    async with game_cluster(store_url, 2) as cluster:
        yield cluster


async def over(cluster: Cluster) -> tuple[str, Player, Player, str]:
    """A room of ann and bob whose match is over, and the request id with which ann left it."""
    ann, bob = cluster.player("ann"), cluster.player("bob", 1)
    room = await ann.create(room_options(2))
    await bob.join(room.room_id)
    await ann.start(room.room_id)
    left = request_id()
    await ann.call(ann.stub.LeaveRoom, pb.LeaveRoomRequest(request_id=left, room_id=room.room_id))
    await bob.leave(room.room_id)
    return room.room_id, ann, bob, left


async def test_a_join_repeated_after_leaving_names_its_seat_and_takes_none(twins: Cluster) -> None:
    ann, bob = twins.player("ann"), twins.player("bob")
    room = await ann.create(room_options(3))
    join = pb.JoinRoomRequest(request_id=request_id(), room_id=room.room_id, seat=2)
    first = await bob.call(bob.stub.JoinRoom, join)
    assert first.seat == 2
    await bob.leave(room.room_id)
    await twins.player("cid", 1).join(room.room_id, 2)
    for replica in (0, 1):
        again = twins.player("bob", replica)
        answer = await again.call(again.stub.JoinRoom, join)
        assert answer.seat == 2
        assert answer.room.version == 4
        assert [seat.player.player_id for seat in answer.room.seats] == [ann.id, "", twins.player("cid").id]


async def test_who_may_see_a_room_no_more_is_not_shown_it_by_a_repeat(twins: Cluster) -> None:
    ann, bob = twins.player("ann"), twins.player("bob", 1)
    room = await ann.create(room_options(2, public=False, spectators=False))
    join = pb.JoinRoomRequest(request_id=request_id(), join_code=room.join_code)
    await bob.call(bob.stub.JoinRoom, join)
    await bob.leave(room.room_id)
    assert (await refusal(bob.call(bob.stub.JoinRoom, join))).reason == "SPECTATORS_NOT_ALLOWED"
    assert (await ann.room(room.room_id)).version == 3


async def test_a_rematch_takes_no_request_id_that_was_used_for_something_else(twins: Cluster) -> None:
    room_id, ann, _, left = await over(twins)
    again = pb.RematchRequest(request_id=left, room_id=room_id)
    assert (await refusal(ann.call(ann.stub.Rematch, again)))[:2] == REUSED
    assert not (await ann.room(room_id)).rematch_room_id


async def test_requests_of_two_kinds_are_two_even_where_they_say_the_same(twins: Cluster) -> None:
    ann = twins.player("ann")
    room = await ann.create(room_options(2), {1: "easy"})
    start = pb.StartMatchRequest(request_id=request_id(), room_id=room.room_id)
    await ann.call(ann.stub.StartMatch, start)
    leave = pb.LeaveRoomRequest(request_id=start.request_id, room_id=room.room_id)
    assert start.SerializeToString() == leave.SerializeToString()
    assert (await refusal(ann.call(ann.stub.LeaveRoom, leave)))[:2] == REUSED


async def test_nothing_else_takes_the_request_id_of_a_rematch(twins: Cluster) -> None:
    room_id, ann, bob, _ = await over(twins)
    rematches = [pb.RematchRequest(request_id=request_id(), room_id=room_id) for _ in range(2)]
    new = (await ann.call(ann.stub.Rematch, rematches[0])).room.room_id
    await bob.call(bob.stub.Rematch, rematches[1])
    for player, used, room in ((ann, rematches[0], room_id), (bob, rematches[1], new)):
        other = pb.SetEntropyRequest(request_id=used.request_id, room_id=room, entropy=b"e")
        assert (await refusal(player.call(player.stub.SetEntropy, other)))[:2] == REUSED


async def test_a_rematch_repeated_after_leaving_takes_no_seat(twins: Cluster) -> None:
    room_id, ann, bob, _ = await over(twins)
    rematches = [pb.RematchRequest(request_id=request_id(), room_id=room_id) for _ in range(2)]
    new = (await ann.call(ann.stub.Rematch, rematches[0])).room.room_id
    await bob.call(bob.stub.Rematch, rematches[1])
    await ann.leave(new)
    answer = await ann.call(ann.stub.Rematch, rematches[0])
    assert (answer.room.room_id, answer.seat) == (new, 0)
    assert not answer.room.seats[0].HasField("player")
    await twins.player("eve").join_with(answer.room.join_code or (await bob.room(new)).join_code)
    await bob.leave(new)
    assert (await bob.call(bob.stub.Rematch, rematches[1])).seat == 1
    assert not (await twins.player("eve").room(new)).seats[1].HasField("player")


async def test_a_request_id_in_other_letters_is_the_same(twins: Cluster) -> None:
    ann, bob = twins.player("ann"), twins.player("bob", 1)
    create = pb.CreateRoomRequest(request_id=request_id(), options=room_options(2))
    room = (await ann.call(ann.stub.CreateRoom, create)).room
    create.request_id = create.request_id.upper()
    assert (await ann.call(ann.stub.CreateRoom, create)).room.room_id == room.room_id

    await bob.join(room.room_id)
    entropy = pb.SetEntropyRequest(request_id=request_id().upper(), room_id=room.room_id, entropy=b"e")
    first = await bob.call(bob.stub.SetEntropy, entropy)
    entropy.request_id = entropy.request_id.lower()
    assert (await bob.call(bob.stub.SetEntropy, entropy)).room.version == first.room.version == 3

    await ann.start(room.room_id)
    await ann.leave(room.room_id)
    await bob.leave(room.room_id)
    rematch = pb.RematchRequest(request_id=request_id(), room_id=room.room_id)
    new = (await ann.call(ann.stub.Rematch, rematch)).room
    rematch.request_id = rematch.request_id.upper()
    assert (await ann.call(ann.stub.Rematch, rematch)).room.version == new.version


async def test_who_comes_to_a_rematch_takes_another_seat_where_a_guest_has_the_old_one(twins: Cluster) -> None:
    ann, bob, cid = twins.player("ann"), twins.player("bob", 1), twins.player("cid")
    room_id = (await ann.create(room_options(3))).room_id
    for player in (bob, cid):
        await player.join(room_id)
    await ann.start(room_id)
    for player in (ann, bob, cid):
        await player.leave(room_id)

    def rematch(player: Player) -> Awaitable[pb.RematchResponse]:
        return player.call(player.stub.Rematch, pb.RematchRequest(request_id=request_id(), room_id=room_id))

    new = (await rematch(ann)).room
    guest = await twins.player("eve").join_with(new.join_code)
    assert guest.seat == 1, "bob's"
    assert (await rematch(bob)).seat == 2
    assert (await refusal(rematch(cid)))[:2] == ("FAILED_PRECONDITION", "ROOM_FULL")
    seats = (await ann.room(new.room_id)).seats
    assert [seat.player.player_id for seat in seats] == [ann.id, twins.player("eve").id, bob.id]


async def test_a_match_has_one_rematch_also_once_its_room_has_closed(twins: Cluster) -> None:
    room_id, ann, bob, _ = await over(twins)
    new = (await ann.call(ann.stub.Rematch, pb.RematchRequest(request_id=request_id(), room_id=room_id))).room.room_id
    await ann.leave(new)
    for player in (ann, bob):
        again = pb.RematchRequest(request_id=request_id(), room_id=room_id)
        refused = await refusal(player.call(player.stub.Rematch, again))
        assert refused == Refusal("NOT_FOUND", "ROOM_NOT_FOUND", {"room_id": new})
