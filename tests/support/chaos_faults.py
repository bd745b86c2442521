"""Faults: what is done to a cluster, and at which moment of a commit's way; planned from a seed.

player --(1)--> replica --(2)--> store          2  BEFORE_SCRIPT: the store has not got the script
player <--(5)-- replica <--(4)-- store (3)      3  AFTER_SCRIPT: it was sent, and nobody knows whether it ran
                                                4  BEFORE_REPLY: it ran, and the replica does not know
                                                5  BEFORE_ANSWER: the replica knows, and the player does not
"""

from __future__ import annotations

import asyncio
import random
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from support.chaos_resp import ScriptCall
    from support.chaos_site import Mode, Replica, Site

ANSWER_SECONDS = 1.0
"""How long a fault waits for the answer that it is to swallow; a bot's commit may have none."""

STALL_SECONDS = 1.0
"""Longer than a replica waits for the store."""
MOST_LOST = 4
"""Commits that a store may come back without."""


class Point(StrEnum):
    """Where a commit is when the fault happens."""

    BEFORE_SCRIPT = "before the script reaches the store"
    AFTER_SCRIPT = "after the script was sent"
    BEFORE_REPLY = "before the store's reply is back"
    BEFORE_ANSWER = "before the player's answer"
    LATE = "and the script arrives late"


class Deed(StrEnum):
    """What the fault does."""

    CUT = "cut"
    KILL_GAME = "kill the replica"
    STOP_GAME = "let the replica drain"
    KILL_STORE = "kill the store"
    KILL_BOTS = "kill the bots"
    CUT_SUBSCRIBERS = "cut published events"
    CUT_PLAYERS = "cut the players"
    STALL_STORE = "stall the store"
    SPLIT_STORE = "split the store from its replica"
    FORGET_SCRIPTS = "let the store forget its scripts"


KILLS = frozenset({Deed.KILL_GAME, Deed.KILL_STORE, Deed.KILL_BOTS, Deed.SPLIT_STORE})
_SPARED = frozenset(
    {Deed.STOP_GAME, Deed.KILL_BOTS, Deed.CUT_SUBSCRIBERS, Deed.CUT_PLAYERS, Deed.STALL_STORE, Deed.FORGET_SCRIPTS}
)
"""Faults that leave the connection alone that the commit is on."""


class Fault(NamedTuple):
    """One fault of a plan."""

    after: int
    """So many commits pass before it."""
    point: Point
    deed: Deed
    pause: float
    """Seconds until what was killed is started again."""
    lose: int = 0
    """Commits that a store which is killed comes back without."""

    def __str__(self) -> str:
        return f"{self.deed} {self.point}"


def plan(seed: int, mode: Mode, faults: int, *, kills_only: bool = False) -> list[Fault]:
    """So many faults for a mode; the same for the same seed."""
    chance = random.Random(f"faults-{mode.name}-{seed}")
    deeds = [Deed.KILL_GAME] * 3 + [Deed.KILL_BOTS]
    if mode.store_may_die:
        deeds += [Deed.KILL_STORE] * 4
    if mode.replicated:
        deeds += [Deed.SPLIT_STORE] * 3
    if not kills_only:
        deeds += [Deed.CUT] * 4
        deeds += [Deed.CUT_SUBSCRIBERS, Deed.CUT_PLAYERS, Deed.STALL_STORE, Deed.FORGET_SCRIPTS, Deed.STOP_GAME]
    planned = []
    for _ in range(faults):
        deed = chance.choice(deeds)
        points = [Point.BEFORE_SCRIPT, Point.AFTER_SCRIPT, Point.BEFORE_REPLY, Point.BEFORE_ANSWER]
        if deed is Deed.CUT:
            points.append(Point.LATE)
        elif deed is Deed.STOP_GAME:
            points.remove(Point.BEFORE_ANSWER)  # it would wait for answers that nobody takes
        lose = chance.randint(1, MOST_LOST) if deed is Deed.KILL_STORE and mode.loses_commits else 0
        planned.append(Fault(chance.randint(1, 12), chance.choice(points), deed, chance.uniform(0, 0.3), lose))
    return planned


class Striker:
    """Puts faults in, one at a time, as commits come by."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._fault: Fault | None = None
        self._countdown = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.struck: asyncio.Event = asyncio.Event()
        """The fault that was armed last has happened, whole."""
        self.victim: Replica | None = None
        """The replica whose commit it came upon."""
        site.set_trap = self._set_trap

    def arm(self, fault: Fault) -> None:
        """Let a fault happen once so many commits have passed."""
        self._fault, self._countdown = fault, fault.after
        self.struck.clear()

    def disarm(self) -> bool:
        """Take a fault back; False when it is happening already."""
        armed, self._fault = self._fault is not None, None
        return armed

    def _set_trap(self, replica: Replica, _call: ScriptCall) -> FaultTrap | None:
        self._countdown -= 1
        if self._fault is None or self._countdown > 0:
            return None
        fault, self._fault = self._fault, None
        self.victim = replica
        self._site.struck(f"{fault}, at {replica.process.name}")
        return FaultTrap(self._site, self, replica, fault)

    def strike(self, trap: FaultTrap) -> asyncio.Task[None]:
        """Do what the fault does, in a task of its own: the connection that it came upon may end meanwhile."""
        task = asyncio.create_task(trap.do_deed())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class FaultTrap:
    """A fault upon one commit; see `chaos_store_proxy.Trap`."""

    def __init__(self, site: Site, striker: Striker, replica: Replica, fault: Fault) -> None:
        self._site = site
        self._striker = striker
        self._replica = replica
        self._fault = fault
        self.late = fault.point is Point.LATE

    async def before_script(self) -> bool:
        return await self._strike_at(Point.BEFORE_SCRIPT)

    async def after_script(self) -> bool:
        return await self._strike_at(Point.AFTER_SCRIPT)

    async def before_reply(self) -> bool:
        if self._fault.point is Point.BEFORE_ANSWER:
            self._replica.front.keep_answers_back()
            # The reply goes on to the replica; what the fault does comes when its answer does.
            self._striker.strike(self)
            return True
        # After a script was sent its reply is lost as well, if the store should be that quick.
        return await self._strike_at(Point.BEFORE_REPLY) and not self._ends_at(Point.AFTER_SCRIPT)

    async def before_late_script(self) -> None:
        await asyncio.sleep(self._fault.pause)
        self._striker.struck.set()

    async def _strike_at(self, point: Point) -> bool:
        if self._fault.point is point:
            await asyncio.shield(self._striker.strike(self))
        return not self._ends_at(point)

    def _ends_at(self, point: Point) -> bool:
        """Whether the connection ends at this point of the commit's way."""
        return self._fault.point is point and self._fault.deed not in _SPARED

    async def do_deed(self) -> None:
        """Everything that the fault does, up to the recovery."""
        front = self._replica.front
        if self._fault.point is Point.BEFORE_ANSWER:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    await front.withheld.wait()
            except TimeoutError:
                pass  # nobody was to be told anything
        await self._do(self._fault)
        if self._fault.point is Point.BEFORE_ANSWER:
            front.let_answers_through()
        self._striker.struck.set()

    async def _do(self, fault: Fault) -> None:
        site, replica = self._site, self._replica
        match fault.deed:
            case Deed.KILL_GAME:
                await site.kill_replica(replica)
            case Deed.STOP_GAME:
                await site.stop_replica(replica)
            case Deed.KILL_BOTS:
                await site.kill_bots()
            case Deed.CUT_SUBSCRIBERS:
                for each in site.replicas:
                    each.back.cut_subscribers()
            case Deed.CUT_PLAYERS:
                replica.front.cut_all()
            case Deed.CUT:
                pass  # the way of the commit ends here, and nothing else does
            case _:
                await self._do_to_store(fault)

    async def _do_to_store(self, fault: Fault) -> None:
        site = self._site
        match fault.deed:
            case Deed.KILL_STORE:
                await site.kill_store(fault.lose)
            case Deed.SPLIT_STORE:
                await site.split_store(fault.pause)
            case Deed.STALL_STORE:
                # It ends by itself, so that the commit can go on into the stall.
                site.store.pause()
                asyncio.get_running_loop().call_later(STALL_SECONDS, site.store.resume)
            case Deed.FORGET_SCRIPTS:
                await site.store.ask("SCRIPT", "FLUSH")
            case _:
                raise AssertionError(fault.deed)
