"""The best split of a hand: disjoint melds that leave the fewest points in hand.

Exact, by search over the sets alone. Once it is settled which sets are laid, what remains of each suit is
best covered by whole runs of three or more consecutive ranks, so the points it leaves are looked up by suit
pattern. A rank of three cards has one set, a rank of four has five; a hand of 11 cards gives at most 6 * 6 *
2 choices, and most hands give one.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rami_engine.cards import PATTERN_POINTS, RANK_COUNT, SUIT_PATTERN, SUITS, Mask, mask_points
from rami_engine.melds import ONE_RANK, RUN_COVER, sets_by_rank


class Split(NamedTuple):
    """A hand taken apart: its melds and the rest are disjoint and make up the hand."""

    melds: tuple[Mask, ...]
    """Ascending by mask. Runs are as long as they can be."""
    deadwood: Mask
    """The cards in no meld."""
    points: int
    """Points of the deadwood."""


def _points_beside_runs(ace_high: bool) -> tuple[int, ...]:
    points = PATTERN_POINTS[ace_high]
    return tuple([points[pattern ^ cover] for pattern, cover in enumerate(RUN_COVER)])


_POINTS_BESIDE_RUNS: Final = (_points_beside_runs(ace_high=False), _points_beside_runs(ace_high=True))
"""Points that the runs of a suit pattern leave, by `ace_high`, then by pattern."""


def best_split(hand: Mask, ace_high: bool) -> Split:
    """The split of a hand with the fewest points of deadwood. Among equals always the same one.

    Any mask will do, but the cost grows with every rank of three or four cards: meant for hands of up to 13
    cards.
    """
    points, sets = _best_choice_of_sets(hand, ace_high)
    rest = hand & ~sets
    melds = []
    while sets:
        rank = ((sets & -sets).bit_length() - 1) % RANK_COUNT
        meld = sets & ONE_RANK << rank
        melds.append(meld)
        sets ^= meld
    for first in range(0, len(SUITS) * RANK_COUNT, RANK_COUNT):
        cover = RUN_COVER[rest >> first & SUIT_PATTERN]
        while cover:
            # Adding its lowest bit carries through the lowest run, which is cleared by it.
            run = cover & ~(cover + (cover & -cover))
            melds.append(run << first)
            rest ^= run << first
            cover ^= run
    return Split(tuple(sorted(melds)), rest, points)


def deadwood_points(hand: Mask, ace_high: bool) -> int:
    """The fewest points that disjoint melds can leave of a hand; as costly as `best_split` at most."""
    return _best_choice_of_sets(hand, ace_high)[0]


def _best_choice_of_sets(hand: Mask, ace_high: bool) -> tuple[int, Mask]:
    """The least points of deadwood, and the cards of the sets laid for it."""
    beside_runs = _POINTS_BESIDE_RUNS[ace_high]
    choices = [0]
    for sets in sets_by_rank(hand):
        choices += [others | laid for laid in sets for others in choices]
    best_points, best_sets = mask_points(hand, ace_high) + 1, 0
    for laid in choices:
        rest = hand & ~laid
        points = (
            beside_runs[rest & SUIT_PATTERN]
            + beside_runs[rest >> 13 & SUIT_PATTERN]
            + beside_runs[rest >> 26 & SUIT_PATTERN]
            + beside_runs[rest >> 39]
        )
        if points < best_points:
            best_points, best_sets = points, laid
    return best_points, best_sets
