"""The processes of a chaos run: the services as they are, ended by signal 9 and their own pid, started again.

Each is reached through a proxy, so it may come back on another port. What it writes to standard error is kept in a
file for who looks into a failure.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self

from rami_kit.testing import JWT_SECRET, SERVICE_SECRET
from support import chaos_nursery

if TYPE_CHECKING:
    from collections.abc import Mapping

START_SECONDS: Final = 60.0
"""Far longer than a process takes on a busy machine."""
STOP_SECONDS: Final = 40.0

GAME: Final = ("-m", "game_state")
BOTS: Final = (str(Path(__file__).with_name("chaos_bots.py")),)
"""A decision service that plays anything, at once."""
AI: Final = ("-m", "ai_decision")
MATCHMAKING: Final = ("-m", "matchmaking")


def broken_game(name: str) -> tuple[str, ...]:
    """The game service, broken in the way that is named."""
    return (str(Path(__file__).with_name("chaos_broken_game.py")), name)


BASE_ENVIRONMENT: Final = {
    "RAMI_MODE": "production",
    "RAMI_HOST": "127.0.0.1",
    "RAMI_PORT": "0",
    "RAMI_METRICS_PORT": "0",
    "RAMI_JWT_SECRET": JWT_SECRET,
    "RAMI_SERVICE_SECRET": SERVICE_SECRET,
    # An answer that is kept back is given up after this; healthy ones take a few milliseconds.
    "RAMI_REDIS_TIMEOUT_SECONDS": "0.7",
    # Bots that are gone are given up after this: far sooner than a match has to go on without them.
    "RAMI_DECISION_PATIENCE_SECONDS": "0.7",
    "RAMI_DRAIN_GRACE_SECONDS": "15",
    # Matches are short, so that many of them see their end within a run.
    "RAMI_MAX_TURNS_PER_ROUND": "24",
    "RAMI_MAX_TURNS_PER_MATCH": "72",
}


class Nursery:
    """The process that the others are forked from. Use it as a context manager; it outlives no test session."""

    def __enter__(self) -> Self:
        self._place, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(chaos_nursery.__file__)), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        self._asking = threading.Lock()
        return self

    def __exit__(self, *_: object) -> None:
        self._place.close()
        self._process.wait(STOP_SECONDS)

    def make(self, arguments: tuple[str, ...], environment: Mapping[str, str], output: int, errors: int) -> int:
        """Start a process with these descriptors as standard output and error; its pid. Blocks for a moment."""
        message = json.dumps({"arguments": arguments, "environment": dict(environment)}).encode()
        with self._asking:
            socket.send_fds(self._place, [message], [output, errors])
            answer = self._place.recv(64)
        assert answer, "the nursery has ended"
        return int(answer)

    def exit_code(self, pid: int) -> int:
        """How a process has ended that is about to: its exit code, or less than 0 for a signal. Blocks until then."""
        with self._asking:
            self._place.send(json.dumps({"exit_of": pid}).encode())
            return int(self._place.recv(64))


class ChaosProcess:
    """One process of the cluster. `port` is where it listens now."""

    def __init__(
        self, name: str, arguments: tuple[str, ...], environment: Mapping[str, str], logs: Path, nursery: Nursery
    ) -> None:
        """`arguments` are what the interpreter runs."""
        self.name = name
        self.port = 0
        self._arguments = arguments
        self._environment = {**os.environ, **BASE_ENVIRONMENT, **environment}
        self._log = logs / f"{name}.log"
        self._nursery = nursery
        self._pid = 0
        self._output: IO[bytes] | None = None
        """What the process says; at its end as soon as the process has ended."""

    @property
    def pid(self) -> int:
        """The id of the process that was started last."""
        return self._pid

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        if self._output is None:
            return False
        readable, _, _ = select.select([self._output], [], [], 0)
        return not readable or bool(os.read(self._output.fileno(), 1))

    async def start(self) -> None:
        """Start it and wait until it says that it serves. Fails the test when it does not."""
        starting = asyncio.create_task(asyncio.to_thread(self._start))
        try:
            async with asyncio.timeout(START_SECONDS):
                line = await asyncio.shield(starting)
        finally:
            if not starting.done() and self._pid:
                os.kill(self._pid, signal.SIGKILL)  # which also ends the wait for its line
            await asyncio.wait([starting])
        assert line, f"{self.name} ended before it served: see {self._log}"
        self.port = json.loads(line)["port"]

    async def kill(self) -> None:
        """End it by signal 9; it has no time for anything."""
        assert self.running, f"{self.name} does not run"
        await asyncio.to_thread(self._end, signal.SIGKILL)

    async def stop(self) -> int:
        """End it in good order; its exit code, or 0 where there was nothing to end."""
        if self.running:
            await asyncio.to_thread(self._end, signal.SIGTERM)
            return await asyncio.to_thread(self._nursery.exit_code, self._pid)
        if self._output is not None:
            self._output.close()
            self._output = None
        return 0

    def _start(self) -> bytes:
        """Start the process; the line in which it says that it serves, or nothing."""
        reading, writing = os.pipe()
        self._output = os.fdopen(reading, "rb", buffering=0)
        try:
            with self._log.open("ab") as log:
                self._pid = self._nursery.make(self._arguments, self._environment, writing, log.fileno())
        finally:
            os.close(writing)
        return self._output.readline()

    def _end(self, number: signal.Signals) -> None:
        output, self._output = self._output, None
        assert output is not None
        with output:
            os.kill(self._pid, number)
            if not select.select([output], [], [], STOP_SECONDS)[0]:
                os.kill(self._pid, signal.SIGKILL)
            while output.read(1024):
                pass
