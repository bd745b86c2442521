"""Every query of the dashboards and alerts finds data in a real Prometheus that scrapes a real cluster at play, and a
store that is stopped is told, alone.

A query that finds nothing is how a renamed metric or a typing error shows; zeros that a query fills in by itself would
hide it.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
import urllib.request
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
import yaml

from monitoring.alerts import ALERTS
from monitoring.asking import QueryError, instant
from monitoring.dashboards import DASHBOARDS
from monitoring.drawing import draw
from monitoring.files import DEPLOY
from monitoring.panels import RATE_INTERVAL
from monitoring.recording import OBJECTIVE_RULES, SERVICE_RULES
from rami_kit.embedded import EmbeddedStore
from support.cluster import Cluster, running_cluster
from support.deploy_alertmanager import PROGRAM, running_alertmanager
from support.deploy_load import load
from support.deploy_prometheus import WINDOW, running_prometheus
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from support.deploy_alertmanager import Manager

LIMIT_SECONDS = 150.0

pytestmark = pytest.mark.skipif(
    shutil.which("prometheus") is None or PROGRAM is None,
    reason="needs the Debian packages prometheus and prometheus-alertmanager",
)


@contextmanager
def playing_cluster(folder: Path) -> Iterator[tuple[Cluster, EmbeddedStore]]:
    """Two game services on a store with a memory limit, as in deploy: an alert looks at the share that is used."""
    with EmbeddedStore(options={"appendonly": "yes", "maxmemory": "200mb"}) as store:
        environment = {
            "RAMI_BOT_PACE_SECONDS": "0.05",
            "RAMI_BOT_FILL_WAIT_SECONDS": "0.5",
            "RAMI_REDIS_URL": store.url,
            "RAMI_ARCHIVE_URL": str(folder / "archive"),
        }
        with running_cluster("--edge", "--game-replicas", "2", **environment) as running:
            yield running, store


def scaling_queries() -> dict[str, str]:
    """What the autoscaler of the AI workers asks Prometheus."""
    resources = yaml.safe_load_all((DEPLOY / "k8s" / "base" / "ai.yaml").read_text())
    (scaler,) = [resource for resource in resources if resource["kind"] == "ScaledObject"]
    triggers = scaler["spec"]["triggers"]
    return {f"trigger {number}": trigger["metadata"]["query"] for number, trigger in enumerate(triggers)}


def all_queries() -> dict[str, str]:
    """Every query, by where it stands."""
    queries = scaling_queries() | {rule.name: rule.query for rule in (*OBJECTIVE_RULES, *SERVICE_RULES)}
    for dashboard in DASHBOARDS:
        for panel in dashboard.panels:
            for number, query in enumerate(panel.queries):
                queries[f"{dashboard.title}: {panel.title} [{number}]"] = query.text.replace(RATE_INTERVAL, WINDOW)
    for alerts in ALERTS.values():
        for alert in alerts:
            for number, condition in enumerate(
                (*alert.conditions, *(cause.condition for cause in alert.but_not_while))
            ):
                queries[f"alert {alert.name} [{number}]"] = condition.query
    return queries


async def firing(address: str) -> set[str]:
    lines = await asyncio.to_thread(instant, address, 'ALERTS{alertstate="firing"}')
    return {line.labels["alertname"] for line in lines}


async def heard_in_the_end(address: str, is_it: Callable[[set[str]], bool]) -> set[str]:
    """The alerts that fire once they are as asked for."""
    async with asyncio.timeout(LIMIT_SECONDS):
        while True:
            heard = await firing(address)
            if is_it(heard):
                return heard
            await asyncio.sleep(0.5)


async def find_data(address: str, missing: dict[str, str]) -> None:
    """Takes out every query that finds data, until none is left or it is time to give up."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LIMIT_SECONDS):
            while missing:
                await asyncio.sleep(1)
                for place, query in list(missing.items()):
                    if await asyncio.to_thread(instant, address, query):
                        del missing[place]


async def check_queries(cluster: Cluster, address: str) -> None:
    """Every query finds data while people play, the overview can be drawn, and no alert fires."""
    missing = all_queries()
    assert len(missing) > 150
    assert not [text for text in missing.values() if "vector(" in text or "absent" in text], "fillers hide mistakes"
    async with load(cluster):
        await find_data(address, missing)
        heard = await firing(address)
        now = time.time()
        picture = await asyncio.to_thread(draw, DASHBOARDS[0], address, now - 10, now, WINDOW)
    assert not missing, "these find no data"
    assert heard == set(), "nothing is wrong with the cluster"
    titles = {axes.get_title(loc="left"): axes for axes in picture.axes}
    assert titles.keys() == {panel.title for panel in DASHBOARDS[0].panels}
    assert titles["Actions by who chose them"].lines
    assert titles["Stuck rooms"].texts[0].get_text() == "0"


def check_that_wrong_queries_are_told(address: str) -> None:
    assert instant(address, "rami_of_no_such_name") == []
    assert instant(address, "0 / rami_store_up_info - 0 / 0") == [], "no number is no data"
    with pytest.raises(QueryError, match="parse error"):
        instant(address, "sum(")
    with pytest.raises(QueryError, match="does not answer"):
        instant("http://127.0.0.1:1", "up")


def check_pages(pages: Iterable[str]) -> None:
    """Prometheus' own linter has nothing to say about names and helps of what our processes show."""
    for page in pages:
        with urllib.request.urlopen(f"http://{page}/metrics", timeout=10) as answer:
            text = answer.read()
        result = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
        complaints = [line for line in result.stderr.decode().splitlines() if line.startswith("rami_")]
        assert complaints == []


async def check_that_a_stopped_store_is_told(address: str, store: EmbeddedStore, manager: Manager) -> None:
    """Its alert fires, no other does, one page is sent, and it ends with its cause."""
    store.pause()
    try:
        assert await heard_in_the_end(address, bool) == {"RamiStoreAway"}
        await eventually(lambda: bool(manager.receivers.told), "somebody is paged")
        assert manager.receivers.told == [("pages", "RamiStoreAway")]
    finally:
        store.resume()
    assert await heard_in_the_end(address, lambda heard: not heard) == set()


@pytest.mark.timeout(600)
async def test_queries_find_data_under_load_and_a_stopped_store_is_told_alone(tmp_path: Path) -> None:
    with playing_cluster(tmp_path) as (cluster, store):
        async with (
            running_alertmanager(tmp_path) as manager,
            running_prometheus(tmp_path, cluster.metrics, manager.address) as address,
        ):
            await check_queries(cluster, address)
            await asyncio.to_thread(check_pages, [page for name, page in cluster.metrics.items() if name != "edge"])
            await asyncio.to_thread(check_that_wrong_queries_are_told, address)
            await check_that_a_stopped_store_is_told(address, store, manager)
