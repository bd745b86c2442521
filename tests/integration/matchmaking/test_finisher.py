"""The finisher of claims against a scripted game service: what is asked, and when players go back."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from matchmaking.claim_records import Claim, ClaimedSeat
from matchmaking.claim_store import ClaimStore
from matchmaking.claims import MOST_DEFECTS, RESUME_SECONDS, ClaimFinisher
from matchmaking.game_rooms import Created, NotSent, Outcome, Refused, Unknown
from matchmaking.tickets import TicketTimes
from rami.matchmaking.v1 import matchmaking_service_pb2 as messages
from rami_engine.rules import RuleOptions
from rami_kit.errors import StoreUncertain
from rami_kit.metrics import MatchmakingMetrics, Metrics
from rami_kit.redis_store import Store
from rami_kit.settings import ServiceSettings
from rami_kit.testing import make_settings
from support.queueing import Player, running_replica, until
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from support.queueing import Replica

WAITING = messages.TICKET_STATE_WAITING
CLAIMED = messages.TICKET_STATE_CLAIMED
MATCHED = messages.TICKET_STATE_MATCHED
AWAY = "127.0.0.1:1"
"""Nobody listens here: a replica that is told to find the game service there claims nothing."""


class ScriptedRooms:
    """Answers from a list, the last one for ever."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)
        self.calls = 0
        self.ready = True

    async def create(self, _claim: Claim) -> Outcome:
        self.calls += 1
        return self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]


class HeldRooms(ScriptedRooms):
    """The same, once it may answer."""

    def __init__(self, *outcomes: Outcome) -> None:
        super().__init__(*outcomes)
        self.answer = asyncio.Event()

    async def create(self, claim: Claim) -> Outcome:
        outcome = await super().create(claim)
        await self.answer.wait()
        return outcome


@contextlib.asynccontextmanager
async def finisher_with(
    store_url: str, rooms: ScriptedRooms, *, give_up_seconds: float = 0.0
) -> AsyncIterator[tuple[ClaimFinisher, ClaimStore]]:
    metrics = Metrics()
    store = await Store.connect(make_settings(ServiceSettings, store_url, redis_timeout_seconds=20), metrics)
    claims = ClaimStore(store, TicketTimes(), owner="finisher")
    finisher = ClaimFinisher(
        claims,
        rooms,
        MatchmakingMetrics(metrics.registry),
        give_up_seconds=give_up_seconds,
        on_finished=lambda: None,
    )
    resuming = asyncio.create_task(finisher.resume_forever())
    try:
        yield finisher, claims
    finally:
        resuming.cancel()
        await finisher.close()
        await store.close()


async def claim_of_one(idle: Replica, claims: ClaimStore) -> tuple[Claim, messages.Ticket, Player]:
    ann = Player("ann")
    ticket = await ann.create(idle, bots_allowed=True)
    seats = (ClaimedSeat(ticket.ticket_id, ann.player_id, "Ann"), ClaimedSeat(bot="easy"))
    claim = Claim(uuid4(), RuleOptions(), seats)
    assert await claims.claim(claim) == []
    return claim, ticket, ann


@pytest.mark.parametrize(
    ("outcomes", "fresh", "give_up_seconds", "ends"),
    [
        # Nothing was ever sent: there is no room.
        ([NotSent()], True, 0.0, (1, WAITING)),
        # Something may have been sent, by us or by the one we took the claim over from: the room may be there.
        ([Unknown("UNAVAILABLE", defect=False), NotSent(), Created("p0-room")], True, 0.0, (3, MATCHED)),
        ([NotSent(), NotSent(), Created("p0-room")], False, 0.0, (3, MATCHED)),
        ([NotSent(), Created("p0-room")], True, 60.0, (2, MATCHED)),
        ([Unknown("UNAVAILABLE", defect=False)] * 4 + [Created("p0-room")], True, 0.0, (5, MATCHED)),
        # A refusal is an answer, whatever was lost before.
        ([Unknown("DEADLINE_EXCEEDED", defect=False), Refused("BOT_NOT_FOUND")], True, 0.0, (2, WAITING)),
        # So it may be where others answer with a defect then, or where another has asked before.
        (
            [
                Unknown("UNAVAILABLE", defect=False),
                *[Unknown("INTERNAL", defect=True)] * MOST_DEFECTS,
                Created("p0-room"),
            ],
            True,
            0.0,
            (MOST_DEFECTS + 2, MATCHED),
        ),
        (
            [*[Unknown("INTERNAL", defect=True)] * MOST_DEFECTS, Created("p0-room")],
            False,
            0.0,
            (MOST_DEFECTS + 1, MATCHED),
        ),
        # A defect that stays is one.
        ([Unknown("INTERNAL", defect=True)], True, 0.0, (MOST_DEFECTS, WAITING)),
    ],
)
async def test_players_go_back_only_when_there_is_certainly_no_room(
    store_url: str, outcomes: list[Outcome], fresh: bool, give_up_seconds: float, ends: tuple[int, int]
) -> None:
    scripted = ScriptedRooms(*outcomes)
    calls, state = ends
    async with (
        running_replica(store_url, AWAY) as idle,
        finisher_with(store_url, scripted, give_up_seconds=give_up_seconds) as (finisher, claims),
    ):
        claim, ticket, ann = await claim_of_one(idle, claims)
        finisher.start(claim, fresh=fresh)
        finisher.start(claim, fresh=fresh)  # twice is once
        await eventually(lambda: scripted.calls == calls and len(finisher) == 0, "the claim is finished")
        assert (await ann.get(idle, ticket.ticket_id)).state == state


async def test_a_claim_that_another_has_taken_over_is_let_go(store_url: str) -> None:
    scripted = ScriptedRooms(Unknown("UNAVAILABLE", defect=False))
    scripted.ready = False  # so that it does not take over itself what has no lease for a moment
    async with running_replica(store_url, AWAY) as idle, finisher_with(store_url, scripted) as (finisher, claims):
        claim, ticket, ann = await claim_of_one(idle, claims)
        other = ClaimStore(idle.app.require_store(), TicketTimes(lease_ms=60_000), owner="other")
        assert await claims.renew(claim, 0)
        assert await other.take_over(10) == [claim]
        scripted.ready = True
        finisher.start(claim, fresh=True)
        await eventually(lambda: len(finisher) == 0, "it is let go")
        assert scripted.calls == 1
        assert (await ann.get(idle, ticket.ticket_id)).state == CLAIMED
        assert await other.renew(claim, 1000)


async def test_a_claim_that_another_has_held_meanwhile_may_have_a_room(store_url: str) -> None:
    scripted = HeldRooms(NotSent(), Created("p0-room"))
    async with running_replica(store_url, AWAY) as idle, finisher_with(store_url, scripted) as (finisher, claims):
        claim, ticket, ann = await claim_of_one(idle, claims)
        other = ClaimStore(idle.app.require_store(), TicketTimes(lease_ms=60_000), owner="other")
        scripted.ready = False
        finisher.start(claim, fresh=True)
        await eventually(lambda: scripted.calls == 1, "the room is asked for")
        assert await claims.renew(claim, 0)
        assert await other.take_over(10) == [claim]
        assert await other.renew(claim, 0)  # it has asked for the room, and has let go
        scripted.ready = True

        async def is_ours() -> bool:
            return await claims.renew(claim, claims.times.lease_ms)

        await until(is_ours, "the claim is taken back")
        scripted.answer.set()
        assert (await ann.outcome(idle, ticket.ticket_id)).state == MATCHED


async def test_claims_are_not_taken_over_while_the_game_service_is_out_of_reach(store_url: str) -> None:
    scripted = ScriptedRooms(Created("p0-room"))
    scripted.ready = False
    async with running_replica(store_url, AWAY) as idle, finisher_with(store_url, scripted) as (finisher, claims):
        claim, ticket, ann = await claim_of_one(idle, claims)
        assert await claims.renew(claim, 0)
        await asyncio.sleep(RESUME_SECONDS * 2)
        assert (await ann.get(idle, ticket.ticket_id)).state == CLAIMED
        scripted.ready = True
        assert (await ann.outcome(idle, ticket.ticket_id)).state == MATCHED
        await eventually(lambda: len(finisher) == 0, "the claim is finished")


async def test_a_store_that_is_away_for_a_moment_does_not_lose_the_claim(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = ScriptedRooms(Created("p0-room"))
    async with running_replica(store_url, AWAY) as idle, finisher_with(store_url, scripted) as (finisher, claims):
        claim, ticket, ann = await claim_of_one(idle, claims)
        assign, failures = claims.assign, [StoreUncertain(), StoreUncertain()]

        async def failing(a_claim: Claim, room_id: str) -> list[int] | None:
            answer = await assign(a_claim, room_id)
            if failures:
                raise failures.pop()  # it was applied, and the answer is lost
            return answer

        monkeypatch.setattr(claims, "assign", failing)
        finisher.start(claim, fresh=True)
        await eventually(lambda: len(finisher) == 0, "the claim is finished")
        assert (await ann.get(idle, ticket.ticket_id)).state == MATCHED
