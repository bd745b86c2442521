"""The store as services use it: scripts, commands, its clock, its health and its promise of durability.

A Store is one Redis or Valkey server today. Every call names its keys, so that a cluster can be put behind
the same methods: the keys' slot would choose the StoreNode. What a service must not do is block in a command
(BLPOP, XREADGROUP BLOCK): the answers behind it on the same connection would wait too.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from typing import TYPE_CHECKING, Any, Final

from rami_kit import resp
from rami_kit.errors import StoreError, StoreUnavailable
from rami_kit.settings import Durability, ServiceSettings, SettingsError
from rami_kit.store_node import Call, StoreNode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rami_kit.metrics import Metrics

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

    __slots__ = ("lua", "name", "sha")

    def __init__(self, name: str, lua: str) -> None:
        self.name = name
        self.lua = lua.encode()
        # The protocol's own name for a script, not a matter of security.
        self.sha = hashlib.sha1(self.lua, usedforsecurity=False).hexdigest().encode()

    def __repr__(self) -> str:
        return f"Script({self.name!r})"


class StoreClock:
    """The store's time, which all replicas share, without a round trip a look."""

    def __init__(self) -> None:
        self._offset: float | None = None
        self._error = 0.0
        self._adjusted_at = 0.0

    def now(self) -> float:
        """Unix seconds as the store counts them. Raises StoreUnavailable before it was first reached."""
        if self._offset is None:
            raise StoreUnavailable("the store has not been reached yet: its time is unknown")
        return time.monotonic() + self._offset

    def adjust(self, store_seconds: float, sent_at: float, received_at: float) -> None:
        """Takes over a time that the store gave between two readings of the monotonic clock.

        The longer an answer took, the less it says: one that took long moves the clock only when the store's own
        clock must have been set, or another server has taken over.
        """
        offset, error = store_seconds - (sent_at + received_at) / 2, (received_at - sent_at) / 2
        doubt = self._error + (received_at - self._adjusted_at) * CLOCK_DRIFT
        if self._offset is None or error <= doubt or abs(offset - self._offset) > error + doubt:
            self._offset, self._error, self._adjusted_at = offset, error, received_at


class Store:
    """Runs scripts and commands on the store. Made by `connect`, ended by `close`.

    All methods raise StoreUnavailable when nothing was applied, StoreUncertain when the answer is lost after
    the call was sent, and StoreError when the server calls the command wrong, which is a defect of ours.
    """

    def __init__(self, settings: ServiceSettings, metrics: Metrics) -> None:
        """Use `connect`: this opens nothing yet."""
        assert settings.redis_url is not None  # a service that needs a store does not load without one
        self.address = resp.Address.parse(settings.redis_url.get_secret_value())
        self.timeout_seconds = settings.redis_timeout_seconds
        self.metrics = metrics.store
        self.clock = StoreClock()
        self.healthy = False
        self._durability = settings.durability
        self._up = metrics.store.up.labels()
        self._loop = asyncio.get_running_loop()
        self._node = StoreNode(
            self.address,
            pool_size=settings.redis_pool_size,
            timeout_seconds=settings.redis_timeout_seconds,
            metrics=metrics.store,
            client_name="rami",
        )
        # The server's own wait ends before ours, so that "not durable in time" is an answer and no timeout.
        self._wait_ms = max(1, int(settings.redis_timeout_seconds * 750))
        self._node.durability_command = self._durability_command()
        self._health_task: asyncio.Task[None] | None = None

    @classmethod
    async def connect(cls, settings: ServiceSettings, metrics: Metrics) -> Store:
        """A store that is looked after: `healthy` follows it from now on.

        A store that is away is no error: `healthy` turns true when it comes. Raises SettingsError when it is
        there and cannot give the durability that the settings ask for.
        """
        store = cls(settings, metrics)
        try:
            await store._probe()
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
        await self._node.close()

    @property
    def open_connections(self) -> int:
        """Connections of the pool, busy or not."""
        return self._node.open_connections

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
        self._node.submit(Call(future, script.name, packed, script=script.lua, rest=rest, durable=durable))
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
        future: asyncio.Future[Any] = self._loop.create_future()
        name = command[0]
        assert isinstance(name, str)  # the name is a metric's label
        self._node.submit(Call(future, name, resp.pack_command(command), repeatable=repeatable))
        return future

    # Health, clock and durability.

    async def _look_after(self) -> None:
        complained = ""
        while True:
            await asyncio.sleep(PROBE_SECONDS if self.healthy else AWAY_PROBE_SECONDS)
            try:
                await self._probe()
                complained = ""
            except SettingsError as error:
                # Another server has come up than the one at start. It gets no commit that it cannot keep.
                if str(error) != complained:
                    _log.error("the store came back unable to keep its promise: %s", error)
                    complained = str(error)

    async def _probe(self) -> None:
        try:
            sent_at = time.monotonic()
            seconds, micros = await self.read("TIME")
            self.clock.adjust(int(seconds) + int(micros) / 1e6, sent_at, time.monotonic())
            if not self.healthy:
                await self._check_durability()
                self._set_healthy(True)
        except StoreUnavailable as error:
            if self.healthy:
                _log.warning("the store does not answer: %s", error)
            self._set_healthy(False)

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

    async def _check_durability(self) -> None:
        """Raises SettingsError when the server at hand cannot do what RAMI_DURABILITY promises."""
        if self._durability is Durability.FSYNC:
            await self._check_fsync()
        elif self._durability is Durability.REPLICA:
            await self._check_replica()

    async def _check_fsync(self) -> None:
        persistence = await self._info("persistence")
        if persistence.get("aof_enabled") != "1":
            raise SettingsError("RAMI_DURABILITY: fsync needs a store with appendonly yes; this one has it off")
        known = await self.read("COMMAND", "INFO", "WAITAOF")
        if known and known[0] is not None:
            self._node.durability_command = self._durability_command()
            return
        try:
            reply = await self.read("CONFIG", "GET", "appendfsync")
        except StoreError as error:
            raise SettingsError(f"RAMI_DURABILITY: fsync cannot be checked: {error}") from None
        if list(reply)[1:2] != [b"always"]:
            raise SettingsError("RAMI_DURABILITY: fsync needs a store with appendfsync always, or with WAITAOF")
        # Such a server answers only after its disk has the write: the answer is the proof.
        self._node.durability_command = b""

    async def _check_replica(self) -> None:
        replication = await self._info("replication")
        if int(replication.get("connected_slaves", "0")) < 1:
            raise SettingsError("RAMI_DURABILITY: replica needs a store with a replica; this one has none")

    async def _info(self, section: str) -> dict[str, str]:
        text: bytes = await self.read("INFO", section)
        rows = (line.partition(":") for line in text.decode().splitlines())
        return {name: value for name, _, value in rows if value}


__all__ = ["Script", "Store", "StoreClock"]
