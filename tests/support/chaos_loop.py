"""A chaos run: matches are played, faults happen one after the other, everything recovers, the checker judges.

The order is always the same: new tables for those whose match is over, one fault, its recovery, and then every match
must have gone on before the next fault. So a finding belongs to the fault before it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rami.store.v1 import finished_pb2
from rami_kit import keys
from support.chaos_checker import check_file
from support.chaos_faults import MOST_LOST, Deed, Striker
from support.chaos_journal import FinishedMatches
from support.chaos_tables import Kind, Table

if TYPE_CHECKING:
    from support.chaos_checker import Report
    from support.chaos_faults import Fault
    from support.chaos_site import Replica, Site

STRIKE_SECONDS = 20.0
"""In this time so many commits pass that any fault has happened."""


class ChaosRun:
    """One run on a site that is up."""

    def __init__(self, site: Site, seed: int, kinds: tuple[Kind, ...] = tuple(Kind)) -> None:
        self.site = site
        self.seed = seed
        self._striker = Striker(site)
        self._kinds = kinds
        self._tables: list[Table] = []
        self._opened = 0

    async def run(self, faults: list[Fault]) -> Report:
        """Let the faults happen in their order. Stops early when a match does not go on."""
        for fault in faults:
            await self.renew_tables()
            if not await self.strike(fault) or not await self.recover(fault):
                break
        await self.finish()
        return check_file(self.site.journal.path)

    async def renew_tables(self) -> None:
        """Read out the tables whose match is over, and open one of the same kind for each."""
        over = [table for table in self._tables if table.over]
        self._tables = [table for table in self._tables if not table.over]
        for table in over:
            await table.close()
        present = {table.kind for table in self._tables}
        fresh = [self._new_table(kind) for kind in self._kinds if kind not in present]
        await asyncio.gather(*(table.open() for table in fresh))
        if self.site.mode.loses_commits:
            # So far on that no loss takes a match back to before its start, which nobody here would start again.
            await self.site.journal.until(lambda: all(table.steps > MOST_LOST for table in fresh), STRIKE_SECONDS)
        self._tables += fresh

    async def strike(self, fault: Fault) -> bool:
        """Let a fault happen; False when there were not enough commits for it, although matches are played."""
        striker = self._striker
        striker.arm(fault)
        while True:
            waits = asyncio.create_task(striker.struck.wait())
            ends = asyncio.create_task(self.site.journal.until(self._all_over, STRIKE_SECONDS))
            await asyncio.wait([waits, ends], return_when=asyncio.FIRST_COMPLETED)
            for task in (waits, ends):
                task.cancel()
            await asyncio.gather(waits, ends, return_exceptions=True)
            if striker.struck.is_set():
                return True
            if not self._all_over():
                return await self.site.goes_on("no fault, but nothing is committed")
            if not striker.disarm():
                await striker.struck.wait()
                return True
            await self.renew_tables()
            striker.arm(fault)

    async def recover(self, fault: Fault) -> bool:
        """Bring back what the fault has ended; whether every match went on in time."""
        site, victim = self.site, self._striker.victim
        why = str(fault)
        if fault.deed in {Deed.KILL_GAME, Deed.STOP_GAME}:
            assert victim is not None
            if any(replica.process.running for replica in site.replicas):
                # At once: the other replica is enough.
                went_on = await site.goes_on(why)
                await site.start_replica(victim)
                return went_on
            await bring_back(site, victim, fault)
        elif fault.deed is Deed.KILL_STORE:
            await bring_back(site, victim, fault)
        elif fault.deed is Deed.KILL_BOTS:
            went_on = await site.goes_on(why)
            await site.start_bots()
            return went_on
        return await site.goes_on(why)

    async def finish(self) -> None:
        """Bring every match to its end and read it out."""
        await asyncio.gather(*(table.finish() for table in self._tables))
        for table in self._tables:
            await table.close()
        journal = self.site.journal
        journal.write(FinishedMatches(journal.now(), await finished_matches(self.site)))

    def _all_over(self) -> bool:
        return all(table.over for table in self._tables)

    def _new_table(self, kind: Kind) -> Table:
        self._opened += 1
        return Table(self.site, kind, f"{kind.name.lower()}{self._opened}", f"{self.seed}-{self._opened}")


async def bring_back(site: Site, victim: Replica | None, fault: Fault) -> None:
    """Start again what a fault has ended, after the fault's pause."""
    await asyncio.sleep(fault.pause)
    if fault.deed in {Deed.KILL_GAME, Deed.STOP_GAME}:
        assert victim is not None
        await site.start_replica(victim)
    elif fault.deed is Deed.KILL_STORE:
        await site.start_store()
    elif fault.deed is Deed.KILL_BOTS:
        await site.start_bots()


async def finished_matches(site: Site) -> list[str]:
    """The rooms of all finished matches that the store passes on."""
    entries = await site.store.ask("XRANGE", keys.finished_key(0), "-", "+")
    return [finished_pb2.FinishedMatch.FromString(fields[1]).room_id for _, fields in entries]
