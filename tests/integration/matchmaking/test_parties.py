"""Parties over a real channel: forming, waiting, leaving, expiring, and being seated together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from rami.matchmaking.v1 import matchmaking_service_pb2 as messages
from rami_kit import keys
from rami_kit.errors import reasons, refused
from support.matchmaking_process import running_process
from support.queueing import TIMEOUT, Player, next_ticket, refusal, running_replica, states_of, store_client, until
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from support.match_rooms import FakeMatchRooms
    from support.queueing import Client

ANN, BOB, CID, DAN = Player("ann"), Player("bob"), Player("cid"), Player("dan")
WAITING = messages.TICKET_STATE_WAITING
FORMING = messages.TICKET_STATE_FORMING
MATCHED = messages.TICKET_STATE_MATCHED
CANCELLED = messages.TICKET_STATE_CANCELLED
EXPIRED = messages.TICKET_STATE_EXPIRED


async def lead(
    replica: Client, leader: Player, others: Sequence[Player], counts: Sequence[int] = (3,), **fields: Any
) -> messages.Ticket:
    """The ticket of a party, not confirmed by anybody but its leader."""
    criteria = messages.TicketCriteria(player_counts=counts, **fields.pop("criteria", {}))
    request = messages.CreateTicketRequest(
        request_id=fields.pop("request_id", str(uuid4())),
        criteria=criteria,
        party_player_ids=[one.player_id for one in others],
        **fields,
    )
    return (await replica.queue.CreateTicket(request, metadata=leader.metadata, timeout=TIMEOUT)).ticket


async def confirm(replica: Client, member: Player, ticket_id: str) -> messages.Ticket:
    request = messages.ConfirmTicketRequest(request_id=str(uuid4()), ticket_id=ticket_id)
    return (await replica.queue.ConfirmTicket(request, metadata=member.metadata, timeout=TIMEOUT)).ticket


async def form(replica: Client, leader: Player, others: Sequence[Player], counts: Sequence[int] = (3,)) -> str:
    """A party that waits; its ticket."""
    ticket = await lead(replica, leader, others, counts)
    for member in others:
        ticket = await confirm(replica, member, ticket.ticket_id)
    assert ticket.state == WAITING
    return ticket.ticket_id


async def test_a_party_sits_at_one_table_and_each_learns_the_own_seat(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, rooms.target) as one, running_replica(store_url, rooms.target) as other:
        ticket = await lead(one, ANN, [BOB])
        assert (ticket.state, ticket.HasField("confirm_by_time")) == (FORMING, True)
        assert [(member.confirmed, member.display_name) for member in ticket.party] == [(True, "Ann"), (False, "")]
        await eventually(lambda: one.sample("live_tickets", state="forming") == 1, "a party forms")
        # Somebody else who waits for the same table does not sit down with half a party.
        alone = asyncio.create_task(CID.play(other, [3]))
        watch = BOB.watch(other, ticket.ticket_id)
        await watch.read()
        confirmed = await confirm(other, BOB, ticket.ticket_id)
        assert [member.display_name for member in confirmed.party] == ["Ann", "Bob"]
        assert not confirmed.HasField("confirm_by_time")
        assert confirmed.create_time.ToMilliseconds() >= ticket.create_time.ToMilliseconds()
        assert (await states_of(watch))[-1] == MATCHED
        (room,) = rooms.rooms.values()
        assert {seat.player.display_name for seat in room.seats} == {"Ann", "Bob", "Cid"}
        await alone
        for player in (ANN, BOB):
            seen = await player.outcome(one, ticket.ticket_id)  # also who comes late
            assert (seen.assignment.room_id, seen.assignment.seat) == rooms.room_of(player.player_id)
        await eventually(
            lambda: all(replica.sample("live_tickets", state="claimed") == 0 for replica in (one, other)),
            "the claim is done with",
        )
        assert sum(replica.sample("tickets_total", event="matched") for replica in (one, other)) == 2
        await eventually(lambda: one.sample("live_tickets", state="forming") == 0, "no party forms")
        # Both may queue again.
        await asyncio.gather(ANN.create(one, [4]), BOB.create(one, [4]))


async def test_a_party_that_fills_a_table_needs_nobody(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, rooms.target) as replica:
        ticket_id = await form(replica, ANN, [BOB, CID, DAN], [4])
        assert (await DAN.outcome(replica, ticket_id)).state == MATCHED
        (room,) = rooms.rooms.values()
        assert sorted(seat.player.player_id for seat in room.seats) == sorted(
            player.player_id for player in (ANN, BOB, CID, DAN)
        )


async def test_bots_complete_a_party(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, rooms.target) as replica:
        ticket = await lead(replica, ANN, [BOB], [4], criteria={"bots_allowed": True, "weakest_bot": "hard"})
        await confirm(replica, BOB, ticket.ticket_id)
        seen = await BOB.outcome(replica, ticket.ticket_id)
        assert (seen.state, seen.criteria.weakest_bot) == (MATCHED, "hard")
        (room,) = rooms.rooms.values()
        assert sorted(seat.bot.bot for seat in room.seats) == ["", "", "hard", "hard"]


async def test_confirming_twice_is_confirming_once(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, rooms.target) as replica:
        ticket = await lead(replica, ANN, [BOB, CID], [4])
        for _ in range(2):
            again = await confirm(replica, BOB, ticket.ticket_id)
            assert [member.confirmed for member in again.party] == [True, True, False]
        # The leader has confirmed by creating the ticket.
        assert (await confirm(replica, ANN, ticket.ticket_id)).state == FORMING
        waiting, again = await asyncio.gather(*(confirm(replica, CID, ticket.ticket_id) for _ in range(2)))
        assert (waiting.state, again.state) == (WAITING, WAITING)
        assert waiting.create_time == again.create_time


async def test_one_live_ticket_a_player_also_for_members(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, rooms.target) as replica:
        ticket = await lead(replica, ANN, [BOB, CID], [4])
        # Who is only named is not bound.
        own = await BOB.create(replica)
        queued = ("ALREADY_QUEUED", {"ticket_id": own.ticket_id})
        assert await refusal(confirm(replica, BOB, ticket.ticket_id)) == queued
        await BOB.cancel(replica, own.ticket_id)
        await confirm(replica, BOB, ticket.ticket_id)
        queued = ("ALREADY_QUEUED", {"ticket_id": ticket.ticket_id})
        assert await refusal(BOB.create(replica)) == queued
        assert await refusal(ANN.create(replica)) == queued
        assert await refusal(lead(replica, BOB, [ANN, CID], [4])) == queued
        other = await lead(replica, DAN, [BOB], [4])
        assert await refusal(confirm(replica, BOB, other.ticket_id)) == queued
        await confirm(replica, CID, ticket.ticket_id)
        assert await refusal(CID.create(replica)) == queued
        await CID.cancel(replica, ticket.ticket_id)
        await asyncio.gather(*(player.create(replica, [4]) for player in (ANN, BOB, CID)))


async def test_two_leaders_want_the_same_member_at_once(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, rooms.target) as one, running_replica(store_url, rooms.target) as other:
        first, second = await asyncio.gather(lead(one, ANN, [CID]), lead(other, BOB, [CID]))
        answers = await asyncio.gather(
            confirm(one, CID, first.ticket_id), confirm(other, CID, second.ticket_id), return_exceptions=True
        )
        assert sorted(isinstance(answer, messages.Ticket) for answer in answers) == [False, True]


@pytest.mark.parametrize("who", [ANN, BOB, CID], ids=["leader", "member", "one who was only named"])
async def test_whoever_leaves_takes_the_whole_party_out(store_url: str, rooms: FakeMatchRooms, who: Player) -> None:
    async with running_replica(store_url, rooms.target) as replica, store_client(store_url) as client:
        ticket = await lead(replica, ANN, [BOB, CID], [4])
        await confirm(replica, BOB, ticket.ticket_id)
        cancelled = await who.cancel(replica, ticket.ticket_id)
        assert (cancelled.state, cancelled.cancelled_by) == (CANCELLED, who.player_id)
        for player in (ANN, BOB, CID):
            assert (await player.get(replica, ticket.ticket_id)).state == CANCELLED
            assert not await client.exists(keys.live_ticket_key(player.player_id))
        over = ("TICKET_OVER", {"state": "TICKET_STATE_CANCELLED"})
        assert await refusal(confirm(replica, CID, ticket.ticket_id)) == over
        assert await client.zcard(keys.waiting_key()) == 0


async def test_leaving_a_party_that_waits_frees_everybody(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, rooms.target) as replica:
        ticket_id = await form(replica, ANN, [BOB])
        watch = ANN.watch(replica, ticket_id)
        assert (await BOB.cancel(replica, ticket_id)).state == CANCELLED
        assert (await states_of(watch))[-1] == CANCELLED
        await asyncio.gather(*(player.play(replica, [3]) for player in (ANN, BOB, CID)))
        assert len(rooms.rooms) == 1


async def test_a_party_that_is_never_complete_ends(store_url: str, rooms: FakeMatchRooms) -> None:
    async with (
        running_replica(store_url, rooms.target, party_confirm_seconds=3.0) as replica,
        store_client(store_url) as client,
    ):
        ticket = await lead(replica, ANN, [BOB, CID], [4])
        await confirm(replica, BOB, ticket.ticket_id)
        assert (await BOB.outcome(replica, ticket.ticket_id)).state == EXPIRED
        over = ("TICKET_OVER", {"state": "TICKET_STATE_EXPIRED"})
        assert await refusal(confirm(replica, CID, ticket.ticket_id)) == over
        assert not await client.exists(*(keys.live_ticket_key(player.player_id) for player in (ANN, BOB)))
        await asyncio.gather(ANN.play(replica), BOB.play(replica))


async def test_a_party_one_of_whom_has_gone_expires(store_url: str, rooms: FakeMatchRooms) -> None:
    """Its leader watches all the time; the member is not heard of again."""
    async with running_replica(store_url, rooms.target, ticket_idle_seconds=1.0) as replica:
        ticket_id = await form(replica, ANN, [BOB])
        assert (await ANN.outcome(replica, ticket_id)).state == EXPIRED


async def test_a_party_all_of_whom_are_there_lives_on(
    store_url: str, rooms: FakeMatchRooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every look of all of them, the time at which it expires moves on."""
    monkeypatch.setattr("matchmaking.matchmaking_servicer.HEARTBEATS", 100)
    async with running_replica(store_url, rooms.target) as replica, store_client(store_url) as client:
        ticket_id = await form(replica, ANN, [BOB])
        ends = [float(await client.zscore(keys.waiting_key(), ticket_id) or 0)]
        watches = [player.watch(replica, ticket_id) for player in (ANN, BOB)]
        for _ in range(6):  # heartbeats of a third of a second each
            for watch in watches:
                assert (await next_ticket(watch)).state == WAITING
            ends.append(float(await client.zscore(keys.waiting_key(), ticket_id) or 0))
        assert ends[0] < ends[2] < ends[4] < ends[6], "every second look is after one that both have had"


async def test_who_could_reach_nobody_is_not_taken_to_have_gone(store_url: str, rooms: FakeMatchRooms) -> None:
    """No service was there for longer than a ticket lives: those who come back to one find their tickets waiting."""
    waiting, due = keys.waiting_key(), 1.0
    async with store_client(store_url) as client:
        async with running_replica(store_url, rooms.target) as before:
            alone = await ANN.create(before, [4])
            pair = await form(before, BOB, [CID], [4])
        await client.zadd(waiting, {alone.ticket_id: due, pair: due})
        await client.hset(keys.ticket_key(pair), mapping={"a0": "1", "a1": "1"})
        async with running_replica(store_url, rooms.target) as replica:

            async def are_spared() -> bool:
                scores = await client.zmscore(waiting, [alone.ticket_id, pair])
                return all(score is not None and score > due for score in scores)

            await until(are_spared, "the tickets are given time")
            assert (await BOB.get(replica, pair)).state == WAITING  # the other member may take longer
            assert await are_spared()
            assert (await ANN.get(replica, alone.ticket_id)).state == WAITING
            assert replica.sample("tickets_total", event="expired") == 0


async def test_a_party_whose_room_is_refused_waits_again_whole(store_url: str, rooms: FakeMatchRooms) -> None:
    rooms.errors = [refused(reasons.ERROR_REASON_INVALID_REQUEST, "no")]
    async with running_replica(store_url, rooms.target) as replica:
        ticket_id = await form(replica, ANN, [BOB], [2])
        seen = await BOB.outcome(replica, ticket_id)
        assert seen.state == MATCHED
        assert replica.sample("tickets_total", event="put_back") == 1
        assert (seen.assignment.room_id, seen.assignment.seat) == rooms.room_of(BOB.player_id)


async def test_a_party_whose_matchmaker_dies_is_seated_by_another(store_url: str, rooms: FakeMatchRooms) -> None:
    rooms.open.clear()
    async with running_process(store_url, rooms.target) as killed:
        ticket_id = await form(killed, ANN, [BOB], [2])
        await eventually(lambda: rooms.calls > 0, "the room is asked for")
        await killed.kill()
    rooms.open.set()
    async with running_replica(store_url, rooms.target) as replica:
        seen = [await player.outcome(replica, ticket_id) for player in (ANN, BOB)]
    assert len(rooms.rooms) == 1
    assert sorted(ticket.assignment.seat for ticket in seen) == [0, 1]


async def test_a_stranger_learns_nothing_of_a_party(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, rooms.target) as replica:
        ticket = await lead(replica, ANN, [BOB])
        calls: list[Awaitable[object]] = [
            confirm(replica, DAN, ticket.ticket_id),
            DAN.get(replica, ticket.ticket_id),
            DAN.cancel(replica, ticket.ticket_id),
            DAN.watch(replica, ticket.ticket_id).read(),
            confirm(replica, DAN, "a" * 26),
        ]
        for call in calls:
            assert (await refusal(call))[0] == "TICKET_NOT_FOUND"
        bad = messages.ConfirmTicketRequest(request_id="1", ticket_id=ticket.ticket_id)
        call = replica.queue.ConfirmTicket(bad, metadata=BOB.metadata, timeout=TIMEOUT)
        assert await refusal(call) == ("INVALID_REQUEST", {"field": "request_id"})
        assert (await ANN.get(replica, ticket.ticket_id)).state == FORMING


async def test_attributes_are_the_leaders_alone(store_url: str, rooms: FakeMatchRooms) -> None:
    given = {"map": "blue", "deep link": "x" * 1000}
    async with running_replica(store_url, rooms.target) as replica:
        request_id = str(uuid4())
        ticket = await lead(replica, ANN, [BOB], attributes=given, request_id=request_id)
        assert dict(ticket.attributes) == given
        assert dict((await ANN.get(replica, ticket.ticket_id)).attributes) == given
        assert dict((await confirm(replica, BOB, ticket.ticket_id)).attributes) == {}
        assert dict((await BOB.get(replica, ticket.ticket_id)).attributes) == {}
        other = lead(replica, ANN, [BOB], attributes={"map": "red"}, request_id=request_id)
        assert (await refusal(other))[0] == "REQUEST_ID_REUSED"
        alone = await lead(replica, CID, [], attributes=given)
        assert (alone.state, dict(alone.attributes)) == (WAITING, given)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"party_player_ids": [ANN.player_id]}, "party_player_ids"),
    ({"party_player_ids": [BOB.player_id, BOB.player_id]}, "party_player_ids"),
    ({"party_player_ids": ["bot:easy"]}, "party_player_ids"),
    ({"party_player_ids": [f"{BOB.player_id} x"]}, "party_player_ids"),
    ({"party_player_ids": [player.player_id for player in (BOB, CID, DAN, Player("eve"))]}, "party_player_ids"),
    ({"party_player_ids": [BOB.player_id, CID.player_id]}, "criteria.player_counts"),
    ({"attributes": {"": "no name"}}, "attributes"),
    ({"attributes": {"k" * 65: ""}}, "attributes"),
    ({"attributes": {"k": "é" * 1024}}, "attributes"),
    ({"attributes": {str(number): "" for number in range(17)}}, "attributes"),
]


@pytest.mark.parametrize(("fields", "field"), BAD)
async def test_wrong_parties_and_attributes_leave_nothing(
    store_url: str, rooms: FakeMatchRooms, fields: dict[str, Any], field: str
) -> None:
    async with running_replica(store_url, rooms.target) as replica, store_client(store_url) as client:
        criteria = messages.TicketCriteria(player_counts=[2, 3])
        request = messages.CreateTicketRequest(request_id=str(uuid4()), criteria=criteria, **fields)
        call = replica.queue.CreateTicket(request, metadata=ANN.metadata, timeout=TIMEOUT)
        assert await refusal(call) == ("INVALID_REQUEST", {"field": field})
        assert await client.keys("{mm}:*") == []
