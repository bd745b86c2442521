"""Rooms as a numbered list, of which one is chosen by its number."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from rich.text import Text

from rami_cli.drawing import seat_names
from rami_cli.screen import HEIGHT, WIDTH
from rami_cli.texts import rich_text, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from rami.game.v1 import room_pb2
    from rami_cli.lines import LineReader

LEAVING: Final = frozenset({"q", "quit"})
LISTED: Final = HEIGHT - 4
"""How many rooms are on one screen, beside a heading, what is left out, a complaint and the question."""


class Answer(Enum):
    """What was typed instead of a number."""

    NONE_OF_THEM = auto()
    """Enter alone."""
    LEAVE = auto()


def own_seat(room: room_pb2.Room, player_id: str) -> int | None:
    """The seat that a player holds in a room."""
    return next((seat.seat for seat in room.seats if player_id and seat.player.player_id == player_id), None)


def others_are_people(room: room_pb2.Room, player_id: str) -> bool:
    """Whether somebody else than this player sits there in person, or would if no bot stood in."""
    return any(seat.HasField("player") and seat.player.player_id != player_id for seat in room.seats)


def draw_room(room: room_pb2.Room, player_id: str = "") -> Text:
    """One line of a room: its id, what it is played to, who sits there."""
    title = text("title-room", room=room.room_id, points=room.options.rules.target_score)
    return Text.assemble((title, "dim"), "  ", ", ".join(seat_names(room, own_seat(room, player_id))))


def draw_rooms(rooms: Sequence[room_pb2.Room], player_id: str = "") -> list[Text]:
    """The rooms with their numbers, each on a line that fits the screen, as many as it has room for."""
    lines = [
        Text.assemble((f"{number:>2} ", "bold"), draw_room(room, player_id))
        for number, room in enumerate(rooms[:LISTED], 1)
    ]
    for line in lines:
        line.truncate(WIDTH - 1, overflow="ellipsis")
    if len(rooms) > LISTED:
        lines.append(rich_text("more-rooms", "dim", count=len(rooms) - LISTED))
    return lines


async def choose_room(
    rooms: Sequence[room_pb2.Room], question: str, console: Console, typed: LineReader, player_id: str = ""
) -> room_pb2.Room | Answer:
    """Shows the rooms and asks until a number of one is typed, or Enter, or q; the end of the input is as good as q.

    `question` is the key of the text that asks.
    """
    for line in draw_rooms(rooms, player_id):
        console.print(line)
    listed = rooms[:LISTED]
    while True:
        console.print(text(question), end=" ")
        answer = await typed.read()
        if answer is None or answer.strip().lower() in LEAVING:
            return Answer.LEAVE
        if not answer.strip():
            return Answer.NONE_OF_THEM
        if answer.strip().isdecimal() and 1 <= int(answer) <= len(listed):
            return listed[int(answer) - 1]
        console.print(rich_text("wrong-room", "yellow", number=answer.strip()))
