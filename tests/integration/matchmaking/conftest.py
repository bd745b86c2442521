"""These tests run on uvloop, as the service does, against the embedded store and a game service in the same loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio
import uvloop

from support.match_rooms import FakeMatchRooms

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable, Mapping


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop}


@pytest_asyncio.fixture
async def rooms() -> AsyncIterator[FakeMatchRooms]:
    async with FakeMatchRooms() as server:
        yield server
