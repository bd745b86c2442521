"""These tests run against the embedded store and a game service in the same loop, which is asyncio's own.

Services run on uvloop, and so do the tests of processes; a test here that waits for nothing but clocks for seconds
stood still on it twice in many runs, with every timer pending, and its own time limit with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

from support.match_rooms import FakeMatchRooms

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest_asyncio.fixture
async def rooms() -> AsyncIterator[FakeMatchRooms]:
    async with FakeMatchRooms() as server:
        yield server
