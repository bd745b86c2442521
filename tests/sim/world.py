"""A world of its own: an event loop on virtual time, clocks that show it, and randomness that follows from a seed.

Time passes only when nobody has anything to do, and then at once to the next timer. Everything runs in one thread, and
nothing depends on addresses, hash seeds or the machine: the same seed gives the same run, to the last byte.
"""

from __future__ import annotations

import asyncio
import contextvars
import datetime as dt
import heapq
import os
import random
import time
import zlib
from asyncio import events
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import jwt.api_jwt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EPOCH: Final = 1_900_000_000.0
"""Unix time at which every world begins."""
MOST_STEPS: Final = 200_000
"""A run of more callbacks than this goes round in circles."""


class SimulationError(Exception):
    """The run cannot go on: nobody waits for anything, or everybody runs in circles."""


class Machine:
    """Where a process of the system runs: what it has started, so that it can be ended all at once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self._tasks: list[asyncio.Task[Any]] = []
        self._swept_at = 64
        self.context = contextvars.copy_context()
        self.context.run(_machine.set, self)

    def __repr__(self) -> str:
        return self.name

    def adopt(self, task: asyncio.Task[Any]) -> None:
        """A task was started here."""
        self._tasks.append(task)
        if len(self._tasks) >= self._swept_at:
            self._tasks = [each for each in self._tasks if not each.done()]
            self._swept_at = max(64, 2 * len(self._tasks))

    @property
    def tasks(self) -> list[asyncio.Task[Any]]:
        """What was started here and has not ended, in the order of its start."""
        return [task for task in self._tasks if not task.done()]


_machine: contextvars.ContextVar[Machine] = contextvars.ContextVar("sim_machine")


def this_machine() -> Machine:
    """The machine that the running code is part of."""
    return _machine.get()


class Trace:
    """What happened, line by line, and one number that two equal runs have in common."""

    def __init__(self, *, kept: bool = False) -> None:
        """`kept`: the lines can be read afterwards, not only compared."""
        self._digest = blake2b(digest_size=16)
        self.lines: list[str] | None = [] if kept else None

    def note(self, now: float, *words: object) -> None:
        """Add a line."""
        line = f"{now:.6f} {' '.join(map(str, words))}"
        self._digest.update(line.encode())
        if self.lines is not None:
            self.lines.append(line)

    def hash(self) -> str:
        """The number, in hexadecimal."""
        return self._digest.hexdigest()


def mark(data: bytes) -> str:
    """Bytes, shortened to what tells them from others."""
    return f"{len(data)}b:{zlib.crc32(data):08x}"


class Loop(asyncio.BaseEventLoop):
    """An event loop whose time is virtual. Timers of the same moment run in the order in which they were set."""

    def __init__(self, connect: Callable[..., Any]) -> None:
        """`connect` stands for the network: it gets what `create_connection` gets."""
        super().__init__()
        self.now = 0.0
        self.steps = 0
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timer_count = 0
        self._cancelled_timers = 0
        self._connect = connect

    def time(self) -> float:
        return self.now

    def create_task(
        self, coro: Any, *, name: object = None, context: contextvars.Context | None = None
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=self, name=str(name or "task"), context=context)
        machine = _machine.get(None) if context is None else context.get(_machine)
        if machine is not None:
            machine.adopt(task)
        return task

    def call_at(  # type: ignore[override]  # the arguments of the base class are of types that only its stub has
        self, when: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        timer = events.TimerHandle(when, callback, args, self, context)
        self._timer_count += 1
        heapq.heappush(self._timers, (when, self._timer_count, timer))
        return timer

    def call_later(  # type: ignore[override]  # as above
        self, delay: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_soon_threadsafe(self, callback: Callable[..., Any], *args: Any, **options: Any) -> asyncio.Handle:  # type: ignore[override]
        return self.call_soon(callback, *args, **options)

    def run_in_executor(self, _executor: object, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        future = self.create_future()
        future.set_result(func(*args))
        return future

    async def create_connection(  # type: ignore[override]  # there is one kind of connection here
        self, factory: Callable[[], Any], host: str, port: int, **_options: object
    ) -> tuple[Any, Any]:
        connected: tuple[Any, Any] = await self._connect(factory, host, port)
        return connected

    def _timer_handle_cancelled(self, _handle: asyncio.TimerHandle) -> None:
        self._cancelled_timers += 1
        if self._cancelled_timers > 1000 and self._cancelled_timers * 2 > len(self._timers):
            self._timers = [entry for entry in self._timers if not entry[2].cancelled()]
            heapq.heapify(self._timers)
            self._cancelled_timers = 0

    def _run_once(self) -> None:
        ready, timers = self._ready, self._timers  # type: ignore[attr-defined]  # the base class's own
        if not ready:
            while timers and timers[0][2]._cancelled:
                heapq.heappop(timers)
            if not timers:
                raise SimulationError("nobody waits for anything that could come")
            self.now = max(self.now, timers[0][0])
        while timers and timers[0][0] <= self.now:
            timer = heapq.heappop(timers)[2]
            if not timer._cancelled:
                timer._scheduled = False  # type: ignore[attr-defined]
                ready.append(timer)
        count = len(ready)
        self.steps += count
        if self.steps > MOST_STEPS:
            raise SimulationError("the run goes round in circles")
        for _ in range(count):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()

    def _write_to_self(self) -> None:
        """Nobody sleeps."""

    def _process_events(self, _event_list: object) -> None:
        """There is no selector."""


async def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until something holds; False when it does not within so many seconds."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not condition():
        if loop.time() >= deadline:
            return False
        await asyncio.sleep(0.05)
    return True


class _Random:
    """The bytes that the system asks the machine for."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)


@contextmanager
def virtual_world(seed: str, loop: Loop) -> Iterator[None]:
    """Within it, every clock shows the loop's time and all randomness follows from the seed."""
    source = _Random(f"os-{seed}")
    state = random.getstate()

    class Moment(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Moment:
            return cls.fromtimestamp(EPOCH + loop.now, tz)

    with ExitStack() as stack:
        for name, clock in (
            ("monotonic", lambda: loop.now),
            ("perf_counter", lambda: loop.now),
            ("time", lambda: EPOCH + loop.now),
        ):
            stack.enter_context(patch.object(time, name, clock))
        stack.enter_context(patch.object(jwt.api_jwt, "datetime", Moment))
        stack.enter_context(patch.object(os, "urandom", source.bytes))
        # What `secrets` and every SystemRandom draw from.
        stack.enter_context(patch.object(random, "_urandom", source.bytes))
        random.seed(f"global-{seed}")
        try:
            yield
        finally:
            random.setstate(state)


__all__ = ["EPOCH", "Loop", "Machine", "SimulationError", "Trace", "mark", "this_machine", "until", "virtual_world"]
