"""These tests run on uvloop, as the services do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import uvloop

from support.game_bots import FakeBots

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable, Mapping


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture
async def bots() -> AsyncIterator[FakeBots]:
    """A decision service that plays the first legal action."""
    async with FakeBots() as server:
        yield server
