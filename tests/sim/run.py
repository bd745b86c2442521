"""One run: the site, its players, the faults of the plan, and what the checkers say of it."""

from __future__ import annotations

import asyncio
import gc
import logging
import traceback
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from game_state.service import build as build_game
from matchmaking.service import build as build_matchmaking
from rami_kit.settings import Durability
from sim.faults import Storm
from sim.journal import Journal
from sim.plan import Kind, Plan, plan_for
from sim.queue_story import queue_story
from sim.room_story import room_story
from sim.site import Site, game_settings, in_place_of_the_machine, matchmaking_settings
from sim.table_story import table_story
from sim.world import Loop, Machine, SimulationError, Trace, virtual_world
from support.chaos_checker import Fault, check

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import TypeAlias

    from sim.cluster import ClusterStore
    from sim.store import StoreServer

    Story: TypeAlias = Callable[[Site], Coroutine[Any, Any, None]]

_STORIES: Final = {Kind.TABLE: table_story, Kind.ROOM: room_story, Kind.QUEUE: queue_story}
GAMES: Final = ("game-0", "game-1")
QUEUES: Final = ("queue-0", "queue-1")
_log = logging.getLogger(__name__)


class Outcome(NamedTuple):
    """What came of a run."""

    seed: int
    findings: list[str]
    """Everything that is wrong; empty for a good run."""
    hash: str
    """Two runs with the same hash were the same, step by step; empty without a trace."""
    lines: list[str]
    """The trace, where it was wanted."""
    counts: dict[str, int]
    steps: int
    seconds: float
    """Virtual time that passed."""


class Run:
    """A run on its way."""

    def __init__(self, plan: Plan, *, trace: bool = False, story: Story | None = None) -> None:
        """`story` is played in place of the plan's own."""
        self.plan = plan
        self._story = story or self._play
        self.trace = Trace(kept=trace)
        self.findings: list[str] = []
        self.counts: dict[str, int] = {}
        self.loop = Loop(self._connect)
        self.journal = Journal(self.loop)
        self.site: Site | None = None
        self.on_script: Callable[..., None] | None = None
        """Gets every script that the store runs; see StoreServer."""
        self._done = False

    @property
    def store(self) -> StoreServer | ClusterStore:
        """The store of the site, once the run has begun."""
        assert self.site is not None
        return self.site.store

    async def _connect(self, *args: Any) -> Any:
        return await self.store.connect(*args)

    def outcome(self) -> Outcome:
        """Run it; nothing is left of it afterwards."""
        plan, loop = self.plan, self.loop
        seed = str(plan.seed)
        loop.set_exception_handler(self._on_loop_error)
        collecting = gc.isenabled()
        gc.disable()  # when it collects depends on what ran before
        try:
            with virtual_world(seed, loop):
                self.site = Site(loop, seed, self.trace, plan.masters)
                self.site.store.on_script = self.on_script
                with in_place_of_the_machine(self.site):
                    story = Machine("story")
                    loop.run_until_complete(loop.create_task(self._story(self.site), context=story.context))
                loop.run_until_complete(loop.shutdown_asyncgens())
        except SimulationError as error:
            self.findings.append(f"stuck at {loop.now:.1f}s: {error}")
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - whatever it is, it is a finding
            self.findings.append(f"the run itself failed: {''.join(traceback.format_exception(error))}")
        finally:
            steps, seconds = loop.steps, loop.now
            self._clear_up()
            if collecting:
                gc.enable()
        return Outcome(plan.seed, self.findings, self.trace.hash(), self.trace.lines, self.counts, steps, seconds)

    def _clear_up(self) -> None:
        """End what is left of a run that has failed."""
        loop = self.loop
        self._done = True
        loop.steps = 0
        for _ in range(100):
            left = asyncio.all_tasks(loop)
            if not left:
                break
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()

    def _on_loop_error(self, _loop: object, context: dict[str, Any]) -> None:
        if self._done:
            return
        error = context.get("exception")
        text = "".join(traceback.format_exception(error)) if error is not None else ""
        self.findings.append(f"the event loop: {context.get('message')} {text}")

    async def start_hosts(self, site: Site) -> None:
        """Start every replica of the plan."""
        plan = self.plan
        common = {"durability": Durability(plan.durability), "redis_timeout_seconds": 0.6, "drain_grace_seconds": 2.0}
        for name in GAMES:
            settings = game_settings(
                plan.masters,
                **common,
                lease_seconds=0.5,
                sweep_seconds=0.6,
                heartbeat_seconds=1.5,
                decision_timeout_seconds=0.4,
                entropy_window_seconds=0.2,
                bot_pace_seconds=0.02,
                max_turns_per_round=plan.turns,
                max_turns_per_match=plan.turns * plan.rounds,
                rate_per_player=0,
                rate_per_address=0,
            )
            site.add(name, "game", settings, build_game)
        if plan.kind is Kind.QUEUE:
            for name in QUEUES:
                queue = matchmaking_settings(
                    plan.masters,
                    **common,
                    claim_lease_seconds=0.8,
                    room_timeout_seconds=0.6,
                    room_give_up_seconds=3.0,
                    bot_fill_wait_seconds=0.8,
                    larger_table_wait_seconds=0.3,
                    ticket_idle_seconds=4.0,
                    party_confirm_seconds=2.0,
                )
                site.add(name, "matchmaking", queue, build_matchmaking)
        for host in site.hosts.values():
            await host.start()

    async def close_hosts(self, site: Site) -> None:
        """End every replica in good order, and look at what is left of them."""
        for host in site.hosts.values():
            await host.drain()
        await asyncio.sleep(0.1)
        for host in site.hosts.values():
            self.findings += [f"{host.name} has left a task behind: {task.get_name()}" for task in host.machine.tasks]
        channels = site.store.subscribers()
        if channels:
            self.findings.append(f"somebody still listens to {channels}")

    async def _play(self, site: Site) -> None:
        plan = self.plan
        await self.start_hosts(site)
        storm = Storm(site, plan, self.journal)
        self.findings += await _STORIES[plan.kind](site, plan, self.journal, storm)
        await self.close_hosts(site)
        self.findings += site.store.wrong
        self.findings += [
            f"{what} was answered {first}, and then {other}" for what, first, other in self.journal.promises
        ]
        report = check(self.journal.records)
        for finding in report.findings:
            # A whole room may be gone with what the store has lost, if it is young enough.
            if finding.fault is not Fault.NO_RECORD or plan.kind is Kind.TABLE or not storm.lost_acknowledged:
                self.findings.append(str(finding))
        self.counts = {**report.counts, **storm.counts}


def run_seed(seed: int, *, trace: bool = False) -> Outcome:
    """Run a seed's plan."""
    return Run(plan_for(seed), trace=trace).outcome()


__all__ = ["Outcome", "Run", "run_seed"]
