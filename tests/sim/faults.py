"""The storm: the faults of a plan, each at its time, and the calm after it."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from sim.calls import BROKEN_CONNECTION, Ending
from sim.cluster import ClusterStore
from sim.plan import Deed
from sim.site import UNAVAILABLE
from sim.store import Trap
from support.chaos_journal import Killed, Lost, Struck

if TYPE_CHECKING:
    from sim.journal import Journal
    from sim.plan import Fault, Plan
    from sim.players import Player
    from sim.site import Host, Site
    from sim.store import StoreServer
    from sim.world import Machine

REPLICA_SECONDS = 0.6
"""How long a replica lags at most before it takes over."""


class Storm:
    """Lets the faults of a plan strike."""

    def __init__(self, site: Site, plan: Plan, journal: Journal) -> None:
        self.counts: Counter[str] = Counter()
        self.players: dict[str, Player] = {}
        self._site = site
        self._plan = plan
        self._journal = journal
        self._restarts: list[asyncio.Task[None]] = []
        self.lost_acknowledged = False
        """The store has lost commits that were acknowledged."""

    async def blow(self) -> None:
        """Strike with every fault at its time; returns when the last is over."""
        began = self._site.loop.now
        strikes = [asyncio.create_task(self._strike(fault, began)) for fault in self._plan.faults]
        for strike in strikes:
            await strike
        await self._calm()

    async def _calm(self) -> None:
        """Whatever is still wrong is mended; whoever is down comes back."""
        site = self._site
        for server in site.store.servers:
            server.traps.clear()
            server.away = False
            server.catch_up()
            if server.paused:
                server.resume()
        for restart in self._restarts:
            await restart
        for host in site.hosts.values():
            await self._bring_back(host)

    async def _strike(self, fault: Fault, began: float) -> None:
        site = self._site
        await asyncio.sleep(began + fault.at - site.loop.now)
        site.trace.note(site.loop.now, "fault", fault)
        self._journal.write(Struck(site.loop.now, str(fault)))
        self.counts[f"fault {fault.deed}"] += 1
        await getattr(self, f"_do_{fault.deed.name.lower()}")(fault)

    # What befalls replicas.

    async def _do_crash(self, fault: Fault) -> None:
        await self._crash(self._site.hosts[fault.victim], fault.seconds)

    async def _do_silent_crash(self, fault: Fault) -> None:
        await self._crash(self._site.hosts[fault.victim], fault.seconds, silent=True)

    async def _do_drain(self, fault: Fault) -> None:
        host = self._site.hosts[fault.victim]
        if host.up:
            await host.drain()
            await self._bring_back(host)

    async def _crash(self, host: Host, seconds: float, *, silent: bool = False) -> None:
        if not host.up:
            return
        host.crash(silent=silent)
        self._journal.write(Killed(self._site.loop.now, host.name))
        await asyncio.sleep(seconds)
        await self._bring_back(host)

    @staticmethod
    async def _bring_back(host: Host) -> None:
        """Start a replica, unless somebody has done so meanwhile."""
        if not (host.up or host.starting):
            await host.start()

    async def _do_cut_calls(self, fault: Fault) -> None:
        broken = Ending(UNAVAILABLE, BROKEN_CONNECTION)
        for servers in self._site.network.servers.values():
            for server in servers:
                if server.machine.name == fault.victim:
                    for call in list(server.calls):
                        call.break_off(broken)

    # What befalls the store, and the way to it.

    async def _do_cut_store(self, fault: Fault) -> None:
        self._site.store.cut(self._site.hosts[fault.victim].machine)

    async def _do_cut_listeners(self, fault: Fault) -> None:
        """For a while nobody's connection for published messages lasts."""
        site = self._site
        end = site.loop.now + fault.seconds
        while site.loop.now < end:
            site.store.cut(listening=True)
            await asyncio.sleep(0.08)

    async def _do_pause_store(self, fault: Fault) -> None:
        store = self._site.store.victim(fault)
        if not store.paused:
            store.pause()
            await asyncio.sleep(fault.seconds)
            store.resume()

    async def _do_store_away(self, fault: Fault) -> None:
        store = self._site.store.victim(fault)
        store.away = True
        store.cut()
        await asyncio.sleep(fault.seconds)
        store.away = False

    async def _do_fail_over(self, fault: Fault) -> None:
        """The replica stops getting commits; after some more of them it takes over without those."""
        async with self._site.store.upheaval:
            await self._fail_over(self._site.store.victim(fault), fault)

    async def _fail_over(self, store: StoreServer, fault: Fault) -> None:
        loop = self._site.loop
        store.stop_replicating()
        enough = asyncio.Event()
        wanted = store.commits + 1 + fault.countdown % 3

        def look() -> None:
            if store.commits >= wanted:
                enough.set()

        store.on_commit = look
        try:
            async with asyncio.timeout(REPLICA_SECONDS):
                await enough.wait()
            # Long enough, now and then, for callers to ask again for what the replica does not have.
            await asyncio.sleep(REPLICA_SECONDS + fault.seconds / 2 if fault.crash else fault.share * 0.02)
        except TimeoutError:
            pass  # nobody plays: it takes over nevertheless
        store.on_commit = None
        acknowledged = self._plan.durability == "memory"
        self.lost_acknowledged = self.lost_acknowledged or acknowledged
        self._journal.write(Lost(loop.now, acknowledged))
        store.fail_over()
        if fault.after:
            store.away = True
            await asyncio.sleep(fault.seconds * 0.5)
            store.away = False

    async def _do_replica_lags(self, fault: Fault) -> None:
        """The replica, or the disk, gets nothing for a while, and then everything."""
        async with self._site.store.upheaval:
            store = self._site.store.victim(fault)
            store.stop_replicating()
            await asyncio.sleep(fault.seconds)
            store.catch_up()

    async def _do_move_slot(self, fault: Fault) -> None:
        store = self._site.store
        assert isinstance(store, ClusterStore), "one server has all slots"
        async with store.upheaval:
            await store.move_slot(fault.place, fault.seconds / 4)

    async def _do_forget_scripts(self, fault: Fault) -> None:
        self._site.store.victim(fault).forget_scripts()

    async def _do_trap(self, fault: Fault) -> None:
        def spring(machine: Machine) -> None:
            self.counts["traps sprung"] += 1
            host = self._site.hosts[machine.name]
            if fault.crash and host.machine is machine:
                self._restarts.append(asyncio.get_running_loop().create_task(self._crash(host, fault.seconds)))

        traps = self._site.store.traps
        traps.append(Trap(frozenset(fault.scripts), fault.victim, fault.countdown, fault.after, spring))
        await asyncio.sleep(1.0)

    # What befalls the network and the AI service.

    async def _do_lossy_calls(self, fault: Fault) -> None:
        troubles = self._site.troubles
        shares = {"lost_requests": 0.3, "lost_answers": 0.6, "doubled": 0.6, "impatient": 0.4}
        for name, part in shares.items():
            setattr(troubles, name, fault.share * part)
        troubles.silent = 0.3
        await asyncio.sleep(fault.seconds)
        for name in shares:
            setattr(troubles, name, 0.0)

    async def _do_slow_network(self, fault: Fault) -> None:
        weather = self._site.weather
        weather.slow_share, weather.slow_seconds = fault.share, 0.05 + fault.share
        await asyncio.sleep(fault.seconds)
        weather.slow_share = 0.0

    async def _do_bad_ai(self, fault: Fault) -> None:
        ai = self._site.ai
        ai.late_share = ai.failing_share = ai.absurd_share = fault.share / 2
        await asyncio.sleep(fault.seconds)
        ai.late_share = ai.failing_share = ai.absurd_share = 0.0

    # What players do.

    async def _do_second_device(self, fault: Fault) -> None:
        player = self.players[fault.victim]
        await player.visit(fault.seconds)

    async def _do_away(self, fault: Fault) -> None:
        await self.players[fault.victim].go_away(fault.seconds)

    async def _do_repeat(self, fault: Fault) -> None:
        player = self.players[fault.victim]
        player.say_twice(0.3 + fault.share)
        await asyncio.sleep(fault.seconds + 0.2)
        player.say_twice(0.0)

    async def _do_step_out(self, fault: Fault) -> None:
        player = self.players[fault.victim]
        there = [each for each in self.players.values() if each.room_id == player.room_id and not each.out]
        # A match that the last person leaves is over; and who watches nothing cannot be told what the store has lost.
        loses = self._plan.durability == "memory" and any(each.deed is Deed.FAIL_OVER for each in self._plan.faults)
        if len(there) > 1 and not loses:
            await player.step_out(fault.seconds)


__all__ = ["Storm"]
