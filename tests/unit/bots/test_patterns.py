"""The quick readings of a hand agree with their plain definitions."""

import random

import pytest

from rami_bots.patterns import LINKS, NEIGHBOURS, completes, dearest, isolated, melded, outs
from rami_engine import DECK_MELDS, card_points, cards_of, is_meld, lay_offs_on, mask_of, melds_in
from unit.engine.positions import mask


def linked(card: int, other: int) -> bool:
    same_rank = card % 13 == other % 13
    near_in_suit = card // 13 == other // 13 and abs(card - other) <= 2
    return card != other and (same_rank or near_in_suit)


def random_hands(count: int) -> list[tuple[int, ...]]:
    rng = random.Random(3)
    return [tuple(rng.sample(range(52), rng.randint(1, 11))) for _ in range(count)]


def test_readings_agree_with_their_definitions() -> None:
    for cards in random_hands(2000):
        hand = mask_of(cards)
        in_melds = 0
        for meld in melds_in(hand):
            in_melds |= meld
        assert melded(hand) == in_melds
        alone = [card for card in cards if not any(linked(card, other) for other in cards)]
        assert isolated(hand) == mask_of(alone)
        outside = [card for card in range(52) if not hand >> card & 1]
        completing = [card for card in outside if melded(hand | 1 << card) >> card & 1]
        assert outs(hand) == mask_of(completing)
        assert [card for card in outside if completes(hand, card)] == completing


def test_links_are_mutual_and_as_defined() -> None:
    for card in range(52):
        assert LINKS[card] == mask_of(other for other in range(52) if linked(card, other))


def test_an_ace_is_linked_below_it_and_never_around_the_corner() -> None:
    assert LINKS[mask("AH").bit_length() - 1] & mask("2H 3H QH KH") == mask("QH KH")
    assert outs(mask("AH 2H")) == 0
    assert outs(mask("AH KH")) == mask("QH")


@pytest.mark.parametrize("ace_high", [False, True])
def test_the_dearest_card_has_most_points_then_rank_then_index(ace_high: bool) -> None:
    for cards in random_hands(1000):
        expected = max(cards, key=lambda card: (card_points(card, ace_high), card % 13, card))
        assert dearest(mask_of(cards), ace_high) == expected


def test_neighbours_can_all_be_laid_off_at_once() -> None:
    for meld in DECK_MELDS:
        singles = [added for added in lay_offs_on(meld, mask_of(range(52)) & ~meld) if added.bit_count() == 1]
        assert set(cards_of(NEIGHBOURS[meld])) == {card for added in singles for card in cards_of(added)}
        assert is_meld(meld | NEIGHBOURS[meld])
