"""Failures reported about comparable systems, restated for the rules; each test is named after its case."""

import random

import pytest

from rami_engine import (
    DRAW_DISCARD,
    DRAW_STOCK,
    FULL_DECK,
    EndReason,
    Guards,
    IllegalAction,
    Phase,
    Reason,
    RuleOptions,
    apply,
    best_split,
    check,
    discard_action,
    is_meld,
    legal_actions,
    mask_of,
    new_match,
    parse_action,
    parse_cards,
    start_round,
)
from unit.engine.positions import (
    GAMES_PER_TABLE,
    TABLES,
    Table,
    mask,
    position,
    round_of,
    seeded_games,
    shuffled,
)


@pytest.mark.parametrize(
    ("hand", "points"),
    [
        ("5H 6H 7H 8H 9H TH TS TC 7S 7D", 14),
        ("3D 4D 5D 6D 5C 6C 7C TD JD QD", 0),
        ("5S 6S 6H 6D 7S 7D 8D QC 2H KC", 28),
    ],
)
def test_r1_best_split(hand: str, points: int) -> None:
    cards = list(parse_cards(hand))
    expected = best_split(mask_of(cards), ace_high=False)
    assert expected.points == points
    for seed in range(20):
        random.Random(seed).shuffle(cards)
        split = best_split(mask_of(cards), ace_high=False)
        assert split == expected
        assert sum(split.melds) + split.deadwood == mask(hand), "a card is missing or in two melds"
        assert all(is_meld(meld) for meld in split.melds)


@pytest.mark.parametrize("ace_high", [False, True])
@pytest.mark.parametrize(
    ("cards", "valid"), [("QH KH AH", True), ("AH 2H 3H", False), ("KH AH 2H", False), ("KC KD AD", False)]
)
def test_r2_ace(cards: str, valid: bool, ace_high: bool) -> None:
    match = position(f"{cards} 5S", "9C", discards="2D", options=RuleOptions(ace_high=ace_high))
    action = parse_action(f"meld {cards}")
    assert (check(match, 0, action) is None) == valid
    assert (action in legal_actions(match, 0)) == valid


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_r2_no_action_of_the_list_is_refused(table: Table) -> None:
    refused = games = 0
    for _, steps in seeded_games(table):
        games += 1
        try:
            assert sum(step.outcome.match_end is not None for step in steps) == 1
        except IllegalAction:
            refused += 1
    assert (games, refused) == (GAMES_PER_TABLE, 0)


def test_r3_a_meld_grows_with_each_lay_off() -> None:
    match = position("5C 6C 4D TC 9S", "KC", melds=["7C 8C 9C", "TD TH TS"], discards="2D")
    assert check(match, 0, parse_action("lay-off 1 5C")) == Reason.INVALID_LAY_OFF
    apply(match, 0, parse_action("lay-off 1 6C"))
    apply(match, 0, parse_action("lay-off 1 5C"))
    assert round_of(match).melds[0] == mask("5C 6C 7C 8C 9C")
    assert check(match, 0, parse_action("lay-off 1 4D")) == Reason.INVALID_LAY_OFF


@pytest.mark.parametrize("number", [1, 2])
def test_r3_a_card_that_fits_two_melds_goes_to_the_named_one_only(number: int) -> None:
    melds = ["7C 8C 9C", "TD TH TS"]
    match = position("TC 9S", "KC", melds=melds, discards="2D")
    apply(match, 0, parse_action(f"lay-off {number} TC"))
    expected = [mask(meld) for meld in melds]
    expected[number - 1] |= mask("TC")
    assert round_of(match).melds == expected
    assert round_of(match).hands[0] == mask("9S")


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_r4_card_conservation(table: Table) -> None:
    for match, steps in seeded_games(table):
        for step in steps:
            current = round_of(match)
            stock = current.deck[current.stock_pos :]
            places = [*current.hands, *current.melds, mask_of(stock), mask_of(current.discards)]
            assert sum(place.bit_count() for place in places) == 52
            assert sum(places) == FULL_DECK
            if step.outcome.drawn is not None:
                sizes = step.hand_sizes
                sizes[step.seat] += 1
                assert [hand.bit_count() for hand in current.hands] == sizes


def test_r5_the_last_card_of_the_stock_is_drawn_and_the_turn_goes_on() -> None:
    match = position("5H 6H 7H", "KC QC", phase=Phase.DRAW, discards="2D", stock="9S")
    assert apply(match, 0, DRAW_STOCK).drawn is not None
    assert round_of(match).stock_count == 0
    apply(match, 0, parse_action("meld 5H 6H 7H"))
    outcome = apply(match, 0, parse_action("discard 9S"))
    assert outcome.round_end is not None
    assert outcome.round_end.reason == EndReason.WENT_OUT


def test_r5_the_next_draw_from_the_stock_ends_the_round() -> None:
    match = position("5H 6H", "KC QC", phase=Phase.DRAW, discards="2D", stock="9S")
    apply(match, 0, DRAW_STOCK)
    apply(match, 0, parse_action("discard 9S"))
    assert legal_actions(match, 1) == (DRAW_STOCK, DRAW_DISCARD)
    outcome = apply(match, 1, DRAW_STOCK)
    assert outcome.round_end is not None
    assert outcome.round_end.reason == EndReason.STOCK_EXHAUSTED
    assert round_of(match).stock_count == 0


def test_r5_with_an_empty_stock_the_discard_may_be_taken_instead() -> None:
    match = position("5H 6H", "KC QC", phase=Phase.DRAW, discards="2D", stock="")
    apply(match, 0, DRAW_DISCARD)
    apply(match, 0, parse_action("discard 6H"))
    assert (match.phase, round_of(match).turn) == (Phase.DRAW, 1)


@pytest.mark.parametrize("table", TABLES[::5], ids=str)
def test_r5_no_count_is_negative_and_no_seat_is_stuck(table: Table) -> None:
    empty = 0
    for match, steps in seeded_games(table):
        for step in steps:
            assert step.legal
            assert 0 <= round_of(match).stock_count <= 37
            empty += round_of(match).stock_count == 0
    assert empty


@pytest.mark.parametrize("limit", [1, 7, 400])
def test_r6_two_seats_giving_back_the_same_discard_end_at_the_turn_limit(limit: int) -> None:
    match = new_match(2, RuleOptions(), Guards(max_turns_per_round=limit))
    turned_up = start_round(match, shuffled(random.Random(6))).turned_up
    ends = []
    for _ in range(limit):
        seat = round_of(match).turn
        assert apply(match, seat, DRAW_DISCARD).drawn == turned_up
        ends.append(apply(match, seat, discard_action(turned_up)).round_end)
    assert ends[:-1] == [None] * (limit - 1)
    assert ends[-1] is not None
    assert ends[-1].reason == EndReason.TURN_LIMIT
    assert match.turns == limit
