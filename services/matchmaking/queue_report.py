"""How long the queue is: players and waits per pool, and what somebody who queues now may expect.

Answers are kept for a second, so that however often players ask, the queue is looked at once; only the pools of
the page that is asked for are worked out.
"""

from __future__ import annotations

import asyncio
import time
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matchmaking.queue_index import QueueIndex
    from matchmaking.ticket_store import TicketStore
    from matchmaking.tickets import PoolKey
    from rami_kit.redis_store import StoreClock

FRESH_SECONDS: Final = 1.0
AGES_COUNTED: Final = 1_000
"""So many of those who wait are enough for an estimate."""


class PoolReport(NamedTuple):
    """A pool as players are told of it. Times are ms; None for what is not known."""

    key: PoolKey
    players: int
    longest_ms: int | None
    median_ms: int | None
    p95_ms: int | None
    estimate_ms: int | None


class QueueReport:
    """Reads pools from the index and past waits from the store. Methods raise what the store raises."""

    def __init__(self, index: QueueIndex, store: TicketStore, clock: StoreClock) -> None:
        self._index = index
        self._store = store
        self._clock = clock
        self._listed: list[PoolKey] = []
        self._listed_at = -FRESH_SECONDS
        self._pools: dict[PoolKey, tuple[float, PoolReport]] = {}

    async def waiting_pools(self) -> list[PoolKey]:
        """Every pool with players in it, in its order."""
        if time.monotonic() - self._listed_at >= FRESH_SECONDS:
            await self._index.refresh()
            self._listed = self._index.matcher.pool_keys()
            self._listed_at = time.monotonic()
            self._pools = {key: kept for key, kept in self._pools.items() if _fresh(kept[0])}
        return self._listed

    async def pools(self, wanted: Sequence[PoolKey]) -> list[PoolReport]:
        """These pools, in this order."""
        return list(await asyncio.gather(*(self._pool(key) for key in wanted)))

    async def _pool(self, key: PoolKey) -> PoolReport:
        kept = self._pools.get(key)
        if kept is not None and _fresh(kept[0]):
            return kept[1]
        waits = sorted(await self._store.waits(key.name))
        pool = self._index.matcher.pool(key)
        now_ms = round(self._clock.now() * 1000)
        ages = [max(0, now_ms - ticket.create_ms) for ticket in islice(pool or (), AGES_COUNTED)]
        report = PoolReport(
            key,
            pool.players if pool is not None else 0,
            max(0, now_ms - pool.oldest_ms) if pool is not None else None,
            waits[(len(waits) - 1) // 2] if waits else None,
            waits[(len(waits) * 95 + 99) // 100 - 1] if waits else None,
            median_wait(waits, ages),
        )
        self._pools[key] = (time.monotonic(), report)
        return report


def median_wait(waits: Sequence[int], ages: Sequence[int]) -> int | None:
    """The median of waits that have ended and of others that have only lasted so long yet (Kaplan and Meier's
    estimate); None where fewer than half of all are known to end.
    """
    # A wait that ends at the moment up to which another has lasted counts first.
    steps = sorted([(wait, 0) for wait in waits] + [(age, 1) for age in ages])
    left, surviving = len(steps), 1.0
    for length, lasting in steps:
        if not lasting:
            surviving *= 1 - 1 / left
            if surviving <= 0.5 + 1e-9:
                return length
        left -= 1
    return None


def _fresh(since: float) -> bool:
    return time.monotonic() - since < FRESH_SECONDS


__all__ = ["PoolReport", "QueueReport", "median_wait"]
