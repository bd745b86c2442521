"""The list of legal actions, in canonical order.

Source: the rule sheet, section "Legal actions": the draws; then melds by ascending mask, lay-offs by meld
number and then ascending mask of the added cards, discards by ascending card index. An action is legal
exactly when it is in this list.

The actions of all melds and discards are made once and looked up by suit pattern: the list of a hand is four
tuples of runs and four of discards put together. Only sets interleave with runs of hearts and
spades and need sorting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rami_engine.actions import DISCARDS, DRAW_DISCARD, DRAW_STOCK, Action, ActionKind
from rami_engine.cards import SUIT_PATTERN, SUITS, Mask, PatternTable, table_by_card
from rami_engine.melds import DECK_MELDS, NEIGHBOURS, RUNS_BY_PATTERN, lay_offs_on, sets_by_rank
from rami_engine.state import MatchState, Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

DRAWS: Final = (DRAW_STOCK, DRAW_DISCARD)
"""The legal actions of the draw phase: the discard pile holds a card then; an empty stock may be asked."""

# Bound once: reading a member from its enum costs more than comparing it (Python 3.11).
_DRAW: Final = Phase.DRAW
_PLAY: Final = Phase.PLAY
_LAY_OFF: Final = ActionKind.LAY_OFF

_MELD_ACTIONS: Final = {meld: Action(ActionKind.MELD, meld) for meld in DECK_MELDS}


def _meld_actions(suit: int) -> PatternTable[tuple[Action, ...]]:
    """The melds of the runs within a pattern of the suit, ascending."""
    runs_of = RUNS_BY_PATTERN[suit]
    return PatternTable(lambda pattern: tuple([_MELD_ACTIONS[run] for run in runs_of[pattern]]))


_CLUB_RUNS, _DIAMOND_RUNS, _HEART_RUNS, _SPADE_RUNS = map(_meld_actions, range(len(SUITS)))
_CLUBS, _DIAMONDS, _HEARTS, _SPADES = (table_by_card(suit, DISCARDS) for suit in range(len(SUITS)))


def legal_actions(match: MatchState, seat: int) -> tuple[Action, ...]:
    """Every legal action of a seat; empty for a seat not to move and when nothing is in play."""
    current = match.round
    if current is None or seat != current.turn:
        return ()
    if match.phase == _PLAY:
        return legal_plays(current.hands[seat], current.melds, match.options.discard_to_win)
    return DRAWS if match.phase == _DRAW else ()


def legal_plays(hand: Mask, melds: Sequence[Mask], discard_to_win: bool) -> tuple[Action, ...]:
    """Every legal action of the play phase with this hand and these table melds (number n at place n - 1).

    Trusts its caller that each of `melds` is a meld and shares no card with the hand.
    """
    clubs = hand & SUIT_PATTERN
    diamonds = hand >> 13 & SUIT_PATTERN
    hearts = hand >> 26 & SUIT_PATTERN
    spades = hand >> 39
    lays = _CLUB_RUNS[clubs] + _DIAMOND_RUNS[diamonds] + _HEART_RUNS[hearts] + _SPADE_RUNS[spades]
    if sets := sets_by_rank(hand):
        lays = tuple(sorted([*lays, *[_MELD_ACTIONS[meld] for of_rank in sets for meld in of_rank]]))
    lay_offs = [
        Action(_LAY_OFF, added, number)
        for number, meld in enumerate(melds, 1)
        if hand & NEIGHBOURS[meld]
        for added in lay_offs_on(meld, hand)
    ]
    if lay_offs:
        lays += tuple(lay_offs)
    if discard_to_win and lays:
        lays = tuple([action for action in lays if action.cards != hand])
    return lays + _CLUBS[clubs] + _DIAMONDS[diamonds] + _HEARTS[hearts] + _SPADES[spades]
