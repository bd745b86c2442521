"""These tests run on uvloop, as the service does, with a decision service that plays the first legal action."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import uvloop

from support.game_bots import FakeBots
from support.game_cluster import game_cluster

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable, Mapping

    from support.game_cluster import Cluster


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture
async def bots() -> AsyncIterator[FakeBots]:
    async with FakeBots() as server:
        yield server


@pytest.fixture
async def game(store_url: str, bots: FakeBots) -> AsyncIterator[Cluster]:
    """One replica."""
    async with game_cluster(store_url, ai_address=bots.target) as cluster:
        yield cluster


@pytest.fixture
async def twins(store_url: str, bots: FakeBots) -> AsyncIterator[Cluster]:
    """Two replicas on one store."""
    async with game_cluster(store_url, 2, ai_address=bots.target) as cluster:
        yield cluster
