"""One stream of decisions: everything that was asked is open at once, and each is answered when it is ready.

Answers that are ready at the same moment share a message, for callers that read such: to a server on one event loop
messages are what costs.

The end of a stream is told apart from the answers: a stream that drains refuses what still comes, answers what it has
taken, and ends with SHUTTING_DOWN, upon which its caller goes to another process.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from rami.ai.v1 import decision_service_pb2 as messages
from rami_kit.errors import InvalidRequest, shutting_down, to_status

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

MAX_UNREAD: Final = 1024
"""Answers that a caller may leave unread before nothing more is taken from it."""
MAX_MORE: Final = 63
"""Answers that go out together with another."""


class DecisionStream:
    """One stream of decisions."""

    def __init__(self, answer: Callable[[messages.DecideManyRequest], Awaitable[messages.DecideManyResponse]]) -> None:
        self._answer = answer
        self._answers: asyncio.Queue[messages.DecideManyResponse | None] = asyncio.Queue()
        """None asks to look whether the stream is to end."""
        self._open: dict[int, asyncio.Task[None]] = {}
        self._draining = False
        self._takes_more = False
        """Whether the caller reads several answers in a message."""
        self._taken_up = asyncio.Event()
        """Set when an answer has gone out."""

    def drain(self) -> None:
        """End as soon as nothing is open; what comes until then is refused."""
        self._draining = True
        self._answers.put_nowait(None)

    async def responses(
        self, requests: AsyncIterator[messages.DecideManyRequest]
    ) -> AsyncGenerator[messages.DecideManyResponse]:
        """The answers in the order in which they are ready. Raises what is wrong with the stream itself."""
        reader = asyncio.create_task(self._read(requests), name="decide-many")
        reader.add_done_callback(lambda _: self._answers.put_nowait(None))
        try:
            while self._open or not (self._draining or reader.done()) or not self._answers.empty():
                response = await self._answers.get()
                self._taken_up.set()
                if response is not None:
                    yield self._gather(response)
            if reader.done():
                reader.result()
            else:
                raise shutting_down()
        finally:
            tasks = [reader, *self._open.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, requests: AsyncIterator[messages.DecideManyRequest]) -> None:
        async for message in requests:
            self._takes_more = self._takes_more or message.takes_more
            for one in (message, *message.more):
                while self._answers.qsize() >= MAX_UNREAD:
                    self._taken_up.clear()
                    await self._taken_up.wait()
                self._take(one)

    def _take(self, one: messages.DecideManyRequest) -> None:
        if one.call_id in self._open:
            raise InvalidRequest("call_id", "must not be that of an open request")
        if self._draining:
            refusal = messages.DecideManyResponse(call_id=one.call_id, error=to_status(shutting_down()))
            self._answers.put_nowait(refusal)
        else:
            self._open[one.call_id] = asyncio.create_task(self._decide(one))

    def _gather(self, response: messages.DecideManyResponse) -> messages.DecideManyResponse:
        """An answer with what else is ready, for who reads that."""
        response.takes_more = True
        while self._takes_more and len(response.more) < MAX_MORE and not self._answers.empty():
            further = self._answers.get_nowait()
            if further is not None:
                response.more.append(further)
        return response

    async def _decide(self, one: messages.DecideManyRequest) -> None:
        try:
            self._answers.put_nowait(await self._answer(one))
        finally:
            del self._open[one.call_id]


__all__ = ["DecisionStream"]
