"""A cluster for chaos: store, bots and replicas as processes, with proxies on every way that can be cut.

players -> AnswerProxy -> replica -> StoreProxy -> store
                          replica -> Proxy -> bots
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from matchmaking.claim_scripts import ASSIGN, CLAIM, RETURN, TAKE
from matchmaking.ticket_scripts import CONFIRM, CREATE
from support.chaos_processes import BOTS, GAME, MATCHMAKING, ChaosProcess, Nursery
from support.chaos_proxy import NOBODY, AnswerProxy, Proxy
from support.chaos_store_proxy import StoreProxy
from support.chaos_stores import ChaosStore, ReplicatedStore
from support.chaos_watched import Watched

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from support.chaos_resp import ScriptCall
    from support.chaos_store_proxy import Trap

QUICK_QUEUE = {
    "RAMI_MATCH_PASS_SECONDS": "0.05",
    "RAMI_LARGER_TABLE_WAIT_SECONDS": "0",
    "RAMI_CLAIM_LEASE_SECONDS": "1",
    "RAMI_ROOM_TIMEOUT_SECONDS": "1",
}
"""Settings under which a queue takes no time of its own."""
QUEUE_SCRIPTS = frozenset(script.sha.decode() for script in (CREATE, CONFIRM, CLAIM, ASSIGN, RETURN, TAKE))
"""The scripts of matchmaking that move tickets on; others only read."""


@dataclass(frozen=True, slots=True)
class Mode:
    """What a durability setting promises, and the store that it is tried with."""

    name: str
    durability: str
    store_options: Mapping[str, str]
    store_may_die: bool = False
    """Kills of the store are part of the run."""
    loses_commits: bool = False
    """The store comes back without its latest commits: what was acknowledged may be gone, and must be told."""
    replicated: bool = False
    """The store has a replica, which takes over: what was not acknowledged may be gone, and must be told."""
    replicas: int = 2


MEMORY = Mode("memory", "memory", {})
MEMORY_ALONE = Mode("memory-alone", "memory", {}, replicas=1)
MEMORY_LOSSY = Mode(
    "memory-everysec",
    "memory",
    {"appendonly": "yes", "appendfsync": "everysec"},
    store_may_die=True,
    loses_commits=True,
)
MEMORY_UNSYNCED = Mode(
    "memory-unsynced",
    "memory",
    {"appendonly": "yes", "appendfsync": "no"},
    store_may_die=True,
    loses_commits=True,
)
"""Loses exactly what a scene tells it to."""
FSYNC = Mode("fsync", "fsync", {"appendonly": "yes", "appendfsync": "always"}, store_may_die=True)
REPLICA = Mode("replica", "replica", {}, store_may_die=True, replicated=True)


class Replica:
    """One process of the game or matchmaking service, and the ways to and from it."""

    def __init__(self, process: ChaosProcess, front: AnswerProxy, back: StoreProxy) -> None:
        self.process = process
        self.front = front
        self.back = back


class Site(Watched):
    """Everything that runs. Use it as an async context manager; nothing of it outlives the context."""

    def __init__(
        self,
        mode: Mode,
        directory: Path,
        nursery: Nursery,
        *,
        game: tuple[str, ...] = GAME,
        replicas: int | None = None,
        bots: tuple[str, ...] | None = BOTS,
        matchmakers: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`game` and `bots` are what the interpreter runs as the game service and the decision service, if any;
        `environment` are further settings of the former.
        """
        self.mode = mode
        super().__init__(directory)
        self.set_trap: Callable[[Replica, ScriptCall], Trap | None] = lambda _replica, _call: None
        """Asked about every commit as it comes by."""
        self.latency: Callable[[], float] = lambda: 0.0
        """Seconds that whatever goes to or comes from the store is held on its way; set it before the start."""
        self.replicas: list[Replica] = []
        """Of the game service."""
        self.matchmakers: list[Replica] = []
        (directory / "store").mkdir()
        kind = ReplicatedStore if mode.replicated else ChaosStore
        self.store = kind(directory / "store", mode.store_options)
        self.bots = ChaosProcess("bots", bots or (), {}, directory, nursery)
        self._with_bots = bots is not None
        self._game = game
        self._game_environment = environment or {}
        self._replica_count = replicas or mode.replicas
        self._matchmaker_count = matchmakers
        self._directory = directory
        self._nursery = nursery
        self._bots_proxy = Proxy()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _start(self) -> None:
        stack = self._stack
        await stack.enter_async_context(self.writing())
        await stack.enter_async_context(self._bots_proxy)
        stack.push_async_callback(self.store.stop)
        await self.store.start()
        starts = []
        if self._with_bots:
            stack.push_async_callback(self.bots.stop)
            starts.append(self.start_bots())
        for number in range(self._replica_count):
            self.replicas.append(await self._make_replica(f"game-{number}", self._game, self._game_environment))
        games = ",".join(self.addresses)
        for number in range(self._matchmaker_count):
            environment = QUICK_QUEUE | {"RAMI_GAME_ADDRESS": f"ipv4:{games}"}
            matchmaker = await self._make_replica(f"matchmaking-{number}", MATCHMAKING, environment)
            matchmaker.back.watched = lambda call: call.sha in QUEUE_SCRIPTS
            self.matchmakers.append(matchmaker)
        starts += [self.start_replica(each) for each in (*self.replicas, *self.matchmakers)]
        await asyncio.gather(*starts)

    async def _make_replica(self, name: str, program: tuple[str, ...], environment: Mapping[str, str]) -> Replica:
        front = await self._stack.enter_async_context(AnswerProxy())
        back = await self._stack.enter_async_context(StoreProxy(lambda call: self._on_commit(replica, call)))
        back.target_port = self.store.port
        back.latency = self.latency
        settings = {
            "RAMI_REDIS_URL": f"redis://{back.address}/0",
            "RAMI_AI_ADDRESS": self._bots_proxy.address,
            "RAMI_DURABILITY": self.mode.durability,
            **environment,
        }
        process = ChaosProcess(name, program, settings, self._directory, self._nursery)
        self._stack.push_async_callback(process.stop)
        replica = Replica(process, front, back)
        return replica

    async def start_store(self) -> None:
        """Bring the store back, wherever it is then."""
        await self.store.start()
        self._point_to_store(self.store.port)

    async def split_store(self, seconds: float) -> None:
        """Let the replica take over while the primary, which does not know, serves on for a while; then end that."""
        assert isinstance(self.store, ReplicatedStore), "this store has nobody to take over"
        self._write_loss()
        primary = await self.store.promote()
        self._point_to_store(self.store.port)
        await asyncio.sleep(seconds)
        self._write_kill("store")
        await asyncio.to_thread(primary.kill)
        self._write_loss()
        await self.store.add_replica()

    def _point_to_store(self, port: int) -> None:
        for replica in (*self.replicas, *self.matchmakers):
            replica.back.target_port = port

    async def start_replica(self, replica: Replica) -> None:
        """Start the process of a replica, for the first time or again."""
        await replica.process.start()
        replica.front.target_port = replica.process.port

    async def start_bots(self) -> None:
        """Start the decision service, for the first time or again."""
        await self.bots.start()
        self._bots_proxy.target_port = self.bots.port

    @property
    def addresses(self) -> list[str]:
        """Where players reach the replicas of the game service."""
        return [replica.front.address for replica in self.replicas]

    async def kill_replica(self, replica: Replica) -> None:
        """End a replica by signal 9."""
        self._write_kill(replica.process.name)
        replica.front.target_port = NOBODY
        await replica.process.kill()

    async def stop_replica(self, replica: Replica) -> int:
        """Let a replica end in good order: what it has begun is finished, and its streams are sent elsewhere. Its exit
        code.
        """
        code = await replica.process.stop()
        replica.front.target_port = NOBODY
        return code

    async def kill_bots(self) -> None:
        """End the decision service by signal 9."""
        self._write_kill(self.bots.name)
        self._bots_proxy.target_port = NOBODY
        await self.bots.kill()

    async def kill_store(self, lose: int = 0) -> None:
        """End the store by signal 9; it then comes back without so many of its latest commits."""
        self._write_kill("store")
        self._point_to_store(NOBODY)
        await self.store.kill()
        if self.mode.loses_commits:
            self.store.lose_commits(lose)
        if self.mode.loses_commits or self.mode.replicated:
            # Also without the cut: such a store tells of steps that no disk or replica has yet.
            self._write_loss()

    def _write_loss(self) -> None:
        self.lost(acknowledged=self.mode.loses_commits)

    def _write_kill(self, process: str) -> None:
        self.killed(process)

    def _on_commit(self, replica: Replica, call: ScriptCall) -> Trap | None:
        self.store.note_commit()
        return self.set_trap(replica, call)
