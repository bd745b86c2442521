"""The front's end of one worker process: start it, hand it jobs, hear its answers or its end.

All of it happens in callbacks of the event loop; nothing polls. The end of a worker shows as the end of its answers,
whatever the cause. A worker that does not get warm in time, or is silent for STUCK_SECONDS after the last deadline of
its jobs, is killed, and then is like any other that died.

Processes are started with subprocess.Popen, which uses vfork: uvloop's own way is fork, which would run gRPC's handlers
for forked processes in the middle of its work.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import time
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

from ai_decision.frames import decode_answer, encode_job, take_frames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_decision.frames import Answer

STUCK_SECONDS: Final = 2.0
WORKER_COMMAND: Final = (sys.executable, "-m", "ai_decision.worker")

_log = logging.getLogger(__name__)


class WorkerState(Enum):
    """What a worker process does; its owner keeps it."""

    STARTING = "starting"
    IDLE = "idle"
    BUSY = "busy"
    DISMISSED = "dismissed"
    """It has been told to end."""
    GONE = "gone"


class Listener(Protocol):
    """Whom a worker process tells what it says."""

    def worker_ready(self, worker: WorkerProcess) -> None:
        """It is warm and takes jobs."""

    def worker_answered(self, worker: WorkerProcess, answers: Sequence[Answer]) -> None:
        """Answers to the jobs it has, in order; most often to all of them."""

    def worker_exited(self, worker: WorkerProcess) -> None:
        """Its process is gone, whatever the cause."""


class WorkerProcess:
    """One worker process."""

    def __init__(self, listener: Listener) -> None:
        """Starts nothing."""
        self.state = WorkerState.STARTING
        self.decisions = 0
        """Jobs answered."""
        self.exited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the process is gone for good."""
        self._listener = listener
        self._process: subprocess.Popen[bytes] | None = None
        self._jobs: asyncio.WriteTransport | None = None
        self._received = bytearray()
        self._unanswered = 0
        self._timer: asyncio.TimerHandle | None = None
        self._reaping: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """0 before the process is there."""
        return 0 if self._process is None else self._process.pid

    async def start(self, command: Sequence[str], start_seconds: float) -> None:
        """Start the process; it tells when it is ready, within `start_seconds`. Raises OSError."""
        # A worker needs no setting of the service, least of all its secrets.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RAMI_")}
        loop = asyncio.get_running_loop()
        process = subprocess.Popen(  # noqa: ASYNC220, S603 - takes a millisecond; the command is ours
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0
        )
        self._process = process
        self._timer = loop.call_later(start_seconds, self._end_late)
        self._jobs, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        await loop.connect_read_pipe(lambda: _Answers(self), process.stdout)

    def send(self, jobs: Sequence[tuple[bytes, float]]) -> None:
        """Hand it jobs, one or more and the only ones until all are answered: each a request, and a deadline in seconds
        of time.monotonic().
        """
        assert self._jobs is not None, "only a worker that is ready gets jobs"
        self._jobs.write(b"".join([encode_job(request, deadline) for request, deadline in jobs]))
        self._unanswered = len(jobs)
        silence = max(deadline for _, deadline in jobs) - time.monotonic() + STUCK_SECONDS
        self._timer = asyncio.get_running_loop().call_later(silence, self._end_late)

    def dismiss(self) -> None:
        """Let it end once it has answered: there will be no more jobs. One that stays all the same is ended."""
        if self._jobs is not None:
            self._jobs.close()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(STUCK_SECONDS, self._end_late)

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()

    def hear(self, data: bytes) -> None:
        """Some bytes of its answers have come."""
        self._received += data
        try:
            told = [decode_answer(frame) for frame in take_frames(self._received)]
        except ValueError as error:
            self._stop_timer()
            _log.error("worker %d talks nonsense and is ended: %s", self.pid, error)
            self.kill()
            return
        answers = [answer for answer in told if answer is not None]
        if answers:
            self._unanswered -= len(answers)
            if not self._unanswered:
                self._stop_timer()
            self.decisions += len(answers)
            self._listener.worker_answered(self, answers)
        elif told:
            self._stop_timer()
            self._listener.worker_ready(self)

    def hear_end(self) -> None:
        """No answers will come any more."""
        self.dismiss()
        self._stop_timer()
        self._reaping = asyncio.create_task(self._reap())
        self._listener.worker_exited(self)

    async def _reap(self) -> None:
        """Wait for the process, which may have closed its answers without ending."""
        assert self._process is not None, "a process that never began says nothing"
        self.kill()
        await asyncio.to_thread(self._process.wait)
        if not self.exited.done():
            self.exited.set_result(None)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_late(self) -> None:
        _log.error("worker %d is late and is ended", self.pid)
        self.kill()


class _Answers(asyncio.Protocol):
    """The read end of a worker's answers."""

    def __init__(self, worker: WorkerProcess) -> None:
        self._worker = worker

    def data_received(self, data: bytes) -> None:
        self._worker.hear(data)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._worker.hear_end()
