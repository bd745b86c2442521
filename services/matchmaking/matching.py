"""The matching loop of one replica: look at the queue, make tables, claim them, hand them over.

Every replica runs one. Two that see the same queue make the same tables; the claim script lets one of them
have each, and the other gives the tickets that are left back to its index. A pass that fails is logged and
the next one begins: only a loop that has not come through a pass for a while makes the process NOT_SERVING.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from matchmaking.claim_records import claim_of
from matchmaking.ratings import quality_of
from rami_kit.errors import StoreUnavailable, StoreUncertain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from matchmaking.claim_records import Claim
    from matchmaking.claim_store import ClaimStore
    from matchmaking.claims import ClaimFinisher
    from matchmaking.game_rooms import GameRooms
    from matchmaking.queue_index import QueueIndex
    from matchmaking.tickets import BotProfile, Table
    from rami_kit.metrics import MatchmakingMetrics
    from rami_kit.redis_store import StoreClock

TICKETS_AT_ONCE: Final = 100
"""The matcher tries so many tickets before it lets others run."""
CLAIMS_AT_ONCE: Final = 400
"""No more tables are made while so many wait for their rooms."""
LEAST_PAUSE_SECONDS: Final = 0.005
LONGEST_PAUSE_SECONDS: Final = 0.05
PAUSE_SHARE: Final = 19
"""After a pass so many times the processor time that the event loop has used meanwhile is left to others, within the
two above, however many tickets come: who makes a table complete waits little for the next pass where little is to do.
"""

_log = logging.getLogger(__name__)


class MatchingLoop:
    """Makes tables of the tickets in the queue, for ever."""

    def __init__(
        self,
        *,
        claims: ClaimStore,
        index: QueueIndex,
        finisher: ClaimFinisher,
        rooms: GameRooms,
        bots: Callable[[], Awaitable[Sequence[BotProfile]]],
        clock: StoreClock,
        metrics: MatchmakingMetrics,
        pass_seconds: float,
        dead_seconds: float,
    ) -> None:
        """`bots` gives the profiles with their present skills; passes come at least every `pass_seconds`."""
        self._claims = claims
        self._index = index
        self._finisher = finisher
        self._rooms = rooms
        self._bots = bots
        self._clock = clock
        self._metrics = metrics
        self._pass_seconds = pass_seconds
        self._dead_seconds = dead_seconds
        self._wake = asyncio.Event()
        self._full = False
        """The last pass has ended because too many claims wait for their rooms."""
        self._passed_at = time.monotonic()
        self._now_ms = 0
        self._waiting_gauge = metrics.tickets.labels("waiting")
        self._forming_gauge = metrics.tickets.labels("forming")

    @property
    def alive(self) -> bool:
        """Whether a pass has come through lately."""
        return time.monotonic() - self._passed_at < self._dead_seconds

    def wake(self) -> None:
        """A ticket has come into the queue through here: begin the next pass soon. One that comes through another
        replica wakes that one, and is seen here in the next pass.
        """
        self._wake.set()

    def claim_ended(self) -> None:
        """There is room for another table."""
        if self._full:
            self.wake()

    async def run(self) -> None:
        """Makes passes for ever."""
        while True:
            began, pause = time.thread_time(), LONGEST_PAUSE_SECONDS
            try:
                await self.make_pass()
                self._passed_at = time.monotonic()
                pause = min(pause, max(LEAST_PAUSE_SECONDS, PAUSE_SHARE * (time.thread_time() - began)))
            except StoreUnavailable as error:
                self._metrics.passes_failed.labels("store").inc()
                _log.warning("a pass over the queue failed: %s", error)
            except Exception:  # noqa: BLE001 - logged whole; the players in the queue need the next pass
                self._metrics.passes_failed.labels("defect").inc()
                _log.exception("a pass over the queue failed")
            await asyncio.sleep(pause)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pause()):
                    await self._wake.wait()
            self._wake.clear()

    async def make_pass(self) -> None:
        """One pass: every table that can be made now is claimed, as far as rooms keep up."""
        await self._index.refresh()
        matcher = self._index.matcher
        self._waiting_gauge.set(len(matcher))
        self._forming_gauge.set(self._index.forming)
        if not self._rooms.ready:
            return  # a claim without a game service would only hold the players
        bots = await self._bots()
        # The matcher's time never goes back, whatever another store's clock says after a failover.
        self._now_ms = max(self._now_ms, round(self._clock.now() * 1000))
        seconds = 0.0
        while not self._is_full():
            began = time.perf_counter()
            tables = matcher.run(self._now_ms, bots, TICKETS_AT_ONCE)
            seconds += time.perf_counter() - began
            if tables:
                await self._claim(tables)
            if not matcher.unfinished:
                break
            await asyncio.sleep(0)
        self._metrics.pass_seconds.labels().observe(seconds)
        self._waiting_gauge.set(len(matcher))

    def _is_full(self) -> bool:
        self._full = len(self._finisher) >= CLAIMS_AT_ONCE
        return self._full

    async def _claim(self, tables: Sequence[Table]) -> None:
        for table in tables:
            self._index.take(table.tickets)
        claims = [claim_of(table, uuid4()) for table in tables]
        # All of them leave in one batch.
        replies = await asyncio.gather(*(self._claims.claim(claim) for claim in claims), return_exceptions=True)
        failure: BaseException | None = None
        for table, claim, reply in zip(tables, claims, replies, strict=True):
            if isinstance(reply, list):
                self._settle(table, claim, reply)
                continue
            failure = reply
            if isinstance(reply, StoreUnavailable) and not isinstance(reply, StoreUncertain):
                self._index.put_back(table.tickets)
            else:
                # It may be claimed: then its lease brings it to somebody.
                self._index.forget(table.tickets)
        if failure is not None:
            raise failure

    def _settle(self, table: Table, claim: Claim, gone: list[str]) -> None:
        if gone:
            self._metrics.matches.labels("conflict").inc()
            self._index.put_back(ticket for ticket in table.tickets if ticket.ticket_id not in gone)
            return
        self._metrics.match_spread.labels().observe(table.spread)
        self._metrics.match_quality.labels().observe(quality_of(table.spread))
        self._finisher.start(claim, fresh=True)

    def _pause(self) -> float:
        moment = self._index.matcher.next_moment()
        if moment is None or not self._rooms.ready:
            return self._pass_seconds
        try:
            return min(self._pass_seconds, max(0.0, moment / 1000 - self._clock.now()))
        except StoreUnavailable:
            return self._pass_seconds


__all__ = ["MatchingLoop"]
