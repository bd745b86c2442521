"""The front's end of one worker process: start it, hand it one job at a time, hear its answer or its end.

All of it happens in callbacks of the event loop; nothing polls. A worker that does not get warm in time, or is silent for
STUCK_SECONDS after the deadline of its job, is killed, and then is like any other that died.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

from ai_decision.frames import LENGTH, decode_answer, encode_job

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_decision.frames import Answer

STUCK_SECONDS: Final = 2.0
WORKER_COMMAND: Final = (sys.executable, "-m", "ai_decision.worker")

_STDIN: Final = 0
_STDOUT: Final = 1

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

    def worker_answered(self, worker: WorkerProcess, answer: Answer) -> None:
        """The answer to the job it had."""

    def worker_exited(self, worker: WorkerProcess) -> None:
        """Its process is gone, whatever the cause."""


class WorkerProcess(asyncio.SubprocessProtocol):
    """One worker process."""

    def __init__(self, listener: Listener) -> None:
        """Starts nothing."""
        self.state = WorkerState.STARTING
        self.decisions = 0
        """Jobs answered."""
        self.pid = 0
        """0 before the process is there."""
        self.exited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._listener = listener
        self._transport: asyncio.SubprocessTransport | None = None
        self._received = bytearray()
        self._timer: asyncio.TimerHandle | None = None

    async def start(self, command: Sequence[str], start_seconds: float) -> None:
        """Start the process; it tells when it is ready, within `start_seconds`. Raises OSError."""
        # A worker needs no setting of the service, least of all its secrets.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RAMI_")}
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(start_seconds, self._end_late)
        await loop.subprocess_exec(
            lambda: self,
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=None,
            env=environment,
        )

    def send(self, request: bytes, deadline: float) -> None:
        """Hand it a job, the only one until it answers. `deadline` is in seconds of time.monotonic()."""
        self._stdin().write(encode_job(request, deadline))
        silence = deadline - time.monotonic() + STUCK_SECONDS
        self._timer = asyncio.get_running_loop().call_later(silence, self._end_late)

    def dismiss(self) -> None:
        """Let it end once it has answered: there will be no more jobs."""
        if self._transport is not None:
            self._stdin().close()

    def kill(self) -> None:
        """End it at once."""
        if self._transport is not None and self._transport.get_returncode() is None:
            self._transport.send_signal(signal.SIGKILL)

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport), "subprocess_exec makes no other"
        self._transport = transport
        self.pid = transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert fd == _STDOUT, "there is no other pipe to read"
        assert isinstance(data, bytes), "pipes are binary"
        received = self._received
        received += data
        while len(received) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(received)[0]
            if len(received) < end:
                return
            body = bytes(received[LENGTH.size : end])
            del received[:end]
            self._hear(body)

    def process_exited(self) -> None:
        self._stop_timer()
        assert self._transport is not None, "a process ends after it has begun"
        self._transport.close()
        if not self.exited.done():
            self.exited.set_result(None)
        self._listener.worker_exited(self)

    # Their parts.

    def _stdin(self) -> asyncio.WriteTransport:
        assert self._transport is not None, "only a worker that has started is spoken to"
        stdin = self._transport.get_pipe_transport(_STDIN)
        assert isinstance(stdin, asyncio.WriteTransport), "stdin is a pipe"
        return stdin

    def _hear(self, body: bytes) -> None:
        self._stop_timer()
        try:
            answer = decode_answer(body)
        except ValueError as error:
            _log.error("worker %d talks nonsense and is ended: %s", self.pid, error)
            self.kill()
            return
        if answer is None:
            self._listener.worker_ready(self)
        else:
            self.decisions += 1
            self._listener.worker_answered(self, answer)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_late(self) -> None:
        _log.error("worker %d is late and is ended", self.pid)
        self.kill()
