"""These tests run on uvloop, as the services do; some on a site of sentinels or a cluster that they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import uvloop

from support.redis_topologies import ClusterSite, SentinelSite, running

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator, Mapping


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture(scope="session")
def cluster_servers() -> Iterator[ClusterSite]:
    site = ClusterSite()
    with running(site):
        yield site


@pytest.fixture
def cluster_site(cluster_servers: ClusterSite) -> ClusterSite:
    """A cluster of three masters with a replica each, whole and empty. Who is master may have changed."""
    cluster_servers.wait_until_whole()
    cluster_servers.flush()
    return cluster_servers


@pytest.fixture(scope="session")
def sentinel_site() -> Iterator[SentinelSite]:
    """A master, a replica and three sentinels. Which of the two is master may have changed."""
    site = SentinelSite(replicas=1)
    with running(site):
        yield site
