"""Rooms as a list on the screen, and the one that is chosen by its number."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from rami.game.v1 import room_pb2
from rami_cli.lines import LineReader
from rami_cli.room_list import LISTED, Answer, choose_room, draw_rooms, others_are_people, own_seat
from rami_cli.screen import HEIGHT, WIDTH

if TYPE_CHECKING:
    from pathlib import Path


def room(number: int, *names: str) -> room_pb2.Room:
    """People with these names; "bot" and "" stand for a bot and an empty seat."""
    made = room_pb2.Room(room_id=f"p0-{number:016}")
    made.options.rules.target_score = 100
    for seat, name in enumerate(names):
        added = made.seats.add(seat=seat)
        if name == "bot":
            added.bot.bot = "easy"
        elif name:
            added.player.MergeFrom(room_pb2.SeatedPlayer(player_id=f"id of {name}", display_name=name))
    return made


ROOMS = [room(1, "Ada", "bot"), room(2, "Bob", "Cyd", ""), room(3, "bot", "bot")]


async def chosen(typed: str, folder: Path, rooms: list[room_pb2.Room] = ROOMS) -> tuple[room_pb2.Room | Answer, str]:
    """What comes of typing some lines, and what was shown."""
    path = folder / "typed"
    path.write_text(typed)
    descriptor = os.open(path, os.O_RDONLY)
    out = io.StringIO()
    try:
        with LineReader(descriptor) as reader:
            console = Console(file=out, width=WIDTH)
            return await choose_room(rooms, "choose-match", console, reader, "id of Ada"), out.getvalue()
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("2\n", ROOMS[1]),
        (" 1 \n", ROOMS[0]),
        ("\n", Answer.NONE_OF_THEM),
        ("q\n", Answer.LEAVE),
        ("Quit\n", Answer.LEAVE),
        ("", Answer.LEAVE),
    ],
)
async def test_a_number_names_a_room(typed: str, answer: object, tmp_path: Path) -> None:
    assert (await chosen(typed, tmp_path))[0] == answer


async def test_what_is_no_number_of_the_list_is_said_and_asked_again(tmp_path: Path) -> None:
    answer, shown = await chosen("0\n4\nAda\n-1\n3\n", tmp_path)
    assert answer == ROOMS[2]
    for wrong in ("0", "4", "Ada", "-1"):
        assert f"there is no {wrong} in the list" in shown
    assert shown.count("Number to watch") == 5


async def test_a_room_beyond_the_screen_has_no_number(tmp_path: Path) -> None:
    answer, shown = await chosen(f"{LISTED + 1}\nq\n", tmp_path, [ROOMS[0]] * (LISTED + 1))
    assert answer is Answer.LEAVE
    assert f"there is no {LISTED + 1} in the list" in shown
    assert "… and 1 more" in shown


async def test_without_rooms_one_may_look_again_or_leave(tmp_path: Path) -> None:
    assert (await chosen("1\n\n", tmp_path, []))[0] is Answer.NONE_OF_THEM


def test_the_list_fits_the_screen_and_names_everybody() -> None:
    long = room(4, *["Wilhelmina of the long and noble name"[:32]] * 4)
    lines = draw_rooms([*ROOMS, *[long] * 100], "id of Ada")
    assert len(lines) + 3 <= HEIGHT  # the heading, a complaint, the question
    assert max(line.cell_len for line in lines) < WIDTH
    assert lines[0].plain.startswith(" 1 room p0-0000000000000001, to 100 points  You, Easy 2")
    assert lines[1].plain.endswith("Bob, Cyd, (seat 3 is empty)")
    assert lines[3].plain.endswith("…")


def test_who_sits_there() -> None:
    assert own_seat(ROOMS[1], "id of Cyd") == 1
    assert own_seat(ROOMS[1], "id of Ada") is None
    assert own_seat(ROOMS[1], "") is None
    assert not others_are_people(ROOMS[0], "id of Ada")
    assert others_are_people(ROOMS[1], "id of Bob")
    assert not others_are_people(ROOMS[2], "id of Ada")
