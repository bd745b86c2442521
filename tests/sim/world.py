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
from collections import deque
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
        """`kept`: the lines can be read and compared afterwards. Runs that nobody looks at are a good deal faster."""
        self.kept = kept
        self.lines: list[str] = []

    def note(self, now: float, *words: object) -> None:
        """Add a line. Bytes among the words are shortened to what tells them from others."""
        if self.kept:
            self.lines.append(f"{now:.6f} {' '.join(map(_word, words))}")

    def hash(self) -> str:
        """The number, in hexadecimal; empty where nothing was kept."""
        return blake2b("\n".join(self.lines).encode(), digest_size=16).hexdigest() if self.kept else ""


def _word(word: object) -> str:
    return f"{len(word)}b:{zlib.crc32(word):08x}" if isinstance(word, bytes) else str(word)


class Handle:
    """A callback that is to be run; what an event loop gives to who may want to cancel it."""

    __slots__ = ("_args", "_callback", "_context", "_when")

    def __init__(
        self, callback: Callable[..., Any], args: tuple[Any, ...], context: contextvars.Context, when: float = 0.0
    ) -> None:
        self._callback: Callable[..., Any] | None = callback
        self._args = args
        self._context = context
        self._when = when

    def cancel(self) -> None:
        """Not to be run. Lets go of everything that it would have been run with."""
        self._callback = None
        self._args = ()

    def cancelled(self) -> bool:
        return self._callback is None

    def when(self) -> float:
        return self._when


class Loop(asyncio.BaseEventLoop):
    """An event loop whose time is virtual. Timers of the same moment run in the order in which they were set."""

    def __init__(self, connect: Callable[..., Any]) -> None:
        """`connect` stands for the network: it gets what `create_connection` gets."""
        super().__init__()
        self.now = 0.0
        self.steps = 0
        self._due: deque[Handle] = deque()
        self._timers: list[tuple[float, int, Handle]] = []
        self._timer_count = 0
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

    def call_soon(  # type: ignore[override]  # a lean handle in place of asyncio's, whose class does much more
        self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> Handle:
        handle = Handle(callback, args, contextvars.copy_context() if context is None else context)
        self._due.append(handle)
        return handle

    def call_later(  # type: ignore[override]  # as above
        self, delay: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> Handle:
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]  # as above
        self, when: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> Handle:
        handle = Handle(callback, args, contextvars.copy_context() if context is None else context, when)
        self._timer_count += 1
        heapq.heappush(self._timers, (when, self._timer_count, handle))
        return handle

    def run_in_executor(self, _executor: object, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """In place and at once: a thread's moment of return would not follow from the seed."""
        future = self.create_future()
        future.set_result(func(*args))
        return future

    async def create_connection(  # type: ignore[override]  # there is one kind of connection here
        self, factory: Callable[[], Any], host: str, port: int, **_options: object
    ) -> tuple[Any, Any]:
        connected: tuple[Any, Any] = await self._connect(factory, host, port)
        return connected

    def _run_once(self) -> None:
        """Run what is due now; where nothing is, time passes."""
        due, timers = self._due, self._timers
        if not due:
            while timers and timers[0][2].cancelled():
                heapq.heappop(timers)
            if not timers:
                raise SimulationError("nobody waits for anything that could come")
            self.now = max(self.now, timers[0][0])
        while timers and timers[0][0] <= self.now:
            due.append(heapq.heappop(timers)[2])
        count = len(due)
        self.steps += count
        if self.steps > MOST_STEPS:
            raise SimulationError("the run goes round in circles")
        for _ in range(count):
            handle = due.popleft()
            callback = handle._callback
            if callback is None:
                continue
            try:
                handle._context.run(callback, *handle._args)
            except Exception as error:  # noqa: BLE001 - as every event loop does
                self.call_exception_handler({"message": f"a callback failed: {callback}", "exception": error})

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
            ("thread_time", lambda: loop.now),
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


__all__ = ["EPOCH", "Loop", "Machine", "SimulationError", "Trace", "this_machine", "until", "virtual_world"]
