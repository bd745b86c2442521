"""The simulated network: how long things take on their way, and when they do not arrive.

A link carries what it is given in order, as TCP does; different links overtake each other freely.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import contextvars
    import random
    from collections.abc import Callable

    from sim.world import Loop

LEAST_SECONDS: Final = 0.0001


class Weather:
    """How slow the network is, now. One per world; faults change it."""

    def __init__(self, loop: Loop, chance: random.Random) -> None:
        self.loop = loop
        self.chance = chance
        self.usual_seconds = 0.001
        """About how long a message takes."""
        self.slow_share = 0.0
        """How many messages take up to `slow_seconds`."""
        self.slow_seconds = 0.3

    def delay(self) -> float:
        """How long the next message takes."""
        chance = self.chance
        if self.slow_share and chance.random() < self.slow_share:
            return chance.random() * self.slow_seconds
        return LEAST_SECONDS + chance.random() * 2 * self.usual_seconds


class Link:
    """One direction of a connection."""

    __slots__ = ("_context", "_last", "_weather", "cut")

    def __init__(self, weather: Weather, context: contextvars.Context | None = None) -> None:
        """`context`: that of the machine at the far end; what arrives there is its own doing."""
        self._weather = weather
        self._context = context
        self._last = 0.0
        self.cut = False
        """Nothing arrives any more, what is on its way included."""

    def send(self, arrive: Callable[..., None], *args: Any) -> None:
        """Call `arrive` after a while, after everything that was sent before."""
        if self.cut:
            return
        loop = self._weather.loop
        moment = loop.now + self._weather.delay()
        moment = max(moment, self._last)
        self._last = moment
        loop.call_at(moment, self._arrive, arrive, args, context=self._context)

    def _arrive(self, arrive: Callable[..., None], args: tuple[Any, ...]) -> None:
        if not self.cut:
            arrive(*args)


__all__ = ["Link", "Weather"]
