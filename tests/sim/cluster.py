"""A simulated store of several masters: every key lies in a slot, slots move, and one master's replica takes over.

What the servers answer is what Redis 7 answers: MOVED, ASK and TRYAGAIN before a command does anything, CROSSSLOT for
keys of several slots, and an error in the midst of a script that finds a key which has left.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final

from rami_kit import keys as names
from rami_kit.slots import SLOT_COUNT, slot_of
from sim.connections import encoded
from sim.store import StoreServer
from sim.values import CommandError, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rami_kit.redis_store import Script
    from sim.connections import Connection
    from sim.data import Data
    from sim.links import Weather
    from sim.lua import Runs, ScriptRunner
    from sim.plan import Fault
    from sim.store import Trap
    from sim.world import Loop, Machine, Trace

MASTERS: Final = 3
PARTITIONS: Final = 2
_BOUNDS: Final = (0, SLOT_COUNT // 2, SLOT_COUNT * 4 // 5, SLOT_COUNT)
"""Where the slots of each master begin at first: one has the queue, and each of the others a part of the rooms."""
PORT: Final = 6379
URL: Final = "redis+cluster://" + ",".join(f"store-{number}:{PORT}" for number in range(MASTERS))
_TAGS: Final = (*(names.partition_tag(number) for number in range(PARTITIONS)), "{mm}")
_KEYLESS: Final = frozenset(b"PING TIME INFO CLIENT HELLO SCRIPT COMMAND CLUSTER WAIT WAITAOF".split())
_SECOND_WORD: Final = frozenset(b"XINFO XGROUP".split())
_ALL_WORDS: Final = frozenset(b"DEL EXISTS".split())
_CHANNELS: Final = frozenset(b"SSUBSCRIBE SUNSUBSCRIBE SPUBLISH".split())


class ClusterServer(StoreServer):
    """One master, or the replica that has taken its place."""

    def __init__(self, cluster: ClusterStore, number: int, *parts: Any) -> None:
        super().__init__(*parts)
        self.number = number
        self.host = f"store-{number}"
        self.traps = cluster.traps
        self._cluster = cluster

    def fail_over(self) -> None:
        """The replica takes over, which has another address."""
        super().fail_over()
        self.host = self.host.removesuffix("-b") if self.host.endswith("-b") else f"{self.host}-b"
        self._cluster.epoch += 1

    def tell_moved(self, slot: int) -> None:
        """Who listens to channels of a slot that has gone is told so."""
        for connection in list(self._connections):
            for channel in [each for each in connection.channels if slot_of(each) == slot]:
                del connection.channels[channel]
                connection.reply(encoded([b"sunsubscribe", channel, len(connection.channels)]))

    def _run(self, connection: Connection, name: bytes, command: list[bytes]) -> Any:
        if name == b"ASKING":
            connection.asking = True
            return Status(b"OK")
        asking, connection.asking = connection.asking, False
        self._asking = asking
        self._cluster.check(self, name, _keys_of(name, command[1:]), asking=asking)
        return super()._run(connection, name, command)

    def _within(self, keys: list[bytes]) -> Runs:
        return _Reach(self._cluster, self, slot_of(keys[0]), self._asking) if keys else self.data

    def _serve_cluster(self, _connection: Connection, args: list[bytes]) -> Any:
        if args[0] == b"INFO":
            return b"cluster_state:ok\r\ncluster_current_epoch:%d\r\n" % self._cluster.epoch
        return [
            [first, last, [server.host.encode(), PORT, b"%d" % server.number]]
            for first, last, server in self._cluster.ranges()
        ]


class _Reach:
    """What a script can reach: keys of its own slot that are here."""

    def __init__(self, cluster: ClusterStore, server: ClusterServer, slot: int, asking: bool) -> None:
        self._cluster = cluster
        self._server = server
        self._slot = slot
        self._asking = asking

    def run(self, name: bytes, args: Sequence[bytes], /) -> Any:
        keys = _keys_of(name, args)
        if any(slot_of(key) != self._slot for key in keys):
            self._cluster.wrong.append(f"a script touches {keys!r} outside its slot")
            raise CommandError("ERR Script attempted to access keys that do not hash to the same slot")
        try:
            self._cluster.check(self._server, name, keys, asking=self._asking)
        except CommandError:
            raise CommandError("ERR Script attempted to access a non local key in a cluster node") from None
        return self._server.data.run(name, args)


class ClusterStore:
    """The masters, and which slot is whose."""

    def __init__(
        self, loop: Loop, weather: Weather, runner: ScriptRunner, trace: Trace, scripts: Iterable[Script]
    ) -> None:
        self.traps: list[Trap] = []
        self.epoch = 1
        self.wrong: list[str] = []
        """What nobody may ask of a cluster."""
        parts = (loop, weather, runner, trace, list(scripts))
        self._servers = [ClusterServer(self, number, *parts) for number in range(MASTERS)]
        self.upheaval = self._servers[0].upheaval
        self._elsewhere: dict[int, ClusterServer] = {}
        """Slots that are no longer where they were at first."""
        self._moving: dict[int, ClusterServer] = {}
        """Slots that are on their way, and where to."""

    @property
    def servers(self) -> Sequence[StoreServer]:
        """The masters."""
        return self._servers

    @property
    def on_script(self) -> Callable[..., None] | None:
        """See StoreServer."""
        return self._servers[0].on_script

    @on_script.setter
    def on_script(self, value: Callable[..., None] | None) -> None:
        for server in self._servers:
            server.on_script = value

    def victim(self, fault: Fault) -> StoreServer:
        """The server that a fault befalls: often the one that has most to do."""
        if fault.place % 2:
            return self._servers[fault.place // 2 % MASTERS]
        return max(self._servers, key=lambda server: server.data.writes)

    def holder(self, key: str) -> Data:
        """What the server of a key has."""
        return self._owner(slot_of(key)).data

    def ranges(self) -> list[tuple[int, int, ClusterServer]]:
        """First and last slot of each range, and its master."""
        cuts = sorted({*_BOUNDS, *self._elsewhere, *(slot + 1 for slot in self._elsewhere)} - {SLOT_COUNT})
        return [
            (first, last - 1, self._owner(first)) for first, last in zip(cuts, [*cuts[1:], SLOT_COUNT], strict=True)
        ]

    def _owner(self, slot: int) -> ClusterServer:
        return self._elsewhere.get(slot) or self._servers[bisect_right(_BOUNDS, slot) - 1]

    def check(self, server: ClusterServer, name: bytes, keys: Sequence[bytes], *, asking: bool) -> None:
        """Raises CommandError where a server is not the one to ask for these keys, or not now."""
        slots = {slot_of(key) for key in keys}
        if not slots:
            return
        if len(slots) > 1:
            self.wrong.append(f"{name.decode()} of keys in several slots: {keys!r}")
            raise CommandError("CROSSSLOT Keys in request don't hash to the same slot")
        slot = slots.pop()
        owner, heir = self._owner(slot), self._moving.get(slot)
        here = [server.data.run(b"EXISTS", [key]) for key in keys] if heir is not None else []
        if owner is not server:
            if heir is not server or not asking:
                raise CommandError(f"MOVED {slot} {owner.host}:{PORT}")
            if len(set(keys)) > 1 and not all(here):
                raise CommandError("TRYAGAIN Multiple keys request during rehashing of slot")
        elif heir is not None and not all(here) and name not in _CHANNELS:
            if any(here):
                raise CommandError("TRYAGAIN Multiple keys request during rehashing of slot")
            raise CommandError(f"ASK {slot} {heir.host}:{PORT}")

    async def move_slot(self, place: int, seconds: float) -> None:
        """Move a slot that is in use to another master, key by key."""
        slot = slot_of(_TAGS[place % len(_TAGS)])
        source = self._owner(slot)
        heir = self._moving[slot] = self._servers[(source.number + 1 + place // len(_TAGS) % 2) % MASTERS]
        left = [key for key in source.data.all_keys() if slot_of(key) == slot]
        while left:
            source.data.pass_on(left[0], heir.data)
            await asyncio.sleep(seconds / len(left))
            left = [key for key in source.data.all_keys() if slot_of(key) == slot]
        del self._moving[slot]
        self._elsewhere[slot] = heir
        self.epoch += 1
        source.tell_moved(slot)

    # As a store of one server does it, for all of them.

    async def connect(self, factory: Callable[[], Any], host: str, port: int) -> tuple[Connection, Any]:
        """A connection to the server of this name. Raises OSError."""
        for server in self._servers:
            if server.host == host:
                return await server.connect(factory, host, port)
        raise ConnectionRefusedError(111, "Connection refused")

    def subscribers(self) -> list[bytes]:
        """See StoreServer."""
        return [channel for server in self._servers for channel in server.subscribers()]

    def cut(self, machine: Machine | None = None, *, listening: bool | None = None) -> None:
        """See StoreServer."""
        for server in self._servers:
            server.cut(machine, listening=listening)

    def abandon(self, machine: Machine) -> None:
        """See StoreServer."""
        for server in self._servers:
            server.abandon(machine)


def _keys_of(name: bytes, args: Sequence[bytes]) -> Sequence[bytes]:
    """The keys and sharded channels that a command names."""
    if name in _KEYLESS or not args:
        return ()
    if name in (b"EVAL", b"EVALSHA"):
        return args[2 : 2 + int(args[1])]
    if name in _SECOND_WORD:
        return args[1:2]
    if name == b"XREADGROUP":
        return args[-2:-1]
    return args if name in _ALL_WORDS or name in (b"SSUBSCRIBE", b"SUNSUBSCRIBE") else args[:1]


__all__ = ["MASTERS", "PARTITIONS", "URL", "ClusterServer", "ClusterStore"]
