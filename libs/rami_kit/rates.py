"""How often somebody may call: token buckets by player and by address, in memory that is bounded.

A bucket is one number: when it will be full again. Taking a token moves that moment on by the time in which a
token grows; a bucket that is full again says nothing and is forgotten. Both cost a look-up, whoever calls and
however many do.

Each process counts for itself: a player whose calls spread over two replicas may call twice as often.
"""

from __future__ import annotations

import contextvars
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

BUCKETS_KEPT: Final = 50_000
"""Callers whose buckets are remembered at once, about 10 MB. Beyond, who was quiet for longest is forgotten."""


class Rate(NamedTuple):
    """So many calls a second for ever, and so many at once after a rest."""

    per_second: float
    burst: int


class Buckets:
    """The buckets of all callers under one rate."""

    __slots__ = ("_clock", "_depth", "_full_at", "_interval", "_kept")

    def __init__(self, rate: Rate, *, kept: int = BUCKETS_KEPT, clock: Callable[[], float] = time.monotonic) -> None:
        """`rate` must be above zero and its burst 1 or more; `clock` gives seconds that never go back."""
        self._interval = 1 / rate.per_second
        self._depth = rate.burst * self._interval
        """How long an empty bucket takes to fill."""
        self._kept = kept
        self._clock = clock
        self._full_at: OrderedDict[str, float] = OrderedDict()
        """By caller, in the order of their latest calls."""

    def __len__(self) -> int:
        """Buckets that are remembered."""
        return len(self._full_at)

    def take(self, key: str) -> float:
        """Takes a token of a caller's bucket; 0.0, or the seconds until there is one, and then none is taken."""
        now = self._clock()
        buckets = self._full_at
        full_at = buckets.get(key)
        if full_at is None:
            self._forget_idle(now)
            buckets[key] = now + self._interval
            return 0.0
        buckets.move_to_end(key)
        if full_at < now:  # noqa: PLR1730 - twice as fast as max()
            full_at = now
        full_at += self._interval
        # The slack is what adding up intervals loses in precision: a full bucket holds all of its tokens.
        wait = full_at - now - self._depth
        if wait > self._interval * 1e-6:
            return wait
        buckets[key] = full_at
        return 0.0

    def give_back(self, key: str) -> None:
        """Puts a token back that was taken for something that does not count after all."""
        full_at = self._full_at.get(key)
        if full_at is not None:
            self._full_at[key] = full_at - self._interval

    def _forget_idle(self, now: float) -> None:
        """Makes room for one more: two steps for each new caller are enough to keep up with all who have gone."""
        buckets = self._full_at
        for _ in range(2):
            if not buckets:
                return
            key = next(iter(buckets))
            if buckets[key] > now and len(buckets) < self._kept:
                return
            del buckets[key]


_charge: contextvars.ContextVar[Callable[[], None] | None] = contextvars.ContextVar("rami_charge", default=None)
set_message_charge: Final = _charge.set


def charge_message() -> None:
    """Counts one message of the stream that this task handles as a call of its caller.

    Raises RamiError RATE_LIMITED when the caller sends too often. The handler of a request stream calls it for each
    message but the first, which the call itself stands for: it alone knows how to refuse one without ending the
    stream.
    """
    charge = _charge.get()
    if charge is not None:
        charge()


__all__ = ["Buckets", "Rate", "charge_message", "set_message_charge"]
