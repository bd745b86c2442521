"""Supposed deals of the cards that a seat does not see, in keeping with all it knows.

A rival's supposed hand is the cards it is known to hold and a random draw from the unseen ones; the rest of these, in
random order, is the stock. Of some draws that is taken which fits best what the rivals did: a hand waits for few of
the cards that its seat discarded or passed over. The same seed makes the same deals in every process.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final, NamedTuple

from rami_bots.patterns import outs
from rami_bots.policy import seat_of
from rami_engine import DECK_SIZE, cards_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rami_bots.knowledge import Knowledge
    from rami_engine import Card, Mask, SeatView


DRAWS_PER_WORLD: Final = 4
"""Random deals of which the most likely one is taken."""


class World(NamedTuple):
    """One supposed deal."""

    hands: list[Mask]
    """By seat, the own hand as it is."""
    stock: list[Card]
    """The next card last."""


def worlds(view: SeatView, knowledge: Knowledge, seed: int) -> Iterator[World]:
    """Supposed deals without end, the same for the same arguments. Trusts that the view's cards make up a deck."""
    seat = seat_of(view)
    unseen = list(cards_of(knowledge.unseen))
    missing = [
        (other, size - held.bit_count())
        for other, (size, held) in enumerate(zip(view.hand_sizes, knowledge.held, strict=True))
        if other != seat
    ]
    generator = random.Random(seed)  # noqa: S311 - supposes deals; nobody gains by guessing them
    draw = generator.random
    while True:
        best: World | None = None
        least = DECK_SIZE
        for _ in range(DRAWS_PER_WORLD):
            unseen.sort(key=lambda _: draw())  # a shuffle at half the cost
            hands = list(knowledge.held)
            hands[seat] = view.hand
            dealt = doubts = 0
            for other, count in missing:
                hand = hands[other]
                for card in unseen[dealt : dealt + count]:
                    hand |= 1 << card
                hands[other] = hand
                dealt += count
                doubts += (outs(hand) & knowledge.refused[other]).bit_count()
            if doubts < least:
                best, least = World(hands, unseen[dealt:]), doubts
                if not doubts:
                    break
        assert best is not None, "no hand waits for the whole deck"
        yield best
