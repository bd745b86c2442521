"""Quick playouts: a supposed deal of the hidden cards, played to the end of the round by a simple policy.

The policy of every seat is Normal's in outline and cheap enough for thousands of turns a decision: take the discard
that completes a meld or can be laid off; lay off what no own meld wants; hold melds back until the seat can go out or
has to lay; discard the card with most points, less what it is worth by the cards that would make a meld with it and
another and may still come. A rival that is supposed to lay melds at once does that instead, and discards like Easy.

The seat that searches knows two things more, which pay where rounds end with the stock. Whoever finds the stock empty
may take the discard instead of ending the round, and so gets one turn more, to lay what it holds and to be rid of a
dear card: it does so while its hand is not the least and becomes better by it. As it is sure of that turn, it can hold
melds back for longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rami_bots.holding import SMALL_HAND, laying_stock, own_laying_stock
from rami_bots.patterns import LINKS, NEIGHBOURS, POINTS, completes, dearest, isolated, melded, outs_with
from rami_engine import DECK_SIZE, Card, Mask, best_split, cards_of, deadwood_points, mask_of, mask_points

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_TURNS: Final = 80
"""A playout longer than this is settled as if the stock had run out."""
OUT_WORTH: Final = {2: 4, 3: 7, 4: 3}
"""What each such card is worth to the seat that searches, in points, by number of seats. Found by playouts of this
policy against itself.
"""
RIVALS_OUT_WORTH: Final = 4
"""The same for the others. So worth, most discards are those that Normal chooses."""


class Table:
    """A supposed state of a round, mutable, made anew for each playout. Masks and cards as in the engine."""

    __slots__ = (
        "ace_high",
        "at_once",
        "discards",
        "gone",
        "hands",
        "kept",
        "laying_stocks",
        "melds",
        "open_cards",
        "out_worths",
        "own",
        "points",
        "small_hands",
        "stock",
    )

    def __init__(
        self,
        hands: Sequence[Mask],
        stock: Sequence[Card],
        discards: Sequence[Card],
        melds: Sequence[Mask],
        ace_high: bool,
        *,
        own: int | None = None,
        at_once: Mask = 0,
    ) -> None:
        """Copies what it is given. The next card of the stock stands last, as does the top of the discards. `own` is
        the seat that searches, if one does; `at_once` are the seats (bit s for seat s) that lay melds at once.
        """
        players = len(hands)
        self.hands = [*hands]
        self.stock = [*stock]
        self.discards = [*discards]
        self.melds = [*melds]
        self.ace_high = ace_high
        self.own = own
        self.kept = [melded(hand) for hand in hands]
        """By seat: the cards of its hand that lie in melds."""
        self.laying_stocks = [laying_stock(players)] * players
        self.out_worths = [RIVALS_OUT_WORTH] * players
        if own is not None:
            self.laying_stocks[own] = own_laying_stock(players)
            self.out_worths[own] = OUT_WORTH[players]
        self.at_once = at_once
        for seat in cards_of(at_once):
            self.laying_stocks[seat] = DECK_SIZE
        self.gone = 0
        """The cards on the table and in the discard pile, which nobody waits for any more; counted by `play_out`."""
        self.points = POINTS[ace_high]
        self.small_hands = 0
        """Seats (bit s for seat s) that may go out in their next turn; with four nobody looks at that."""
        if players < 4:
            for seat, hand in enumerate(hands):
                self._note_size(seat, hand)
        self.open_cards = 0
        """The cards of which each can be laid off."""
        self._reopen()

    def hold(self, seat: int, hand: Mask) -> None:
        """Let a seat hold these cards."""
        self.hands[seat] = hand
        self.kept[seat] = melded(hand)
        if len(self.hands) < 4:
            self._note_size(seat, hand)

    def lay(self, melds: Sequence[Mask]) -> None:
        """Put melds on the table."""
        self.melds += melds
        for meld in melds:
            self.open_cards |= NEIGHBOURS[meld]
            self.gone |= meld

    def lay_off(self, hand: Mask, keep: Mask) -> Mask:
        """Lay off what fits and is not to be kept; the hand that is left."""
        melds = self.melds
        while hand & self.open_cards & ~keep:
            for place, meld in enumerate(melds):
                added = NEIGHBOURS[meld] & hand & ~keep
                if added:
                    melds[place] = meld | added
                    hand ^= added
                    self.gone |= added
            self._reopen()
        return hand

    def settle(self) -> tuple[int, int]:
        """The winner of the round by hands as they are, and the points that the round brings."""
        ace_high = self.ace_high
        points = [mask_points(hand, ace_high) for hand in self.hands]
        least = min(points)
        return points.index(least), sum(points) - least

    def play_out(self, seat: int, drawn: Card | None = None) -> tuple[int, int]:
        """Play to the end, from the draw of a seat or, with `drawn`, from the play of a seat that drew this card.

        The winner of the round and the points it brings.
        """
        hands, discards, kept = self.hands, self.discards, self.kept
        players = len(hands)
        self.gone = mask_of(discards)
        for meld in self.melds:
            self.gone |= meld
        for _ in range(MAX_TURNS):
            hand = hands[seat]
            if drawn is None:
                drawn = self._draw(seat, hand)
                if drawn is None:
                    break
            if completes(hand, drawn):
                kept[seat] = melded(hand | 1 << drawn)
            hand |= 1 << drawn
            drawn = None
            if kept[seat] or hand & self.open_cards or not hand & hand - 1:
                hand = self._laid(seat, hand, kept[seat])
                if not hand:
                    hands[seat] = 0
                    break
            keep = kept[seat]
            card = self._discard(seat, hand, hand & ~keep or hand)
            discards.append(card)
            self.gone |= 1 << card
            hand ^= 1 << card
            hands[seat] = hand
            if keep >> card & 1:
                kept[seat] = melded(hand)
            seat += 1
            if seat == players:
                seat = 0
        return self.settle()

    def _draw(self, seat: int, hand: Mask) -> Card | None:
        """The card that a hand gets; None when it lets the round end with the stock."""
        top = self.discards[-1]
        if not (self.open_cards >> top & 1 or completes(hand, top)):
            if self.stock:
                return self.stock.pop()
            if seat != self.own or not self._gains_by(seat, hand, top):
                return None
        self.gone ^= 1 << top
        return self.discards.pop()

    def _gains_by(self, seat: int, hand: Mask, top: Card) -> bool:
        """Whether a hand that does not win when the round ends now gets better by one turn more, with this card."""
        ace_high = self.ace_high
        if self.settle()[0] == seat:
            return False
        left = best_split(hand | 1 << top, ace_high).deadwood
        if left:
            left ^= 1 << dearest(left, ace_high)
        return mask_points(left, ace_high) < mask_points(hand, ace_high)

    def _discard(self, seat: int, hand: Mask, loose: Mask) -> Card:
        """The card that a seat discards of some loose ones."""
        if len(self.stock) < len(self.hands):
            return dearest(loose, self.ace_high)  # no card comes any more that another could wait for
        if self.at_once >> seat & 1:
            return dearest(isolated(hand) or loose, self.ace_high)
        points, out_worth = self.points, self.out_worths[seat]
        may_come = ~(self.gone | hand)
        best, best_worth = 0, -1000
        for card in cards_of(loose):
            worth = points[card]
            linked = LINKS[card] & hand
            if linked:
                worth -= out_worth * (outs_with(card, linked) & may_come).bit_count()
            if worth >= best_worth:
                best, best_worth = card, worth
        return best

    def _laid(self, seat: int, hand: Mask, keep: Mask) -> Mask:
        """Lay what the policy lays of a hand whose melds are `keep`; what is left, 0 when the seat goes out."""
        before = hand
        if hand & self.open_cards & ~keep:
            hand = self.lay_off(hand, keep)
        free = hand & ~keep
        if not free & free - 1 and (not keep or _is_out(hand, free, self.ace_high)):
            return 0
        if keep and (len(self.stock) <= self.laying_stocks[seat] or self.small_hands & ~(1 << seat)):
            split = best_split(hand, self.ace_high)
            self.lay(split.melds)
            hand = self.lay_off(split.deadwood, 0)
            self.kept[seat] = 0
            if not hand & hand - 1:
                return 0
        if hand != before and len(self.hands) < 4:
            self._note_size(seat, hand & hand - 1)
        return hand

    def _note_size(self, seat: int, hand: Mask) -> None:
        if hand.bit_count() <= SMALL_HAND:
            self.small_hands |= 1 << seat

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
