"""Quick readings of a hand: what is melded, linked or isolated, which cards it waits for, its dearest card.

Like the engine, everything works on suit patterns (the 13 bits of one suit) with tables made at import. A card is
*linked* to another of its rank, or of its suit within two ranks: the two are one card away from a meld, unless the ace
stands in between. The *outs* of a hand are the cards outside it that would complete a meld with it.

All functions trust their caller that masks lie within the deck.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from rami_engine import (
    ACE,
    DECK_MELDS,
    DECK_SIZE,
    FULL_DECK,
    RANKS,
    SUITS,
    Card,
    Mask,
    card_points,
    cards_of,
    lay_offs_on,
)

RANK_COUNT: Final = len(RANKS)
SUIT_PATTERN: Final = (1 << RANK_COUNT) - 1
ONE_RANK: Final[Mask] = sum(1 << suit * RANK_COUNT for suit in range(len(SUITS)))
"""The four twos. Multiplied by a suit pattern: the cards of its ranks in all suits."""

_PATTERNS: Final = range(SUIT_PATTERN + 1)


def _run_cover(pattern: int) -> int:
    """The ranks of a suit pattern that lie in three or more consecutive ones."""
    starts = pattern & pattern >> 1 & pattern >> 2
    return starts | starts << 1 | starts << 2


def _linked_ranks(pattern: int) -> int:
    """Ranks of a suit pattern that have another one of it within two ranks."""
    return pattern & (pattern << 1 | pattern >> 1 | pattern << 2 | pattern >> 2)


def _run_outs(pattern: int) -> int:
    """Ranks outside a suit pattern that would stand in a run with it."""
    outs = 0
    for rank in range(RANK_COUNT):
        bit = 1 << rank
        if not pattern & bit and _run_cover(pattern | bit) & bit:
            outs |= bit
    return outs


RUN_COVER: Final = tuple([_run_cover(pattern) for pattern in _PATTERNS])
"""The ranks of a suit pattern that lie in runs."""
LINKED_RANKS: Final = tuple([_linked_ranks(pattern) for pattern in _PATTERNS])
"""The ranks of a suit pattern that have another of it within two ranks."""
RUN_OUTS: Final = tuple([_run_outs(pattern) for pattern in _PATTERNS])
"""The ranks that would make a run with a suit pattern, or lengthen one."""

POINTS: Final = tuple([tuple([card_points(card, ace_high) for card in range(DECK_SIZE)]) for ace_high in (False, True)])
"""Points of a card in hand, by `ace_high`, then by card."""

_ACE_RANK: Final = 1 << ACE


def _dearer_than(card: Card, ace_high: bool) -> Mask:
    points = POINTS[ace_high]
    order = points[card], card % RANK_COUNT, card
    return sum(1 << other for other in range(DECK_SIZE) if (points[other], other % RANK_COUNT, other) > order)


DEARER: Final = tuple([tuple([_dearer_than(card, high) for card in range(DECK_SIZE)]) for high in (False, True)])
"""The cards that are higher than a card, in the order of `dearest`, by `ace_high`, then by card."""


def _links_of(card: Card) -> Mask:
    suit, rank = divmod(card, RANK_COUNT)
    near = (0b11011 << rank >> 2) & SUIT_PATTERN
    return (near << suit * RANK_COUNT) | (ONE_RANK << rank) & ~(1 << card)


LINKS: Final = tuple([_links_of(card) for card in range(DECK_SIZE)])
"""The cards linked to a card, by card."""


def _neighbours_of(meld: Mask) -> Mask:
    others = FULL_DECK & ~meld
    return sum(added for added in lay_offs_on(meld, others) if added.bit_count() == 1)


NEIGHBOURS: Final = {meld: _neighbours_of(meld) for meld in DECK_MELDS}
"""The cards of which each alone can be laid off on a meld. So can all of them at once."""


_SHIFTS: Final = tuple([card - card % RANK_COUNT for card in range(DECK_SIZE)])
_RANK_BITS: Final = tuple([1 << card % RANK_COUNT for card in range(DECK_SIZE)])
_SAME_RANK: Final = tuple([ONE_RANK << card % RANK_COUNT for card in range(DECK_SIZE)])


def completes(hand: Mask, card: Card) -> bool:
    """Whether a card outside a hand would stand in a meld with it."""
    pair = hand & _SAME_RANK[card]
    if pair & pair - 1:
        return True
    return RUN_OUTS[hand >> _SHIFTS[card] & SUIT_PATTERN] & _RANK_BITS[card] != 0


def melded(hand: Mask) -> Mask:
    """The cards of a hand that lie in some meld of it; two melds may want the same card."""
    clubs = hand & SUIT_PATTERN
    diamonds = hand >> 13 & SUIT_PATTERN
    hearts = hand >> 26 & SUIT_PATTERN
    spades = hand >> 39
    ranks = clubs & diamonds & (hearts | spades) | hearts & spades & (clubs | diamonds)
    runs = RUN_COVER[clubs] | RUN_COVER[diamonds] << 13 | RUN_COVER[hearts] << 26 | RUN_COVER[spades] << 39
    return runs | hand & ranks * ONE_RANK if ranks else runs


def isolated(hand: Mask) -> Mask:
    """The cards of a hand that are linked to no other card of it."""
    clubs = hand & SUIT_PATTERN
    diamonds = hand >> 13 & SUIT_PATTERN
    hearts = hand >> 26 & SUIT_PATTERN
    spades = hand >> 39
    pairs = clubs & diamonds | hearts & spades | (clubs | diamonds) & (hearts | spades)
    near = LINKED_RANKS[clubs] | LINKED_RANKS[diamonds] << 13 | LINKED_RANKS[hearts] << 26 | LINKED_RANKS[spades] << 39
    return hand & ~(near | pairs * ONE_RANK)


def outs(hand: Mask) -> Mask:
    """The cards outside a hand that would stand in a meld with it."""
    clubs = hand & SUIT_PATTERN
    diamonds = hand >> 13 & SUIT_PATTERN
    hearts = hand >> 26 & SUIT_PATTERN
    spades = hand >> 39
    pairs = clubs & diamonds | hearts & spades | (clubs | diamonds) & (hearts | spades)
    runs = RUN_OUTS[clubs] | RUN_OUTS[diamonds] << 13 | RUN_OUTS[hearts] << 26 | RUN_OUTS[spades] << 39
    return (runs | pairs * ONE_RANK) & ~hand


@cache
def outs_with(card: Card, linked: Mask) -> Mask:
    """The cards that would stand in a meld with a card and another, of some that are linked to it.

    There are at most 128 such sets for a card, so that what is remembered stays small.
    """
    waiting = 0
    for other in cards_of(linked):
        waiting |= outs(1 << card | 1 << other)
    return waiting


def dearest(cards: Mask, ace_high: bool) -> Card:
    """The highest of some cards: most points, then the higher rank, then the higher index. At least one card."""
    ranks = (cards | cards >> 13 | cards >> 26 | cards >> 39) & SUIT_PATTERN
    if not ace_high and ranks != _ACE_RANK:
        # A low ace is the cheapest card of all.
        ranks &= ~_ACE_RANK
    return (cards & ONE_RANK << ranks.bit_length() - 1).bit_length() - 1
