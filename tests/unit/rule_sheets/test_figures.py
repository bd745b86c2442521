"""The variables of the sheets agree with the engine and the bots, and the examples show what they claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from game_state.rule_sheets.figures import (
    EXAMPLES,
    NEAR_RANKS,
    STALL_TURNS,
    card_texts,
    fixed_numbers,
    fixed_variables,
    room_numbers,
    room_variables,
    show_cards,
)
from rami_engine import (
    FULL_DECK,
    Guards,
    MeldKind,
    RuleOptions,
    cards_of,
    hand_size,
    lay_offs_on,
    mask_of,
    meld_kind,
    parse_cards,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from game_state.rule_sheets.catalog import Translation


def example(name: str) -> int:
    return mask_of(parse_cards(EXAMPLES[name]))


def test_the_numbers_are_those_of_the_rules() -> None:
    assert fixed_numbers(Guards()) == {
        "min-players": 2,
        "max-players": 4,
        "deck-size": 52,
        "hand-two": 7,
        "hand-more": 10,
        "stock-two": 37,
        "stock-three": 21,
        "stock-four": 11,
        "first-seat": 0,
        "first-meld": 1,
        "min-meld": 3,
        "max-set": 4,
        "max-run": 13,
        "low-ace-points": 1,
        "high-ace-points": 11,
        "face-points": 10,
        "min-target": 1,
        "max-target": 1000,
        "default-target": 100,
        "round-turns": 400,
        "match-turns": 10_000,
        "opening-points": 51,
        "stall-turns": 4,
        "near-ranks": 2,
    }
    assert room_numbers(RuleOptions()) == {"target-score": 100, "ace-points": 1, "hand-points": 20}
    assert room_numbers(RuleOptions(250, ace_high=True)) == {
        "target-score": 250,
        "ace-points": 11,
        "hand-points": 30,
    }


def test_three_and_four_players_get_equal_hands_as_the_sheets_say() -> None:
    assert hand_size(3) == hand_size(4)


def test_the_examples_are_what_the_texts_call_them() -> None:
    assert meld_kind(example("set-example")) is MeldKind.SET
    assert meld_kind(example("run-example")) is MeldKind.RUN
    assert meld_kind(example("ace-run")) is MeldKind.RUN
    assert meld_kind(example("ace-below")) is None
    assert meld_kind(example("ace-around")) is None


def test_the_lay_off_of_the_example_extends_both_ends() -> None:
    run, added = example("lay-off-run"), example("lay-off-cards")
    assert added in lay_offs_on(run, FULL_DECK & ~run)
    low, high = cards_of(added)
    assert low < cards_of(run)[0]
    assert cards_of(run)[-1] < high


def test_the_bots_stall_and_isolate_as_the_sheets_say() -> None:
    from rami_bots.patterns import isolated
    from rami_bots.stalling import MAX_FRUITLESS_TAKES

    assert MAX_FRUITLESS_TAKES == STALL_TURNS
    for distance in range(1, 12):
        pair = mask_of((0, distance))
        assert (isolated(pair) == 0) is (distance <= NEAR_RANKS)


@pytest.mark.parametrize(
    ("locale", "shown"),
    [
        ("cs", "10♥ J♥ Q♥ K♥ A♥"),
        ("en", "10♥ J♥ Q♥ K♥ A♥"),
        ("es", "10♥ J♥ Q♥ K♥ A♥"),
        ("fr", "10♥ V♥ D♥ R♥ As♥"),
        ("nb", "10♥ Kn♥ D♥ K♥ A♥"),
        ("ru", "10♥ \u0412♥ \u0414♥ \u041a♥ \u0422♥"),
    ],
)
def test_cards_are_shown_in_the_letters_of_the_language(
    locale: str, shown: str, translations: Mapping[str, Translation]
) -> None:
    assert show_cards(parse_cards("TH JH QH KH AH"), translations[locale].letters) == shown


def test_suits_are_shown_by_their_signs() -> None:
    assert show_cards(parse_cards("2C 3D 4H 5S"), {}) == "2♣ 3♦ 4♥ 5♠"


@pytest.mark.parametrize("letters", [{}, {"T": "10", "J": "V", "Q": "D", "K": "R", "A": "As"}])
def test_the_data_is_written_alike_for_every_language(letters: dict[str, str]) -> None:
    texts = card_texts(letters)
    assert texts["data-ten"] == "T"
    assert texts["data-faces"] == "J, Q, K, A"
    assert texts["data-suits"] == "C, D, H, S"
    assert texts["letter-example-data"] == "QH"
    assert texts["lowest-rank"] == "2"


def test_options_and_guards_have_no_variable_in_common() -> None:
    assert not room_variables(RuleOptions()).keys() & fixed_variables(Guards(), {}).keys()
