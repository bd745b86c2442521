"""Waiting for something that happens by itself, with a bound that no healthy run comes near."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

WAIT_SECONDS = 60.0


async def eventually(
    condition: Callable[[], bool], what: str | Callable[[], str], *, every_seconds: float = 0.01
) -> None:
    """Returns when the condition holds; fails the test, naming `what` (asked for then), when it never does."""
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while not condition():  # noqa: ASYNC110 - most of what is waited for has no event to wait on
                await asyncio.sleep(every_seconds)
    except TimeoutError:
        raise AssertionError(f"it never came about that {what if isinstance(what, str) else what()}") from None
