"""Keeps a set of processes running: starts them in order, restarts what dies, stops them in reverse order.

A child that dies is started again with the ports it had, after a pause that grows. One that fails to start five times
in a row ends everything, with the last lines of its log.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rami_cli.child import Child, ChildDiedError, ChildSpec, Ready

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the supervisor waits for what."""

    start_seconds: float = 60.0
    """For the ready line of a child."""
    stop_seconds: float = 25.0
    """From SIGTERM to SIGKILL: longer than a service takes to drain."""
    attempts: int = 5
    """So many starts in a row may fail."""
    first_pause_seconds: float = 0.2
    """Before a child that died is started again; doubles with each death in a row."""
    max_pause_seconds: float = 5.0
    steady_seconds: float = 10.0
    """A child that ran so long does not count as dying again and again."""

    def pause_seconds(self, deaths: int) -> float:
        """How long to wait after so many deaths in a row (1 or more)."""
        return min(self.max_pause_seconds, self.first_pause_seconds * 2.0 ** min(deaths - 1, 16))


class Supervisor:
    """Owner of the children. Whoever makes one must call `stop` in the end."""

    def __init__(
        self,
        log_folder: Path,
        *,
        patience: Patience | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`tell` gets a line whenever a child dies or is back."""
        self.log_folder = log_folder
        self._patience = patience or Patience()
        self._tell = tell
        self._children: list[Child] = []
        self._keepers: list[asyncio.Task[None]] = []
        self._awaited: dict[str, list[asyncio.Future[None]]] = {}
        """Who waits for a child to be back, by its name."""
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def start(self, spec: ChildSpec) -> Ready:
        """Starts one more child, and returns when it is ready. Raises ChildDiedError when it cannot."""
        log = self.log_folder / f"{spec.name}.log"
        log.unlink(missing_ok=True)
        child = Child(spec, log)
        self._children.append(child)
        ready = await self._start(child)
        self._keepers.append(asyncio.create_task(self._keep(child), name=f"keep {spec.name}"))
        return ready

    async def failed(self) -> None:
        """Waits until a child cannot be kept running, and raises why: ChildDiedError."""
        await asyncio.shield(self._failure)

    async def stop(self) -> None:
        """Stops every child, the last started first. Idempotent."""
        for keeper in self._keepers:
            keeper.cancel()
        # One that has failed, such as for nobody reads what it tells, keeps nobody from being stopped.
        await asyncio.gather(*self._keepers, return_exceptions=True)
        self._keepers.clear()
        while self._children:
            await self._children[-1].stop(self._patience.stop_seconds)
            self._children.pop()
        if not self._failure.done():
            self._failure.cancel()
        elif not self._failure.cancelled():
            self._failure.exception()  # whoever wanted to know has asked

    async def kill(self, name: str) -> None:
        """Kills a running child with signal 9; returns when it has been started again and is ready.

        Raises KeyError for a name that no child has, and ChildDiedError when it cannot be started again.
        """
        child = {child.spec.name: child for child in self._children}[name]
        back = asyncio.get_running_loop().create_future()
        self._awaited.setdefault(name, []).append(back)
        child.kill()
        failed = asyncio.ensure_future(self.failed())
        try:
            await asyncio.wait({back, failed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            failed.cancel()
            await asyncio.gather(failed, return_exceptions=True)
        if not back.done():
            self._failure.result()

    def pids(self) -> dict[str, int | None]:
        """The process id of every child, by name."""
        return {child.spec.name: child.pid for child in self._children}

    async def _start(self, child: Child) -> Ready:
        """Starts a child, and tries again while that may help."""
        failures = 0
        while True:
            try:
                return await child.start(self._patience.start_seconds)
            except ChildDiedError as error:
                failures += 1
                if error.lasting or failures >= self._patience.attempts:
                    raise
            await asyncio.sleep(self._patience.pause_seconds(failures))

    async def _keep(self, child: Child) -> None:
        """Starts a child again whenever it dies."""
        clock = asyncio.get_running_loop().time
        deaths = 0
        while True:
            started = clock()
            code = await child.wait()
            deaths = 1 if clock() - started >= self._patience.steady_seconds else deaths + 1
            self._tell(f"{child.spec.name} ended with exit code {code}; starting it again")
            await asyncio.sleep(self._patience.pause_seconds(deaths))
            try:
                await self._start(child)
            except ChildDiedError as error:
                if not self._failure.done():
                    self._failure.set_exception(error)
                return
            self._tell(f"{child.spec.name} is back")
            for back in self._awaited.pop(child.spec.name, ()):
                if not back.done():
                    back.set_result(None)
