"""Pauses between attempts: they double, and are drawn at random so that replicas do not knock together."""

from __future__ import annotations

import random


def jitter(low: float, high: float) -> float:
    """A random number between two bounds."""
    return random.uniform(low, high)  # noqa: S311 - spreads load; nobody gains by guessing it


class Backoff:
    """The next pause, in seconds: between half of and the whole of a bound that doubles up to `longest`."""

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self._bound = first

    def next(self) -> float:
        """How long to wait before the next attempt."""
        pause = jitter(self._bound / 2, self._bound)
        self._bound = min(self._bound * 2, self._longest)
        return pause

    def reset(self) -> None:
        """Begins again from the first pause, after a success."""
        self._bound = self._first


__all__ = ["Backoff", "jitter"]
