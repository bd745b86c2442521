"""Streams whose client reads nothing, which a drain must not wait for.

gRPC takes a message off a handler when the client has room for it. A client that reads nothing stops that, and with it
the handler in the middle of a message, or of the status that it ends with, for as long as the connection lives. Such a
stream is given up: nobody is there to hear how it ends.
"""

from __future__ import annotations

import asyncio
from typing import Final

UNREAD_SECONDS: Final = 0.25
"""A client that has made no room for so long, while the process drains, is taken for one that reads nothing."""


class Writer:
    """One stream. `writing` is true while it hands something over; `turns` counts how often that began."""

    __slots__ = ("given_up", "task", "turns", "writing")

    def __init__(self, task: asyncio.Task[object]) -> None:
        self.task = task
        self.writing = False
        self.turns = 0
        self.given_up = False
        """Its task was cancelled because its client does not read."""

    def begin(self) -> None:
        """Something is about to be handed over."""
        self.writing = True
        self.turns += 1


class Writers:
    """The streams of one server."""

    def __init__(self) -> None:
        self._writers: set[Writer] = set()

    def enter(self) -> Writer:
        """The stream of the running task, until `leave`."""
        task = asyncio.current_task()
        assert task is not None, "streams are served by tasks"
        writer = Writer(task)
        self._writers.add(writer)
        return writer

    def leave(self, writer: Writer) -> None:
        """A stream is over."""
        self._writers.discard(writer)

    async def give_up_unread(self) -> None:
        """Cancels every stream that stays in the middle of handing something over; goes on until it is cancelled."""
        while True:
            seen = [(writer, writer.turns) for writer in self._writers if writer.writing and not writer.given_up]
            # In two parts: a machine that holds everybody up for all of one leaves the other for clients to read in.
            for _ in range(2):
                await asyncio.sleep(UNREAD_SECONDS / 2)
            for writer, turns in seen:
                if writer.writing and writer.turns == turns and not writer.task.done():
                    writer.given_up = True
                    writer.task.cancel()


__all__ = ["Writer", "Writers"]
