"""Load on a store that counts: what was acknowledged must be there, once."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from rami_kit.errors import StoreUnavailable, StoreUncertain
from rami_kit.redis_store import Script

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from rami_kit.redis_store import Store

BOTH = Script(
    "both",
    "redis.call('INCR', KEYS[2]) redis.call('SPUBLISH', ARGV[1], ARGV[2]) return redis.call('INCR', KEYS[1])",
)
"""Counts in two keys of one slot and publishes, as a commit does."""
PAUSE_SECONDS = 0.02


class Counting:
    """One counter a worker. `refused` and `uncertain` are how often a call ended so."""

    def __init__(self, store: Store, names: Sequence[str], *, durable: bool = False) -> None:
        self._store = store
        self._durable = durable
        self.names = list(names)
        self.acknowledged = dict.fromkeys(names, 0)
        self.maybe = dict.fromkeys(names, 0)
        self.refused = 0
        self.wrong: list[str] = []

    @property
    def uncertain(self) -> int:
        return sum(self.maybe.values())

    @property
    def total(self) -> int:
        return sum(self.acknowledged.values())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Every worker counts for as long as the context lasts; any other error than UNAVAILABLE fails it."""
        over = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for name in self.names:
                group.create_task(self._count(name, over))
            try:
                yield
            finally:
                over.set()

    async def _count(self, name: str, over: asyncio.Event) -> None:
        while not over.is_set():
            try:
                value = await self._store.run(
                    BOTH, [name, f"{name}:twin"], [f"{name}:events", "n"], durable=self._durable
                )
            except StoreUncertain:
                self.maybe[name] += 1
                await asyncio.sleep(PAUSE_SECONDS)
            except StoreUnavailable:
                self.refused += 1
                await asyncio.sleep(PAUSE_SECONDS)
            else:
                self.acknowledged[name] += 1
                if value < self.acknowledged[name]:
                    self.wrong.append(f"{name}: {value} after {self.acknowledged[name]} acknowledged")

    async def check(self) -> None:
        """Nothing acknowledged is lost, and nothing was done twice; the twin goes along in every step."""
        assert self.wrong == []
        for name in self.names:
            value, twin = await self._store.read("GET", name), await self._store.read("GET", f"{name}:twin")
            least = self.acknowledged[name]
            assert value == twin, name
            assert least <= int(value or 0) <= least + self.maybe[name], name


__all__ = ["BOTH", "Counting"]
