"""Sets and runs: which masks are melds, which melds a hand holds, and what can be laid off on one.

Source: the rule sheet, section "Melds". All 329 melds are known at import: 264 runs (three or more
consecutive cards of a suit; an ace stands only above the king) and 65 sets (three or four cards of one rank).
Searches go through tables by *suit pattern* (the 13 bits of one suit) and by the cards of one rank.
"""

from __future__ import annotations

from enum import IntEnum
from itertools import chain
from typing import Final, NamedTuple

from rami_engine.cards import RANK_COUNT, SUIT_PATTERN, SUITS, Mask, PatternTable

MIN_MELD: Final = 3


class MeldKind(IntEnum):
    """The two kinds of meld."""

    SET = 1
    RUN = 2


class Extensions(NamedTuple):
    """What a meld can still take: of each tuple one entry may be added, the first of both being no card."""

    below: tuple[Mask, ...]
    """Cards below a run: none, the next lower one, the next two, ..."""
    above: tuple[Mask, ...]
    """Cards above a run: none, the next higher one, ...; for a set of three: none, or the missing card."""


_RUN_STARTS: Final = [pattern & pattern >> 1 & pattern >> 2 for pattern in range(SUIT_PATTERN + 1)]
RUN_COVER: Final = tuple([starts | starts << 1 | starts << 2 for starts in _RUN_STARTS])
"""The part of each suit pattern that lies in runs."""

ONE_RANK: Final[Mask] = sum(1 << suit * RANK_COUNT for suit in range(len(SUITS)))
"""The four twos. Multiplied by 1 << rank: the four cards of that rank."""


def _span(low: int, high: int) -> int:
    """The ranks low..high of a suit pattern."""
    return (1 << high + 1) - (1 << low)


def _all_runs() -> dict[Mask, Extensions]:
    """Every run, by suit, top card and length, which is also by ascending mask."""
    runs = {}
    for suit in range(len(SUITS)):
        first = suit * RANK_COUNT
        for high in range(MIN_MELD - 1, RANK_COUNT):
            for low in range(high - MIN_MELD + 1, -1, -1):
                below = tuple(_span(start, low - 1) << first for start in range(low, -1, -1))
                above = tuple(_span(high + 1, end) << first for end in range(high, RANK_COUNT))
                runs[_span(low, high) << first] = Extensions(below, above)
    return runs


def _all_sets() -> dict[Mask, Extensions]:
    """Every set; the keys of one rank ascend."""
    sets = {}
    for rank in range(RANK_COUNT):
        whole = ONE_RANK << rank
        for suit in range(len(SUITS) - 1, -1, -1):
            missing = 1 << suit * RANK_COUNT + rank
            sets[whole ^ missing] = Extensions((0,), (0, missing))
        sets[whole] = Extensions((0,), (0,))
    return sets


_RUNS: Final = _all_runs()
_SETS: Final = _all_sets()
EXTENSIONS: Final[dict[Mask, Extensions]] = _RUNS | _SETS
"""What each meld can take; its keys are all melds."""

NEIGHBOURS: Final[dict[Mask, Mask]] = {
    meld: sum(side[1] for side in extensions if len(side) > 1) for meld, extensions in EXTENSIONS.items()
}
"""The cards of which one at least is in every lay-off on a meld."""

MELD_KINDS: Final[dict[Mask, MeldKind]] = {
    **dict.fromkeys(_RUNS, MeldKind.RUN),
    **dict.fromkeys(_SETS, MeldKind.SET),
}
"""The kind of each meld; its keys are all melds."""

SETS_WITHIN: Final[dict[Mask, tuple[Mask, ...]]] = {
    cards: tuple(meld for meld in _SETS if meld & cards == meld) for cards in _SETS
}
"""The sets within three or four cards of one rank, ascending."""


def _runs_by_pattern(suit: int) -> PatternTable[tuple[Mask, ...]]:
    first = suit * RANK_COUNT
    within = {cover: tuple([run << first for run in runs]) for cover, runs in _CLUB_RUNS_BY_COVER.items()}
    return PatternTable(lambda pattern: within[RUN_COVER[pattern]])


# Clubs have the lowest indexes: their runs are suit patterns, too.
_CLUB_RUNS: Final = [run for run in _RUNS if run <= SUIT_PATTERN]
_CLUB_RUNS_BY_COVER: Final = {cover: [run for run in _CLUB_RUNS if run & cover == run] for cover in set(RUN_COVER)}
RUNS_BY_PATTERN: Final = tuple(_runs_by_pattern(suit) for suit in range(len(SUITS)))
"""The runs within a suit pattern, ascending, by suit and pattern."""

_CLUBS, _DIAMONDS, _HEARTS, _SPADES = RUNS_BY_PATTERN


def is_meld(mask: Mask) -> bool:
    """Whether these cards, all together, are one valid meld."""
    return mask in MELD_KINDS


def meld_kind(mask: Mask) -> MeldKind | None:
    """The kind of meld these cards are, or None when they are none."""
    return MELD_KINDS.get(mask)


def sets_by_rank(hand: Mask) -> list[tuple[Mask, ...]]:
    """The sets within a hand: for each rank that has any, by ascending rank, its sets ascending."""
    clubs = hand & SUIT_PATTERN
    diamonds = hand >> 13 & SUIT_PATTERN
    hearts = hand >> 26 & SUIT_PATTERN
    spades = hand >> 39
    ranks = clubs & diamonds & (hearts | spades) | hearts & spades & (clubs | diamonds)
    sets = []
    while ranks:
        lowest = ranks & -ranks
        sets.append(SETS_WITHIN[hand & ONE_RANK * lowest])
        ranks ^= lowest
    return sets


def melds_in(hand: Mask) -> tuple[Mask, ...]:
    """Every meld within a hand, ascending by mask: all lengths of runs, all sets of three and of four."""
    runs = (
        _CLUBS[hand & SUIT_PATTERN]
        + _DIAMONDS[hand >> 13 & SUIT_PATTERN]
        + _HEARTS[hand >> 26 & SUIT_PATTERN]
        + _SPADES[hand >> 39]
    )
    sets = sets_by_rank(hand)
    return tuple(sorted(chain(runs, *sets))) if sets else runs


def lay_offs_on(meld: Mask, hand: Mask) -> tuple[Mask, ...]:
    """Every non-empty part of a hand that can be added to a meld, ascending by mask.

    Trusts its caller that `meld` is a meld and shares no card with the hand.
    """
    if not hand & NEIGHBOURS[meld]:
        return ()
    below, above = EXTENSIONS[meld]
    fits_below = [cards for cards in below if cards & hand == cards]
    fits_above = [cards for cards in above if cards & hand == cards]
    # Cards above a run outweigh all cards below it, so this order ascends; its first entry adds nothing.
    return tuple([high | low for high in fits_above for low in fits_below][1:])


DECK_MELDS: Final[tuple[Mask, ...]] = tuple(sorted(MELD_KINDS))
"""All 329 melds, ascending by mask."""
