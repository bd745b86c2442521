"""How long a stream waits for its watcher: until something comes or the time is up, with one timer for many waits."""

from __future__ import annotations

import asyncio

from game_state.watcher import Watcher

SOON = 0.05
LONG = 3600.0
BOUND = 20.0


async def test_a_wait_that_nothing_ends_is_over_in_its_time() -> None:
    watcher = Watcher()
    async with asyncio.timeout(BOUND):
        assert not await watcher.wait(SOON)
        assert not await watcher.wait(SOON), "and so is the next one"
    watcher.stop()


async def test_what_came_before_the_wait_ends_it_at_once() -> None:
    watcher = Watcher()
    watcher.wake()
    assert await watcher.wait(LONG)
    async with asyncio.timeout(BOUND):
        assert not await watcher.wait(SOON), "it ends one wait alone"
    watcher.stop()


async def woken(watcher: Watcher, seconds: float) -> None:
    """A wait that ends early."""
    waiting = asyncio.create_task(watcher.wait(seconds))
    await asyncio.sleep(0)
    watcher.wake()
    assert await waiting


async def test_a_timer_of_an_earlier_wait_ends_no_later_one() -> None:
    watcher = Watcher()
    clock = asyncio.get_running_loop().time
    await woken(watcher, SOON)
    began = clock()
    async with asyncio.timeout(BOUND):
        assert not await watcher.wait(4 * SOON)
    assert clock() - began > 3 * SOON
    watcher.stop()


async def test_a_shorter_wait_does_not_last_until_the_timer_of_an_earlier_one() -> None:
    watcher = Watcher()
    await woken(watcher, LONG)
    async with asyncio.timeout(BOUND):
        assert not await watcher.wait(SOON)
    watcher.stop()


async def test_who_waits_again_after_a_stop_is_not_forgotten() -> None:
    watcher = Watcher()
    await woken(watcher, SOON)
    watcher.stop()
    async with asyncio.timeout(BOUND):
        assert not await watcher.wait(SOON)
    watcher.stop()
