"""Whatever is tampered with in a replay is found, and its place is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rami.cards.v1 import card_pb2
from rami.game.v1 import game_service_pb2 as game
from rami.game.v1 import rules_pb2
from rami_client import BadFileError, Receipt, load_replay, save_replay, verify
from rami_engine import ReplayError, RuleOptions
from support.matches import copy_of, discard_of, played_match

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_an_honest_replay_is_verified_with_and_without_a_receipt(
    match: tuple[game.GetReplayResponse, Receipt],
) -> None:
    replay, receipt = match
    verification = verify(replay)
    assert verification.replay.winner == replay.header.result.winner_seat
    assert verification.replay.actions == sum(len(played.actions) for played in replay.rounds)
    assert verification.sightings is None
    assert verify(replay, receipt).sightings == len(receipt.sightings)


def _commitment(replay: game.GetReplayResponse) -> None:
    replay.header.commitment = bytes(32)


def _short_commitment(replay: game.GetReplayResponse) -> None:
    replay.header.commitment = b"short"


def _seed(replay: game.GetReplayResponse) -> None:
    replay.rounds[1].seed = bytes(32)


def _no_seed(replay: game.GetReplayResponse) -> None:
    replay.rounds[1].ClearField("seed")


def _entropy(replay: game.GetReplayResponse) -> None:
    replay.header.entropies[0] = bytes(32)


def _card(replay: game.GetReplayResponse) -> None:
    # No hand holds the card that was discarded one turn earlier.
    actions = replay.rounds[1].actions
    first = discard_of(replay.rounds[1])
    later = next(place for place, action in enumerate(actions) if place > first and action.action.HasField("discard"))
    actions[later].action.discard.card = actions[first].action.discard.card


def _no_card(replay: game.GetReplayResponse) -> None:
    place = discard_of(replay.rounds[1])
    replay.rounds[1].actions[place].action.discard.card = card_pb2.CARD_UNSPECIFIED


def _action_left_out(replay: game.GetReplayResponse) -> None:
    del replay.rounds[1].actions[0]


def _action_twice(replay: game.GetReplayResponse) -> None:
    replay.rounds[1].actions[1].CopyFrom(replay.rounds[1].actions[0])


def _other_seat(replay: game.GetReplayResponse) -> None:
    action = replay.rounds[1].actions[0]
    action.seat = (action.seat + 1) % 3


def _order(replay: game.GetReplayResponse) -> None:
    first, second = replay.rounds[1].actions[0], replay.rounds[1].actions[1]
    first.action.MergeFrom(second.action)


def _rounds_swapped(replay: game.GetReplayResponse) -> None:
    rounds = [replay.rounds[1], replay.rounds[0], *replay.rounds[2:]]
    kept = [type(played).FromString(played.SerializeToString()) for played in rounds]
    del replay.rounds[:]
    replay.rounds.extend(kept)


def _points(replay: game.GetReplayResponse) -> None:
    replay.rounds[1].result.points += 1


def _round_scores(replay: game.GetReplayResponse) -> None:
    replay.rounds[1].result.scores[0] += 1


def _no_result(replay: game.GetReplayResponse) -> None:
    replay.rounds[1].ClearField("result")


def _winner(replay: game.GetReplayResponse) -> None:
    result = replay.header.result
    result.winner_seat = (result.winner_seat + 1) % 3


def _final_scores(replay: game.GetReplayResponse) -> None:
    replay.header.result.scores[0] += 1


def _reason(replay: game.GetReplayResponse) -> None:
    replay.header.result.reason = rules_pb2.MATCH_END_REASON_TURN_LIMIT


def _abandoned(replay: game.GetReplayResponse) -> None:
    replay.header.result.reason = rules_pb2.MATCH_END_REASON_ABANDONED


def _options(replay: game.GetReplayResponse) -> None:
    replay.header.options.ace_high = True


def _target(replay: game.GetReplayResponse) -> None:
    replay.header.options.target_score = 1001


def _guards(replay: game.GetReplayResponse) -> None:
    replay.header.guards.max_turns_per_round = 3


def _rules(replay: game.GetReplayResponse) -> None:
    replay.header.rules_version = "9.9.9"


def _seats(replay: game.GetReplayResponse) -> None:
    replay.header.seats[1].seat = 0


def _versions(replay: game.GetReplayResponse) -> None:
    replay.rounds[1].actions[2].version = 1


def _one_page(replay: game.GetReplayResponse) -> None:
    replay.next_page_token = "more"


TAMPERED: dict[str, tuple[Callable[[game.GetReplayResponse], None], str]] = {
    "commitment": (_commitment, "round 1: its seed does not hash"),
    "short commitment": (_short_commitment, "record: the commitment has 5 bytes"),
    "seed": (_seed, "round 2: its seed does not hash"),
    "missing seed": (_no_seed, "round 2: is not in play any more"),
    "entropy": (_entropy, "round 1"),
    "card": (_card, "round 2, action"),
    "no card": (_no_card, "round 2, action"),
    "action left out": (_action_left_out, "round 2, action 1"),
    "action twice": (_action_twice, "round 2, action 2"),
    "other seat": (_other_seat, "round 2, action 1"),
    "order": (_order, "round 2, action 1"),
    "rounds swapped": (_rounds_swapped, "round 1: is recorded as round 2"),
    "points": (_points, "round 2: its points"),
    "scores of a round": (_round_scores, "round 2: its scores"),
    "missing result": (_no_result, "round 2: ended by its actions"),
    "winner": (_winner, "record: the winner"),
    "final scores": (_final_scores, "record: its scores"),
    "reason": (_reason, "record: the reason of its end"),
    "abandoned": (_abandoned, "record: is marked as abandoned"),
    "options": (_options, "round "),
    "target": (_target, "record: header.options.target_score"),
    "guards": (_guards, "round 1"),
    "rules": (_rules, "record: was played by cardverse.rami 9.9.9"),
    "seats": (_seats, "record: its seats"),
    "versions": (_versions, "round 2, action 3: its version 1"),
    "one page": (_one_page, "record: is one page"),
}


@pytest.mark.parametrize(("tamper", "place"), TAMPERED.values(), ids=TAMPERED)
def test_what_is_tampered_with_is_named(
    match: tuple[game.GetReplayResponse, Receipt],
    tamper: Callable[[game.GetReplayResponse], None],
    place: str,
) -> None:
    replay = copy_of(match[0])
    tamper(replay)
    with pytest.raises(ReplayError) as caught:
        verify(replay)
    assert str(caught.value).startswith(place)


# What follows from another root, or was played otherwise, is sound in itself: only a receipt tells.


def test_another_match_in_the_same_room_is_told_by_its_commitment(
    match: tuple[game.GetReplayResponse, Receipt],
) -> None:
    _, other, _ = played_match(["ann", "bob", ""], options=RuleOptions(target_score=150), root=bytes(32))
    verify(other)
    with pytest.raises(ReplayError, match=r"record: its commitment"):
        verify(other, match[1])


def test_a_match_played_otherwise_on_the_same_cards_is_told_by_its_actions(
    match: tuple[game.GetReplayResponse, Receipt],
) -> None:
    _, other, _ = played_match(["ann", "bob", ""], options=RuleOptions(target_score=150), seed=4)
    verify(other)
    with pytest.raises(ReplayError, match=r"round 1, action \d+: the receipt saw"):
        verify(other, match[1])


def test_a_replay_file_comes_back_as_it_was(match: tuple[game.GetReplayResponse, Receipt], tmp_path: Path) -> None:
    path = tmp_path / "match.json"
    save_replay(path, match[0])
    assert load_replay(path) == match[0]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"{", r"is no replay: it is no JSON \(.*line 1"),
        (b'{"rounds": 3}', "is no replay: the field 'rounds' has no such value$"),
        (b'{"unknown": 3}', "is no replay: it has the field 'unknown', which is not known$"),
        (b"{}", "has no header"),
        (b"\xff\xfe\x00", "is no replay"),
    ],
)
def test_a_file_that_is_no_replay_is_refused(content: bytes, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "match.json"
    path.write_bytes(content)
    with pytest.raises(BadFileError, match=complaint):
        load_replay(path)
