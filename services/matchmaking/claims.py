"""From a claim to seated players: the room is created, then every ticket gets its seat.

A claim is in the store before anything else happens, with a lease. Whoever holds it finishes it; when that
process dies, its lease runs out and any other takes the claim over and does the same again: the room is
created once per match id, and seating is one script that does its work once. Players go back to the queue
only when there is certainly no room: the game service has refused, or nothing has ever been sent to it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from matchmaking.game_rooms import Created, NotSent, Refused, Unknown
from rami_engine.rules import RuleOptions
from rami_kit.backoff import Backoff, jitter
from rami_kit.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from matchmaking.claim_records import Claim
    from matchmaking.claim_store import ClaimStore
    from matchmaking.game_rooms import Outcome
    from rami_kit.metrics import MatchmakingMetrics

ROOMS_AT_ONCE: Final = 32
TAKEN_AT_ONCE: Final = 50
RESUME_SECONDS: Final = 0.5
"""How often claims without a living owner are looked for."""
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 2.0
TOLD_AFTER_SECONDS: Final = 0.25
"""The watchers of a claim's tickets are told of it when its room takes so long."""
MOST_DEFECTS: Final = 5
"""A game service that has answered so many times with a defect of its own, and never otherwise, will not create the
room.
"""

_log = logging.getLogger(__name__)
_ResultT = TypeVar("_ResultT")


class RoomMaker(Protocol):
    """The game service: see GameRooms."""

    @property
    def ready(self) -> bool:
        """Whether it can be reached from here."""

    async def create(self, claim: Claim) -> Outcome:
        """Asks for the room of a claim, once."""


class ClaimFinisher:
    """Finishes claims in background tasks, own ones and those left behind by others."""

    def __init__(
        self,
        store: ClaimStore,
        rooms: RoomMaker,
        metrics: MatchmakingMetrics,
        *,
        give_up_seconds: float,
        on_finished: Callable[[], None],
    ) -> None:
        """`on_finished` is told whenever a claim has ended here, one way or the other."""
        self._store = store
        self._rooms = rooms
        self._metrics = metrics
        self._give_up_seconds = give_up_seconds
        self._on_finished = on_finished
        self._room_slots = asyncio.Semaphore(ROOMS_AT_ONCE)
        self._claims: dict[str, Claim] = {}
        self._uncertain: set[str] = set()
        """Claims whose room may be there, whatever defect the game service has now: somebody may have asked for it."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._claimed_gauge = metrics.tickets.labels("claimed")

    def __len__(self) -> int:
        return len(self._claims)

    def start(self, claim: Claim, *, fresh: bool) -> None:
        """Finishes a claim that is ours. `fresh`: nobody can have asked for its room yet."""
        if claim.key in self._claims:
            return
        self._claims[claim.key] = claim
        if not fresh:
            self._uncertain.add(claim.key)
        self._claimed_gauge.inc(len(claim.tickets))
        task = asyncio.create_task(self._guard(claim), name="finish-claim")
        self._tasks[claim.key] = task

    async def resume_forever(self) -> None:
        """Takes over claims whose owner has gone away, for ever; none that could not be finished from here."""
        while True:
            await asyncio.sleep(RESUME_SECONDS * jitter(0.8, 1.2))
            if not self._rooms.ready:
                continue
            try:
                claims = await self._store.take_over(TAKEN_AT_ONCE)
            except StoreUnavailable:
                continue  # the store's health says so already
            for claim in claims:
                if claim is None:
                    self._metrics.unreadable.labels("claim").inc()
                    _log.error("a claim cannot be read by this build: it is left to others")
                elif claim.key in self._claims:
                    # It has been away from us for a while: another may have held it, and asked for its room.
                    self._uncertain.add(claim.key)
                else:
                    self._metrics.claims_resumed.labels().inc()
                    self.start(claim, fresh=False)

    async def close(self) -> None:
        """Stops, and leaves the claims at hand to other processes at once."""
        claims, tasks = list(self._claims.values()), list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        # Without this they would wait for the lease to run out, and nothing worse.
        await asyncio.gather(*(self._store.renew(claim, 0) for claim in claims), return_exceptions=True)

    async def _guard(self, claim: Claim) -> None:
        telling = asyncio.get_running_loop().call_later(TOLD_AFTER_SECONDS, self._store.tell_watchers, claim)
        try:
            await self._finish(claim)
        except Exception:  # noqa: BLE001 - logged whole; the claim's lease brings it back
            _log.exception("a claim could not be finished")
        finally:
            telling.cancel()
            del self._claims[claim.key], self._tasks[claim.key]
            self._uncertain.discard(claim.key)
            self._claimed_gauge.dec(len(claim.tickets))
            self._on_finished()

    async def _finish(self, claim: Claim) -> None:
        began = time.monotonic()
        defects = 0
        backoff = Backoff(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
        while True:
            async with self._room_slots:
                outcome = await self._rooms.create(claim)
            if isinstance(outcome, Created):
                await self._seat(claim, outcome.room_id)
                return
            if isinstance(outcome, Unknown):
                defects += outcome.defect
                if not outcome.defect:
                    self._uncertain.add(claim.key)
            if isinstance(outcome, NotSent) and (defects or claim.key in self._uncertain):
                # There may be a room. Whoever reaches the game service finds out.
                await self._insist(lambda: self._store.renew(claim, 0))
                return
            cause = self._why_no_room(claim, outcome, defects, time.monotonic() - began)
            if cause is not None:
                await self._put_back(claim, cause)
                return
            await asyncio.sleep(backoff.next())
            if not await self._insist(lambda: self._store.renew(claim, self._store.times.lease_ms)):
                return  # another process has taken the claim over

    def _why_no_room(self, claim: Claim, outcome: Outcome, defects: int, seconds: float) -> str | None:
        """What has kept the room of a claim from being created, after so many answers with a defect and so long; None
        while it may be there, or may still come.
        """
        if isinstance(outcome, Refused):
            return outcome.cause
        if isinstance(outcome, Unknown) and defects >= MOST_DEFECTS and claim.key not in self._uncertain:
            return outcome.cause
        if isinstance(outcome, NotSent) and seconds >= self._give_up_seconds:
            return "UNREACHABLE"
        return None

    async def _seat(self, claim: Claim, room_id: str) -> None:
        waits = await self._insist(lambda: self._store.assign(claim, room_id))
        if waits is None:
            return  # another process has done it, and counted it
        metrics, seats = self._metrics, str(len(claim.seats))
        outcome = "bots" if any(seat.bot for seat in claim.seats) else "people"
        rules = "default" if claim.rules == RuleOptions() else "other"
        for waited_ms in waits:
            metrics.wait_seconds.labels(seats, rules, outcome).observe(waited_ms / 1000)
        metrics.ticket_events.labels("matched").inc(len(waits))
        metrics.matches.labels(outcome).inc()
        if len(waits) != len(claim.tickets):
            _log.error("a room has been created for players who were not held for it")

    async def _put_back(self, claim: Claim, cause: str) -> None:
        back = await self._insist(lambda: self._store.put_back(claim))
        if back is None:
            return
        _log.warning("the game service created no room: the players wait again", extra={"cause": cause})
        self._metrics.matches.labels("refused").inc()
        self._metrics.ticket_events.labels("put_back").inc(back)

    @staticmethod
    async def _insist(call: Callable[[], Awaitable[_ResultT]]) -> _ResultT:
        """Repeats a script that does its work once, until the store answers."""
        backoff = Backoff(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
        while True:
            try:
                return await call()
            except StoreUnavailable:
                await asyncio.sleep(backoff.next())


__all__ = ["ClaimFinisher"]
