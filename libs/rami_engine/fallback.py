"""The move for when nobody gives one: draw from the stock, then discard the dearest isolated card.

It needs no search and no seed, and every seat view of a seat to move has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rami_engine.actions import DISCARDS, DRAW_STOCK, Action
from rami_engine.cards import RANK_COUNT, SUIT_PATTERN, SUITS, Card, Mask, card_points, cards_of
from rami_engine.errors import IllegalAction, Reason
from rami_engine.melds import ONE_RANK
from rami_engine.state import Phase

if TYPE_CHECKING:
    from rami_engine.view import SeatView


def isolated_cards(hand: Mask) -> Mask:
    """The cards of a hand with no other of their rank in it, nor of their suit within two ranks.

    An ace stands above the king: it is two ranks from the queen and far from the two.
    """
    isolated = 0
    for first in range(0, len(SUITS) * RANK_COUNT, RANK_COUNT):
        pattern = hand >> first & SUIT_PATTERN
        near = pattern << 1 | pattern >> 1 | pattern << 2 | pattern >> 2
        isolated |= (pattern & ~near) << first
    for rank in range(RANK_COUNT):
        of_rank = hand & ONE_RANK << rank
        if of_rank.bit_count() > 1:
            isolated &= ~of_rank
    return isolated


def dearest_card(cards: Mask, ace_high: bool) -> Card:
    """The card of most points; among equals the one of higher rank, then of higher index.

    Raises ValueError when there is no card.
    """
    return max(cards_of(cards), key=lambda card: (card_points(card, ace_high), card % RANK_COUNT, card))


def fallback_action(view: SeatView) -> Action:
    """A legal action for the viewer, the same for equal views.

    Raises IllegalAction, reason NOT_YOUR_TURN, when the viewer is not to move.
    """
    if view.viewer is None or view.viewer != view.turn or view.phase not in (Phase.DRAW, Phase.PLAY):
        raise IllegalAction(Reason.NOT_YOUR_TURN)
    if view.phase == Phase.DRAW:
        return DRAW_STOCK
    cards = isolated_cards(view.hand) or view.hand
    return DISCARDS[dearest_card(cards, view.options.ace_high)]
