"""Watchers: what waits for one stream of a room, and how the stream is woken.

A feed queues every step for each of its watchers. One that reads slowly loses its queue and gets a snapshot instead.
Every step of every room wakes every watcher of it: that must cost next to nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from game_state.events import CommittedStep
    from game_state.play_notices import PlayNotice

QUEUE_LIMIT: Final = 128
"""Steps that wait for a slow watcher before they are replaced by a snapshot."""
TIMER_GRAIN_SECONDS: Final = 0.002
"""Timers ring as much too early, or late: loops count milliseconds."""


class Watcher:
    """One stream's place in a feed: the steps that wait for it."""

    __slots__ = (
        "_awake",
        "_doubts",
        "_due",
        "_loop",
        "_newest",
        "_notice",
        "_rings_at",
        "_seat",
        "_timer",
        "_waiter",
        "alarmed",
        "behind",
        "queue",
        "superseded",
    )

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        """That of the first wait. To ask for it each time would be a call of the system's each time (Python 3.11)."""
        self.queue: deque[CommittedStep] = deque()
        self.behind = False
        """Steps were lost for this watcher: it needs a snapshot."""
        self.alarmed = True
        """There may be something else to look at than steps: a reason to end, or a doubt. At first there may."""
        self.superseded = False
        """A newer Play stream of the same seat has been opened somewhere."""
        self._seat: int | None = None
        self._notice: PlayNotice | None = None
        self._newest: PlayNotice | None = None
        """The newest stream of the seat that was heard of."""
        self._doubts = False
        self._awake = False
        self._waiter: asyncio.Future[None] | None = None
        self._due = 0.0
        """When the present wait is over, by the loop's clock."""
        self._timer: asyncio.TimerHandle | None = None
        """One for many waits, since almost all of them end early: it looks how long there is to wait when it rings."""
        self._rings_at = 0.0

    def plays(self, seat: int) -> None:
        """The stream is a Play stream of a seat, about to be announced to every replica."""
        self._seat = seat

    def announced(self, notice: PlayNotice) -> None:
        """The stream has been announced."""
        self._notice = notice
        self._compare()

    def hear_play(self, notice: PlayNotice) -> PlayNotice | None:
        """A Play stream was told of. Returns this stream's own notice where it is the newer one of the same seat."""
        if notice.seat != self._seat:
            return None
        if self._newest is None or notice > self._newest:
            self._newest = notice
            self._compare()
        return self._notice if self._notice is not None and self._notice > notice else None

    def _compare(self) -> None:
        if self._notice is not None and self._newest is not None and self._newest > self._notice:
            self.superseded = True
            self.alarm()

    def doubt(self) -> None:
        """The notice of a newer stream may have been lost: the stream asks when it is woken next."""
        if self._seat is not None:
            self._doubts = self.alarmed = True

    def take_doubt(self) -> PlayNotice | None:
        """What to ask with, if there is a doubt and the stream has been announced; the doubt is gone then."""
        if not self._doubts or self._notice is None:
            return None
        self._doubts = False
        return self._notice

    def push(self, item: CommittedStep) -> bool:
        """Queue a step; False when the queue was full and is dropped."""
        self.wake()
        if self.behind:
            return True
        if len(self.queue) < QUEUE_LIMIT:
            self.queue.append(item)
            return True
        self.lose_track()
        return False

    def lose_track(self) -> None:
        """Forget what waits: a snapshot comes instead."""
        self.queue.clear()
        self.behind = True
        self.wake()

    def wake(self) -> None:
        """Let the stream look at its watcher."""
        self._awake = True
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def alarm(self) -> None:
        """Let the stream look around, not for steps alone."""
        self.alarmed = True
        self.wake()

    async def wait(self, seconds: float) -> bool:
        """Wait until there is something to look at; False when the time is up first. For one task at a time."""
        if not self._awake:
            # No Event and no timeout block: every step of every room wakes every watcher of it.
            loop = self._loop
            if loop is None:
                loop = self._loop = asyncio.get_running_loop()
            waiter = self._waiter = loop.create_future()
            self._due = loop.time() + seconds
            if self._timer is None or self._due < self._rings_at:
                self._set_timer(loop, seconds)
            try:
                await waiter
            finally:
                self._waiter = None
        awake, self._awake = self._awake, False
        return awake

    def stop(self) -> None:
        """Nobody waits here any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self.stop()
        self._rings_at = loop.time() + seconds
        self._timer = loop.call_later(seconds, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        waiter = self._waiter
        if waiter is None or waiter.done():
            return
        left = self._due - loop.time()
        if left > TIMER_GRAIN_SECONDS:
            self._set_timer(loop, left)
        else:
            waiter.set_result(None)
