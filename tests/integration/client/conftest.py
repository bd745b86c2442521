"""The server that tests of the client talk to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.fake_game import FakeGame

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def server() -> AsyncIterator[FakeGame]:
    async with FakeGame() as running:
        yield running
