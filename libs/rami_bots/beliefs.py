"""What the public history tells about a rival: whether it lays melds at once, and how well a hand fits what it did.

Two kinds of players are told apart, by the one habit that matters most for what a hand hides: who lays melds at once
has none left in hand, and who holds them back may have any. Whoever laid a meld where `holding` would have held it
back is of the first kind; whoever has laid none for long is hardly of it, and whoever holds a card that it took is not.
Either kind takes a discard that makes a meld, and discards the card that is worth least to it: so a hand is doubtful
in which a card taken stands in no meld, or which has cards worth less than those it discarded.

The numbers were found by measuring how probable supposed deals made the cards that rivals really held, in rounds of
Easy and of Normal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from rami_bots.holding import is_time_to_lay
from rami_bots.knowledge import held_cards
from rami_bots.patterns import DEARER, LINKS, NEIGHBOURS, POINTS, isolated, melded, outs, outs_with
from rami_engine import cards_of, mask_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rami_bots.knowledge import Knowledge
    from rami_engine import CardTrace, Mask, SeatView

Doubts: TypeAlias = "Callable[[Mask], float]"
"""How ill a hand fits what its seat did; 0 for a hand without a doubt. One doubt more makes it e times less likely."""

STILL_NOTHING: Final = {2: 0.75, 3: 0.45, 4: 0.45}
"""The chance that who lays at once has nothing to lay in a turn of its own, by number of seats."""
DISCARDS: Final = 6
"""Discards that are looked at: the latest."""
OUT_WORTH: Final = 2
"""What a card is worth to who holds melds back, in points, for each card that may come and make a meld with it."""
REFUSED: Final = 1.5
"""The doubt for a card that completes a meld and that the seat discarded or passed over."""
UNLAID: Final = 3
"""The doubt for a card that who lays at once would have laid."""
UNMELDED: Final = 2
"""The doubt for a card that the seat took from the discard pile and that stands in no meld of its hand."""
KEPT_AT_ONCE: Final = 3
"""The doubt for a card that who lays at once would rather have discarded."""
KEPT_HOLDING: Final = 1
"""The same for who holds melds back: its thoughts are longer, and known less well."""


def lays_at_once(view: SeatView, seat: int) -> float:
    """How probable it is that a rival lays melds at once, from 0 to 1; as likely as not before anything was seen."""
    for meld in view.melds:
        laid = [trace for trace in view.history if trace.laid_by is not None and meld >> trace.card & 1]
        founding = min(laid, key=lambda trace: trace.laid_turn, default=None)
        if founding is not None and founding.laid_by == seat and not _had_to_lay(view, founding):
            return 1.0
    if held_cards(view)[seat]:
        return 0.0  # it would have laid what it took
    chance = STILL_NOTHING[view.players] ** (view.turn_number // view.players)
    return chance / (1 + chance)


def _had_to_lay(view: SeatView, founding: CardTrace) -> bool:
    """Whether whoever holds melds back would have laid that one too, by the stock and the hands of that turn."""
    turn = founding.laid_turn
    draws_since = view.turn_number - turn - sum([trace.taken_turn > turn for trace in view.history])
    laid_since = [0] * view.players
    for trace in view.history:
        if trace.laid_by is not None and trace.laid_turn > turn:
            laid_since[trace.laid_by] += 1
    sizes = [size + laid for size, laid in zip(view.hand_sizes, laid_since, strict=True)]
    smallest_rival = min([size for seat, size in enumerate(sizes) if seat != founding.laid_by])
    return is_time_to_lay(view.players, view.stock_count + draws_since, smallest_rival)


def doubts_at_once(view: SeatView, knowledge: Knowledge, seat: int) -> Doubts:
    """The doubts about hands of a rival that lays at once: what it could have laid, or rather discarded."""
    refused, discarded = knowledge.refused[seat], knowledge.discarded[seat][:DISCARDS]
    dearer = [DEARER[view.options.ace_high][card] for card in discarded]
    fits_table = 0
    for meld in view.melds:
        fits_table |= NEIGHBOURS[meld]

    def doubts(hand: Mask) -> float:
        total = REFUSED * (outs(hand) & refused).bit_count() + UNLAID * (melded(hand) | hand & fits_table).bit_count()
        loose = isolated(hand)
        for since, cards in enumerate(dearer):
            # As many cards as it discarded since may have come since.
            kept = (loose & cards).bit_count() - since
            if kept > 0:
                total += KEPT_AT_ONCE * kept
        return total

    return doubts


def doubts_holding(view: SeatView, knowledge: Knowledge, seat: int) -> Doubts:
    """The doubts about hands of a rival that holds melds back: it takes what makes a meld, and discards what is dear
    and waits for little.
    """
    refused, discarded = knowledge.refused[seat], knowledge.discarded[seat][:DISCARDS]
    taken = knowledge.held[seat]
    points = POINTS[view.options.ace_high]
    gone = mask_of(view.discards)
    for meld in view.melds:
        gone |= meld

    def doubts(hand: Mask) -> float:
        loose = hand & ~melded(hand)
        total = REFUSED * (outs(hand) & refused).bit_count() + UNMELDED * (loose & taken).bit_count()
        may_come = ~(gone | hand)
        worths = [
            points[card] - OUT_WORTH * (outs_with(card, LINKS[card] & hand) & may_come).bit_count()
            for card in cards_of(loose)
        ]
        worths.sort(reverse=True)
        for since, card in enumerate(discarded[: len(worths)]):
            worth = points[card] - OUT_WORTH * (outs_with(card, LINKS[card] & hand) & may_come).bit_count()
            if worths[since] > worth:
                total += KEPT_HOLDING * (sum([other > worth for other in worths]) - since)
        return total

    return doubts
