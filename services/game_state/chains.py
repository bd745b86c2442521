"""Seed chains made ahead: 4,096 hashes take over a millisecond, which no room creation should wait for.

A thread fills a small pool and gives way often, so that the event loop hardly notices. An empty pool makes
chains on demand in the same thread.
"""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from rami_engine import SEED_SIZE, SeedChain, new_chain
from rami_kit.process import name_thread

THREAD: Final = "seed-chains"
POOL_SIZE: Final = 64
"""Chains kept ready."""


class ChainPool:
    """Hands out fresh seed chains with their commitments. Closed with `close`."""

    def __init__(self) -> None:
        self._ready: asyncio.Queue[tuple[SeedChain, bytes]] = asyncio.Queue()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=THREAD, initializer=name_thread, initargs=(THREAD,))

    async def take(self) -> tuple[SeedChain, bytes]:
        """A chain that nobody else gets, and its commitment."""
        if self._ready.empty():
            return await asyncio.get_running_loop().run_in_executor(self._thread, _make)
        return self._ready.get_nowait()

    async def refill(self) -> None:
        """Keep the pool full, for ever; to be run as a background task."""
        loop = asyncio.get_running_loop()
        while True:
            if self._ready.qsize() < POOL_SIZE:
                self._ready.put_nowait(await loop.run_in_executor(self._thread, _make))
            else:
                await asyncio.sleep(0.05)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _make() -> tuple[SeedChain, bytes]:
    chain = new_chain(os.urandom(SEED_SIZE))
    time.sleep(0)  # lets the event loop's thread have the interpreter between two chains
    return chain, chain.seed(0)
