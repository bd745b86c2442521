"""The stores of chaos runs: one server that is killed and comes back, or two of which the second takes over.

Both are the same to who uses them: `kill`, and `start` again, and then `port` says where the store is now.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from typing import TYPE_CHECKING, Any

from rami_kit import resp
from rami_kit.embedded import EmbeddedStore

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ASK_SECONDS = 20.0
ATTACH_SECONDS = 20.0
"""Far longer than a replica takes to copy a few rooms."""


class ChaosStore:
    """One server. Its append-only file can lose its end, as by a loss of power."""

    def __init__(self, directory: Path, options: Mapping[str, str]) -> None:
        """`options` are directives of the server; the file is never rewritten, so that its end stays its end."""
        self._directory = directory
        self._options = {"auto-aof-rewrite-percentage": "0", **options}
        self._store = self._make_server(directory)
        self._sizes: deque[int] = deque(maxlen=8)
        self.running = False

    @property
    def port(self) -> int:
        """Where it listens now; another after every start, since somebody may have taken the one before."""
        return self._store.port

    async def start(self) -> None:
        """Start it, with what is on its disk."""
        self._store = self._make_server(self._directory)
        await asyncio.to_thread(self._store.start)
        self._sizes.clear()
        self.running = True

    async def kill(self) -> None:
        """End it by signal 9."""
        self.running = False
        os.kill(self._store.pid, signal.SIGKILL)
        await asyncio.to_thread(self._store.kill)

    async def stop(self) -> None:
        """End it in good order, also out of a stall."""
        if self.running:
            self._store.resume()
            self.running = False
            await asyncio.to_thread(self._store.stop)

    def pause(self) -> None:
        """Freeze it: connections stay open and nothing answers."""
        self._store.pause()

    def resume(self) -> None:
        """End a freeze: everything that was asked meanwhile is done now. Does nothing to one that was killed."""
        if self.running:
            self._store.resume()

    async def ask(self, *command: str, server: EmbeddedStore | None = None) -> Any:
        """The reply of the primary, or of another server, to a command, asked on a connection of its own."""
        address = resp.Address("127.0.0.1", self.port if server is None else server.port)
        connection = await resp.connect(address, timeout_seconds=ASK_SECONDS, client_name="rami-chaos")
        try:
            (reply,) = await resp.exchange(connection, command)
        finally:
            connection.close()
        return reply

    def note_commit(self) -> None:
        """A commit is about to be carried out: remember how long the file is before it."""
        file = self._append_only_file()
        if file is not None:
            self._sizes.append(file.stat().st_size)

    def lose_commits(self, commits: int) -> None:
        """Cut the latest commits off the file of a store that was killed, as far as they are in it."""
        file = self._append_only_file()
        if file is not None and self._sizes and commits:
            size = list(self._sizes)[-min(commits, len(self._sizes))]
            if size < file.stat().st_size:
                os.truncate(file, size)

    def _make_server(self, directory: Path, **options: str) -> EmbeddedStore:
        return EmbeddedStore(directory=directory, options=self._options | options)

    def _append_only_file(self) -> Path | None:
        return next(iter(self._directory.glob("appendonlydir/*.incr.aof")), None)


class ReplicatedStore(ChaosStore):
    """A primary and its replica. When the primary is killed, the replica takes over, and a new replica joins it."""

    def __init__(self, directory: Path, options: Mapping[str, str]) -> None:
        (directory / "first").mkdir()
        super().__init__(directory / "first", {"repl-diskless-sync-delay": "0", **options})
        self._folder = directory
        self._servers = 0
        self._replica: EmbeddedStore | None = None

    async def start(self) -> None:
        """Start both, or let the replica take over; returns when the primary has a replica."""
        if self._replica is None:
            await super().start()
        else:
            await self.promote()
        await self.add_replica()

    async def promote(self) -> EmbeddedStore:
        """Let the replica take over, whatever becomes of the primary, which is returned."""
        assert self._replica is not None, "nobody is there to take over"
        before = self._store
        self._store, self._replica = self._replica, None
        self.running = True
        await self.ask("REPLICAOF", "NO", "ONE")
        return before

    async def stop(self) -> None:
        await super().stop()
        replica, self._replica = self._replica, None
        if replica is not None:
            await asyncio.to_thread(replica.stop)

    async def add_replica(self) -> None:
        """Start a replica; returns when it follows."""
        self._servers += 1
        directory = self._folder / f"replica-{self._servers}"
        directory.mkdir()
        self._replica = self._make_server(directory, replicaof=f"127.0.0.1 {self.port}")
        await asyncio.to_thread(self._replica.start)
        async with asyncio.timeout(ATTACH_SECONDS):
            # By its own word: the primary calls it online when all is sent, and who takes over before all is loaded
            # has nothing.
            while b"master_link_status:up" not in await self.ask(  # noqa: ASYNC110 - nothing tells
                "INFO", "replication", server=self._replica
            ):
                await asyncio.sleep(0.02)
