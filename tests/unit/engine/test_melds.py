from itertools import combinations

import pytest

from rami_engine import (
    DECK_MELDS,
    FULL_DECK,
    MeldKind,
    cards_of,
    format_cards,
    is_meld,
    lay_offs_on,
    meld_kind,
    melds_in,
)
from unit.engine.positions import mask


def texts(masks: tuple[int, ...]) -> list[str]:
    return [format_cards(cards_of(meld)) for meld in masks]


@pytest.mark.parametrize(
    "cards", ["5H 6H 7H", "2C 3C 4C", "QS KS AS", "2D 3D 4D 5D 6D 7D 8D 9D TD JD QD KD AD", "9C TC JC QC"]
)
def test_runs(cards: str) -> None:
    assert is_meld(mask(cards))
    assert meld_kind(mask(cards)) == MeldKind.RUN


@pytest.mark.parametrize("cards", ["7C 7D 7H", "7C 7D 7S", "7C 7H 7S", "7D 7H 7S", "AC AD AH AS"])
def test_sets(cards: str) -> None:
    assert is_meld(mask(cards))
    assert meld_kind(mask(cards)) == MeldKind.SET


@pytest.mark.parametrize(
    "cards",
    [
        "",
        "7H",
        "7H 8H",
        "7C 7D",
        "5H 6H 8H",
        "5H 6H 7S",
        "AC 2C 3C",
        "KC AC 2C",
        "KC AC 2D",
        "KC KD AD",
        "7C 7D 8D",
        "5H 6H 7H 9H TH JH",
        "5H 6H 7H 5S 6S 7S",
        "7C 7D 7H 7S 8S",
    ],
)
def test_anything_else_is_no_meld(cards: str) -> None:
    assert not is_meld(mask(cards))
    assert meld_kind(mask(cards)) is None


def test_there_are_264_runs_and_65_sets() -> None:
    kinds = [meld_kind(meld) for meld in DECK_MELDS]
    assert kinds.count(MeldKind.RUN) == 264
    assert kinds.count(MeldKind.SET) == 65
    assert len(DECK_MELDS) == 329
    assert list(DECK_MELDS) == sorted(set(DECK_MELDS))
    assert melds_in(FULL_DECK) == DECK_MELDS


def test_melds_of_a_hand_are_all_lengths_and_all_threes_of_four_by_ascending_mask() -> None:
    assert texts(melds_in(mask("6C 7C 8C 9C 9D 9H 9S KH"))) == [
        "6C 7C 8C",
        "7C 8C 9C",
        "6C 7C 8C 9C",
        "9C 9D 9H",
        "9C 9D 9S",
        "9C 9H 9S",
        "9D 9H 9S",
        "9C 9D 9H 9S",
    ]


def test_sets_and_runs_of_the_same_top_suit_interleave() -> None:
    assert texts(melds_in(mask("3C 3D 3H 2H 4H KC KD KH 5S 6S 7S 5C 5D"))) == [
        "3C 3D 3H",
        "2H 3H 4H",
        "KC KD KH",
        "5C 5D 5S",
        "5S 6S 7S",
    ]


def test_a_run_does_not_go_on_in_the_next_suit() -> None:
    assert melds_in(mask("KC AC 2D 3D QD KD AD 2H")) == (mask("QD KD AD"),)


@pytest.mark.parametrize(
    ("meld", "hand", "expected"),
    [
        ("7C 8C 9C", "6C 5C 4D TD", ["6C", "5C 6C"]),
        ("7C 8C 9C", "6C TC JC", ["6C", "TC", "6C TC", "TC JC", "6C TC JC"]),
        ("7C 8C 9C", "5C JC", []),
        ("QC KC AC", "2C JC TC", ["JC", "TC JC"]),
        ("2C 3C 4C", "AC 5C", ["5C"]),
        ("7C 7D 7S", "7H 8H 6S", ["7H"]),
        ("7C 7D 7H 7S", "8H 6S", []),
        ("2H 3H 4H 5H 6H 7H 8H 9H TH JH QH KH AH", "2S AD", []),
    ],
)
def test_lay_offs_on_a_meld_by_ascending_mask(meld: str, hand: str, expected: list[str]) -> None:
    assert texts(lay_offs_on(mask(meld), mask(hand))) == expected


@pytest.mark.parametrize("meld", DECK_MELDS[::7])
def test_lay_offs_on_a_meld_are_exactly_the_parts_that_leave_it_valid(meld: int) -> None:
    others = FULL_DECK & ~meld
    whole = [other for other in DECK_MELDS if other & meld == meld and other != meld]
    assert list(lay_offs_on(meld, others)) == sorted(other ^ meld for other in whole)
    for added in combinations(cards_of(others)[:12], 2):
        mixed = sum(1 << card for card in added)
        assert (mixed in lay_offs_on(meld, mixed)) == is_meld(meld | mixed)
