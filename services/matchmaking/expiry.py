"""Taking out tickets that nobody asks for any more, and parties that are not complete in time.

A player who has gone does not watch; one whom nobody could answer could not. So whoever looks after the queue for
the first time, or again after a while in which it could not reach the store, gives the players time to come back.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from matchmaking.ticket_store import EXPIRED_AT_ONCE
from rami_kit.errors import StoreUnavailable

if TYPE_CHECKING:
    from matchmaking.ticket_store import TicketStore
    from rami_kit.metrics import MatchmakingMetrics

LOOK_SECONDS: Final = 1.0
AWAY_SECONDS: Final = 3.0
"""Longer between two looks than this machine is ever merely busy."""


class Grace:
    """How long players have to come back. Times are seconds of one clock that never goes back."""

    def __init__(self, idle_seconds: float, now: float) -> None:
        """`idle_seconds`: how long nothing may be heard of a player; `now` is when this process began to look."""
        self._idle_seconds = idle_seconds
        self._looked_at = now
        self._ends_at = now + idle_seconds

    def left_ms(self, now: float) -> int:
        """How long waiting tickets are still spared, in ms; 0 for not at all."""
        if now - self._looked_at > AWAY_SECONDS:
            self._ends_at = now + self._idle_seconds
        return max(0, round((self._ends_at - now) * 1000))

    def looked(self, now: float) -> None:
        """The queue has been looked after."""
        self._looked_at = now


async def expire_forever(tickets: TicketStore, metrics: MatchmakingMetrics) -> None:
    """Looks for tickets that are due, for ever."""
    grace = Grace(tickets.times.idle_ms / 1000, time.monotonic())
    more = False
    while True:
        if not more:
            await asyncio.sleep(LOOK_SECONDS)
        now = time.monotonic()
        try:
            waits = await tickets.expire(grace_ms=grace.left_ms(now))
        except StoreUnavailable:
            more = False
            continue  # the store's health says so already
        grace.looked(now)
        more = len(waits) == EXPIRED_AT_ONCE
        metrics.ticket_events.labels("expired").inc(len(waits))
        for waited_ms in waits:
            metrics.wait_seconds.labels("0", "none", "expired").observe(waited_ms / 1000)


__all__ = ["Grace", "expire_forever"]
