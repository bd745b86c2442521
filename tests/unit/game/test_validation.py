"""What a request must look like: every field of a new room, of bots and of pages, with the field named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from google.protobuf.duration_pb2 import Duration

from game_state.validation import bot_seats, room_options
from rami.game.v1 import game_service_pb2, room_pb2, rules_pb2
from rami_engine import OptionsError, RuleOptions
from rami_kit.errors import InvalidRequest, RamiError, from_engine_error, reason_name

if TYPE_CHECKING:
    from game_state.room import RoomOptions

PROFILES = ("easy", "hard")


def parsed(**values: object) -> RoomOptions:
    return room_options(room_pb2.RoomOptions(**({"seats": 2} | values)))[0]  # type: ignore[arg-type]  # any field


def test_what_is_unset_has_its_default() -> None:
    options, seats = room_options(room_pb2.RoomOptions(seats=3))

    assert seats == 3
    assert options.rules == RuleOptions(100, ace_high=False, discard_to_win=False)
    assert not options.public
    assert not options.spectators_allowed
    assert options.turn_limit_ms == 60_000
    assert options.bot_pace_ms is None
    assert options.round_interval_ms == 0
    assert not options.auto_start


def test_what_is_set_is_taken() -> None:
    options = parsed(
        rules=rules_pb2.RuleOptions(target_score=250, ace_high=True, discard_to_win=True),
        visibility=room_pb2.VISIBILITY_PUBLIC,
        spectators_allowed=True,
        turn_time_limit=Duration(seconds=5, nanos=500_000_000),
        bot_pace=Duration(),
        round_interval=Duration(seconds=60),
        auto_start=True,
    )

    assert options.rules == RuleOptions(250, ace_high=True, discard_to_win=True)
    assert options.public
    assert options.spectators_allowed
    assert options.turn_limit_ms == 5_500
    assert options.bot_pace_ms == 0
    assert options.round_interval_ms == 60_000
    assert options.auto_start


@pytest.mark.parametrize("seats", [0, 1, 5, 2**32 - 1])
def test_there_are_2_to_4_seats(seats: int) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parsed(seats=seats)
    assert caught.value.metadata["field"] == "options.seats"


def test_an_unknown_visibility_is_no_guess() -> None:
    with pytest.raises(InvalidRequest) as caught:
        room_options(room_pb2.RoomOptions.FromString(room_pb2.RoomOptions(seats=2).SerializeToString() + b"\x18\x09"))
    assert caught.value.metadata["field"] == "options.visibility"


@pytest.mark.parametrize("target", [0, 1001])
def test_a_target_score_out_of_range_names_its_field(target: int) -> None:
    with pytest.raises(OptionsError) as caught:
        parsed(rules=rules_pb2.RuleOptions(target_score=target))
    assert from_engine_error(caught.value).metadata["field"] == "options.rules.target_score"


@pytest.mark.parametrize(("field", "most"), [("turn_time_limit", 24 * 3600), ("bot_pace", 30), ("round_interval", 60)])
@pytest.mark.parametrize(
    "span",
    [
        Duration(seconds=-1),
        Duration(nanos=-1),
        Duration(seconds=1, nanos=-1),
        Duration(nanos=1_000_000_000),
        Duration(seconds=2**62),
        Duration(seconds=-(2**62)),
    ],
    ids=repr,
)
def test_spans_of_time_are_within_their_range(field: str, most: int, span: Duration) -> None:
    for wrong in (span, Duration(seconds=most, nanos=1)):
        with pytest.raises(InvalidRequest) as caught:
            parsed(**{field: wrong})
        assert caught.value.metadata["field"] == f"options.{field}"
    parsed(**{field: Duration(seconds=most)})


def test_no_turn_limit_is_asked_for_with_nothing_but_0() -> None:
    assert parsed(turn_time_limit=Duration()).turn_limit_ms == 0
    assert parsed(turn_time_limit=Duration(nanos=1)).turn_limit_ms == 1


def bots(*seats: tuple[int, str]) -> list[game_service_pb2.BotSeat]:
    return [game_service_pb2.BotSeat(seat=seat, bot=bot) for seat, bot in seats]


def test_bots_are_taken_by_seat() -> None:
    assert bot_seats(bots((0, "easy"), (2, "hard"), (1, "")), "bots", 3, PROFILES) == {0: "easy", 2: "hard", 1: ""}


@pytest.mark.parametrize(
    ("seats", "reason"),
    [
        (bots((3, "easy")), "INVALID_REQUEST"),
        (bots((0, "easy"), (0, "easy")), "INVALID_REQUEST"),
        (bots((0, "expert")), "BOT_NOT_FOUND"),
        (bots((0, "Easy")), "BOT_NOT_FOUND"),
        (bots((0, "x" * 10_000)), "BOT_NOT_FOUND"),
    ],
)
def test_a_bot_needs_a_seat_of_its_own_and_a_known_profile(seats: list[game_service_pb2.BotSeat], reason: str) -> None:
    with pytest.raises(RamiError) as caught:
        bot_seats(seats, "bots", 3, PROFILES)
    assert reason_name(caught.value.reason) == reason
