"""The part `scaling`: whether an action costs the same with two game services, and with three masters of a cluster.

Cost is the processor time of all game services and all stores together. Tables are spread over the replicas as an edge
spreads them, both seats of a table on one; then with the seats of every table on different ones, as happens without an
edge. What the clock says is not claimed: it takes more CPUs than a small machine has.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

from rami_cli.bench_figures import Figure
from rami_cli.bench_harness import Site
from rami_cli.bench_part import MICRO, Part
from rami_cli.bench_tables import Tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rami_cli.bench_harness import Server
    from rami_cli.bench_part import Bench

TABLES: Final = 64
PARTITIONS: Final = 256


async def measure(bench: Bench) -> list[Figure]:
    """The figures."""
    beside = "us with one"
    two = Figure("action, two replicas", "us of servers and store", beside, goal=1.1)
    apart = Figure("action, two replicas, seats of a table apart", "us of servers and store", beside)
    clustered = Figure("action, three masters of a cluster", "us of server and stores", beside, goal=1.1)
    async with Site() as site, AsyncExitStack() as stack:
        store = await site.store()
        games = [await site.game(store.ready["url"]) for _ in range(2)]
        cluster = await site.cluster()
        on_cluster = await site.game(cluster.ready["url"], PARTITIONS=str(PARTITIONS))
        targets = [game.target for game in games]
        one_tables = await stack.enter_async_context(Tables(targets[:1], TABLES, name="one"))
        two_tables = await stack.enter_async_context(Tables(targets, TABLES, name="two"))
        apart_tables = await stack.enter_async_context(Tables(targets, TABLES, apart=True, name="apart"))
        cluster_tables = await stack.enter_async_context(Tables([on_cluster.target], TABLES, name="cluster"))
        for tables in (one_tables, two_tables, apart_tables, cluster_tables):
            await tables.play(0.5)
            await tables.settle()
        for _ in bench.rounds("one", "two", "apart", "cluster"):
            bench.step("one replica")
            one = await _cost(one_tables, [*games, store], bench.seconds)
            bench.step("two replicas")
            two.add(await _cost(two_tables, [*games, store], bench.seconds), one)
            bench.step("seats apart")
            apart.add(await _cost(apart_tables, [*games, store], bench.seconds), one)
            bench.step("cluster of three")
            clustered.add(await _cost(cluster_tables, [on_cluster, cluster], bench.seconds), one)
    return [two, apart, clustered]


async def _cost(tables: Tables, servers: Sequence[Server], seconds: float) -> float:
    """Microseconds of an action in all of them."""
    before = sum(server.cpu_seconds() for server in servers)
    seen = await tables.play(seconds)
    used = sum(server.cpu_seconds() for server in servers) - before
    await tables.settle()
    return used / seen.actions * MICRO


SCALING: Final = Part("scaling", measure)

__all__ = ["SCALING"]
