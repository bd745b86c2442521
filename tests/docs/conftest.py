"""One cluster for all tests of the documentation; each page brings players and rooms of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.docs_cluster import DocsCluster, running_docs_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def docs_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocsCluster]:
    with running_docs_cluster(tmp_path_factory.mktemp("docs")) as running:
        yield running
