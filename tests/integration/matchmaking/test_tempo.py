"""Tickets with a turn time limit or a round interval of their own: who meets whom, and what the room plays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.duration_pb2 import Duration

from rami.matchmaking.v1 import matchmaking_service_pb2 as messages
from support.queueing import TIMEOUT, Player, refusal, running_replica

if TYPE_CHECKING:
    from support.match_rooms import FakeMatchRooms


async def test_players_at_another_tempo_never_meet_and_the_room_plays_at_theirs(
    store_url: str, rooms: FakeMatchRooms
) -> None:
    ann, bob, cid, eve = (Player(name) for name in ("ann", "bob", "cid", "eve"))
    slow: dict[str, Any] = {"turn_time_limit": Duration(), "round_interval": Duration(seconds=4)}
    async with running_replica(store_url, rooms.target) as replica:
        usual = await ann.create(replica)
        half = await bob.create(replica, turn_time_limit=Duration())
        assert usual.criteria.turn_time_limit == Duration(seconds=60), "what is unset is told"
        assert usual.criteria.round_interval == Duration()
        first = await cid.create(replica, **slow)
        assert await cid.create(replica, **slow) == first, "the same wishes"
        assert (await refusal(cid.create(replica, turn_time_limit=Duration())))[0] == "ALREADY_QUEUED"
        ticket = await eve.play(replica, **slow)
        assert (ticket.state, ticket.criteria.round_interval) == (messages.TICKET_STATE_MATCHED, Duration(seconds=4))
        (room,) = rooms.rooms.values()
        assert {seat.player.player_id for seat in room.seats} == {cid.player_id, eve.player_id}
        assert room.options.HasField("turn_time_limit")
        assert (room.options.turn_time_limit, room.options.round_interval) == (Duration(), Duration(seconds=4))
        for player, waiting in ((ann, usual), (bob, half)):
            assert (await player.get(replica, waiting.ticket_id)).state == messages.TICKET_STATE_WAITING
        # Who says what is meant anyway is one of them.
        named = await cid.play(replica, turn_time_limit=Duration(seconds=60), round_interval=Duration())
        assert named.state == messages.TICKET_STATE_MATCHED
        assert (await ann.get(replica, usual.ticket_id)).assignment.room_id == named.assignment.room_id


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"turn_time_limit": Duration(seconds=86_401)}, "criteria.turn_time_limit"),
        ({"turn_time_limit": Duration(seconds=-1)}, "criteria.turn_time_limit"),
        ({"turn_time_limit": Duration(nanos=-5)}, "criteria.turn_time_limit"),
        ({"round_interval": Duration(seconds=60, nanos=1)}, "criteria.round_interval"),
        ({"round_interval": Duration(seconds=2**62)}, "criteria.round_interval"),
    ],
)
async def test_a_tempo_that_no_room_has_is_refused(
    store_url: str, rooms: FakeMatchRooms, wish: dict[str, Any], field: str
) -> None:
    async with running_replica(store_url, rooms.target) as replica:
        assert await refusal(Player("ann").create(replica, **wish)) == ("INVALID_REQUEST", {"field": field})


async def test_the_queue_tells_pools_of_every_tempo(store_url: str, rooms: FakeMatchRooms) -> None:
    ann, bob = Player("ann"), Player("bob")

    async def told(**asked: Any) -> list[tuple[int, int, int]]:
        """Limit in s, interval in s and players of each pool."""
        request = messages.GetQueueRequest(**asked)
        answer = await replica.queue.GetQueue(request, metadata=ann.metadata, timeout=TIMEOUT)
        return [
            (pool.turn_time_limit.seconds, pool.round_interval.seconds, pool.waiting_players) for pool in answer.pools
        ]

    async with running_replica(store_url, rooms.target) as replica:
        await ann.create(replica)
        await bob.create(replica, round_interval=Duration(seconds=4))
        assert await told() == [(60, 0, 1), (60, 4, 1)]
        assert await told(player_counts=[2]) == [(60, 0, 1)]
        assert await told(player_counts=[2], round_interval=Duration(seconds=4)) == [(60, 4, 1)]
        assert await told(player_counts=[2], turn_time_limit=Duration()) == [(0, 0, 0)]
        for field in ("turn_time_limit", "round_interval"):
            assert await refusal(told(**{field: Duration()})) == ("INVALID_REQUEST", {"field": field})
        assert await refusal(told(player_counts=[2], round_interval=Duration(seconds=61))) == (
            "INVALID_REQUEST",
            {"field": "round_interval"},
        )
