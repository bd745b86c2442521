"""What a seat can know of the cards it does not see, from the public history of the round.

Every card is in the own hand, on the table, in the discard pile, *held* (a rival took it in public and still has it),
or *unseen* (in a rival's hand or the stock).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rami_engine import FULL_DECK, Mask, mask_of

if TYPE_CHECKING:
    from rami_engine import Card, SeatView


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Where the cards are that the seat does not hold."""

    held: tuple[Mask, ...]
    """By seat: the cards that it took from the discard pile and has neither laid nor discarded. The own place is 0."""
    unseen: Mask
    refused: tuple[Mask, ...]
    """By seat: the cards that it discarded or passed over, when each was last seen so. Whoever has two cards that make
    a meld with one of them would rather have had it."""
    discarded: tuple[tuple[Card, ...], ...]
    """By seat: the cards that it discarded, the latest first; of a card that it discarded twice, the later time."""


def knowledge_of(view: SeatView) -> Knowledge:
    """What the viewer can know. Draws on the whole public history of the round."""
    held = held_cards(view)
    known = _seen(view)
    for cards in held:
        known |= cards
    refused = [0] * view.players
    for trace in view.history:
        card = 1 << trace.card
        for seat in range(view.players):
            if trace.passed_by >> seat & 1 or trace.discarded_by == seat:
                refused[seat] |= card
    return Knowledge(held, FULL_DECK & ~known, tuple(refused), _discarded(view))


def held_cards(view: SeatView) -> tuple[Mask, ...]:
    """See `Knowledge.held`."""
    seen = _seen(view)
    held = [0] * view.players
    for trace in view.history:
        if trace.taken_by is not None and not seen >> trace.card & 1:
            # Had it left that hand again, it would lie on the table or in the discard pile, or have another taker.
            held[trace.taken_by] |= 1 << trace.card
    return tuple(held)


def _seen(view: SeatView) -> Mask:
    """The cards in the own hand, on the table and in the discard pile."""
    seen = view.hand | mask_of(view.discards)
    for meld in view.melds:
        seen |= meld
    return seen


def _discarded(view: SeatView) -> tuple[tuple[Card, ...], ...]:
    cards: list[list[Card]] = [[] for _ in range(view.players)]
    for trace in sorted(view.history, key=lambda trace: -trace.discarded_turn):
        if trace.discarded_by is not None:
            cards[trace.discarded_by].append(trace.card)
    return tuple([tuple(one) for one in cards])
