"""What a client sends on a stream, and the patience that a refusal has with it.

A client opens a stream and then writes its first message, and a refusal can be quicker than that. Some client
libraries, grpc.aio among them, then tell of the write that failed and not of how the stream ended: of refusals sent at
once, 2 to 14 in 100 were "Internal error from Core" to such a client. So a refusal lets the first message come.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FIRST_MESSAGE_SECONDS: Final = 1.0
"""A refusal waits no longer than this for a client that opens a stream and sends nothing."""


class Incoming:
    """The encoded messages of one stream. Who reads them sets `begun` at each."""

    __slots__ = ("begun", "messages")

    def __init__(self, messages: AsyncIterator[bytes]) -> None:
        self.messages = messages
        self.begun = False
        """A message has come."""

    async def await_first(self) -> None:
        """Returns once the client has sent something, or is done with sending, or has had its time for it."""
        if self.begun:
            return
        first = asyncio.ensure_future(self._one())
        try:
            # In two parts: a process that stands still for all of one, and its clients with it, has the other.
            for _ in range(2):
                await asyncio.wait({first}, timeout=FIRST_MESSAGE_SECONDS / 2)
        finally:
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)

    async def _one(self) -> None:
        with contextlib.suppress(StopAsyncIteration):
            await anext(self.messages)


__all__ = ["FIRST_MESSAGE_SECONDS", "Incoming"]
