"""A whole Rami on this machine: store, AI, game and matchmaking services as supervised processes.

    async with Cluster(ClusterOptions(auto_ports=True)) as cluster:
        print(cluster.addresses.game)

Entering starts everything in the order in which it is needed and waits until every service is SERVING; leaving stops
it in reverse order and leaves no process and no directory behind. The store is embedded unless RAMI_REDIS_URL names
one.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from rami_cli import store_process
from rami_cli.child import ChildSpec, Ready
from rami_cli.edge_child import edge_child
from rami_cli.edge_process import EdgeError, envoy_path
from rami_cli.supervisor import Patience, Supervisor
from rami_kit.embedded import claim_port

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

HOST: Final = "127.0.0.1"
DEFAULT_PORTS: Final = {"game": (7001, 9101), "ai": (7002, 9102), "matchmaking": (7003, 9103)}
"""gRPC port and metrics port of each service."""
EDGE_PORTS: Final = (7000, 9100)
"""Port and metrics port of the edge."""
MODULES: Final = {"ai": "ai_decision", "game": "game_state", "matchmaking": "matchmaking"}
"""The module of each service, in the order in which they are started."""

HEALTHY_SECONDS: Final = 60.0
"""How long the services may take until all of them are SERVING."""
_CHECK_SECONDS: Final = 0.05


class ClusterError(Exception):
    """The cluster cannot be started; the text says why, for whoever typed the command."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What to start."""

    auto_ports: bool = False
    """Free ports instead of the well-known ones."""
    game_replicas: int = 1
    """Game services; all but the first always take free ports."""
    edge: bool = False
    """Whether an Envoy stands in front of everything that players may call."""
    ai_workers: int | None = None
    """Worker processes of the AI service; None leaves it to the service."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Settings of the services, over those of this process."""
    log_folder: Path | None = None
    """Where logs go; None for a folder that goes away with the cluster."""
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where everything listens: gRPC targets, and host:port of the metrics pages."""

    game: str
    """The first game service."""
    game_replicas: tuple[str, ...]
    """Every game service."""
    ai: str
    matchmaking: str
    edge: str | None
    """The one address for players; None without an edge."""
    redis: str
    """URL of the store, without a password."""
    metrics: Mapping[str, str]
    """By name of the process."""

    def as_json(self) -> dict[str, Any]:
        """What `rami up --json` prints."""
        return {
            "game": self.game,
            "game_replicas": list(self.game_replicas),
            "ai": self.ai,
            "matchmaking": self.matchmaking,
            "edge": self.edge,
            "redis": self.redis,
            "metrics": dict(self.metrics),
        }


class Cluster:
    """The processes of one cluster. Use it as an async context manager."""

    def __init__(self, options: ClusterOptions, *, tell: Callable[[str], None] = lambda _: None) -> None:
        """`tell` gets a line whenever a process dies or is back."""
        self._options = options
        self._tell = tell
        self._folder: Path | None = None
        self._supervisor: Supervisor | None = None
        self._addresses: Addresses | None = None

    async def __aenter__(self) -> Self:
        self._check_edge()
        self._check_ports()
        self._folder = Path(tempfile.mkdtemp(prefix="rami-"))
        log_folder = self._options.log_folder or self._folder / "logs"
        try:
            log_folder.mkdir(parents=True, exist_ok=True)
            self._supervisor = Supervisor(log_folder, patience=self._options.patience, tell=self._tell)
            self._addresses = await self._start(self._supervisor, self._folder)
        except BaseException:
            await self._clean_up()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._clean_up()

    @property
    def addresses(self) -> Addresses:
        """Where everything listens."""
        assert self._addresses is not None, "the cluster has been entered"
        return self._addresses

    @property
    def log_folder(self) -> Path:
        """Where the logs are."""
        return self._running.log_folder

    async def failed(self) -> None:
        """Waits until a process cannot be kept running, and raises ChildDiedError."""
        await self._running.failed()

    def pids(self) -> dict[str, int | None]:
        """The process id of every process, by name."""
        return self._running.pids()

    async def kill(self, name: str) -> None:
        """Kills a process with signal 9, and whatever it has started; returns when it is back."""
        await self._running.kill(name)

    @property
    def _running(self) -> Supervisor:
        assert self._supervisor is not None, "the cluster has been entered"
        return self._supervisor

    async def _start(self, supervisor: Supervisor, folder: Path) -> Addresses:
        redis_url = os.environ.get("RAMI_REDIS_URL", "") or await self._start_store(supervisor, folder)
        shared = {
            **os.environ,
            "RAMI_MODE": os.environ.get("RAMI_MODE", "development"),
            "RAMI_REDIS_URL": redis_url,
            "RAMI_HOST": HOST,
            **({"RAMI_TRUSTED_PROXIES": HOST} if self._options.edge else {}),
            **self._options.environment,
        }
        if self._options.ai_workers is not None:
            shared["RAMI_WORKERS"] = str(self._options.ai_workers)
        # The AI service keeps nothing: it is not told where the store is.
        storeless = {name: value for name, value in shared.items() if name != "RAMI_REDIS_URL"}
        ai = await supervisor.start(self._service("ai", storeless))
        shared["RAMI_AI_ADDRESS"] = _target(ai)
        games = [
            await supervisor.start(self._service("game", shared, replica))
            for replica in range(1, self._options.game_replicas + 1)
        ]
        shared["RAMI_GAME_ADDRESS"] = _balanced([_target(game) for game in games])
        matchmaking = await supervisor.start(self._service("matchmaking", shared))
        named = {"ai": ai, "game": games[0], "matchmaking": matchmaking}
        named |= {f"game-{number}": game for number, game in enumerate(games[1:], 2)}
        if self._options.edge:
            named["edge"] = await supervisor.start(self._edge(folder, games, matchmaking))
        await self._healthy(supervisor, [_target(ready) for ready in named.values()])
        return Addresses(
            game=_target(games[0]),
            game_replicas=tuple(_target(game) for game in games),
            ai=_target(ai),
            matchmaking=_target(matchmaking),
            edge=_target(named["edge"]) if self._options.edge else None,
            redis=_without_password(redis_url),
            metrics={name: f"{HOST}:{ready['metrics_port']}" for name, ready in named.items()},
        )

    async def _start_store(self, supervisor: Supervisor, folder: Path) -> str:
        """Starts the embedded store; its URL."""
        directory = folder / "store"
        directory.mkdir()
        command = (
            *(sys.executable, "-m", store_process.__name__, str(directory)),
            *("--orphan-of", str(os.getpid()), str(folder)),
        )
        environment = {
            store_process.PORT_VARIABLE: str(claim_port(self)),
            **os.environ,
            **self._options.environment,
        }
        spec = ChildSpec("store", command, environment, _pinned_store)
        return str((await supervisor.start(spec))["url"])

    def _service(self, name: str, shared: Mapping[str, str], replica: int = 1) -> ChildSpec:
        free = self._options.auto_ports or replica > 1
        port, metrics_port = self._free_ports() if free else DEFAULT_PORTS[name]
        environment = {**shared, "RAMI_PORT": str(port), "RAMI_METRICS_PORT": str(metrics_port)}
        label = name if replica == 1 else f"{name}-{replica}"
        return ChildSpec(label, (sys.executable, "-m", MODULES[name]), environment, _pinned_service)

    def _free_ports(self) -> tuple[int, int]:
        """For gRPC and metrics; kept for the process that gets them, also while it is dead and is started again."""
        return claim_port(self), claim_port(self)

    def _edge(self, folder: Path, games: list[Ready], matchmaking: Ready) -> ChildSpec:
        return edge_child(
            self._options.environment,
            host=HOST,
            ports=self._free_ports() if self._options.auto_ports else EDGE_PORTS,
            game=[_target(game) for game in games],
            matchmaking=_target(matchmaking),
            folder=folder,
        )

    async def _healthy(self, supervisor: Supervisor, targets: list[str]) -> None:
        """Waits until every service says SERVING. Raises ClusterError and ChildDiedError."""
        failed = asyncio.create_task(supervisor.failed())
        serving = asyncio.create_task(_all_serving(targets))
        both: set[asyncio.Future[Any]] = {failed, serving}
        try:
            done, _ = await asyncio.wait(both, timeout=HEALTHY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)
        if failed in done:
            failed.result()
        if not done:
            raise ClusterError(f"not every service is SERVING after {HEALTHY_SECONDS:g} s; see {supervisor.log_folder}")

    def _check_edge(self) -> None:
        """Raises ClusterError when there is to be an edge and no Envoy, before anything is started."""
        if self._options.edge:
            try:
                envoy_path()
            except EdgeError as error:
                raise ClusterError(str(error)) from None

    def _check_ports(self) -> None:
        """Raises ClusterError when a well-known port is taken, before anything is started."""
        if self._options.auto_ports:
            return
        for name, ports in {**DEFAULT_PORTS, **({"edge": EDGE_PORTS} if self._options.edge else {})}.items():
            for port in ports:
                if not _is_free(port):
                    raise ClusterError(
                        f"port {port} ({name}) is taken: stop what listens there, or choose free ports with "
                        "--ports auto"
                    )

    async def _clean_up(self) -> None:
        """Ends everything, to the end: who is cancelled meanwhile, as by Ctrl-C, is so when nothing is left behind."""
        ending = asyncio.create_task(self._end_everything(), name="end the cluster")
        interrupted = False
        while not ending.done():
            try:
                await asyncio.wait({ending})
            except asyncio.CancelledError:
                interrupted = True
        ending.result()
        if interrupted:
            raise asyncio.CancelledError

    async def _end_everything(self) -> None:
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is not None:
            await supervisor.stop()
        if self._folder is not None:
            await asyncio.to_thread(store_process.remove_folder, self._folder)


async def _all_serving(targets: list[str]) -> None:
    await asyncio.gather(*(serving(target) for target in targets))


async def serving(target: str) -> None:
    """Waits until the service behind a target says SERVING."""
    async with grpc.aio.insecure_channel(target) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        while True:
            with suppress(grpc.aio.AioRpcError):
                answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=1.0)
                if answer.status == health_pb2.HealthCheckResponse.SERVING:
                    return
            await asyncio.sleep(_CHECK_SECONDS)


def _pinned_store(ready: Ready) -> Mapping[str, str]:
    return {store_process.PORT_VARIABLE: str(ready["port"])}


def _pinned_service(ready: Ready) -> Mapping[str, str]:
    return {"RAMI_PORT": str(ready["port"]), "RAMI_METRICS_PORT": str(ready["metrics_port"])}


def _target(ready: Ready) -> str:
    return f"{HOST}:{ready['port']}"


def _balanced(targets: list[str]) -> str:
    """One gRPC target for several addresses."""
    return targets[0] if len(targets) == 1 else "ipv4:" + ",".join(targets)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def _without_password(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}{separator}{place.rpartition('@')[2]}{slash}{path}"
