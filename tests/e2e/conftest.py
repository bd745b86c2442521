"""One cluster for all end-to-end tests of a process; each test brings players and rooms of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.cluster import Cluster, running_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with running_cluster(RAMI_BOT_FILL_WAIT_SECONDS="0.5", RAMI_BOT_PACE_SECONDS="0") as running:
        yield running
