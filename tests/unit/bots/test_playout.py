"""Playouts end, keep all cards, and give the points that the rules give."""

import random

import pytest

from rami_bots.playout import Table
from rami_engine import FULL_DECK, hand_size, mask_of, mask_points, parse_card, parse_cards
from unit.engine.positions import mask


@pytest.mark.parametrize("players", [2, 3, 4])
def test_a_playout_keeps_all_cards_and_ends_with_a_winner(players: int) -> None:
    rng = random.Random(players)
    for _ in range(200):
        deck = rng.sample(range(52), 52)
        size = hand_size(players)
        hands = [mask_of(deck[seat * size : (seat + 1) * size]) for seat in range(players)]
        table = Table(hands, deck[players * size + 1 :], deck[players * size : players * size + 1], (), ace_high=False)
        winner, points = table.play_out(0)
        on_table = 0
        for meld in table.melds:
            on_table |= meld
        counted = sum(hand.bit_count() for hand in table.hands) + on_table.bit_count()
        counted += len(table.stock) + len(table.discards)
        held = [mask_points(hand, False) for hand in table.hands]
        assert points == sum(held) - held[winner]
        assert held[winner] == min(held)
        gone_out = not table.hands[winner]
        # Who goes out leaves its last cards uncounted: nobody asks where they went.
        assert counted == 52 or gone_out
        assert on_table & sum(table.hands) == 0
        assert (on_table | sum(table.hands)) & ~FULL_DECK == 0


def test_a_seat_with_a_full_hand_of_melds_goes_out() -> None:
    hands = [mask("2C 3C 4C 9D TD JD KS"), mask("5H 6H 9S")]
    table = Table(hands, [0], [mask("7S").bit_length() - 1], (), ace_high=False)
    assert table.play_out(0, drawn=mask("QD").bit_length() - 1) == (0, 20)


def test_a_held_meld_is_laid_and_opened_to_all_when_the_stock_runs_low() -> None:
    hands = [mask("2C 3C 4C 9D JH KS 7H"), mask("5C AH AS 9S TD QS 6D")]
    table = Table(hands, [], [mask("7S").bit_length() - 1], (), ace_high=False)
    table.play_out(0, drawn=mask("QD").bit_length() - 1)
    assert mask("2C 3C 4C") in table.melds or mask("2C 3C 4C 5C") in table.melds


@pytest.mark.parametrize("at_once", [True, False])
def test_only_who_lays_at_once_has_laid_its_meld_when_another_goes_out_early(at_once: bool) -> None:
    hands = [mask("2C 3C 4C JD KS TH"), mask("5H 6H 7H 9S 9H 9D")]
    stock = list(parse_cards("2D 3D 4S 5S 6S 2H 8C"))
    table = Table(hands, stock, parse_cards("7S"), (), ace_high=False, at_once=at_once)
    drawn = parse_card("QD")
    assert table.play_out(0, drawn=drawn) == (1, 30 if at_once else 39)


@pytest.mark.parametrize(("own", "discarded"), [(0, "4H"), (1, "KS")])
def test_with_three_seats_the_one_that_searches_keeps_what_another_would_discard(own: int, discarded: str) -> None:
    hands = [mask("KS QS 4H"), mask("9D 7C 5C"), mask("9H 7D 5D")]
    stock = list(parse_cards("KH TC 8S 6S 3D AC"))
    table = Table(hands, stock, parse_cards("AS TD"), (), ace_high=False, own=own)
    table.play_out(0, drawn=parse_card("2C"))
    assert table.discards[2] == parse_card(discarded)


def test_a_drawn_card_that_fits_the_table_is_laid_off_and_the_last_one_discarded() -> None:
    drawn = mask("6C").bit_length() - 1
    table = Table([mask("KS"), mask("5H 6H 9S")], [], [51], [mask("3C 4C 5C")], ace_high=False)
    assert table.play_out(0, drawn=drawn) == (0, 20)
    assert table.hands[0] == 0


def test_with_an_empty_stock_and_a_useless_discard_the_lowest_hand_wins() -> None:
    table = Table([mask("KS QD"), mask("5H 6H")], [], [mask("2C").bit_length() - 1], (), ace_high=False)
    assert table.play_out(0) == (1, 20)


def test_the_seat_that_searches_goes_on_from_an_empty_stock_where_that_makes_its_hand_better() -> None:
    discards = [mask("2C").bit_length() - 1]
    losing = Table([mask("KS QD"), mask("5H 6H")], [], discards, (), ace_high=False, own=0)
    assert losing.play_out(0) == (1, 12), "the king goes for the two, and the round ends with the next seat"
    winning = Table([mask("5H 6H"), mask("KS QD")], [], discards, (), ace_high=False, own=0)
    assert winning.play_out(0) == (0, 20)
    useless = Table([mask("3S 4D"), mask("AH 2H")], [], [mask("KC").bit_length() - 1], (), ace_high=False, own=0)
    assert useless.play_out(0) == (1, 7)
