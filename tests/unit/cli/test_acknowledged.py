"""The journal of what a seat asked for, held against replays that are true and replays that are not."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from rami.game.v1 import event_pb2
from rami.game.v1 import game_service_pb2 as game
from rami_cli.acknowledged import AskedActions, LostMoveError
from rami_wire import action_from_proto
from support.matches import lively_choice, new_room

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rami.game.v1 import replay_pb2

SEAT = 0


def played(journal: AskedActions, *, silent: int = -1) -> game.GetReplayResponse:
    """A match in which seat 0 wrote its journal, and its replay. Its action number `silent` gets no answer."""
    room = new_room(["ann", ""])
    room.start()
    chance = random.Random(5)
    while room.match is not None and room.match.winner is None:
        seat, action = lively_choice(room, chance)
        number = journal.write_asked(room.version, action) if seat == SEAT else 0
        room.play(seat, action, event_pb2.ACTION_SOURCE_BOT if seat else event_pb2.ACTION_SOURCE_PLAYER)
        if number and number != silent:
            journal.write_acknowledged(number, room.version)
    return game.GetReplayResponse(header=room.replay_header(), rounds=room.rounds)


def own(replay: game.GetReplayResponse) -> list[replay_pb2.ReplayAction]:
    return [action for each in replay.rounds for action in each.actions if action.seat == SEAT]


def test_a_replay_that_holds_everything() -> None:
    journal = AskedActions()
    replay = played(journal)
    found = journal.compare(replay, SEAT)
    assert found == (len(own(replay)), len(own(replay)), 0)
    assert journal.asked == journal.acknowledged == found.asked > 10


def test_an_action_that_was_applied_and_not_acknowledged_is_counted_apart() -> None:
    journal = AskedActions()
    replay = played(journal, silent=3)
    found = journal.compare(replay, SEAT)
    assert found.unacknowledged == 1
    assert found.acknowledged == found.asked - 1


def test_an_action_that_never_came_to_be_is_no_loss_without_an_acknowledgement() -> None:
    journal = AskedActions()
    replay = played(journal)
    journal.write_asked(1, action_from_proto(own(replay)[0].action))
    assert journal.compare(replay, SEAT).unacknowledged == 0


def lose(replay: game.GetReplayResponse) -> None:
    last = own(replay)[-1].version
    for each in replay.rounds:
        kept = [action for action in each.actions if action.version < last]
        del each.actions[:]
        each.actions.extend(kept)


def change_action(replay: game.GetReplayResponse) -> None:
    first, last = own(replay)[0], own(replay)[-1]
    last.action.CopyFrom(first.action)


def give_to_another(replay: game.GetReplayResponse) -> None:
    own(replay)[2].seat = 1


def let_a_bot_have_played(replay: game.GetReplayResponse) -> None:
    own(replay)[2].source = event_pb2.ACTION_SOURCE_AUTOPILOT


def move(replay: game.GetReplayResponse) -> None:
    own(replay)[2].version += 1_000


@pytest.mark.parametrize("tamper", [lose, change_action, give_to_another, let_a_bot_have_played, move])
def test_what_was_acknowledged_and_is_not_there_is_named(
    tamper: Callable[[game.GetReplayResponse], None],
) -> None:
    journal = AskedActions()
    replay = played(journal)
    tamper(replay)
    with pytest.raises(LostMoveError, match="and is not there"):
        journal.compare(replay, SEAT)


def test_an_action_that_nobody_asked_for_is_named() -> None:
    journal = AskedActions()
    replay = played(journal)
    extra = replay.rounds[0].actions.add()
    extra.CopyFrom(own(replay)[0])
    extra.version += 5_000
    with pytest.raises(LostMoveError, match="was not asked for"):
        journal.compare(replay, SEAT)


def test_two_actions_acknowledged_as_one_are_named() -> None:
    journal = AskedActions()
    replay = played(journal)
    first = own(replay)[0]
    journal.write_acknowledged(journal.write_asked(first.version - 1, action_from_proto(first.action)), first.version)
    with pytest.raises(LostMoveError, match="was acknowledged twice"):
        journal.compare(replay, SEAT)


def test_the_file_has_every_line_as_soon_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "asked.jsonl"
    journal = AskedActions(path)
    assert path.stat().st_mode & 0o077 == 0, "it holds what a player did before others may know"
    played(journal, silent=2)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["kind"] for line in lines[:3]] == ["asked", "acknowledged", "asked"]
    assert sum(line["kind"] == "asked" for line in lines) == journal.asked
    assert sum(line["kind"] == "acknowledged" for line in lines) == journal.acknowledged
