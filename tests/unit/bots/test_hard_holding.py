"""Hard weighs holding melds back: where that is among what it tries, where it must not be, and what comes of it."""

from dataclasses import dataclass, replace

import pytest

from rami_bots.hard import HOLDING_DISCARDS, MAX_DISCARDS, Candidate, candidates_of
from rami_bots.normal import play_normal
from rami_bots.policy import time_enough
from rami_engine import (
    FULL_DECK,
    ActionKind,
    Guards,
    MatchState,
    Phase,
    RuleOptions,
    cards_of,
    format_action,
    format_cards,
    legal_actions_for,
)
from unit.bots.asking import DISCARD_TO_WIN, ask, play, view_of_turn
from unit.engine.positions import mask, position

HAND = "2D 3D 4D 9H TH QC KD 5S"
"""A run that can be laid or held; the seat cannot go out with it."""
SEVEN = "AS 7D 9C QH 2S 6C JC"
TEN = "AS 7D 9C QH 2S 6C JC KS 4S 8S"
TEN_MORE = "AC 7H 9S 2H 6S JS KC 4C 8H 3C"
FOUR = ("AS 7D 9C QH", "2S 6C JC KS", "4S 8S AC 7H")
NEARLY_OUT = "AS 7D 9C"
LAY = "meld 2D 3D 4D"
LONG = RuleOptions(target_score=1000)


def tried(match: MatchState) -> list[Candidate]:
    view = view_of_turn(match)
    return candidates_of(view, legal_actions_for(view))


def texts(candidates: list[Candidate]) -> list[str]:
    return [format_action(candidate.action) for candidate in candidates]


def discards_in(candidates: list[Candidate]) -> list[Candidate]:
    return [candidate for candidate in candidates if candidate.action.kind == ActionKind.DISCARD]


@dataclass(frozen=True)
class Held:
    """A position of the hand, in which Normal holds or lays."""

    rivals: tuple[str, ...]
    stock: str | None = None


@pytest.mark.parametrize(
    "held",
    [
        Held((SEVEN,)),
        Held((TEN, TEN_MORE)),
        Held(FOUR),
        Held((SEVEN,), "3C 4C 5C 7C 8C"),  # one card more than the stock at which two seats lay
    ],
    ids=["two", "three", "four", "low"],
)
def test_holding_comes_first_while_rivals_have_many_cards_and_the_stock_is_deep(held: Held) -> None:
    candidates = tried(position(HAND, *held.rivals, discards="6D", stock=held.stock))
    *holding, laying = candidates
    assert holding == discards_in(candidates)
    assert len(holding) == MAX_DISCARDS
    assert all(candidate.melds == () and candidate.hand == mask(HAND) for candidate in holding)
    # Laying all is tried against it, with the table and the hand as they would be.
    assert laying == Candidate(laying.action, (mask("2D 3D 4D"),), mask("9H TH QC KD 5S"))
    assert texts([laying]) == [LAY]


@pytest.mark.parametrize(
    "held",
    [
        Held((NEARLY_OUT,)),
        Held((TEN, NEARLY_OUT)),
        Held((SEVEN,), "3C 4C 5C 7C"),
        Held(FOUR, "3C 4C 5C 7C"),
    ],
    ids=["a rival of one is about to go out", "a rival of two is", "two: the stock runs low", "four: it does"],
)
def test_where_normal_lays_holding_is_tried_against_it(held: Held) -> None:
    match = position(HAND, *held.rivals, discards="6D", stock=held.stock)
    view = view_of_turn(match)
    assert format_action(play_normal(view, legal_actions_for(view), 1, time_enough)) == LAY
    first, *others = tried(match)
    assert texts([first]) == [LAY]
    assert others == discards_in(others)
    assert len(others) == HOLDING_DISCARDS
    assert all(candidate.hand == mask(HAND) for candidate in others)


def test_the_last_turns_of_a_round_are_no_time_to_hold() -> None:
    match = position(HAND, SEVEN, discards="6D", guards=Guards(max_turns_per_round=4))
    assert texts(tried(match)) == [LAY]
    earlier = position(HAND, SEVEN, discards="6D", guards=Guards(max_turns_per_round=5))
    assert len(tried(earlier)) == MAX_DISCARDS + 1


@pytest.mark.parametrize("rivals", [(SEVEN,), (NEARLY_OUT,), (TEN, TEN_MORE), FOUR], ids=str)
def test_a_hand_that_can_go_out_is_never_held(rivals: tuple[str, ...]) -> None:
    match = position("2D 3D 4D 8D 9D TD TC", *rivals, discards="6D", options=LONG)
    assert texts(tried(match)) == [LAY]
    for expected in (LAY, "meld 8D 9D TD", "discard TC"):
        assert ask("hard", match) == expected
        play(match, expected)
    assert match.phase == Phase.ROUND_OVER


def test_a_meld_that_would_leave_nothing_is_held_only_where_it_cannot_be_laid() -> None:
    # The run alone is the whole hand: laid it ends the round, but for a room where the last card must be discarded.
    assert texts(tried(position("2D 3D 4D", SEVEN, discards="6D"))) == [LAY]
    bound = tried(position("2D 3D 4D", SEVEN, discards="6D", options=DISCARD_TO_WIN))
    assert bound == discards_in(bound)
    assert len(bound) == 3


def test_a_lay_off_is_made_before_holding_is_thought_of() -> None:
    for rivals in ((SEVEN,), (NEARLY_OUT,)):
        match = position(HAND, *rivals, discards="6D", melds=["5C 5D 5H"])
        assert texts(tried(match)) == ["lay-off 1 5S"]


def test_without_a_meld_there_is_nothing_to_hold() -> None:
    match = position("2D 3D 4H 9H TH QC KD 5S", SEVEN, discards="6D")
    candidates = tried(match)
    assert candidates == discards_in(candidates)
    assert len(candidates) == MAX_DISCARDS


def test_what_is_tried_does_not_depend_on_what_rivals_hold() -> None:
    ours = position(HAND, SEVEN, discards="6D")
    assert ours.round is not None
    other = position(HAND, "3C 4C 5C 3S 4S 6S 7S", discards="6D")
    assert replace(view_of_turn(ours), history=()) == replace(view_of_turn(other), history=())
    assert tried(ours) == tried(other)


def test_it_lays_what_the_end_of_the_stock_would_cost() -> None:
    # The stock is gone and the rival holds little: it will let the round end, and points in hand would be its own.
    own, rival, top = "TD JD QD KD 9H 2C", "3S 4C 5H 6C", "7C"
    gone = FULL_DECK & ~(mask(own) | mask(rival) | mask(top))
    pile = f"{format_cards(cards_of(gone))} {top}"
    for seed in range(3):
        match = position(own, rival, discards=pile, stock="")
        assert ask("hard", match, seed=seed) == "meld TD JD QD KD"


def test_it_holds_what_a_rival_would_lay_off_on() -> None:
    # Nobody is about to go out, and many turns are to come.
    for seed in range(3):
        match = position(HAND, SEVEN, discards="6D")
        assert ask("hard", match, seed=seed).startswith("discard ")
