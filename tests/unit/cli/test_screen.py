"""What is drawn: cards, lines of events, and a table that fits 80 columns and 24 lines."""

from __future__ import annotations

import io
import random
from dataclasses import replace

import pytest
from rich.console import Console

from rami.game.v1 import event_pb2, room_pb2, rules_pb2
from rami_cli.choosing import draw_choices
from rami_cli.drawing import draw_card, draw_cards, draw_change, seat_names
from rami_cli.screen import EVENT_LINES, HEIGHT, Screen, final_standings, make_console
from rami_cli.texts import text
from rami_client.state import RoomMirror, Update
from rami_engine import FULL_DECK, cards_of, format_card, legal_actions_for, mask_of, parse_cards, seat_view
from support.matches import fallback, lively_choice, new_room


def text_of(drawn: object, *, colour: bool = False) -> str:
    out = io.StringIO()
    Console(file=out, width=80, force_terminal=colour, no_color=not colour, highlight=False).print(drawn)
    return out.getvalue()


def test_every_card_is_its_rank_and_the_symbol_of_its_suit() -> None:
    symbols = {"C": "♣", "D": "♦", "H": "♥", "S": "♠"}
    for card in cards_of(FULL_DECK):
        text = format_card(card)
        assert draw_card(card).plain == text[0].replace("T", "10") + symbols[text[1]]
    assert len({draw_card(card).style for card in (0, 13, 26, 39)}) == 4


def test_hands_are_sorted_by_suit_and_rank() -> None:
    assert draw_cards(mask_of(parse_cards("KS 2H TC 9C AS"))).plain == "9♣ 10♣ 2♥ K♠ A♠"
    assert draw_cards(parse_cards("KS 2H")).plain == "K♠ 2♥"


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_no_color_is_respected(
    variables: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    make_console().print(draw_card(parse_cards("7H")[0]))
    assert ("\x1b[31m" in capsys.readouterr().out) is coloured


def test_the_names_of_seats() -> None:
    room = new_room(["ann", "", "bob"]).message()
    room.seats[2].ClearField("player")
    assert seat_names(room, 0) == ["You", "Easy 2", "(seat 3 is empty)"]
    assert seat_names(room, None) == ["Ann", "Easy 2", "(seat 3 is empty)"]


def test_a_whole_match_reads_well_and_always_fits() -> None:
    room = new_room(["ann", "bob", "", ""])
    mirror = RoomMirror(player_id="ann")
    mirror.take_snapshot(room.snapshot(0, rewound=False))
    screen = Screen(mirror.room, mirror.view)
    assert "about to start" in text_of(screen.draw())
    room.start()
    chance = random.Random(5)
    lines: list[str] = []
    while room.match is not None and room.match.winner is None:
        room.play(*lively_choice(room, chance), event_pb2.ACTION_SOURCE_PLAYER)
        for event in room.events_after(mirror.version, 0):
            update = mirror.take_event(event)
            assert update is not None
            lines += [line.plain for line in screen.take(update)]
        view = mirror.view
        assert view is not None
        below = draw_choices(mirror.legal_actions)
        drawn = text_of(screen.draw(HEIGHT - len(below))).splitlines()
        assert len(drawn) + len(below) <= 24
        assert max(len(line) for line in drawn) <= 80
        assert draw_cards(view.hand).plain in "\n".join(drawn)
    assert lines[0] == "The match starts"
    assert lines[1].startswith("Round 1: 10 cards each; ")
    assert any(line.startswith("You draw ") and line.endswith(" from the stock") for line in lines)
    assert any(line == "Easy 3 draws from the stock" for line in lines)
    assert lines[-1].endswith(" the match")
    shown = text_of(final_standings(mirror.room, seat_view(room.match, 0))) if room.match is not None else ""
    assert [int(line.split()[-1]) for line in shown.splitlines()[2:]] == sorted(
        room.match.scores if room.match is not None else (), reverse=True
    )


def test_equal_scores_share_a_place() -> None:
    room = new_room(["ann", "bob", "", ""])
    room.start()
    assert room.match is not None
    view = replace(seat_view(room.match, 0), scores=(5, 9, 5, 0))
    rows = [line.split() for line in text_of(final_standings(room.message(), view)).splitlines()[2:]]
    assert [(row[0], row[-1]) for row in rows] == [("1.", "9"), ("2.", "5"), ("2.", "5"), ("4.", "0")]


def test_the_fullest_table_still_fits_with_the_help() -> None:
    room = new_room(["ann", "bob", "", ""])
    room.start()
    assert room.match is not None
    runs = tuple(mask_of(parse_cards(cards)) for cards in ("2C 3C 4C 5C 6C", "2D 3D 4D 5D 6D", "9C 9D 9H 9S")) * 4
    view = replace(seat_view(room.match, 0), melds=runs, hand=mask_of(parse_cards("2S 3S 4S 5S 6S 7S 8S KH KD KC AH")))
    screen = Screen(room.message(), view)
    for below in (text("help").splitlines(), draw_choices(legal_actions_for(replace(view, phase=view.phase.PLAY)))):
        assert len(text_of(screen.draw(HEIGHT - len(below))).splitlines()) + len(below) <= 24


def test_only_the_latest_events_are_shown() -> None:
    room = new_room(["ann", "bob"])
    room.start()
    mirror = RoomMirror(player_id="ann")
    mirror.take_snapshot(room.snapshot(0, rewound=False))
    screen = Screen(mirror.room, mirror.view)
    lines: list[str] = []
    for _ in range(12):
        room.play(*fallback(room), event_pb2.ACTION_SOURCE_PLAYER)
        for event in room.events_after(mirror.version, 0):
            update = mirror.take_event(event)
            assert update is not None
            lines += [line.plain for line in screen.take(update)]
    shown = text_of(screen.draw())
    assert all(line in shown for line in lines[-EVENT_LINES:])
    few = text_of(screen.draw(10)).splitlines()
    assert few[-1].startswith("─") or few[-1] == lines[-1]


def test_a_long_line_is_wrapped_and_loses_nothing() -> None:
    names = ["ann of the green hills", "bob of the far blue river", "", ""]
    room = new_room(names)
    room.start()
    assert room.match is not None
    screen = Screen(room.message(), seat_view(room.match, 0))
    result = rules_pb2.RoundResult(
        round_number=3, reason=rules_pb2.ROUND_END_REASON_STOCK_EXHAUSTED, winner_seat=1, points=141
    )
    result.scores.extend([111, 222, 333, 444])
    ended = event_pb2.Change(round_ended=event_pb2.RoundEnded(result=result))
    (line,) = screen.take(Update(9, (ended,), False, False, room.message(), seat_view(room.match, 0)))
    shown = text_of(screen.draw())
    assert line.cell_len > 80
    assert max(len(row.rstrip()) for row in shown.splitlines()) < 80
    assert " ".join(shown.split()).endswith(line.plain)


NAMES = ["You", "Bob"]
BOB = room_pb2.Seat(seat=1, player=room_pb2.SeatedPlayer(display_name="Bob"))


@pytest.mark.parametrize(
    ("cause", "line"),
    [
        (event_pb2.SEAT_CHANGE_CAUSE_JOINED, "Bob sits down"),
        (event_pb2.SEAT_CHANGE_CAUSE_LEFT, "Bob leaves the table"),
        (event_pb2.SEAT_CHANGE_CAUSE_TIMED_OUT, "Time is up for Bob: autopilot plays"),
        (event_pb2.SEAT_CHANGE_CAUSE_RETURNED, "Bob is back"),
        (event_pb2.SEAT_CHANGE_CAUSE_ENTROPY, None),
    ],
)
def test_changes_of_seats(cause: event_pb2.SeatChangeCause.ValueType, line: str | None) -> None:
    drawn = draw_change(event_pb2.Change(seat_changed=event_pb2.SeatChanged(seat=BOB, cause=cause)), NAMES)
    assert (drawn.plain if drawn is not None else None) == line


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (event_pb2.ACTION_SOURCE_PLAYER, "Bob draws from the stock"),
        (event_pb2.ACTION_SOURCE_AUTOPILOT, "Bob draws from the stock (autopilot)"),
        (event_pb2.ACTION_SOURCE_FALLBACK, "Bob draws from the stock (fallback)"),
    ],
)
def test_who_chose_an_action_is_told(source: event_pb2.ActionSource.ValueType, line: str) -> None:
    played = event_pb2.ActionPlayed(seat=1, source=source)
    played.action.draw_stock.SetInParent()
    drawn = draw_change(event_pb2.Change(action_played=played), NAMES)
    assert drawn is not None
    assert drawn.plain == line


def test_an_abandoned_match_and_a_closed_room_are_told() -> None:
    abandoned = draw_change(event_pb2.Change(match_ended=event_pb2.MatchEnded()), NAMES)
    closed = draw_change(event_pb2.Change(room_closed=event_pb2.RoomClosed()), NAMES)
    assert abandoned is not None
    assert closed is not None
    assert (abandoned.plain, closed.plain) == ("The match was abandoned", "The room is gone")
