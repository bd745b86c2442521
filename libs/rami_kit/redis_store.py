"""The store as services use it: scripts, commands, its clock, its health and its promise of durability.

A Store is one Redis or Valkey server, the master that sentinels name, or a cluster: RAMI_REDIS_URL says which,
and a Router sends every call to the right StoreNode by its first key. All keys of one call must share a hash
tag. What a service must not do is block in a command (BLPOP, XREADGROUP BLOCK): the answers behind it on the
same connection would wait too.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from typing import TYPE_CHECKING, Any, Final

from rami_kit import resp
from rami_kit.cluster import ClusterRouter
from rami_kit.errors import StoreError, StoreUnavailable
from rami_kit.sentinel import SentinelRouter
from rami_kit.settings import Durability, ServiceSettings, SettingsError
from rami_kit.slots import first_key
from rami_kit.store_call import Call
from rami_kit.store_node import StoreNode
from rami_kit.store_router import OneServer
from rami_kit.store_servers import ServerReports
from rami_kit.store_url import StoreUrl, Topology

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rami_kit.metrics import Metrics
    from rami_kit.store_call import NodeOwner
    from rami_kit.store_router import Router

PROBE_SECONDS: Final = 1.0
"""How often a healthy store is asked for its time."""
CLOCK_DRIFT: Final = 1e-4
"""How far two clocks may run apart in a second, in seconds."""
AWAY_PROBE_SECONDS: Final = 0.25
"""How often a store that is away is looked for."""

_log = logging.getLogger(__name__)


class Script:
    """A Lua script of the store, known by its name in metrics and by its SHA-1 on the wire.

    The module that owns it says in comments what KEYS, ARGV and the reply are.
    """

    __slots__ = ("finds_keys", "lua", "name", "sha")

    def __init__(self, name: str, lua: str, *, finds_keys: bool = False) -> None:
        """`finds_keys`: it also touches keys that are not among its KEYS, in the same slot.

        While the slot moves from one master to another, such a key may be on either, and the server cannot tell
        before the script runs. So the script must look at every such key (EXISTS will do) before it writes the
        first time: one that is not there ends it as StoreUncertain with nothing done. And it never runs where
        the slot goes to until all of it has arrived, since keys still to come look there as if there were none.
        """
        self.name = name
        self.finds_keys = finds_keys
        self.lua = lua.encode()
        # The protocol's own name for a script, not a matter of security.
        self.sha = hashlib.sha1(self.lua, usedforsecurity=False).hexdigest().encode()

    def __repr__(self) -> str:
        return f"Script({self.name!r})"


class StoreClock:
    """The store's time, which all replicas share, without a round trip a look.

    It does not go back when it is only known better: it runs at half its pace until it is right. It follows a store
    whose own clock goes back.
    """

    def __init__(self) -> None:
        self._offset: float | None = None
        self._error = 0.0
        self._adjusted_at = 0.0
        self._ahead = 0.0
        """How far it was ahead of what it is known to be by then."""

    def now(self) -> float:
        """Unix seconds as the store counts them. Raises StoreUnavailable before it was first reached."""
        if self._offset is None:
            raise StoreUnavailable("the store has not been reached yet: its time is unknown")
        here = time.monotonic()
        if not self._ahead:
            return here + self._offset
        ahead = self._still_ahead(here)
        if not ahead:
            self._ahead = 0.0  # right from now on: every step of every room asks for the time
        return here + self._offset + ahead

    def adjust(self, store_seconds: float, sent_at: float, received_at: float) -> None:
        """Takes over a time that the store gave between two readings of the monotonic clock.

        The longer an answer took, the less it says: one that took long moves the clock only when the store's own
        clock must have been set, or another server has taken over.
        """
        offset, error = store_seconds - (sent_at + received_at) / 2, (received_at - sent_at) / 2
        doubt = self._error + (received_at - self._adjusted_at) * CLOCK_DRIFT
        if self._offset is None or abs(offset - self._offset) > error + doubt:
            self._ahead = 0.0
        elif error <= doubt:
            self._ahead = max(0.0, self._offset + self._still_ahead(received_at) - offset)
        else:
            return
        self._offset, self._error, self._adjusted_at = offset, error, received_at

    def _still_ahead(self, here: float) -> float:
        return max(0.0, self._ahead - (here - self._adjusted_at) / 2)


class Store:
    """Runs scripts and commands on the store. Made by `connect`, ended by `close`.

    All methods raise StoreUnavailable when nothing was applied, StoreUncertain when the answer is lost after
    the call was sent, and StoreError when the server calls the command wrong, which is a defect of ours.
    """

    def __init__(self, settings: ServiceSettings, metrics: Metrics) -> None:
        """Use `connect`: this opens nothing yet."""
        assert settings.redis_url is not None  # a service that needs a store does not load without one
        url = StoreUrl.parse(settings.redis_url.get_secret_value())
        self.timeout_seconds = settings.redis_timeout_seconds
        self.metrics = metrics.store
        self.clock = StoreClock()
        self.healthy = False
        self._durability = settings.durability
        self._up = metrics.store.up.labels()
        metrics.store.durability.prepare(Durability)
        metrics.store.durability.labels(settings.durability).set(1)
        self._loop = asyncio.get_running_loop()
        self._pool_size = settings.redis_pool_size
        # The server's own wait ends before ours, so that "not durable in time" is an answer and no timeout.
        self._wait_ms = max(1, int(settings.redis_timeout_seconds * 750))
        self._complaints: set[str] = set()
        self._answering: dict[str, StoreNode] = {}
        """The servers, by address, that have answered when they were last asked for their time."""
        self.router = self._make_router(url)
        self._submit = self.router.submit
        self._reports = ServerReports(metrics.store)
        metrics.store.waiting.read_from(lambda: sum(node.waiting for node in self.router.nodes))
        self._health_task: asyncio.Task[None] | None = None

    @classmethod
    async def connect(cls, settings: ServiceSettings, metrics: Metrics) -> Store:
        """A store that is looked after: `healthy` follows it from now on.

        A store that is away is no error: `healthy` turns true when it comes. Raises SettingsError when it is
        there and cannot give the durability that the settings ask for.
        """
        store = cls(settings, metrics)
        try:
            await store._start()
        except BaseException:
            await store.close()
            raise
        store._health_task = asyncio.create_task(store._look_after(), name="store-health")
        return store

    async def close(self) -> None:
        """Ends the health task and every connection."""
        if self._health_task is not None:
            self._health_task.cancel()
            await asyncio.wait([self._health_task])
        self._set_healthy(False)
        await self.router.close()

    @property
    def open_connections(self) -> int:
        """Connections of the pools, busy or not."""
        return self.router.open_connections

    def run(
        self,
        script: Script,
        keys: Sequence[str | bytes],
        args: Sequence[resp.Argument] = (),
        durable: bool = False,
    ) -> asyncio.Future[Any]:
        """Runs a script once; the future gets its raw reply: bytes, int, list or None.

        It leaves with the other calls of this turn of the event loop. With `durable` the reply comes only
        after the step is as durable as the settings say; one that is applied but not durable in time is
        StoreUncertain. Raises TypeError at once for a key or argument that is no text, bytes or number.
        """
        rest = (len(keys), *keys, *args)
        packed = resp.pack_command((b"EVALSHA", script.sha, *rest))
        future: asyncio.Future[Any] = self._loop.create_future()
        call = Call(future, script.name, packed, script=script, rest=rest, durable=durable)
        self._submit(call, keys[0] if keys else None)
        return future

    def read(self, *command: resp.Argument) -> asyncio.Future[Any]:
        """Sends one command that changes nothing; a lost answer is StoreUnavailable: ask again."""
        return self._command(command, repeatable=True)

    def write(self, *command: resp.Argument) -> asyncio.Future[Any]:
        """Sends one command that changes something and needs no script; a lost answer is StoreUncertain."""
        return self._command(command, repeatable=False)

    def publish(self, channel: str, message: bytes) -> asyncio.Future[Any]:
        """Publishes to whoever listens to a channel now; scripts do the same with SPUBLISH.

        Channels are sharded ones on every kind of store: a cluster hands them out in the channel's slot, and
        one server treats them as any others.
        """
        return self._command(("SPUBLISH", channel, message), repeatable=False)

    def _command(self, command: tuple[resp.Argument, ...], *, repeatable: bool) -> asyncio.Future[Any]:
        call = self._call(command, repeatable=repeatable)
        self._submit(call, first_key(command))
        return call.future

    def _call(self, command: tuple[resp.Argument, ...], *, repeatable: bool) -> Call:
        name = command[0]
        assert isinstance(name, str)  # the name is a metric's label
        return Call(self._loop.create_future(), name, resp.pack_command(command), repeatable=repeatable)

    # The servers.

    def _make_router(self, url: StoreUrl) -> Router:
        if url.topology is Topology.SENTINEL:
            return SentinelRouter(url, self._make_node, self.metrics, self.timeout_seconds)
        if url.topology is Topology.CLUSTER:
            return ClusterRouter(url, self._make_node, self.metrics, self.timeout_seconds)
        return OneServer(self._make_node(url.addresses[0], None))

    def _make_node(self, address: resp.Address, owner: NodeOwner | None) -> StoreNode:
        node = StoreNode(
            address,
            pool_size=self._pool_size,
            timeout_seconds=self.timeout_seconds,
            metrics=self.metrics,
            client_name="rami",
            owner=owner,
        )
        node.durability_command = self._durability_command()
        return node

    def _ask(self, node: StoreNode, *command: resp.Argument) -> asyncio.Future[Any]:
        """As `read`, of this server and no other."""
        call = self._call(command, repeatable=True)
        node.submit(call)
        return call.future

    # Health, clock and durability.

    async def _start(self) -> None:
        """Finds the servers; raises SettingsError when one of them cannot do what RAMI_DURABILITY promises."""
        await self.router.open()
        for error in await self._probe():
            raise error

    async def _look_after(self) -> None:
        while True:
            await asyncio.sleep(PROBE_SECONDS if self.healthy else AWAY_PROBE_SECONDS)
            broken = {str(error) for error in await self._probe()}
            for text in broken - self._complaints:
                # Another server has come up than the one at start. It gets no commit that it cannot keep.
                _log.error("the store came back unable to keep its promise: %s", text)
            self._complaints = broken
            await self._report()

    async def _probe(self) -> list[SettingsError]:
        """Asks every server for its time; returns what is wrong with those that cannot keep the promise.

        The store is healthy while any of its servers is: on a cluster, rooms in other slots go on.
        """
        nodes = self.router.nodes
        if not nodes:
            self.router.troubled()
        outcomes = await asyncio.gather(*(self._probe_node(node) for node in nodes))
        # One server's clock is the store's, always the first one that answers: several are never quite the same.
        for outcome in outcomes:
            if isinstance(outcome, tuple):
                self.clock.adjust(*outcome)
                break
        self._answering = {
            str(node.address): node
            for node, outcome in zip(nodes, outcomes, strict=True)
            if not isinstance(outcome, StoreUnavailable)
        }
        healthy = any(node.proven for node in nodes)
        if self.healthy and not healthy:
            away = [str(outcome) for outcome in outcomes if isinstance(outcome, StoreUnavailable)]
            _log.warning("the store does not answer: %s", away[0] if away else "no master is known")
        self._set_healthy(healthy)
        return [outcome for outcome in outcomes if isinstance(outcome, SettingsError)]

    async def _probe_node(self, node: StoreNode) -> tuple[float, float, float] | StoreUnavailable | SettingsError:
        """The server's time, with the monotonic clock before and after; or why it is not to be counted on."""
        try:
            sent_at = time.monotonic()
            seconds, micros = await self._ask(node, "TIME")
            reading = (int(seconds) + int(micros) / 1e6, sent_at, time.monotonic())
            if not node.proven:
                await self._check_durability(node)
                node.proven = True
        except (StoreUnavailable, SettingsError) as error:
            node.proven = False
            return error
        return reading

    async def _report(self) -> None:
        """Shows what the servers say of themselves. A server that refuses to is no trouble: it plays on."""
        # Also of one that cannot keep the promise: what it lacks, such as a replica, is what has to be seen.
        if self._answering:
            self._reports.keep(set(self._answering))
        for server, node in self._answering.items():
            if self._reports.is_due(server):
                try:
                    self._reports.show(server, await self._info(node))
                except (StoreUnavailable, StoreError, ValueError) as error:
                    _log.debug("a server of the store does not report: %s", error)

    def _set_healthy(self, healthy: bool) -> None:
        if healthy and not self.healthy:
            _log.info("the store answers")
        self.healthy = healthy
        self._up.set(1 if healthy else 0)

    def _durability_command(self) -> bytes:
        if self._durability is Durability.FSYNC:
            return resp.pack_command((b"WAITAOF", 1, 0, self._wait_ms))
        if self._durability is Durability.REPLICA:
            return resp.pack_command((b"WAIT", 1, self._wait_ms))
        return b""

    async def _check_durability(self, node: StoreNode) -> None:
        """Raises SettingsError when the server at hand cannot do what RAMI_DURABILITY promises."""
        if self._durability is Durability.FSYNC:
            await self._check_fsync(node)
        elif self._durability is Durability.REPLICA:
            await self._check_replica(node)

    async def _check_fsync(self, node: StoreNode) -> None:
        persistence = await self._info(node, "persistence")
        if persistence.get("aof_enabled") != "1":
            raise SettingsError("RAMI_DURABILITY: fsync needs a store with appendonly yes; this one has it off")
        known = await self._ask(node, "COMMAND", "INFO", "WAITAOF")
        if known and known[0] is not None:
            node.durability_command = self._durability_command()
            return
        try:
            reply = await self._ask(node, "CONFIG", "GET", "appendfsync")
        except StoreError as error:
            raise SettingsError(f"RAMI_DURABILITY: fsync cannot be checked: {error}") from None
        if list(reply)[1:2] != [b"always"]:
            raise SettingsError("RAMI_DURABILITY: fsync needs a store with appendfsync always, or with WAITAOF")
        # Such a server answers only after its disk has the write: the answer is the proof.
        node.durability_command = b""

    async def _check_replica(self, node: StoreNode) -> None:
        replication = await self._info(node, "replication")
        if int(replication.get("connected_slaves", "0")) < 1:
            raise SettingsError("RAMI_DURABILITY: replica needs a store with a replica; this one has none")

    async def _info(self, node: StoreNode, *section: str) -> dict[str, str]:
        text: bytes = await self._ask(node, "INFO", *section)
        rows = (line.partition(":") for line in text.decode().splitlines())
        return {name: value for name, _, value in rows if value}


__all__ = ["Script", "Store", "StoreClock"]
