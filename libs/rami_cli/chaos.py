"""Killing every process of a cluster in turn while a match is played, and showing what comes of it.

One kill at a time, with signal 9, at a moment that a seed picks: then it is measured how long the process takes until
it serves again, and how long until the match has gone on, by the time of the first step that was made after the kill.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.table import Table as Grid
from rich.text import Text

from rami_cli.child import ChildDiedError
from rami_cli.cluster import Cluster, ClusterError, serving
from rami_client import RamiClientError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from rami_cli.acknowledged import AskedActions
    from rami_client import Table, Update

VICTIMS: Final = ("store", "game", "ai", "matchmaking")
"""Who is killed, in this order."""
STEPS_BETWEEN: Final = (3, 8)
"""Least and most steps of the match between a recovery and the next kill."""
RECOVERY_SECONDS: Final = 60.0
"""A process or a match that needs longer has failed."""


@dataclass(slots=True)
class Fate:
    """What has become of one process; times are by the clock of the event loop and in seconds."""

    name: str
    pid: int = 0
    """Of the process that was killed; 0 before that."""
    version: int = 0
    """Of the room when it was killed."""
    killed_at: float = 0.0
    back_after: float | None = None
    """Until it served again; None while it does not."""
    on_after: float | None = None
    """Until the first step of the match after the kill was seen."""

    @property
    def down(self) -> bool:
        """It has been killed and does not serve again yet."""
        return self.pid > 0 and self.back_after is None


class Board:
    """The fate of every process and the count of moves, to be shown below the table."""

    lines: Final = len(VICTIMS) + 2
    """How many lines it takes."""

    def __init__(self, fates: list[Fate], journal: AskedActions, table: Table) -> None:
        self._fates = fates
        self._journal = journal
        self._table = table

    def __rich__(self) -> Grid:
        grid = Grid(box=None, pad_edge=False, header_style="dim", width=79)
        for title, width in (
            ("process", 12),
            ("state", 18),
            ("killed at", 12),
            ("back after", 11),
            ("play went on", 13),
        ):
            grid.add_column(title, width=width, no_wrap=True)
        for fate in self._fates:
            grid.add_row(fate.name, _state(fate), *facts(fate))
        counts = f"{self._journal.acknowledged} of {self._journal.asked} acknowledged"
        grid.add_row("your moves", counts, f"{self._table.sent_again} sent again")
        return grid


def _state(fate: Fate) -> Text:
    if fate.down:
        return Text(f"DOWN for {asyncio.get_running_loop().time() - fate.killed_at:.1f} s", style="bold red")
    return Text("back", style="green") if fate.pid else Text("up", style="dim")


def facts(fate: Fate) -> tuple[str, str, str]:
    """Version, time to serve and time to the next step, as texts; empty for what is not known yet."""
    return (
        f"version {fate.version}" if fate.pid else "",
        "" if fate.back_after is None else f"{fate.back_after:.2f} s",
        "" if fate.on_after is None else f"{fate.on_after:.2f} s",
    )


def fates_table(fates: list[Fate]) -> Grid:
    """What every process has been through, when all is over."""
    grid = Grid(title="Killed with signal 9", title_justify="left", box=None, pad_edge=False, header_style="dim")
    for title in ("process", "killed at", "back after", "the match went on after"):
        grid.add_column(title)
    for fate in fates:
        if fate.pid:
            grid.add_row(fate.name, *facts(fate))
    return grid


class Chaos:
    """The kills of one demo. `fates` is what has happened so far, for every process."""

    def __init__(self, cluster: Cluster, seed: int, tell: Callable[[str], None]) -> None:
        """`tell` gets a line for each kill and each recovery."""
        self.fates = [Fate(name) for name in VICTIMS]
        self._cluster = cluster
        self._chance = random.Random(seed)  # noqa: S311 - picks moments; nobody gains by guessing them
        self._tell = tell

    @property
    def done(self) -> bool:
        """Every process has been killed, and its match has gone on since."""
        return all(fate.on_after is not None for fate in self.fates)

    async def strike(self, table: Table) -> None:
        """Kills what has not been killed yet, one after the other, until all are done or the match is over.

        Raises ClusterError when a process or the match does not come back in time, and ChildDiedError.
        """
        for fate in self.fates:
            if fate.on_after is not None:
                continue
            steps = table.version + self._chance.randint(*STEPS_BETWEEN)
            while table.version < steps and not table.over and not table.ended:
                await table.changed()
            await asyncio.sleep(self._chance.uniform(0, 0.1))
            if table.over or table.ended:
                return
            try:
                async with asyncio.timeout(RECOVERY_SECONDS):
                    await self._strike(fate, table)
            except TimeoutError:
                what = f"{fate.name} is not back" if fate.down else "the match has not gone on"
                raise ClusterError(f"{what} {RECOVERY_SECONDS:g} s after {fate.name} was killed") from None

    async def _strike(self, fate: Fate, table: Table) -> None:
        clock = asyncio.get_running_loop().time
        pid = self._cluster.pids()[fate.name]
        if pid is None:
            raise ClusterError(f"{fate.name} is not there to be killed")
        # The listener first: no step may fall in between.
        going_on = asyncio.create_task(_goes_on(table.updates(), time.time_ns()), name="first step")
        fate.pid, fate.version, fate.killed_at = pid, table.version, clock()
        self._tell(f"{fate.name} (process {pid}) is killed with signal 9 at version {fate.version}")
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._come_back(fate))
                if await going_on:
                    fate.on_after = clock() - fate.killed_at
        except* (ChildDiedError, RamiClientError) as errors:
            raise errors.exceptions[0] from None
        finally:
            going_on.cancel()
        on = (
            "the match was over" if fate.on_after is None else f"the match went on {fate.on_after:.2f} s after the kill"
        )
        self._tell(f"{fate.name} serves again after {fate.back_after:.2f} s; {on}")

    async def _come_back(self, fate: Fate) -> None:
        await self._cluster.kill(fate.name)
        addresses = self._cluster.addresses
        targets = {"game": addresses.game, "ai": addresses.ai, "matchmaking": addresses.matchmaking}
        if fate.name in targets:
            await serving(targets[fate.name])
        fate.back_after = asyncio.get_running_loop().time() - fate.killed_at


async def _goes_on(updates: AsyncIterator[Update], since_ns: int) -> bool:
    """Waits for a step that was made after a moment, by the store's time, which is this machine's; False when the match
    was over before.
    """
    async for update in updates:
        if update.time is not None and update.time.ToNanoseconds() > since_ns:
            return True
        if update.room.HasField("result"):
            break
    return False
