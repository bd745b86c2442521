"""One supervised process: started on a leash, ready when it says so in one line, ended for sure.

A child prints one JSON object on standard output when it is ready to be used. Everything else that it prints goes to
its log file, and so does its standard error.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rami_cli import leash

Ready = Mapping[str, Any]
"""What a child says when it is ready."""

LOG_LINES: Final = 8
"""How many lines of a log an error repeats."""
BAD_SETTINGS_EXIT: Final = 2
"""Services end so when a setting is wrong: starting them again does not help."""

_LEASH: Final = str(Path(leash.__file__))
_LINE_LIMIT: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What to run and how."""

    name: str
    """Short; names the log file as well."""
    command: tuple[str, ...]
    """The first part is the path of an executable."""
    environment: Mapping[str, str]
    """The whole environment."""
    pinned: Callable[[Ready], Mapping[str, str]] = lambda _: {}
    """What a restart adds to the environment so that addresses stay true."""


class ChildDiedError(Exception):
    """A child ended, or did not get ready; `lasting` means that starting it again cannot help."""

    def __init__(self, name: str, description: str, log: Path, *, lasting: bool = False) -> None:
        lines = "".join(f"\n    {line}" for line in last_lines(log))
        super().__init__(f"{name} {description}; the end of {log}:{lines or ' (nothing)'}")
        self.name = name
        self.lasting = lasting


class Child:
    """A process of one spec, which may be started again and again."""

    def __init__(self, spec: ChildSpec, log: Path, *, watched: bool | None = None) -> None:
        """`watched` picks the leash that watches a pipe; None picks what the platform can."""
        self.spec = spec
        self.log = log
        self.ready: Ready | None = None
        """What the child said when it got ready first."""
        self._watched = not sys.platform.startswith("linux") if watched is None else watched
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """The process id; None while there is no process."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    async def start(self, limit_seconds: float) -> Ready:
        """Starts the process and waits until it is ready. Raises ChildDiedError."""
        environment = dict(self.spec.environment)
        if self.ready is not None:
            environment |= self.spec.pinned(self.ready)
        leash_mode = [leash.WATCH] if self._watched else []
        output, process_output = os.pipe()
        try:
            with self.log.open("ab") as log:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-I", "-S", _LEASH, *leash_mode, str(os.getpid()), *self.spec.command),
                    env=environment,
                    stdin=asyncio.subprocess.PIPE if self._watched else asyncio.subprocess.DEVNULL,
                    stdout=process_output,
                    stderr=log,
                    # A session of its own: Ctrl-C reaches the supervisor alone, which ends its children in order.
                    start_new_session=True,
                )
        except BaseException:
            os.close(output)
            raise
        finally:
            os.close(process_output)
        self._process = process
        said: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read(output, said), name=f"read {self.spec.name}")
        ended = asyncio.create_task(process.wait(), name=f"wait for {self.spec.name}")
        try:
            either: set[asyncio.Future[Any]] = {said, ended}
            await asyncio.wait(either, timeout=limit_seconds, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.stop(0)
            raise
        if ended.done():
            code = await self.wait()
            raise self._died(f"ended with exit code {code} before it was ready", code)
        ended.cancel()
        if not said.done():
            await self.stop(0)
            raise self._died(f"did not get ready in {limit_seconds:g} s")
        if self.ready is None:
            self.ready = said.result()
        return said.result()

    async def wait(self) -> int:
        """Waits until the process has ended; its exit code. Whatever it left in its session ends as well."""
        process = self._process
        assert process is not None, "waiting for a child that was never started"
        code = await process.wait()
        _signal_session(process.pid, signal.SIGKILL)
        if self._reader is not None:
            # Who stops waiting must not end the reading: whoever stops the child waits once more.
            await asyncio.shield(self._reader)
        return code

    def kill(self) -> None:
        """Kills the process and its session with signal 9: nothing of it can clean up. Does nothing without one."""
        if self.pid is not None:
            _signal_session(self.pid, signal.SIGKILL)

    async def stop(self, grace_seconds: float) -> None:
        """Ends the process: SIGTERM, and SIGKILL when it is still there after the grace. Idempotent."""
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            try:
                async with asyncio.timeout(grace_seconds):
                    await process.wait()
            except TimeoutError:
                _signal_session(process.pid, signal.SIGKILL)
        await self.wait()
        if process.stdin is not None:
            process.stdin.close()
        self._process = None

    async def _read(self, output: int, said: asyncio.Future[Ready]) -> None:
        """Takes the ready line, and writes every other line to the log."""
        # A pipe of its own and not asyncio's: that one's process counts as running for as long as anybody, such as
        # a worker of the child, holds the pipe open.
        reader = asyncio.StreamReader(limit=_LINE_LIMIT)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(output, "rb")
        )
        try:
            with self.log.open("ab") as log:
                while line := await reader.readline():
                    ready = None if said.done() else _ready_of(line)
                    if ready is not None:
                        said.set_result(ready)
                    else:
                        log.write(line)
                        log.flush()
        finally:
            transport.close()

    def _died(self, description: str, code: int | None = None) -> ChildDiedError:
        return ChildDiedError(self.spec.name, description, self.log, lasting=code == BAD_SETTINGS_EXIT)


def last_lines(log: Path) -> list[str]:
    """The last lines of a log, shortened to what a reader needs."""
    try:
        text = log.read_bytes()[-64 * 1024 :].decode("utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return [_readable(line) for line in text.splitlines()[-LOG_LINES:]]


def _readable(line: str) -> str:
    """A line of a JSON log as level and message, any other as it is; at most 300 characters."""
    try:
        entry = json.loads(line)
    except ValueError:
        entry = None
    if isinstance(entry, dict) and "message" in entry:
        line = f"{entry.get('level', '')} {entry['message']}".strip()
    return line[:300]


def _ready_of(line: bytes) -> Ready | None:
    try:
        ready = json.loads(line)
    except ValueError:
        return None
    return ready if isinstance(ready, dict) and "service" in ready else None


def _signal_session(leader: int, number: signal.Signals) -> None:
    """Sends a signal to what is left of a child's session, whose id is that of its leader."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
