"""The decisions that wait for a worker: how many, and who is next.

People come before tables of bots alone, and within each the quick bots before the searching ones, since a thousand
quick decisions cost what a few searches do. Two rules keep that from going wrong: every FAIR_SHARE-th decision
that is taken is the one that has waited longest, so that nothing starves; and a full queue makes room for people
by sending away the bots-only decision that came last.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ai_decision.frames import Answer

FAIR_SHARE: Final = 8
"""Of so many decisions taken, one is the oldest whatever its lane."""

TOGETHER: Final = 8
"""Quick decisions that a worker gets at once: few enough that they take no longer than people notice."""


class QueueFull(Exception):  # noqa: N818 - named for the state
    """As many decisions wait as may."""


class Job:
    """A decision that somebody waits for."""

    __slots__ = ("answer", "attempts", "begun", "deadline", "people", "quick", "request", "submitted")

    def __init__(self, request: bytes, deadline: float, *, quick: bool, people: bool) -> None:
        """`deadline` is in seconds of time.monotonic(). Made in the event loop that waits for it."""
        self.request = request
        self.deadline = deadline
        self.quick = quick
        self.people = people
        self.submitted = time.monotonic()
        self.attempts = 0
        self.begun = 0.0
        """When a worker got it, by the same clock; 0 before."""
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()


class DecisionQueue:
    """At most `limit` jobs in four lanes. Taking and adding cost the same however many wait."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lanes: dict[tuple[bool, bool], deque[Job]] = {
            (people, quick): deque() for people in (True, False) for quick in (True, False)
        }
        """By whether people wait and whether the bot is quick, in the order in which they are served."""
        self._taken = 0
        self._waiting = 0

    def __len__(self) -> int:
        return self._waiting

    @property
    def full(self) -> bool:
        """Whether as many decisions wait as may."""
        return self._waiting >= self._limit

    def oldest_seconds(self) -> float:
        """How long the oldest job has waited; 0 when none waits. May be asked from another thread."""
        oldest = [job.submitted for lane in self._lanes.values() for job in list(lane)[:1]]
        return max(0.0, time.monotonic() - min(oldest)) if oldest else 0.0

    def add(self, job: Job) -> None:
        """Let a job wait. Raises QueueFull; for people another may be sent away instead, whose answer that becomes."""
        if self.full:
            if not job.people:
                raise QueueFull
            self._displace()
        self._lanes[job.people, job.quick].append(job)
        self._waiting += 1

    def put_back(self, job: Job) -> None:
        """Let a job that had been taken wait again, before all others of its lane and whatever the limit."""
        self._lanes[job.people, job.quick].appendleft(job)
        self._waiting += 1

    def take(self) -> list[Job]:
        """The jobs to do next, by one worker: some quick ones or a single other; none when none waits.

        Who is tried again is so alone, as one of those together may be what the worker died of.
        """
        jobs: list[Job] = []
        while len(jobs) < TOGETHER and (lane := self._next_lane()):
            alone = lane[0].attempts or not lane[0].quick
            if alone and jobs:
                break
            self._taken += 1
            self._waiting -= 1
            jobs.append(lane.popleft())
            if alone:
                break
        return jobs

    def _next_lane(self) -> deque[Job] | None:
        lanes = filter(None, self._lanes.values())
        if (self._taken + 1) % FAIR_SHARE == 0:
            return min(lanes, key=lambda lane: lane[0].submitted, default=None)
        return next(lanes, None)

    def remove(self, job: Job) -> bool:
        """Drop a job; whether it was waiting."""
        lane = self._lanes[job.people, job.quick]
        if job not in lane:
            return False
        lane.remove(job)
        self._waiting -= 1
        return True

    def _displace(self) -> None:
        """Send away the bots-only job that came last. Raises QueueFull when there is none."""
        lanes = [lane for (people, _), lane in self._lanes.items() if lane and not people]
        if not lanes:
            raise QueueFull
        job = max(lanes, key=lambda lane: lane[-1].submitted).pop()
        self._waiting -= 1
        if not job.answer.done():
            job.answer.set_exception(QueueFull())


__all__ = ["FAIR_SHARE", "DecisionQueue", "Job", "QueueFull"]
