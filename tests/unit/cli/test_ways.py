"""The queue from the keyboard: what a ticket asks for, and how one leaves the queue in time or too late."""

from __future__ import annotations

import asyncio
import io
import os
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from rami.matchmaking.v1 import matchmaking_service_pb2 as matchmaking
from rami_cli.lines import LineReader
from rami_cli.ways import Pace, Seat, from_queue
from rami_client import Client, TicketEndedError
from support.fake_queue import FakeQueue
from support.statuses import status_of
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

ROOM = "p0-aaaaaaaaaaaaaaaa"
BOUND_SECONDS = 60.0


class Waiting:
    """Somebody who waits in the queue at a keyboard."""

    def __init__(self, queue: FakeQueue, client: Client, pace: Pace, keys: int, typed: LineReader) -> None:
        self.queue = queue
        self._keys = keys
        console = Console(file=io.StringIO())
        self.task = asyncio.create_task(
            from_queue(client, console, typed, seats=3, target_score=50, pace=pace), name="queued"
        )

    def type(self, line: str) -> None:
        os.write(self._keys, f"{line}\n".encode())

    async def is_watching(self) -> None:
        await eventually(lambda: self.queue.watches > 0, "the ticket is watched")

    @property
    def criteria(self) -> matchmaking.TicketCriteria:
        return self.queue.ticket.criteria

    def cancelled(self) -> bool:
        return any(isinstance(each, matchmaking.CancelTicketRequest) for each in self.queue.requests)


@pytest.fixture
async def queued() -> AsyncIterator[Callable[[Pace], Waiting]]:
    read, write = os.pipe()
    try:
        async with (
            asyncio.timeout(BOUND_SECONDS),
            FakeQueue() as queue,
            Client.connect(game=queue.target, token="t") as client,
        ):
            with LineReader(read) as typed:
                yield lambda pace: Waiting(queue, client, pace, write, typed)
    finally:
        os.close(read)
        os.close(write)


@pytest.mark.parametrize(
    ("pace", "limit", "interval"), [(Pace.RELAXED, 0, 5), (Pace.NORMAL, None, 0), (Pace.FAST, 20, 0)]
)
async def test_a_pace_is_what_the_ticket_asks_for(
    queued: Callable[[Pace], Waiting], pace: Pace, limit: int | None, interval: int
) -> None:
    waiting = queued(pace)
    await waiting.is_watching()
    waiting.queue.change(matchmaking.TICKET_STATE_MATCHED, ROOM)
    assert await waiting.task == Seat(ROOM, 1)
    asked = waiting.criteria
    assert asked.HasField("turn_time_limit") == (limit is not None)
    assert (asked.turn_time_limit.seconds, asked.round_interval.seconds) == (limit or 0, interval)
    assert list(asked.player_counts) == [3]
    assert [rules.target_score for rules in asked.rules] == [50]
    assert not waiting.cancelled()


async def test_q_leaves_the_queue_and_other_lines_do_not(queued: Callable[[Pace], Waiting]) -> None:
    waiting = queued(Pace.NORMAL)
    await waiting.is_watching()
    waiting.type("s")
    waiting.type("q")
    assert await waiting.task is None
    assert waiting.queue.ticket.state == matchmaking.TICKET_STATE_CANCELLED


async def test_who_leaves_too_late_has_a_seat(queued: Callable[[Pace], Waiting]) -> None:
    waiting = queued(Pace.NORMAL)
    await waiting.is_watching()
    waiting.queue.failures.append(status_of("TICKET_MATCHED", metadata={"room_id": ROOM}))
    waiting.type("q")
    await eventually(waiting.cancelled, "the ticket is withdrawn")
    waiting.queue.change(matchmaking.TICKET_STATE_MATCHED, ROOM)
    assert await waiting.task == Seat(ROOM, 1)


async def test_an_interrupt_leaves_the_queue(queued: Callable[[Pace], Waiting]) -> None:
    waiting = queued(Pace.NORMAL)
    await waiting.is_watching()
    waiting.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting.task
    assert waiting.cancelled()


async def test_a_ticket_that_expires_is_told(queued: Callable[[Pace], Waiting]) -> None:
    waiting = queued(Pace.NORMAL)
    await waiting.is_watching()
    waiting.queue.change(matchmaking.TICKET_STATE_EXPIRED)
    with pytest.raises(TicketEndedError):
        await waiting.task
