"""The index keeps in step with the store through everything that can happen to its stream; and the loop with it."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from matchmaking.claim_records import Claim, ClaimedSeat
from matchmaking.claim_store import ClaimStore
from matchmaking.matcher import Matcher
from matchmaking.queue_index import QueueIndex
from matchmaking.records import ticket_id_for
from matchmaking.ticket_store import CHANGES_AT_ONCE, Queued, TicketStore
from matchmaking.tickets import MatchPolicy, Member, Tempo, Ticket, TicketTimes
from rami.matchmaking.v1 import matchmaking_service_pb2 as messages
from rami_engine.rules import RuleOptions
from rami_kit import keys
from rami_kit.errors import StoreUnavailable, StoreUncertain
from rami_kit.instruments import Counter
from rami_kit.metrics import Metrics
from rami_kit.redis_store import Store
from rami_kit.settings import ServiceSettings
from rami_kit.testing import make_settings
from support.queueing import Player, running_replica, store_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from support.match_rooms import FakeMatchRooms

MATCHED = messages.TICKET_STATE_MATCHED


class Bench:
    """A queue and an index of it, without a loop."""

    def __init__(self, store: Store) -> None:
        self.tickets = TicketStore(store, TicketTimes())
        self.claims = ClaimStore(store, TicketTimes(), owner="bench")
        self.unreadable = Counter()
        self.index = self.new_index()

    def new_index(self) -> QueueIndex:
        return QueueIndex(self.tickets, Matcher(MatchPolicy()), self.unreadable)

    async def queue(self, name: str) -> Ticket:
        ticket_id = ticket_id_for(name, uuid4())
        wish = Ticket(ticket_id, name, name, (2,), (RuleOptions(),), False, "", 0.0, 0)
        queued = await self.tickets.create(wish)
        assert queued.state is not None
        assert queued.state.ticket is not None
        return queued.state.ticket

    async def seen(self) -> set[str]:
        await self.index.refresh()
        return {ticket.player_id for ticket in self.index.matcher}


@contextlib.asynccontextmanager
async def bench_on(store_url: str) -> AsyncIterator[Bench]:
    store = await Store.connect(make_settings(ServiceSettings, store_url, redis_timeout_seconds=20), Metrics())
    try:
        yield Bench(store)
    finally:
        await store.close()


@pytest.mark.parametrize("party", [(), ("bob", "cid")])
async def test_a_new_ticket_is_told_as_it_is_stored(store_url: str, party: tuple[str, ...]) -> None:
    async with bench_on(store_url) as bench:
        rules = (RuleOptions(50, ace_high=True), RuleOptions())
        wish = Ticket(ticket_id_for("ann", uuid4()), "ann", "Ann", (3, 4), rules, True, "", 1234.5, 0)
        wish = replace(wish, weakest_bot="hard", tempo=Tempo(5_000, 1_000))
        queued = await bench.tickets.create(wish, party, {"region": "eu"})
        assert queued.made
        assert queued.state is not None
        assert queued.state == await bench.tickets.read(wish.ticket_id, "ann")
        assert queued.state == (await bench.tickets.create(wish, party, {"region": "eu"})).state


async def test_a_ticket_rests_on_the_rating_that_the_player_has(store_url: str) -> None:
    """Turned down with another one, before anything is written; a live ticket is found whatever has changed since."""
    async with bench_on(store_url) as bench, store_client(store_url) as client:
        wish = Ticket(ticket_id_for("ann", uuid4()), "ann", "Ann", (2,), (RuleOptions(),), False, "", 0.0, 0)
        assert await bench.tickets.create(wish, record=b"old") == Queued(record=b"")
        await client.set(keys.player_key("ann"), b"new")
        assert await bench.tickets.create(wish, record=b"old") == Queued(record=b"new")
        assert await client.keys("*") == [keys.player_key("ann").encode()]
        assert (await bench.tickets.create(wish, record=b"new")).made
        await client.set(keys.player_key("ann"), b"newer")
        found = await bench.tickets.create(wish, record=b"new")
        assert (found.made, found.record) == (False, None)
        assert found.state is not None


async def test_parties_that_form_are_counted_apart_from_those_who_wait(store_url: str) -> None:
    async with bench_on(store_url) as bench, store_client(store_url) as client:
        wish = Ticket(ticket_id_for("ann", uuid4()), "ann", "Ann", (3,), (RuleOptions(),), False, "", 0.0, 0)
        await bench.tickets.create(wish, ("bob", "cid"))
        dan, eve = await bench.queue("dan"), await bench.queue("eve")
        assert await bench.seen() == {"dan", "eve"}
        assert bench.index.forming == 1
        # Neither one that is being claimed is a party, nor one that cannot be read.
        assert bench.index.matcher.remove(dan.ticket_id) == dan
        bench.index.take([dan])
        await client.hset(keys.ticket_key(eve.ticket_id), "d", b"\xff")
        for index in (bench.index, bench.new_index()):
            await index.refresh()
            assert index.forming == 1
        for player_id in ("bob", "cid"):
            await bench.tickets.confirm(wish.ticket_id, Member(player_id, "", 0.0))
            await bench.index.refresh()
            assert bench.index.forming == (1 if player_id == "bob" else 0)
        assert wish.ticket_id in bench.index.matcher
        await bench.tickets.cancel(wish.ticket_id, "bob")
        await client.delete(keys.queue_changes_key())
        await bench.tickets.create(replace(wish, ticket_id=ticket_id_for("ann", uuid4())), ("bob",))
        await bench.index.refresh()
        assert bench.index.forming == 1


async def test_the_index_follows_what_comes_and_goes(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        ann = await bench.queue("ann")
        assert await bench.seen() == {"ann"}
        bob = await bench.queue("bob")
        await bench.tickets.cancel(ann.ticket_id, "ann")
        assert await bench.seen() == {"bob"}
        claim = Claim(uuid4(), RuleOptions(), (ClaimedSeat(bob.ticket_id, "bob", "bob"), ClaimedSeat(bot="easy")))
        await bench.claims.claim(claim)
        assert await bench.seen() == set()
        assert await bench.claims.put_back(claim) == 1
        assert await bench.seen() == {"bob"}
        (back,) = bench.index.matcher
        assert back == replace(bob, not_before_ms=back.not_before_ms)
        assert back.not_before_ms > bob.create_ms
        # Whoever begins later sees the same.
        bench.index = bench.new_index()
        assert await bench.seen() == {"bob"}
        assert list(bench.index.matcher) == [back]


async def test_more_changes_than_one_look_brings(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        assert await bench.seen() == set()
        names = [f"p{number}" for number in range(CHANGES_AT_ONCE + 10)]
        await asyncio.gather(*(bench.queue(name) for name in names))
        assert await bench.seen() == set(names)


@pytest.mark.parametrize("loss", ["trimmed", "gone", "gone and come again", "everything"])
async def test_changes_that_are_lost_are_found_by_a_survey(store_url: str, loss: str) -> None:
    async with bench_on(store_url) as bench, store_client(store_url) as client:
        await bench.queue("ann")
        bob = await bench.queue("bob")
        assert await bench.seen() == {"ann", "bob"}
        await bench.queue("cid")
        await bench.tickets.cancel(bob.ticket_id, "bob")
        left = {"ann", "cid", "dan"}
        if loss == "trimmed":
            await client.xtrim(keys.queue_changes_key(), maxlen=0, approximate=False)
        elif loss == "everything":
            await client.flushall()
            left = {"dan"}
        else:
            await client.delete(keys.queue_changes_key())
        if loss != "gone":
            await bench.queue("dan")
        else:
            left.discard("dan")
        assert await bench.seen() == left


async def test_a_queue_that_rested_for_long_goes_on(store_url: str) -> None:
    """The stream expires when nothing happens; the index is not confused by the next one."""
    async with bench_on(store_url) as bench, store_client(store_url) as client:
        ann = await bench.queue("ann")
        await bench.tickets.cancel(ann.ticket_id, "ann")
        assert await bench.seen() == set()
        await client.delete(keys.queue_changes_key())
        assert await bench.seen() == set()
        await bench.queue("bob")
        assert await bench.seen() == {"bob"}


async def test_taken_tickets_come_back_only_when_nothing_newer_is_known(store_url: str) -> None:
    async with bench_on(store_url) as bench:
        ann, bob = await bench.queue("ann"), await bench.queue("bob")
        assert await bench.seen() == {"ann", "bob"}
        for ticket in (ann, bob):
            bench.index.matcher.remove(ticket.ticket_id)
        bench.index.take([ann, bob])
        await bench.tickets.cancel(ann.ticket_id, "ann")
        assert await bench.seen() == set()
        bench.index.put_back([ann, bob])
        assert await bench.seen() == {"bob"}
        # A ticket whose state is unknown is looked up.
        bench.index.matcher.remove(bob.ticket_id)
        bench.index.take([bob])
        bench.index.forget([bob])
        assert await bench.seen() == {"bob"}


async def test_a_ticket_whose_claim_is_lost_with_the_store_is_seen_again(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store's stream says nothing of a claim that a failover has undone, neither that it was nor that it is not."""
    async with bench_on(store_url) as bench:
        ann = await bench.queue("ann")
        assert await bench.seen() == {"ann"}
        bench.index.matcher.remove(ann.ticket_id)
        bench.index.take([ann])
        assert await bench.seen() == set()
        monkeypatch.setattr("matchmaking.queue_index.TAKEN_SECONDS", 0.0)
        assert await bench.seen() == {"ann"}


@pytest.mark.parametrize(
    ("failure", "applied"),
    [
        (StoreUnavailable, False),
        (StoreUncertain, False),
        (StoreUncertain, True),
        (ZeroDivisionError, False),
        (ZeroDivisionError, True),
    ],
)
async def test_a_claim_that_fails_loses_nobody(
    store_url: str,
    rooms: FakeMatchRooms,
    monkeypatch: pytest.MonkeyPatch,
    failure: type[Exception],
    applied: bool,
) -> None:
    claim, failures = ClaimStore.claim, [failure()]

    async def failing(self: ClaimStore, a_claim: Claim) -> list[str]:
        if failures:
            if applied:
                assert await claim(self, a_claim) == []
            raise failures.pop()
        return await claim(self, a_claim)

    monkeypatch.setattr(ClaimStore, "claim", failing)
    async with running_replica(store_url, rooms.target, claim_lease_seconds=0.3) as replica:
        tickets = await asyncio.gather(Player("ann").play(replica), Player("bob").play(replica))
        assert [ticket.state for ticket in tickets] == [MATCHED, MATCHED]
        assert len(rooms.rooms) == 1
        cause = "store" if issubclass(failure, StoreUnavailable) else "defect"
        assert replica.sample("passes_failed_total", cause=cause) == 1
