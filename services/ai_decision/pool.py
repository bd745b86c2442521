"""A fixed pool of worker processes behind a bounded queue.

A decision that no worker has begun is dropped when its caller leaves or its deadline passes; one that has been begun
ends by its deadline. A worker that dies is replaced, and its decision given to another, once. A worker that has decided
often enough goes when a warm successor stands in for it, so that nothing is lost and nothing waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from typing import TYPE_CHECKING, Final

from ai_decision.process import WORKER_COMMAND, WorkerProcess, WorkerState
from ai_decision.queue import DecisionQueue, Job
from rami_kit.backoff import Backoff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_decision.frames import Answer
    from rami_kit.metrics import AiMetrics

MAX_ATTEMPTS: Final = 2
"""Workers that a decision may be given to: if two die of it, it is to blame."""
DISMISS_SECONDS: Final = 2.0
"""Time for a dismissed worker to end before it is killed."""
KILLED_SECONDS: Final = 10.0
"""Time for a killed worker to be gone: more than any takes, but on a machine that does nothing for a while."""
FIRST_RESTART_SECONDS: Final = 0.05
LAST_RESTART_SECONDS: Final = 5.0

_SERVING: Final = (WorkerState.IDLE, WorkerState.BUSY)
_CLASSES: Final = {True: "people", False: "bots_only"}
_COUNTED: Final = (WorkerState.STARTING, *_SERVING, WorkerState.DISMISSED)

_log = logging.getLogger(__name__)


class DecisionTimeout(Exception):  # noqa: N818 - named for what happened
    """The deadline passed before there was an answer."""


class WorkersLost(Exception):  # noqa: N818 - named for what happened
    """Every worker that had the decision died of it."""


class WorkerPool:
    """Decides in worker processes. Made and used in one event loop."""

    def __init__(
        self,
        *,
        workers: int,
        queue_limit: int,
        recycle_decisions: int,
        start_seconds: float,
        metrics: AiMetrics,
        command: Sequence[str] = WORKER_COMMAND,
    ) -> None:
        """Starts nothing. A worker is replaced after `recycle_decisions`, 0 for never."""
        self._size = workers
        self._recycle_decisions = recycle_decisions
        self._start_seconds = start_seconds
        self._queue_depth = metrics.queue_depth.labels()
        self._queue_seconds = {people: metrics.queue_seconds.labels(name) for people, name in _CLASSES.items()}
        self._busy_seconds = metrics.busy_seconds.labels()
        self._restarts = metrics.worker_restarts.labels()
        self._workers_by_state = {state: metrics.workers.labels(state.value) for state in _COUNTED}
        self._command = command
        self._loop = asyncio.get_running_loop()
        self._queue = DecisionQueue(queue_limit)
        metrics.queue_age.read_from(self._queue.oldest_seconds)
        self._workers: set[WorkerProcess] = set()
        self._jobs: dict[WorkerProcess, deque[Job]] = {}
        """The decisions that each busy worker has, in the order of their answers."""
        self._giving = False
        """Whether what waits is looked at before this turn of the event loop ends."""
        self._outdated: WorkerProcess | None = None
        """The worker that goes when its successor is warm. One at a time until it has gone, so that neither starts nor
        processes that end slowly crowd.
        """
        self._starts: set[asyncio.Task[None]] = set()
        self._start_backoff = Backoff(FIRST_RESTART_SECONDS, LAST_RESTART_SECONDS)
        self._complete = asyncio.Event()
        self._closing = asyncio.Event()

    @property
    def ready(self) -> bool:
        """Whether any worker takes decisions."""
        return any(worker.state in _SERVING for worker in self._workers)

    @property
    def waiting(self) -> int:
        """Decisions that no worker has begun."""
        return len(self._queue)

    @property
    def busy(self) -> int:
        """Decisions that a worker has."""
        return sum(map(len, self._jobs.values()))

    @property
    def pids(self) -> list[int]:
        """The worker processes that there are, those that start or end included."""
        return sorted(worker.pid for worker in self._workers if worker.pid)

    async def start(self) -> None:
        """Start every worker; returns when all are warm."""
        self._refill()
        await self._complete.wait()

    async def close(self) -> None:
        """End all workers, those at once that do not end by themselves. What they were deciding is lost."""
        self._closing.set()
        if self._starts:
            await asyncio.wait(self._starts)
        exits = [worker.exited for worker in self._workers]
        for worker in self._workers:
            worker.dismiss()
        if exits:
            await asyncio.wait(exits, timeout=DISMISS_SECONDS)
        for worker in self._workers:
            worker.kill()
        if exits:
            await asyncio.wait(exits, timeout=KILLED_SECONDS)

    async def decide(self, request: bytes, deadline: float, *, quick: bool, people: bool) -> Answer:
        """The answer to a serialized request. `deadline` is in seconds of time.monotonic(), `people` whether any wait.

        Raises QueueFull, at once or when people need the place, DecisionTimeout at the deadline, WorkersLost.
        """
        job = Job(request, deadline, quick=quick, people=people)
        if deadline <= job.submitted:
            raise DecisionTimeout
        self._admit(job)
        timer = self._loop.call_later(deadline - job.submitted, self._give_up, job)
        try:
            return await job.answer
        except asyncio.CancelledError:
            self._forget(job)
            raise
        finally:
            timer.cancel()

    # What the workers tell.

    def worker_ready(self, worker: WorkerProcess) -> None:
        """It is warm."""
        self._start_backoff.reset()
        self._rest(worker)
        if sum(each.state in _SERVING for each in self._workers) >= self._size:
            self._complete.set()

    def worker_answered(self, worker: WorkerProcess, answers: Sequence[Answer]) -> None:
        """It has done its jobs, or the first of them."""
        jobs = self._jobs.get(worker)
        if jobs is None:
            return  # it had been given up already
        begun = jobs[0].begun
        for answer in answers:
            job = jobs.popleft()
            if not job.answer.done():
                job.answer.set_result(answer)
        if jobs:
            return
        del self._jobs[worker]
        self._busy_seconds.inc(time.monotonic() - begun)
        if self._outdated is None and 0 < self._recycle_decisions <= worker.decisions:
            # Several may be due by now: who is first is not who happens to answer next, or one might never be.
            serving = [each for each in self._workers if each.state in _SERVING]
            self._outdated = max(serving, key=lambda each: each.decisions)
            self._refill()
        self._rest(worker)

    def worker_exited(self, worker: WorkerProcess) -> None:
        """Its process is gone: dismissed, or dead."""
        state = worker.state
        self._workers.discard(worker)
        if worker is self._outdated:
            self._outdated = None
        self._set_state(worker, WorkerState.GONE)
        jobs = self._jobs.pop(worker, ())
        if self._closing.is_set() or state is WorkerState.DISMISSED:
            return
        _log.error("worker %d died while %s", worker.pid, state.value)
        self._restarts.inc()
        self._refill(self._start_backoff.next() if state is WorkerState.STARTING else 0)
        for job in reversed(jobs):
            if job.answer.done():
                continue
            if job.attempts >= MAX_ATTEMPTS:
                job.answer.set_exception(WorkersLost())
            else:
                self._queue.put_back(job)
        self._give_soon()

    # The queue.

    def _admit(self, job: Job) -> None:
        """Let a decision wait until those of the same moment are there, then for a worker. Raises QueueFull."""
        if self._queue.full:
            self._give_all()
        self._queue.add(job)
        self._give_soon()

    def _give_soon(self) -> None:
        if not self._giving:
            self._giving = True
            self._loop.call_soon(self._give_all)

    def _give_all(self) -> None:
        """Give what waits to whoever is idle."""
        self._giving = False
        for worker in self._workers:
            if worker.state is WorkerState.IDLE and (jobs := self._queue.take()):
                self._give(worker, jobs)
        self._queue_depth.set(self.waiting)

    def _give_up(self, job: Job) -> None:
        """The deadline of a decision has come."""
        if not job.answer.done():
            job.answer.set_exception(DecisionTimeout())
            self._forget(job)

    def _forget(self, job: Job) -> None:
        """Nobody waits for a decision any more."""
        if self._queue.remove(job):
            self._queue_depth.set(self.waiting)

    def _give(self, worker: WorkerProcess, jobs: list[Job]) -> None:
        self._jobs[worker] = deque(jobs)
        self._set_state(worker, WorkerState.BUSY)
        now = time.monotonic()
        for job in jobs:
            job.attempts += 1
            job.begun = now
            self._queue_seconds[job.people].observe(now - job.submitted)
        worker.send([(job.request, job.deadline) for job in jobs])

    # The workers.

    def _rest(self, worker: WorkerProcess) -> None:
        """A worker has nothing to do: the next decisions, or its end."""
        self._set_state(worker, WorkerState.IDLE)
        self._retire_outdated()
        if self._queue:
            self._give_soon()

    def _retire_outdated(self) -> None:
        outdated = self._outdated
        if outdated is None or outdated.state is not WorkerState.IDLE:
            return
        if sum(each.state in _SERVING for each in self._workers) > self._size:
            self._set_state(outdated, WorkerState.DISMISSED)
            outdated.dismiss()

    def _refill(self, delay: float = 0) -> None:
        """Start as many workers as are missing; an outdated one does not count."""
        staying = sum(
            worker is not self._outdated and worker.state is not WorkerState.DISMISSED for worker in self._workers
        )
        for _ in range(self._size - staying):
            worker = WorkerProcess(self)
            self._workers.add(worker)
            self._workers_by_state[worker.state].inc()
            start = asyncio.create_task(self._start(worker, delay))
            self._starts.add(start)
            start.add_done_callback(self._starts.discard)

    async def _start(self, worker: WorkerProcess, delay: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await self._closing.wait()
                self._workers.discard(worker)
                self._set_state(worker, WorkerState.GONE)
                return
        try:
            await worker.start(self._command, self._start_seconds)
        except OSError as error:
            _log.error("no worker can be started: %s", error)
            self.worker_exited(worker)

    def _set_state(self, worker: WorkerProcess, state: WorkerState) -> None:
        """Twice each time that a worker gets something, so the counts are kept and not counted anew."""
        self._workers_by_state[worker.state].dec()
        worker.state = state
        if state is not WorkerState.GONE:
            self._workers_by_state[state].inc()
