"""The whole game service behind sentinels and on a cluster, while matches are played and the master of one dies (S5).

Everything that players ask and are told is written down outside, and judged in the end by that and the records of the
matches alone: in `replica` mode no acknowledged action is lost, none is played twice, nobody is told INTERNAL, and
every match goes on.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rami_kit.keys import parse_room_id, partition_tag
from rami_kit.slots import slot_of
from support.chaos_checker import check_file
from support.chaos_tables import Kind, Table
from support.chaos_watched import Watched
from support.game_bots import FakeBots, at_random
from support.game_cluster import game_cluster
from support.redis_topologies import ClusterSite, SentinelSite, needs_redis_server, until
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from support.chaos_checker import Report
    from support.game_cluster import Cluster

pytestmark = needs_redis_server

STEPS_BEFORE = 20
GOES_ON_SECONDS = 10.0
"""How soon after a failover writes work again."""


class Outside(Watched):
    """Players of replicas that run in this event loop."""

    def __init__(self, directory: Path, cluster: Cluster) -> None:
        super().__init__(directory)
        self._cluster = cluster

    @property
    def addresses(self) -> Sequence[str]:
        return [f"127.0.0.1:{app.port}" for app in self._cluster.apps]


async def play_through(
    url: str, partitions: int, directory: Path, fail_over: Callable[[Outside, list[Table]], Awaitable[None]]
) -> Report:
    """Matches under a failover, and the judgement of them."""
    async with (
        FakeBots(at_random(7)) as bots,
        game_cluster(
            url,
            2,
            ai_address=bots.target,
            partitions=partitions,
            durability="replica",
            redis_timeout_seconds=5.0,
        ) as cluster,
    ):
        site = Outside(directory, cluster)
        async with site.writing():
            kinds = (Kind.DUEL, Kind.DUEL, Kind.DUEL, Kind.MIXED)
            tables = [Table(site, kind, f"{kind.name.lower()}{n}", f"{n}") for n, kind in enumerate(kinds)]
            for table in tables:
                table.target_score = 1000
            try:
                await asyncio.gather(*(table.open() for table in tables))
                assert await site.journal.until(lambda: all(table.steps > STEPS_BEFORE for table in tables), 60)
                await fail_over(site, tables)
                assert await site.goes_on("the failover is over", GOES_ON_SECONDS)
                await eventually(lambda: all(app.require_store().healthy for app in cluster.apps), "all are healthy")
                await asyncio.gather(*(table.finish() for table in tables))
            finally:
                for table in tables:
                    await table.close()
    return check_file(site.journal.path)


def require_clean(report: Report, path: Path) -> None:
    assert not report.findings, f"see {path}:\n{report}"
    assert report.counts["acknowledgements that stand"] > STEPS_BEFORE
    assert report.counts["recoveries in time"] > 0
    assert "acknowledged actions lost with the store" not in report.counts


async def test_s5_behind_sentinels_a_killed_master_costs_no_acknowledged_action(
    sentinel_site: SentinelSite, tmp_path: Path
) -> None:
    sentinel_site.heal()
    sentinel_site.master.client.flushall()

    async def fail_over(site: Outside, _tables: list[Table]) -> None:
        victim = sentinel_site.master
        heir = next(one for one in sentinel_site.servers if one is not victim)
        site.killed("the master")
        await asyncio.to_thread(victim.kill)
        # What was told before it was on the replica may be gone, and must be taken back.
        site.lost(acknowledged=False)
        await asyncio.to_thread(until, lambda: sentinel_site.master is heir, "the sentinels have decided")
        # Without a replica the new master can promise nothing: it gets one back.
        await asyncio.to_thread(victim.start, "--replicaof", f"127.0.0.1 {heir.port}")
        await asyncio.to_thread(until, lambda: heir.info("connected_slaves") == 1, "the new master has a replica")
        site.lost(acknowledged=False)

    require_clean(await play_through(sentinel_site.url, 1, tmp_path, fail_over), tmp_path)


async def test_s5_on_a_cluster_a_killed_master_costs_no_acknowledged_action(
    cluster_site: ClusterSite, tmp_path: Path
) -> None:
    async def fail_over(site: Outside, tables: list[Table]) -> None:
        place = parse_room_id(tables[0].room)
        assert place is not None
        victim = cluster_site.master_of(slot_of(partition_tag(place[0])))
        others = [one for one in cluster_site.servers if one is not victim]
        site.killed("a master")
        await asyncio.to_thread(victim.kill)
        site.lost(acknowledged=False)
        try:
            await asyncio.to_thread(
                until, lambda: sum(one.info("role") == "master" for one in others) == 3, "a replica takes over"
            )
        finally:
            await asyncio.to_thread(victim.start)
        await asyncio.to_thread(cluster_site.wait_until_whole)
        site.lost(acknowledged=False)

    require_clean(await play_through(cluster_site.url, 16, tmp_path, fail_over), tmp_path)
