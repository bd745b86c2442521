"""What chaos runs have in common, whatever they run on: a journal of everything, and waiting for matches to go on."""

from __future__ import annotations

import asyncio
import math
import time
from abc import ABC, abstractmethod
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from support.chaos_evidence import Sorter
from support.chaos_journal import Expected, Journal, Killed, Lost, Struck

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from support.chaos_evidence import Evidence

GOES_ON_SECONDS = 5.0
"""How soon a match goes on after the process that it needs is back, or at once where another replica lives."""


class Watched(ABC):
    """A cluster whose players write down everything. `journal` is what the checker reads."""

    def __init__(self, directory: Path) -> None:
        self.journal = Journal(directory / "journal.jsonl")
        self._sorter = Sorter()
        self.journal.listen(self._sorter.take)

    @property
    @abstractmethod
    def addresses(self) -> Sequence[str]:
        """Where players reach the replicas of the game service."""

    @property
    def evidence(self) -> Evidence:
        """What the journal holds so far."""
        return self._sorter.evidence

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """The journal is open, and notes when the machine stands still."""
        pulse = asyncio.create_task(self.journal.feel_lag(), name="pulse")
        try:
            yield
        finally:
            pulse.cancel()
            self.journal.close()

    async def goes_on(self, why: str, within: float = GOES_ON_SECONDS) -> bool:
        """Write down that every match must go on from now, and wait until each has; False when one does not."""
        expected = Expected(self.journal.now(), why, within, time.time_ns())
        self.journal.write(expected)
        rooms = [room for room in self.evidence.rooms.values() if room.news and room.over_at is None]

        def all_went_on() -> bool:
            return all(room.over_at is not None or room.went_on(expected, math.inf) for room in rooms)

        return await self.journal.until(all_went_on, within + 0.5)

    def struck(self, fault: str) -> None:
        """Write down that a fault has been put in."""
        self.journal.write(Struck(self.journal.now(), fault))

    def killed(self, process: str) -> None:
        """Write down that a process was ended by signal 9."""
        self.journal.write(Killed(self.journal.now(), process))

    def lost(self, *, acknowledged: bool) -> None:
        """Write down that the store may have lost its latest steps from now on, acknowledged ones as well or not."""
        self.journal.write(Lost(self.journal.now(), acknowledged=acknowledged))
