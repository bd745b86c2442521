"""One cluster for all end-to-end tests of a process; each test brings players and rooms of its own.

Tests that ask for `cluster` run twice: against the services themselves, and through the edge in front of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from support.cluster import Cluster, running_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def whole_cluster() -> Iterator[Cluster]:
    """Two game replicas and everything else, with an edge."""
    with running_cluster("--edge", RAMI_BOT_FILL_WAIT_SECONDS="0.5", RAMI_BOT_PACE_SECONDS="0") as running:
        yield running


@pytest.fixture(params=["direct", "edge"])
def cluster(whole_cluster: Cluster, request: pytest.FixtureRequest) -> Cluster:
    """The addresses that players use."""
    if request.param == "direct":
        return whole_cluster
    assert whole_cluster.edge is not None
    return replace(whole_cluster, game=whole_cluster.edge, matchmaking=whole_cluster.edge)
