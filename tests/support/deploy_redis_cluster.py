"""The nodes of the Redis Cluster for Kubernetes as processes of this machine, run by the script that runs them there.

Each node has an address of its own on the loopback network, all have one port, and their names are resolved as the
cluster's DNS would: by a `getent` before the real one.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import redis

from monitoring.files import DEPLOY
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCRIPT = DEPLOY / "k8s" / "redis-cluster" / "node.sh"
TOOLS = ("redis-server", "redis-cli", "getent", "timeout", "awk")
PASSWORD = "5ec2e7" * 6
OTHER_PASSWORD = "0ce1f4" * 6
WAIT_SECONDS = 120.0
NODE_TIMEOUT_MS = "3000"
"""A busy machine keeps a server waiting for a second now and then, and nobody is to take its place for that."""
BUS = 10_000
"""The port of the bus lies so far above that of the clients."""
GETENT = '#!/bin/sh\ngrep -w "$2" "$HOSTS"\n'


class Node:
    """One pod: its number, its disk, and the address that it has at present."""

    def __init__(self, site: RedisSite, number: int) -> None:
        self.number = number
        self.name = f"redis-cluster-{number}"
        self.data = site.folder / self.name
        self.data.mkdir()
        self.network = 1
        self._site = site
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.7.{self.network}.{self.number + 1}"

    @property
    def client(self) -> redis.Redis:
        return redis.Redis(self.address, self._site.port, password=PASSWORD, socket_timeout=5, decode_responses=True)

    def start(self) -> None:
        with (self._site.folder / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen([SCRIPT, "start"], env=self._environment(), stdout=log, stderr=log)

    def script(self, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """What a probe, a hook or somebody in the pod runs."""
        return subprocess.run(
            [SCRIPT, *arguments], env=self._environment(), input=given, capture_output=True, timeout=60, check=False
        )

    def end(self) -> None:
        """As Kubernetes ends a pod: hook, SIGTERM, and what is left of it goes with its first process."""
        assert self.script("leave").returncode == 0
        assert self._process is not None
        self._process.terminate()
        assert self._process.wait(WAIT_SECONDS) == 0

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def lose_disk(self) -> None:
        shutil.rmtree(self.data)
        self.data.mkdir()

    def leads(self) -> bool:
        """Whether it is a master that owns slots, as it sees it."""
        own = next(line for line in self.lines() if "myself" in line[2])
        return "master" in own[2] and len(own) > 8

    def lines(self) -> list[list[str]]:
        """Its CLUSTER NODES."""
        with self.client as client:
            # The reply as it is: what the library makes of it lacks what tests look for.
            client.response_callbacks.clear()
            text: Any = client.execute_command("CLUSTER", "NODES")
        return [line.split() for line in text.splitlines()]

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self._site.folder / 'bin'}:{os.environ['PATH']}",
            "HOSTS": str(self._site.hosts),
            "NODE_NAME": self.name,
            "NODE_ADDRESS": self.address,
            "PEERS": " ".join(f"{node.name}.redis-cluster:{self._site.port}" for node in self._site.nodes),
            "MASTERS": str(self._site.masters),
            "REDISCLI_AUTH": PASSWORD,
            "OTHER_PASSWORD": OTHER_PASSWORD,
            "RESTORE_PORT": str(self._site.restore_port),
            "PORT": str(self._site.port),
            "BIND": self.address,
            "DATA": str(self.data),
            "NODE_TIMEOUT_MS": NODE_TIMEOUT_MS,
            "TEND_SECONDS": "0.3",
        }


class RedisSite:
    """All nodes, and the names by which they find each other."""

    def __init__(self, folder: Path, nodes: int = 6, masters: int = 3) -> None:
        self.folder = folder
        self.masters = masters
        self.port = _port_with_bus()
        self.restore_port = free_port()
        self.hosts = folder / "hosts"
        program = folder / "bin" / "getent"
        program.parent.mkdir()
        program.write_text(GETENT)
        program.chmod(0o755)
        self.nodes: list[Node] = []
        self.nodes = [Node(self, number) for number in range(nodes)]
        self.tell_names()

    @property
    def url(self) -> str:
        places = ",".join(f"{node.address}:{self.port}" for node in self.nodes)
        return f"redis+cluster://:{PASSWORD}@{places}"

    def tell_names(self) -> None:
        self.hosts.write_text("".join(f"{node.address} {node.name}.redis-cluster\n" for node in self.nodes))

    def start(self) -> None:
        for node in self.nodes:
            node.start()

    def move(self) -> None:
        """All nodes at once get other addresses, as when every machine restarts; they are not running now."""
        for node in self.nodes:
            node.network += 1
        self.tell_names()

    def whole(self) -> bool:
        """Each node is ready and knows all others well, and every master has as many replicas as any other."""
        each = len(self.nodes) // self.masters - 1
        for node in self.nodes:
            lines = node.lines()
            followed = [line[3] for line in lines if "slave" in line[2]]
            leading = [line[0] for line in lines if "master" in line[2]]
            if len(lines) != len(self.nodes) or any("fail" in line[2] or "handshake" in line[2] for line in lines):
                return False
            if len(leading) != self.masters or any(followed.count(leader) != each for leader in leading):
                return False
        return all(node.script("ready").returncode == 0 for node in self.nodes)

    def client(self) -> redis.RedisCluster:
        """One that has just asked the nodes who owns what."""
        return redis.RedisCluster(self.nodes[0].address, self.port, password=PASSWORD, decode_responses=True)

    def logs(self) -> str:
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("*.log")))

    def close(self) -> None:
        for node in self.nodes:
            node.kill()


def until(site: RedisSite, condition: Callable[[], bool], what: str) -> None:
    """Returns when the condition holds; servers that are not there, or loading, are asked again."""
    pause = threading.Event()
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        with suppress(redis.RedisError):
            if condition():
                return
        pause.wait(0.1)
    raise AssertionError(f"it never came about that {what}\n{site.logs()}")


def _port_with_bus() -> int:
    """A port that is free on every address of a node, together with that of the bus, which outgoing connections of
    others may have.
    """
    while True:
        port = free_port()
        with suppress(OSError), socket.create_server(("127.0.0.1", port + BUS)):
            return port
