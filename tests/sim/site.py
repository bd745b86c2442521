"""The simulated site: replicas of the real services on machines that can crash, drain and come back, and one store."""

from __future__ import annotations

import asyncio
import random
import sys
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import grpc
from prometheus_client import CollectorRegistry
from pydantic import SecretStr

import game_state.chains
import game_state.feeds
import game_state.service
import game_state.validation
import rami_kit.app
import rami_kit.channels
import rami_kit.finished_stream
import rami_kit.instruments
import rami_kit.redis_store
import rami_kit.store_node
from game_state.config import GameSettings
from game_state.rule_sheets import RuleSheets
from matchmaking.config import MatchmakingSettings
from rami_engine import SEED_SIZE, Guards, new_chain
from rami_kit.app import App
from rami_kit.auth import Caller, CallerKind, TokenVerifier
from rami_kit.redis_store import Script
from rami_kit.testing import make_settings
from sim import cluster
from sim.calls import BROKEN_CONNECTION, KEEPALIVE_SECONDS, Ending
from sim.channels import Channel
from sim.cluster import ClusterStore
from sim.decisions import Decisions
from sim.links import Weather
from sim.lua import ScriptRunner
from sim.servers import Network, Server, Troubles
from sim.store import StoreServer
from sim.world import Machine, this_machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from rami_kit.settings import ServiceSettings
    from sim.world import Loop, Trace

_CLUSTER: Final = {"redis_url": SecretStr(cluster.URL), "partitions": cluster.PARTITIONS}
_ANY_URL: Final = "redis://store:6379/0"
CHAINS: Final = 32
TURN_LIMIT_MS: Final = 1000
"""Of rooms that name none, as those that matchmaking asks for: nobody here waits a minute for who is not there."""
_SERVICES: Final = ("game_state.", "matchmaking.")
UNAVAILABLE: Final = grpc.StatusCode.UNAVAILABLE


class Site:
    """Everything that runs. Times and shares of its faults are the schedule's."""

    def __init__(self, loop: Loop, seed: str, trace: Trace, masters: int) -> None:
        """`masters`: servers that share the store; several are a cluster."""
        self.loop = loop
        self.seed = seed
        self.trace = trace
        self.weather = Weather(loop, random.Random(f"weather-{seed}"))
        self.troubles = Troubles(random.Random(f"troubles-{seed}"))
        self.network = Network(loop, self.weather, self.troubles, trace)
        kind = ClusterStore if masters > 1 else StoreServer
        self.store: StoreServer | ClusterStore = kind(loop, self.weather, _runner(), trace, _scripts())
        self.hosts: dict[str, Host] = {}
        self.channels: list[Channel] = []
        self.silent_until = 0.0
        """By then every stream has noticed that its server has gone without a word."""
        self.ai = Decisions(self.network, seed)

    def add(self, name: str, target: str, settings: ServiceSettings, build: Callable[..., Any]) -> Host:
        """A place for a replica of a service; started by `start`."""
        host = self.hosts[name] = Host(self, name, target, settings, build)
        return host

    def channel(self, target: str, observer: Any = None) -> Channel:
        """A channel of whoever asks to a service."""
        chance = random.Random(f"channel-{self.seed}-{this_machine()}-{target}-{self.loop.steps}")
        channel = Channel(self.network, target, chance, observer)
        self.channels.append(channel)
        return channel


class Host:
    """Where a replica runs: now, or again after it has crashed or been drained."""

    def __init__(
        self, site: Site, name: str, target: str, settings: ServiceSettings, build: Callable[..., Any]
    ) -> None:
        self.name = name
        self.machine = Machine(name)
        self.app: App | None = None
        self.lives = 0
        self.starting = False
        """Whether a replica is about to run here."""
        self._site = site
        self._target = target
        self._settings = settings
        self._build = build

    @property
    def up(self) -> bool:
        """Whether a replica runs here."""
        return self.app is not None and self.machine.alive

    async def start(self) -> None:
        """Start a fresh replica, with nothing in its memory."""
        site = self._site
        self.lives += 1
        self.machine = Machine(self.name)
        task = site.loop.create_task(self._start(), name="start", context=self.machine.context)
        self.starting = True
        await asyncio.wait([task])
        self.starting = False
        if not task.cancelled():
            task.result()

    async def _start(self) -> None:
        machine = self.machine
        app = App(self._settings, self._target)
        server = app.server
        assert isinstance(server, Server)
        servers = self._site.network.servers.setdefault(self._target, [])
        servers[:] = [each for each in servers if each.machine.alive]
        servers.append(server)
        await app.start(self._build)
        if machine.alive:
            self.app = app

    def crash(self, *, silent: bool = False) -> None:
        """The machine stops: nothing that ran on it does anything more, and nothing of it is cleaned up."""
        site, machine = self._site, self.machine
        if not machine.alive:
            return
        site.trace.note(site.loop.now, "crash", machine)
        machine.alive = False
        self.app = None
        servers = site.network.servers[self._target]
        broken = Ending(UNAVAILABLE, BROKEN_CONNECTION)
        if silent:
            site.silent_until = site.loop.now + KEEPALIVE_SECONDS
        for server in servers:
            if server.machine is machine:
                for call in list(server.calls):
                    call.break_off(broken, after_seconds=KEEPALIVE_SECONDS if silent else 0)
        site.store.abandon(machine)
        for channel in site.channels:
            if channel.machine is machine:
                for call in list(channel.calls):
                    call.abandon()
        # What its tasks do on their way out cannot be seen from anywhere.
        site.loop.call_soon(_end_tasks, site.loop, machine)

    async def drain(self) -> None:
        """End in good order, as on SIGTERM."""
        app, machine = self.app, self.machine
        if app is None or not machine.alive:
            return
        self._site.trace.note(self._site.loop.now, "drain", machine)
        task = self._site.loop.create_task(app.drain(), name="drain", context=machine.context)
        await asyncio.wait([task])
        if machine.alive:
            task.result()
            self.app = None


def _end_tasks(loop: Loop, machine: Machine) -> None:
    left = machine.tasks
    for task in left:
        task.cancel()
    if left:
        loop.call_later(0.001, _end_tasks, loop, machine)


class OrderedSet(dict[Any, None]):
    """A set that is gone through in the order in which it was filled: real ones go by addresses."""

    def add(self, item: object) -> None:
        self[item] = None

    def discard(self, item: object) -> None:
        self.pop(item, None)

    def remove(self, item: object) -> None:
        del self[item]


class _Feed(game_state.feeds.Feed):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.watchers = OrderedSet()  # type: ignore[assignment]  # as much of a set as is needed


class _StoreNode(rami_kit.store_node.StoreNode):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lanes = OrderedSet()  # type: ignore[assignment]  # as above


class _SharedSheets:
    """The rule sheets, loaded once: that takes as long as hundreds of runs, and nobody here reads them."""

    @staticmethod
    @cache
    def _load() -> RuleSheets:
        return RuleSheets.load(Guards())

    @classmethod
    def load(cls, _guards: Guards) -> RuleSheets:
        return cls._load()


_check: Final = TokenVerifier._check
_callers: Final[dict[tuple[str, str], Caller]] = {}
"""Whom the tokens of players speak for, by audience and token: they are the same in every run."""


def _check_once(verifier: TokenVerifier, token: str) -> Caller:
    """A player's token is checked by the first run that sees it: signatures take a good part of a run."""
    key = verifier._audience, token
    caller = _callers.get(key)
    if caller is None:
        caller = _check(verifier, token)
        if caller.kind is CallerKind.PLAYER:
            _callers[key] = caller
    return caller


async def _never(_self: object) -> None:
    """Seed chains are made when they are asked for: here that costs nothing."""


class _NoPage:
    port = 1

    def close(self) -> None:
        """Nothing was opened."""


@contextmanager
def in_place_of_the_machine(site: Site) -> Iterator[None]:
    """Within it, the services run on the site instead of on sockets, threads and the real network."""
    chains = random.Random(f"chains-{site.seed}")

    def make_server(_settings: object, *interceptors: Any) -> Server:
        return Server(site.network, this_machine(), interceptors)

    def open_channel(target: str, _settings: object, **_: object) -> Channel:
        return site.channel(target)

    async def close_channels(*channels: Channel) -> None:
        for channel in channels:
            await channel.close()

    replaced: tuple[tuple[Any, str, Any], ...] = (
        (rami_kit.app, "make_server", make_server),
        (rami_kit.app, "bind", lambda _server, _settings: 1),
        (rami_kit.app, "start_metrics_server", lambda *_, **__: _NoPage()),
        (rami_kit.app, "version", lambda _name: "0"),
        (rami_kit.app, "READINESS_SECONDS", 0.5),
        (App, "_add_reflection", lambda _self: None),
        (TokenVerifier, "_check", _check_once),
        # Children of metrics are made when they are used: most of what a start costs is making all beforehand.
        (rami_kit.instruments.Family, "prepare", lambda *_: None),
        (CollectorRegistry, "register", lambda _self, _collector: None),
        (game_state.service, "RuleSheets", _SharedSheets),
        (game_state.feeds, "Feed", _Feed),
        (game_state.validation, "DEFAULT_TURN_LIMIT_MS", TURN_LIMIT_MS),
        (rami_kit.redis_store, "StoreNode", _StoreNode),
        (game_state.chains.ChainPool, "refill", _never),
        (game_state.chains, "_make", lambda: chains.choice(_chains())),
    )
    elsewhere: dict[str, Any] = {"open_channel": open_channel, "close_channels": close_channels}
    with ExitStack() as stack:
        for owner, name, value in replaced:
            stack.enter_context(patch.object(owner, name, value))
        for name, value in elsewhere.items():
            for module in _users_of(name):
                stack.enter_context(patch.object(module, name, value))
        yield


def _modules() -> list[ModuleType]:
    """Every module of the services."""
    return [module for path, module in sorted(sys.modules.items()) if path.startswith(_SERVICES)]


@cache
def _users_of(name: str) -> list[ModuleType]:
    """The modules of the services that use a function of rami_kit.channels."""
    wanted = getattr(rami_kit.channels, name)
    return [each for each in _modules() if vars(each).get(name) is wanted]


@cache
def _script_places() -> list[tuple[ModuleType, str]]:
    """Where the services have scripts."""
    return [
        (module, name) for module in _modules() for name, value in vars(module).items() if isinstance(value, Script)
    ]


@cache
def _runner() -> ScriptRunner:
    return ScriptRunner()


@cache
def _chains() -> list[Any]:
    """Seed chains to draw from: making one takes as long as everything else in a run."""
    made = [new_chain(bytes([number] * SEED_SIZE)) for number in range(CHAINS)]
    return [(chain, chain.seed(0)) for chain in made]


def _scripts() -> list[Script]:
    """The scripts that the services have now: tests put others in their place."""
    return [getattr(module, name) for module, name in _script_places()]


def game_settings(masters: int, **values: Any) -> GameSettings:
    """Settings of the game service. `values` are trusted: reading them takes as long as a run."""
    return _game_settings().model_copy(update=values | _store(masters))


def matchmaking_settings(masters: int, **values: Any) -> MatchmakingSettings:
    """Settings of the matchmaking service; `values` as for the game service."""
    return _matchmaking_settings().model_copy(update=values | _store(masters))


def _store(masters: int) -> dict[str, Any]:
    return _CLUSTER if masters > 1 else {}


@cache
def _game_settings() -> GameSettings:
    return make_settings(GameSettings, _ANY_URL, game_address="game", ai_address="ai")


@cache
def _matchmaking_settings() -> MatchmakingSettings:
    return make_settings(MatchmakingSettings, _ANY_URL, game_address="game")


__all__ = ["Host", "Site", "game_settings", "in_place_of_the_machine", "matchmaking_settings"]
