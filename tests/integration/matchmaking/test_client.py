"""The Python client against the real matchmaking service: parties, attributes, estimates, and the own rank."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from rami.matchmaking.v1 import matchmaking_service_pb2 as messages
from rami.store.v1 import finished_pb2
from rami_client import Client, FailedPreconditionError
from rami_kit import keys
from rami_kit.testing import player_token
from support.queueing import Player, running_replica, store_client
from support.waiting import eventually

if TYPE_CHECKING:
    from support.match_rooms import FakeMatchRooms
    from support.queueing import Replica


def client_of(replica: Replica, rooms: FakeMatchRooms, name: str) -> Client:
    target = f"127.0.0.1:{replica.app.port}"
    return Client.connect(game=rooms.target, matchmaking=target, token=player_token(name, name=name.title()))


async def test_a_party_queues_from_the_client(store_url: str, rooms: FakeMatchRooms) -> None:
    async with (
        running_replica(store_url, rooms.target) as replica,
        client_of(replica, rooms, "ann") as ann,
        client_of(replica, rooms, "bob") as bob,
    ):
        ticket = await ann.join_queue(
            player_counts=[3],
            bots_allowed=True,
            weakest_bot="normal",
            party=[Player("bob").player_id],
            attributes={"lobby": "blue"},
        )
        assert (ticket.state, dict(ticket.attributes)) == (messages.TICKET_STATE_FORMING, {"lobby": "blue"})
        joined = await bob.confirm_ticket(ticket.ticket_id)
        assert ([member.confirmed for member in joined.party], dict(joined.attributes)) == ([True, True], {})
        seats = await asyncio.gather(ann.wait_for_match(ticket.ticket_id), bob.wait_for_match(ticket.ticket_id))
        assert len({seat.room_id for seat in seats}) == 1
        assert [(seat.room_id, seat.seat) for seat in seats] == [
            rooms.room_of(Player(name).player_id) for name in ("ann", "bob")
        ]
        (pool,) = await ann.queue(player_counts=[3])
        assert (pool.waiting_players, pool.HasField("estimated_wait")) == (0, True)
        assert await ann.queue() == []
        late = await ann.join_queue(player_counts=[3], party=[Player("bob").player_id])
        await ann.leave_queue(late.ticket_id)
        with pytest.raises(FailedPreconditionError) as refused:
            await bob.confirm_ticket(late.ticket_id)
        assert refused.value.reason == "TICKET_OVER"


async def test_the_own_rank_from_the_client(store_url: str, rooms: FakeMatchRooms) -> None:
    async with (
        running_replica(store_url, rooms.target) as replica,
        client_of(replica, rooms, "ann") as ann,
        client_of(replica, rooms, "eve") as eve,
    ):
        assert await ann.own_rank() is None
        await add_finished_matches(replica, store_url)
        own = await ann.own_rank()
        assert own is not None
        assert (own.rank, own.player.display_name) == (1, "Ann")
        assert [row.rank for row in await ann.leaderboard(around_me=True, limit=2)] == [1, 2]
        assert await eve.own_rank() is None


async def add_finished_matches(replica: Replica, store_url: str) -> None:
    """Ann beats Bob."""
    message = finished_pb2.FinishedMatch(
        schema=1, room_id="p0-abcdefgh23456723", winner_plus_one=1, end_ms=4_000_000_000_000
    )
    for name, score in (("ann", 10), ("bob", 0)):
        message.seats.add(player_id=Player(name).player_id, display_name=name.title(), score=score)
    async with store_client(store_url) as client:
        await client.xadd(keys.finished_key(0), {"m": message.SerializeToString()})
    await eventually(lambda: replica.sample("rating_updates_total", outcome="rated") == 1, "the match is rated")
