"""The processes of a chaos run: started as users start them, ended by signal 9 and their own pid, started again.

Each is reached through a proxy, so it may come back on another port. What it writes to standard error is kept in a
file for who looks into a failure.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rami_kit.embedded import EmbeddedStore
from rami_kit.testing import JWT_SECRET, SERVICE_SECRET

if TYPE_CHECKING:
    from collections.abc import Mapping

START_SECONDS: Final = 60.0
"""Far longer than a process takes on a busy machine."""
STOP_SECONDS: Final = 20.0

GAME: Final = ("-m", "game_state")
BOTS: Final = (str(Path(__file__).with_name("chaos_bots.py")),)


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
    # Matches are short, so that many of them see their end within a run.
    "RAMI_MAX_TURNS_PER_ROUND": "24",
    "RAMI_MAX_TURNS_PER_MATCH": "72",
}


class ChaosProcess:
    """One process of the cluster. `port` is where it listens now."""

    def __init__(self, name: str, arguments: tuple[str, ...], environment: Mapping[str, str], logs: Path) -> None:
        self.name = name
        self.port = 0
        self._arguments = arguments
        self._environment = {**os.environ, **BASE_ENVIRONMENT, **environment}
        self._log = logs / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    async def start(self) -> None:
        """Start it and wait until it says that it serves. Fails the test when it does not."""
        line = b""
        starting = asyncio.create_task(asyncio.to_thread(self._start))
        try:
            async with asyncio.timeout(START_SECONDS):
                line = await asyncio.shield(starting)
        finally:
            if not starting.done() and self._process is not None:
                self._process.kill()  # which also ends the wait for its line
            await asyncio.wait([starting])
        assert line, f"{self.name} ended before it served: see {self._log}"
        self.port = json.loads(line)["port"]

    async def kill(self) -> None:
        """End it by signal 9; it has no time for anything."""
        await asyncio.to_thread(self._end, signal.SIGKILL)

    async def stop(self) -> None:
        """End it in good order."""
        if self.running:
            await asyncio.to_thread(self._end, signal.SIGTERM)

    def _start(self) -> bytes:
        """Start the process; the line in which it says that it serves, or nothing."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, *self._arguments],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def _end(self, number: signal.Signals) -> None:
        process = self._process
        assert process is not None, f"{self.name} was never started"
        assert process.stdout is not None
        if process.poll() is None:
            os.kill(process.pid, number)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


class ChaosStore:
    """The store's process. Its append-only file can lose its end, as by a loss of power."""

    def __init__(self, directory: Path, options: Mapping[str, str]) -> None:
        """`options` are directives of the server; the file is never rewritten, so that its end stays its end."""
        self._store = EmbeddedStore(directory=directory, options={"auto-aof-rewrite-percentage": "0", **dict(options)})
        self._directory = directory
        self._sizes: deque[int] = deque(maxlen=8)
        self.running = False

    @property
    def port(self) -> int:
        """Where it listens; the same after every start."""
        return self._store.port

    async def start(self) -> None:
        """Start it, with what is on its disk."""
        await asyncio.to_thread(self._store.start)
        self._sizes.clear()
        self.running = True

    async def kill(self) -> None:
        """End it by signal 9."""
        self.running = False
        os.kill(self._store.pid, signal.SIGKILL)
        await asyncio.to_thread(self._store.kill)

    async def stop(self) -> None:
        """End it in good order."""
        if self.running:
            self.running = False
            await asyncio.to_thread(self._store.stop)

    def note_commit(self) -> None:
        """A commit is about to be carried out: remember how long the file is before it."""
        file = self._append_only_file()
        if file is not None:
            self._sizes.append(file.stat().st_size)

    def lose_commits(self, commits: int) -> bool:
        """Cut the latest commits off the file of a store that was killed; False when there are none to lose."""
        file = self._append_only_file()
        if file is None or not self._sizes:
            return False
        size = list(self._sizes)[-min(commits, len(self._sizes))]
        if size >= file.stat().st_size:
            return False
        os.truncate(file, size)
        return True

    def _append_only_file(self) -> Path | None:
        return next(iter(self._directory.glob("appendonlydir/*.incr.aof")), None)
