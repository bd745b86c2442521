"""The part `start`: how soon a service serves after its start, and what it holds in memory while nobody calls.

The yardstick is the echo server: the interpreter, gRPC and our settings, which nothing here can do without.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from rami_cli.bench_figures import Figure
from rami_cli.bench_harness import NOBODY, Site
from rami_cli.bench_part import Part

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rami_cli.bench_harness import Server
    from rami_cli.bench_part import Bench

MEGA: Final = 1 << 20
SETTLED_SECONDS: Final = 1.0
"""After it serves, a service has something to prepare, such as seed chains."""
SERVICES: Final = ("game", "ai", "matchmaking")


async def measure(bench: Bench) -> list[Figure]:
    """The figures."""
    begun = {
        name: Figure(f"{name}: start to SERVING", "s", "s, echo server", 1.5, goal_of_value=True) for name in SERVICES
    }
    spent = {
        name: Figure(f"{name}: processor time until SERVING", "s", "s, echo server", note="workers included")
        for name in SERVICES
    }
    held = {
        name: Figure(f"{name}: idle memory", "MiB", "MiB, echo server", 90.0, goal_of_value=True) for name in SERVICES
    }
    idle = {name: Figure(f"{name}: processor time while idle", "ms a second") for name in SERVICES}
    worker = Figure("an AI worker: idle memory", "MiB", goal=200.0)
    for _ in bench.rounds("echo", *SERVICES):
        async with Site() as site:
            store = await site.store()
            url = str(store.ready["url"])
            bench.step("echo server")
            echo, echo_seconds = await _timed(site.echo)
            echo_spent = echo.cpu_seconds()
            echo_memory = echo.resident_bytes()[0] / MEGA
            starts: dict[str, Callable[[], Awaitable[Server]]] = {
                "game": partial(site.game, url),
                "ai": partial(site.ai, 1),
                "matchmaking": partial(site.matchmaking, url, NOBODY),
            }
            for name, start in starts.items():
                bench.step(name)
                server, seconds = await _timed(start)
                memory = server.resident_bytes()
                begun[name].add(seconds, echo_seconds)
                spent[name].add(server.cpu_seconds(), echo_spent)
                held[name].add(memory[0] / MEGA, echo_memory)
                if name == "ai":
                    worker.add(max(memory[1:], default=0) / MEGA)
                await asyncio.sleep(SETTLED_SECONDS)
                before = server.cpu_seconds()
                await asyncio.sleep(bench.seconds)
                idle[name].add((server.cpu_seconds() - before) / bench.seconds * 1000)
                await server.stop()
    return [*begun.values(), *spent.values(), *held.values(), worker, *idle.values()]


async def _timed(start: Callable[[], Awaitable[Server]]) -> tuple[Server, float]:
    began = time.monotonic()
    return await start(), time.monotonic() - began


START: Final = Part("start", measure)

__all__ = ["START"]
