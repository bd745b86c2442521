"""A claim at every point where a process may die, and every answer that the game service may give."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING
from uuid import uuid4

import grpc
import grpc.aio
import pytest

from matchmaking.claim_records import Claim, ClaimedSeat
from matchmaking.claim_store import ClaimStore
from matchmaking.game_rooms import Created, GameRooms, NotSent, Outcome, Refused, Unknown
from matchmaking.tickets import TicketTimes
from rami.matchmaking.v1 import matchmaking_service_pb2 as messages
from rami_engine.rules import RuleOptions
from rami_kit import keys
from rami_kit.auth import ServiceTokens
from rami_kit.channels import close_channels, open_channel
from rami_kit.errors import RamiError, reasons, refused
from rami_kit.settings import ServiceSettings
from rami_kit.testing import make_settings
from support.queueing import Player, key_names, running_replica, store_client, until
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from support.match_rooms import FakeMatchRooms
    from support.queueing import Replica

WAITING = messages.TICKET_STATE_WAITING
CLAIMED = messages.TICKET_STATE_CLAIMED
MATCHED = messages.TICKET_STATE_MATCHED
AWAY = "127.0.0.1:1"
"""Nobody listens here: a replica that is told to find the game service there claims nothing."""


class Dead:
    """What a process that died left in the store: two tickets in a claim with a lease."""

    def __init__(self, replica: Replica) -> None:
        """A lease that runs out when a test says so."""
        store = replica.app.require_store()
        self.store = ClaimStore(store, TicketTimes(lease_ms=3_600_000), owner="dead")
        self.ann, self.bob = Player("ann"), Player("bob")
        self.tickets: list[messages.Ticket] = []

    async def claim(self, replica: Replica) -> Claim:
        """Queues the two and claims them."""
        self.tickets = list(await asyncio.gather(self.ann.create(replica), self.bob.create(replica)))
        seats = tuple(
            ClaimedSeat(ticket.ticket_id, player.player_id, player.subject.title())
            for player, ticket in zip((self.ann, self.bob), self.tickets, strict=True)
        )
        claim = Claim(uuid4(), RuleOptions(), seats)
        assert await self.store.claim(claim) == []
        return claim

    async def outcomes(self, replica: Replica) -> list[messages.Ticket]:
        """What becomes of the two."""
        first, second = self.tickets
        return list(
            await asyncio.gather(
                self.ann.outcome(replica, first.ticket_id), self.bob.outcome(replica, second.ticket_id)
            )
        )


async def check_seated(dead: Dead, replica: Replica, rooms: FakeMatchRooms) -> None:
    """Both sit in the one room, with their original time."""
    after = await dead.outcomes(replica)
    assert len(rooms.rooms) == 1
    for player, before, now in zip((dead.ann, dead.bob), dead.tickets, after, strict=True):
        assert now.state == MATCHED
        assert now.create_time == before.create_time
        assert (now.assignment.room_id, now.assignment.seat) == rooms.room_of(player.player_id)


@contextlib.asynccontextmanager
async def raw_rooms(replica: Replica, rooms: FakeMatchRooms) -> AsyncIterator[GameRooms]:
    """The game service as the dead process saw it."""
    channel = open_channel(rooms.target, replica.app.settings)
    try:
        yield GameRooms(channel, ServiceTokens(replica.app.settings, "rami-game"), timeout_seconds=30.0)
    finally:
        await close_channels(channel)


async def test_death_after_the_claim(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, AWAY) as idle:
        dead = Dead(idle)
        claim = await dead.claim(idle)  # before there is anybody else who could
        async with running_replica(store_url, rooms.target) as replica:
            assert (await dead.ann.get(replica, dead.tickets[0].ticket_id)).state == CLAIMED
            assert await dead.store.renew(claim, 0)
            await check_seated(dead, replica, rooms)
            assert replica.sample("claims_resumed_total") >= 1


async def test_death_after_the_room(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, AWAY) as idle:
        dead = Dead(idle)
        claim = await dead.claim(idle)
        async with raw_rooms(idle, rooms) as before_death:
            assert isinstance(await before_death.create(claim), Created)
        assert await dead.store.renew(claim, 0)
        async with running_replica(store_url, rooms.target) as replica:
            await check_seated(dead, replica, rooms)


async def test_death_after_the_assignment(store_url: str, rooms: FakeMatchRooms) -> None:
    async with running_replica(store_url, AWAY) as idle, store_client(store_url) as client:
        dead = Dead(idle)
        claim = await dead.claim(idle)
        async with raw_rooms(idle, rooms) as before_death:
            created = await before_death.create(claim)
        assert isinstance(created, Created)
        waits = await dead.store.assign(claim, created.room_id)
        assert waits is not None
        assert len(waits) == 2
        # Nothing is left to do for others, and doing it again does nothing.
        assert await dead.store.assign(claim, "p0-another") is None
        assert await dead.store.put_back(claim) is None
        assert not await client.exists(keys.claims_key(), keys.claim_key(claim.key), keys.waiting_key())
        await check_seated(dead, idle, rooms)


async def test_an_owner_that_is_only_slow(store_url: str, rooms: FakeMatchRooms) -> None:
    """Its lease runs out while it waits for the room, so two processes finish the same claim."""
    rooms.hold_answers = asyncio.Event()
    ann, bob = Player("ann"), Player("bob")
    async with (
        running_replica(store_url, rooms.target, claim_lease_seconds=0.2) as one,
        running_replica(store_url, rooms.target, claim_lease_seconds=0.2) as other,
    ):
        tickets = await asyncio.gather(ann.create(one), bob.create(other))
        await eventually(lambda: rooms.calls >= 2, "both ask for the room")
        rooms.hold_answers.set()
        after = await asyncio.gather(ann.outcome(one, tickets[0].ticket_id), bob.outcome(other, tickets[1].ticket_id))
        assert [ticket.state for ticket in after] == [MATCHED, MATCHED]
        assert len(rooms.rooms) == 1
        # Each of them has counted what it has done before it is done with the claim.
        await eventually(
            lambda: all(replica.sample("live_tickets", state="claimed") == 0 for replica in (one, other)),
            "both are done with it",
        )
        seen = [
            replica.sample("wait_seconds_count", seats="2", rules="default", outcome="people")
            for replica in (one, other)
        ]
        assert sum(seen) == 2


async def test_a_replica_that_drains_hands_its_claims_over_at_once(store_url: str, rooms: FakeMatchRooms) -> None:
    rooms.open.clear()
    ann, bob = Player("ann"), Player("bob")
    # A lease so long that the test would fail if it had to run out.
    async with running_replica(store_url, rooms.target, claim_lease_seconds=3600) as old:
        tickets = await asyncio.gather(ann.create(old), bob.create(old))
        await eventually(lambda: rooms.calls > 0, "the room is asked for")
    rooms.open.set()
    async with running_replica(store_url, rooms.target, claim_lease_seconds=3600) as new:
        after = await asyncio.gather(ann.outcome(new, tickets[0].ticket_id), bob.outcome(new, tickets[1].ticket_id))
    assert [ticket.state for ticket in after] == [MATCHED, MATCHED]
    assert len(rooms.rooms) == 1


async def test_a_lost_answer_is_asked_for_again(store_url: str, rooms: FakeMatchRooms) -> None:
    rooms.lose_answers = 2
    async with running_replica(store_url, rooms.target, claim_lease_seconds=60.0) as replica:
        after = await asyncio.gather(Player("ann").play(replica), Player("bob").play(replica))
        assert [ticket.state for ticket in after] == [MATCHED, MATCHED]
        assert (rooms.calls, len(rooms.rooms)) == (3, 1)


async def test_a_refused_room_puts_everybody_back_with_the_original_time(store_url: str, rooms: FakeMatchRooms) -> None:
    rooms.errors = [refused(reasons.ERROR_REASON_INVALID_REQUEST, "no"), refused(reasons.ERROR_REASON_NOT_HOST, "no")]
    ann, bob = Player("ann"), Player("bob")
    async with running_replica(store_url, rooms.target) as replica, store_client(store_url) as client:
        tickets = await asyncio.gather(ann.create(replica), bob.create(replica))
        watches = asyncio.gather(ann.outcome(replica, tickets[0].ticket_id), bob.outcome(replica, tickets[1].ticket_id))
        await eventually(lambda: replica.sample("tickets_total", event="put_back") >= 2, "both wait again")

        async def nothing_is_claimed() -> bool:
            return not await client.exists(keys.claims_key())

        await until(nothing_is_claimed, "the claim has gone")
        assert await client.ttl(keys.ticket_key(tickets[0].ticket_id)) > 0
        after = await watches
        assert replica.sample("matches_total", outcome="refused") == 2
        assert replica.sample("tickets_total", event="put_back") == 4
        for before, now in zip(tickets, after, strict=True):
            assert now.state == MATCHED
            assert now.create_time == before.create_time


async def test_nobody_is_claimed_while_the_game_service_is_away(
    store_url: str, rooms: FakeMatchRooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = Player("ann"), Player("bob")
    ways: list[grpc.aio.Channel] = []

    def noted(target: str, settings: ServiceSettings) -> grpc.aio.Channel:
        ways.append(open_channel(target, settings))
        return ways[-1]

    monkeypatch.setattr("matchmaking.service.open_channel", noted)
    async with running_replica(store_url, rooms.target) as replica:
        (way,) = ways
        async with rooms.away():
            # The service has gone, and its connection knows it a moment later.
            await eventually(lambda: way.get_state() is not grpc.ChannelConnectivity.READY, "the replica knows")
            tickets = await asyncio.gather(ann.create(replica), bob.create(replica))
            await eventually(lambda: replica.sample("live_tickets", state="waiting") == 2, "both are seen")
            assert (await ann.get(replica, tickets[0].ticket_id)).state == WAITING
        after = await asyncio.gather(
            ann.outcome(replica, tickets[0].ticket_id), bob.outcome(replica, tickets[1].ticket_id)
        )
        assert [ticket.state for ticket in after] == [MATCHED, MATCHED]


async def test_what_stands_in_the_way_of_a_claim_is_named_and_nothing_is_done(store_url: str) -> None:
    async with running_replica(store_url, AWAY) as idle, store_client(store_url) as client:
        dead = Dead(idle)
        ann, eve = Player("ann"), Player("eve")
        ticket = await ann.create(idle)
        before = await key_names(client)
        for seat in (ClaimedSeat("z" * 26, eve.player_id, "Eve"), ClaimedSeat(ticket.ticket_id, eve.player_id, "Eve")):
            mine = ClaimedSeat(ticket.ticket_id, ann.player_id, "Ann")
            seats = (mine, seat) if seat.ticket_id != ticket.ticket_id else (seat, ClaimedSeat(bot="easy"))
            assert await dead.store.claim(Claim(uuid4(), RuleOptions(), seats)) == [seat.ticket_id]
        assert await key_names(client) == before
        assert (await ann.get(idle, ticket.ticket_id)).state == WAITING


async def test_a_claim_nobody_can_read_is_left_alone(store_url: str, rooms: FakeMatchRooms) -> None:
    async with store_client(store_url) as client, running_replica(store_url, rooms.target) as replica:
        await client.hset(keys.claim_key("00"), mapping={"d": b"\xff\xff", "o": "dead"})
        await client.zadd(keys.claims_key(), {"00": 1, "11": 1})
        await eventually(lambda: replica.sample("unreadable_records_total", kind="claim") > 0, "it is seen")
        assert await client.exists(keys.claim_key("00"))

        async def only_that_one_is_left() -> bool:
            return await client.zrange(keys.claims_key(), 0, -1) == [b"00"]

        await until(only_that_one_is_left, "the claim without a record is dropped")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (refused(reasons.ERROR_REASON_INVALID_REQUEST, ""), Refused),
        (refused(reasons.ERROR_REASON_BOT_NOT_FOUND, ""), Refused),
        (refused(reasons.ERROR_REASON_SCOPE_MISSING, ""), Refused),
        (refused(reasons.ERROR_REASON_TOKEN_INVALID, ""), Refused),
        (refused(reasons.ERROR_REASON_LIMIT_REACHED, ""), Refused),
        (refused(reasons.ERROR_REASON_RATE_LIMITED, ""), Unknown),
        (refused(reasons.ERROR_REASON_STORE_UNAVAILABLE, ""), Unknown),
        (refused(reasons.ERROR_REASON_DECISION_TIMEOUT, ""), Unknown),
        (refused(reasons.ERROR_REASON_INTERNAL, ""), Unknown),
    ],
)
async def test_every_answer_of_the_game_service_has_a_meaning(
    rooms: FakeMatchRooms, error: RamiError, kind: type[Outcome]
) -> None:
    settings = make_settings(ServiceSettings, "redis://127.0.0.1:1/0")
    channel = open_channel(rooms.target, settings)
    game = GameRooms(channel, ServiceTokens(settings, "rami-game"), timeout_seconds=30.0)
    rooms.errors = [error]
    claim = Claim(uuid4(), RuleOptions(50), (ClaimedSeat("t" * 26, "ann", "Ann"), ClaimedSeat(bot="hard")))
    try:
        assert isinstance(await game.create(claim), kind)
        assert isinstance(await game.create(claim), Created)
        assert await game.create(claim) == await game.create(claim)
        assert len(rooms.rooms) == 1
    finally:
        await close_channels(channel)


async def test_a_game_service_that_is_not_there_is_sent_nothing() -> None:
    settings = make_settings(ServiceSettings, "redis://127.0.0.1:1/0")
    channel = open_channel(AWAY, settings)
    game = GameRooms(channel, ServiceTokens(settings, "rami-game"), timeout_seconds=0.2)
    claim = Claim(uuid4(), RuleOptions(), (ClaimedSeat("t" * 26, "ann", "Ann"), ClaimedSeat(bot="hard")))
    try:
        assert not game.ready
        assert await game.create(claim) == NotSent()
    finally:
        await close_channels(channel)
