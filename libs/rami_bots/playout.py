"""Quick playouts: a supposed deal of the hidden cards, played to the end of the round by a simple policy.

The policy of every seat is Normal's in outline and cheap enough for thousands of turns a decision: take the discard
that completes a meld or can be laid off; lay off what no own meld wants; hold melds back until the seat can go out or
has to lay; discard the highest card that is linked to none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rami_bots.holding import SMALL_HAND, laying_stock
from rami_bots.patterns import (
    LINKS,
    NEIGHBOURS,
    ONE_RANK,
    POINTS,
    RANK_COUNT,
    RUN_OUTS,
    SUIT_PATTERN,
    dearest,
    isolated,
    melded,
)
from rami_engine import Card, Mask, best_split, cards_of, deadwood_points, mask_points

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_TURNS: Final = 80
"""A playout longer than this is settled as if the stock had run out."""
MIN_PAIR: Final = 2
LINK_WORTH: Final = {2: 5, 3: None, 4: 3}
"""What a card is worth for each card of the hand that it is linked to, in points, by number of seats. None: a linked
card is never discarded before an isolated one, which suits three seats best.
"""


class Table:
    """A supposed state of a round, mutable, made anew for each playout. Masks and cards as in the engine."""

    __slots__ = (
        "ace_high",
        "discards",
        "hands",
        "laying_stock",
        "link_worth",
        "melds",
        "open_cards",
        "points",
        "stock",
        "watches_rivals",
    )

    def __init__(
        self,
        hands: Sequence[Mask],
        stock: Sequence[Card],
        discards: Sequence[Card],
        melds: Sequence[Mask],
        ace_high: bool,
    ) -> None:
        """Copies what it is given. The next card of the stock stands last, as does the top of the discards."""
        self.hands = [*hands]
        self.stock = [*stock]
        self.discards = [*discards]
        self.melds = [*melds]
        self.ace_high = ace_high
        self.laying_stock = laying_stock(len(hands))
        self.watches_rivals = len(hands) < 4
        self.link_worth = LINK_WORTH[len(hands)]
        self.points = POINTS[ace_high]
        self.open_cards = 0
        """The cards of which each can be laid off."""
        self._reopen()

    def lay(self, melds: Sequence[Mask]) -> None:
        """Put melds on the table."""
        self.melds += melds
        self._reopen()

    def lay_off(self, hand: Mask, keep: Mask) -> Mask:
        """Lay off what fits and is not to be kept; the hand that is left."""
        melds = self.melds
        while hand & self.open_cards & ~keep:
            for place, meld in enumerate(melds):
                added = NEIGHBOURS[meld] & hand & ~keep
                if added:
                    melds[place] = meld | added
                    hand ^= added
            self._reopen()
        return hand

    def settle(self) -> tuple[int, int]:
        """The winner of the round by hands as they are, and the points that the round brings."""
        points = [mask_points(hand, self.ace_high) for hand in self.hands]
        least = min(points)
        return points.index(least), sum(points) - least

    def play_out(self, seat: int, drawn: Card | None = None) -> tuple[int, int]:
        """Play to the end, from the draw of a seat or, with `drawn`, from the play of a seat that drew this card.

        The winner of the round and the points it brings.
        """
        hands, discards = self.hands, self.discards
        players = len(hands)
        for _ in range(MAX_TURNS):
            if drawn is None:
                drawn = self._draw(hands[seat])
                if drawn is None:
                    break
            hand = hands[seat] | 1 << drawn
            drawn = None
            keep = melded(hand)
            if keep or hand & self.open_cards:
                hand = self._laid(seat, hand, keep)
            elif not hand & hand - 1:
                hand = 0
            if not hand:
                hands[seat] = 0
                break
            card = self._discard(hand, hand & ~keep or hand)
            discards.append(card)
            hands[seat] = hand ^ 1 << card
            seat += 1
            if seat == players:
                seat = 0
        return self.settle()

    def _draw(self, hand: Mask) -> Card | None:
        """The card that a hand gets, None from an empty stock."""
        top = self.discards[-1]
        suit, rank = divmod(top, RANK_COUNT)
        if (
            self.open_cards >> top & 1
            or RUN_OUTS[hand >> suit * RANK_COUNT & SUIT_PATTERN] >> rank & 1
            or (hand & ONE_RANK << rank).bit_count() >= MIN_PAIR
        ):
            return self.discards.pop()
        return self.stock.pop() if self.stock else None

    def _discard(self, hand: Mask, loose: Mask) -> Card:
        """The card that a hand discards of some loose ones."""
        link_worth = self.link_worth
        if len(self.stock) < len(self.hands):
            return dearest(loose, self.ace_high)  # no card comes any more that a link could wait for
        if link_worth is None:
            return dearest(isolated(hand) or loose, self.ace_high)
        points = self.points
        best, best_worth = 0, -1000
        for card in cards_of(loose):
            worth = points[card] - link_worth * (LINKS[card] & hand).bit_count()
            if worth >= best_worth:
                best, best_worth = card, worth
        return best

    def _laid(self, seat: int, hand: Mask, keep: Mask) -> Mask:
        """Lay what the policy lays of a hand whose melds are `keep`; what is left, 0 when the seat goes out."""
        if hand & self.open_cards & ~keep:
            hand = self.lay_off(hand, keep)
        free = hand & ~keep
        if not free & free - 1 and (not keep or _is_out(hand, free, self.ace_high)):
            return 0
        if keep and (len(self.stock) <= self.laying_stock or (self.watches_rivals and self._rival_is_close(seat))):
            split = best_split(hand, self.ace_high)
            self.lay(split.melds)
            hand = self.lay_off(split.deadwood, 0)
            if not hand & hand - 1:
                return 0
        return hand

    def _rival_is_close(self, seat: int) -> bool:
        return min([hand.bit_count() for place, hand in enumerate(self.hands) if place != seat]) <= SMALL_HAND

    def _reopen(self) -> None:
        cards = 0
        for meld in self.melds:
            cards |= NEIGHBOURS[meld]
        self.open_cards = cards


def _is_out(hand: Mask, free: Mask, ace_high: bool) -> bool:
    """Whether a hand with no card, or one, outside its melds can be laid but for one card."""
    if not deadwood_points(hand ^ free, ace_high):
        return True
    return not free and any(not deadwood_points(hand ^ 1 << card, ace_high) for card in cards_of(hand))
