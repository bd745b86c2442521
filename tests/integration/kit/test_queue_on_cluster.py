"""Matchmaking on a cluster: its slot moves while players queue, and everybody is seated once."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING
from uuid import uuid4

import grpc
import grpc.aio

from rami.matchmaking.v1 import matchmaking_service_pb2 as messages
from rami_kit import keys
from rami_kit.slots import slot_of
from support.match_rooms import FakeMatchRooms
from support.queueing import Player, running_replica
from support.redis_topologies import ClusterSite, needs_redis_server
from support.waiting import eventually

if TYPE_CHECKING:
    import pytest

    from support.queueing import Replica

pytestmark = needs_redis_server

PLAYERS = 60
AGAIN_SECONDS = 0.1
OVER = {messages.TICKET_STATE_MATCHED, messages.TICKET_STATE_CANCELLED, messages.TICKET_STATE_EXPIRED}


async def play(player: Player, replica: Replica) -> messages.Ticket:
    """Queues and asks for the ticket until it has come to its end. What is UNAVAILABLE is asked again, and no more."""
    request_id = str(uuid4())
    ticket = messages.Ticket()
    while ticket.state not in OVER:
        try:
            if not ticket.ticket_id:
                ticket = await player.create(replica, request_id=request_id)
            else:
                ticket = await player.get(replica, ticket.ticket_id)
        except grpc.aio.AioRpcError as error:
            if error.code() != grpc.StatusCode.UNAVAILABLE:
                raise
        await asyncio.sleep(AGAIN_SECONDS)
    return ticket


async def test_everybody_is_seated_once_although_the_slot_moves(
    cluster_site: ClusterSite, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        FakeMatchRooms() as rooms,
        running_replica(cluster_site.url, rooms.target, partitions=16) as one,
        running_replica(cluster_site.url, rooms.target, partitions=16) as two,
    ):
        players = [Player(f"p{number}") for number in range(PLAYERS)]
        playing: list[asyncio.Task[messages.Ticket]] = []
        slot = slot_of(keys.waiting_key())
        for start in range(0, PLAYERS, 20):
            for number, player in enumerate(players[start : start + 20]):
                playing.append(asyncio.create_task(play(player, (one, two)[number % 2])))
            source = cluster_site.master_of(slot)
            target = next(other for other in cluster_site.masters if other is not source)
            await eventually(lambda start=start: len(rooms.rooms) > start // 2, "the first are seated")  # type: ignore[misc]
            await asyncio.to_thread(cluster_site.migrate, slot, target)
        tickets = await asyncio.gather(*playing)
        assert {ticket.state for ticket in tickets} == {messages.TICKET_STATE_MATCHED}
        seated = Counter(seat.player.player_id for room in rooms.rooms.values() for seat in room.seats)
        assert seated == {player.player_id: 1 for player in players}
        names = cluster_site.keys()
        assert names
        assert {slot_of(name) for name in names} == {slot}
    errors = [record.getMessage() for record in caplog.records if record.levelname in {"ERROR", "CRITICAL"}]
    assert errors == []
