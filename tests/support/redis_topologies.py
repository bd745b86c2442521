"""Sentinels with their servers, and clusters with replicas, of Debian's redis-server on free loopback ports.

Everything here blocks for moments: fixtures that are no coroutines start and stop it, coroutines use a thread.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis

from rami_kit.slots import SLOT_COUNT
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

REDIS_SERVER = shutil.which("redis-server")
WAIT_SECONDS = 60.0
NODE_TIMEOUT_MS = 3_000
"""A busy machine keeps a server waiting for a second now and then, and nobody is to take its place for that."""
DOWN_AFTER_MS = 3_000
SERVICE = "rami"

needs_redis_server = pytest.mark.skipif(REDIS_SERVER is None, reason="redis-server is not installed")


def until(condition: Callable[[], bool], what: str) -> None:
    """Returns when the condition holds, asking a server again and again; fails, naming `what`, when it never does."""
    pause = threading.Event()
    for _ in range(int(WAIT_SECONDS / 0.02)):
        with contextlib.suppress(redis.ConnectionError, redis.exceptions.BusyLoadingError):
            if condition():
                return
        pause.wait(0.02)
    raise AssertionError(f"it never came about that {what}")


class RedisServer:
    """One process, its directory and its options, which outlive it."""

    def __init__(self, *arguments: str, sentinel: bool = False) -> None:
        self.port = free_port()
        self.directory = Path(tempfile.mkdtemp(prefix="rami-redis-"))
        self._arguments = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.directory)]
        if sentinel:
            (self.directory / "sentinel.conf").write_text("\n".join(arguments) + "\n")
            self._arguments = [str(self.directory / "sentinel.conf"), *self._arguments, "--sentinel"]
        else:
            self._arguments += ["--save", "", "--repl-diskless-sync-delay", "0", *arguments]
        self._process: subprocess.Popen[bytes] | None = None
        self.client = redis.Redis(port=self.port, socket_timeout=WAIT_SECONDS, protocol=2)
        self._raw: Any = redis.Redis(port=self.port, socket_timeout=WAIT_SECONDS, protocol=2)
        # Replies as they are: what the library makes of some lacks what tests look for.
        self._raw.response_callbacks.clear()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def ask(self, *command: str | int) -> Any:
        return self._raw.execute_command(*command)

    @property
    def running(self) -> bool:
        return self._process is not None

    def start(self, *extra: str) -> None:
        assert REDIS_SERVER is not None
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen([REDIS_SERVER, *self._arguments, *extra], stdout=log, stderr=log)
        until(lambda: bool(self.client.ping()), "the server answers")

    def kill(self) -> None:
        """As kill -9 does. Nothing that was in memory is left."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
        self.client.close()
        self._raw.close()

    def pause(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def info(self, name: str) -> Any:
        return self.client.info("replication").get(name)


class SentinelSite:
    """A master, its replicas and three sentinels."""

    def __init__(self, replicas: int) -> None:
        self.servers = [RedisServer() for _ in range(1 + replicas)]
        master = self.servers[0]
        watch = (
            f"sentinel monitor {SERVICE} 127.0.0.1 {master.port} 2",
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}",
            f"sentinel failover-timeout {SERVICE} 6000",
        )
        self.sentinels = [RedisServer(*watch, sentinel=True) for _ in range(3)]

    @property
    def url(self) -> str:
        return f"redis+sentinel://{','.join(one.place for one in self.sentinels)}/{SERVICE}"

    def start(self) -> None:
        master, *replicas = self.servers
        master.start()
        for replica in replicas:
            replica.start("--replicaof", f"127.0.0.1 {master.port}")
        for sentinel in self.sentinels:
            sentinel.start()
        self.heal()

    def heal(self) -> None:
        """Returns when the replicas follow the master that all sentinels name."""
        for sentinel in self.sentinels:
            until(lambda one=sentinel: self._knows_all(one), "the sentinels know each other")  # type: ignore[misc]

    def _knows_all(self, sentinel: RedisServer) -> bool:
        def fields(row: list[bytes]) -> dict[bytes, bytes]:
            return dict(zip(row[::2], row[1::2], strict=True))

        master = fields(sentinel.ask("SENTINEL", "MASTER", SERVICE))
        if (
            master[b"port"] != b"%d" % self.master.port
            or master[b"flags"] != b"master"
            or self.master.info("connected_slaves") != len(self.servers) - 1
        ):
            return False
        replicas = [fields(row)[b"flags"] for row in sentinel.ask("SENTINEL", "REPLICAS", SERVICE)]
        return replicas == [b"slave"] * (len(self.servers) - 1) and master[b"num-other-sentinels"] == b"2"

    @property
    def master(self) -> RedisServer:
        """The server that the first sentinel names."""
        _, port = self.sentinels[0].ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
        return next(one for one in self.servers if one.port == int(port))

    def close(self) -> None:
        for one in (*self.sentinels, *self.servers):
            one.close()


class ClusterSite:
    """Three masters with a third of the slots each, and a replica for each."""

    def __init__(self) -> None:
        self.servers = [self._server() for _ in range(6)]

    @staticmethod
    def _server() -> RedisServer:
        return RedisServer(
            *("--cluster-enabled", "yes", "--cluster-port", str(free_port())),
            *("--cluster-node-timeout", str(NODE_TIMEOUT_MS), "--cluster-replica-validity-factor", "0"),
        )

    @property
    def url(self) -> str:
        return f"redis+cluster://{','.join(one.place for one in self.servers[:3])}"

    @property
    def masters(self) -> list[RedisServer]:
        """The running servers that own slots, by their own word."""
        return [one for one in self.servers if one.running and one.info("role") == "master" and _own_slots(one)]

    def start(self) -> None:
        for server in self.servers:
            server.start()
        masters, replicas = self.servers[:3], self.servers[3:]
        for number, master in enumerate(masters):
            first, last = number * SLOT_COUNT // 3, (number + 1) * SLOT_COUNT // 3 - 1
            master.ask("CLUSTER", "ADDSLOTSRANGE", first, last)
        for number, server in enumerate(self.servers):
            server.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for server in self.servers[1:]:
            bus = int(server._arguments[server._arguments.index("--cluster-port") + 1])
            masters[0].ask("CLUSTER", "MEET", "127.0.0.1", server.port, bus)
        for server in self.servers:
            until(lambda one=server: len(_nodes(one)) == 6, "the nodes know each other")  # type: ignore[misc]
        for master, replica in zip(masters, replicas, strict=True):
            replica.ask("CLUSTER", "REPLICATE", node_id(master))
        self.wait_until_whole()

    def wait_until_whole(self) -> None:
        """Returns when every slot is served, every master has a replica, and every node says so."""
        for server in self.servers:
            until(lambda one=server: self._whole(one), "the cluster is whole")  # type: ignore[misc]

    def _whole(self, server: RedisServer) -> bool:
        flags = [row[2].split(",") for row in _nodes(server)]
        role = server.info("role")
        return (
            b"cluster_state:ok" in server.ask("CLUSTER", "INFO")
            and len(flags) == 6
            and sum("master" in row for row in flags) == 3
            and not any("fail" in row or "handshake" in row for row in flags)
            and (role == "slave" or server.info("connected_slaves") == 1)
            and (role == "master" or server.info("master_link_status") == "up")
        )

    def master_of(self, slot: int) -> RedisServer:
        return next(one for one in self.masters if any(slot in owned for owned in _own_slots(one)))

    def migrate(self, slot: int, target: RedisServer, *, keys_a_step: int = 1) -> None:
        """Moves a slot, a few keys at a time, while clients use it."""
        source = self.master_of(slot)
        for name, server, other in (("IMPORTING", target, source), ("MIGRATING", source, target)):
            server.ask("CLUSTER", "SETSLOT", slot, name, node_id(other))
        pause = threading.Event()
        while names := source.ask("CLUSTER", "GETKEYSINSLOT", slot, keys_a_step):
            source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *names)
            pause.wait(0.002)
        # The target first: until the source knows too, it sends everybody there with ASK.
        for server in (target, source, *(one for one in self.masters if one not in {target, source})):
            server.ask("CLUSTER", "SETSLOT", slot, "NODE", node_id(target))

    def spread(self, slots: Sequence[int]) -> None:
        """Gives every master as many of some slots, whatever tests have moved before."""
        masters = self.masters
        for number, slot in enumerate(slots):
            target = masters[number % len(masters)]
            if self.master_of(slot) is not target:
                self.migrate(slot, target)

    def flush(self) -> None:
        for master in self.masters:
            master.client.flushall()

    def keys(self) -> set[str]:
        return {key.decode() for master in self.masters for key in master.ask("KEYS", "*")}

    def close(self) -> None:
        for server in self.servers:
            server.close()


def node_id(server: RedisServer) -> str:
    return str(server.ask("CLUSTER", "MYID").decode())


def _nodes(server: RedisServer) -> list[list[str]]:
    """Rows of CLUSTER NODES: id, address, flags, master, ping, pong, epoch, link, slots."""
    return [line.split(" ") for line in server.ask("CLUSTER", "NODES").decode().splitlines()]


def _own_slots(server: RedisServer) -> list[range]:
    """The slots that a node says it owns, without those on their way."""
    own = next(row for row in _nodes(server) if "myself" in row[2])
    owned = [part.partition("-") for part in own[8:] if not part.startswith("[")]
    return [range(int(first), int(last or first) + 1) for first, _, last in owned]


@contextlib.contextmanager
def running(site: SentinelSite | ClusterSite) -> Iterator[None]:
    """Started, and ended whatever happens."""
    try:
        site.start()
        yield
    finally:
        site.close()


__all__ = [
    "SERVICE",
    "ClusterSite",
    "RedisServer",
    "SentinelSite",
    "needs_redis_server",
    "node_id",
    "running",
    "until",
]
