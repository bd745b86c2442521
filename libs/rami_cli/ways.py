"""The ways to a seat: a table of one's own with bots, the queue, the code of a friend's table, a match that goes on."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from google.protobuf.duration_pb2 import Duration

from rami.game.v1 import room_pb2, rules_pb2
from rami_cli.room_list import LEAVING, draw_room, own_seat
from rami_cli.texts import text
from rami_client import FailedPreconditionError, RpcError

if TYPE_CHECKING:
    from rich.console import Console

    from rami_cli.lines import LineReader
    from rami_client import Client

_RUNNING: Final = frozenset({room_pb2.ROOM_STATUS_LOBBY, room_pb2.ROOM_STATUS_IN_MATCH})


class Pace(StrEnum):
    """How fast a table from the queue plays. The page in the browser has the same, so that their players meet."""

    RELAXED = "relaxed"
    NORMAL = "normal"
    FAST = "fast"


class _Terms(NamedTuple):
    turn_limit_seconds: float | None
    """None: what the service gives to who asks for nothing; 0: no limit."""
    round_interval_seconds: float


_TERMS: Final = {Pace.RELAXED: _Terms(0, 5), Pace.NORMAL: _Terms(None, 0), Pace.FAST: _Terms(20, 0)}


class Seat(NamedTuple):
    """A seat that was found."""

    room_id: str
    seat: int | None
    """None where only the room knows it."""
    starts: bool = False
    """The player is the host and starts the match."""


async def own_table(client: Client, *, seats: int, level: str, target_score: int) -> Seat:
    """A new table with bots of a level at every other seat. Raises RpcError."""
    room = await client.create_room(
        room_pb2.RoomOptions(
            seats=seats,
            rules=rules_pb2.RuleOptions(target_score=target_score),
            visibility=room_pb2.VISIBILITY_PRIVATE,
            spectators_allowed=True,  # for `rami watch`; nobody but the player sees the hand
            turn_time_limit=Duration(),  # a person may think
            round_interval=Duration(seconds=2),
        ),
        bots=dict.fromkeys(range(1, seats), level),
    )
    return Seat(room.room_id, 0, starts=True)


async def from_queue(
    client: Client, console: Console, typed: LineReader, *, seats: int, target_score: int, pace: Pace
) -> Seat | None:
    """A seat at a table with whoever looks for one; None when the player would rather not wait. Raises RpcError, and
    TicketEndedError when somebody else ends the wait.
    """
    turn_limit, interval = _TERMS[pace]
    ticket = await client.join_queue(
        player_counts=[seats],
        rules=[rules_pb2.RuleOptions(target_score=target_score)],
        turn_limit_seconds=turn_limit,
        round_interval_seconds=interval,
    )
    console.print(text("queue-waiting"))
    waiting = asyncio.create_task(client.wait_for_match(ticket.ticket_id))
    leaving = asyncio.create_task(_until_leaving(typed))
    try:
        await asyncio.wait({waiting, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done() and await _has_left_queue(client, ticket.ticket_id):
            return None
        assigned = await waiting
        return Seat(assigned.room_id, assigned.seat)
    except asyncio.CancelledError:
        with suppress(RpcError):  # nobody is left to wait; the queue finds out by itself otherwise
            await client.leave_queue(ticket.ticket_id)
        raise
    finally:
        for task in (waiting, leaving):
            task.cancel()
        await asyncio.gather(waiting, leaving, return_exceptions=True)


async def by_code(client: Client, console: Console, typed: LineReader, join_code: str) -> Seat | None:
    """A seat at the table of a join code, once the player has seen who sits there; None when it would rather not.
    Raises RpcError.
    """
    room = await client.get_room(join_code=join_code)
    console.print(draw_room(room, client.player_id))
    if own_seat(room, client.player_id) is None:
        console.print(text("sit-down"), end=" ")
        answer = await typed.read()
        if answer is None or answer.strip().lower() in LEAVING:
            return None
    joined = await client.join_room(join_code=join_code)
    if joined.room.status == room_pb2.ROOM_STATUS_LOBBY:
        console.print(text("waiting-for-host", number=joined.seat + 1))
    return Seat(joined.room.room_id, joined.seat)


async def back_to(client: Client, room_id: str) -> Seat:
    """The own seat at a table that goes on, taken back from a bot that stands in. Raises RpcError."""
    joined = await client.join_room(room_id)
    room = joined.room
    full = all(seat.WhichOneof("holder") for seat in room.seats)
    starts = full and room.status == room_pb2.ROOM_STATUS_LOBBY and room.host_player_id == client.player_id
    return Seat(room_id, joined.seat, starts=starts)


async def running_rooms(client: Client) -> list[room_pb2.Room]:
    """The rooms, newest first, in which this player has a seat and which are not over. Raises RpcError."""
    rooms = await client.list_own_rooms()
    return [room for room in rooms if room.status in _RUNNING and own_seat(room, client.player_id) is not None]


async def _until_leaving(typed: LineReader) -> None:
    while (line := await typed.read()) is not None and line.strip().lower() not in LEAVING:
        pass


async def _has_left_queue(client: Client, ticket_id: str) -> bool:
    """Withdraws a ticket; False when that is too late, and a seat is on its way."""
    try:
        await client.leave_queue(ticket_id)
    except FailedPreconditionError as refusal:
        if refusal.reason != "TICKET_MATCHED":
            raise
        return False
    return True
