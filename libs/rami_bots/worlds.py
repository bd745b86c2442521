"""Supposed deals of the cards that a seat does not see, in keeping with all it knows.

A rival's supposed hand is the cards it is known to hold and others of the unseen ones; the rest of these, in random
order, is the stock. Hands are as frequent as they are likely by what the rivals did (`beliefs`): a Markov chain goes
from deal to deal by exchanging two cards and takes a less likely deal with the ratio of the chances (Metropolis et al.,
1953). Rivals are supposed to lay melds at once in as many deals as that is probable. The same seed makes the same deals
in every process.
"""

from __future__ import annotations

import random
from itertools import count
from math import exp
from typing import TYPE_CHECKING, Final, NamedTuple

from rami_bots.beliefs import doubts_at_once, doubts_holding, lays_at_once
from rami_bots.policy import seat_of
from rami_engine import cards_of, mask_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rami_bots.beliefs import Doubts
    from rami_bots.knowledge import Knowledge
    from rami_engine import Card, Mask, SeatView


STEPS: Final = 16
"""Exchanges that are tried between two deals."""
FIRST_STEPS: Final = 60
"""The same before the first, which begins with a random deal."""


class World(NamedTuple):
    """One supposed deal."""

    hands: list[Mask]
    """By seat, the own hand as it is."""
    stock: list[Card]
    """The next card last."""
    at_once: Mask = 0
    """The seats (bit s for seat s) that are supposed to lay melds at once."""


def worlds(view: SeatView, knowledge: Knowledge, seed: int) -> Iterator[World]:
    """Supposed deals without end, the same for the same arguments. Trusts that the view's cards make up a deck."""
    draw = random.Random(seed).random  # noqa: S311 - supposes deals; nobody gains by guessing them
    own = seat_of(view)
    chances = [0.0 if seat == own else lays_at_once(view, seat) for seat in range(view.players)]
    chains: dict[Mask, _Chain] = {}
    for number in count():
        at_once = 0
        for seat, chance in enumerate(chances):
            if round((number + 1) * chance) > round(number * chance):
                at_once |= 1 << seat
        chain = chains.get(at_once)
        if chain is None:
            chain = chains[at_once] = _Chain(view, knowledge, at_once, draw)
            chain.move(FIRST_STEPS)
        else:
            chain.move(STEPS)
        yield chain.world()


class _Chain:
    """Deals in which the same rivals lay melds at once, each from the one before. The stock is a hand beside those of
    the seats, about which there is never a doubt, as there is none about the own.
    """

    def __init__(self, view: SeatView, knowledge: Knowledge, at_once: Mask, draw: Callable[[], float]) -> None:
        own = seat_of(view)
        self._draw = draw
        self._at_once = at_once
        self._owners: list[int] = []
        """Whose hand each of the first places of `_cards` belongs to; the rest is the stock."""
        self._doubts: list[Doubts] = []
        for seat, (size, held) in enumerate(zip(view.hand_sizes, knowledge.held, strict=True)):
            if seat == own:
                self._doubts.append(_never)
                continue
            self._owners += [seat] * (size - held.bit_count())
            doubts_about = doubts_at_once if at_once >> seat & 1 else doubts_holding
            self._doubts.append(doubts_about(view, knowledge, seat))
        self._doubts.append(_never)
        self._stock = view.players
        self._cards = list(cards_of(knowledge.unseen))
        self._cards.sort(key=lambda _: draw())  # a shuffle at half the cost
        self._hands = [*knowledge.held, mask_of(self._cards[len(self._owners) :])]
        self._hands[own] = view.hand
        for seat, card in zip(self._owners, self._cards, strict=False):
            self._hands[seat] |= 1 << card
        self._doubted = [doubts(hand) for doubts, hand in zip(self._doubts, self._hands, strict=True)]

    def move(self, steps: int) -> None:
        """Try so many exchanges of a card in a rival's hand with one in another hand or the stock."""
        draw, cards, owners, hands, doubted = self._draw, self._cards, self._owners, self._hands, self._doubted
        places, dealt = len(cards), len(owners)
        if not dealt:
            return
        for _ in range(steps):
            here, there = int(draw() * dealt), int(draw() * places)
            seat, other = owners[here], owners[there] if there < dealt else self._stock
            if seat == other:
                continue
            exchanged = 1 << cards[here] | 1 << cards[there]
            hand, other_hand = hands[seat] ^ exchanged, hands[other] ^ exchanged
            doubts, other_doubts = self._doubts[seat](hand), self._doubts[other](other_hand)
            more = doubts + other_doubts - doubted[seat] - doubted[other]
            if more > 0 and draw() >= exp(-more):
                continue
            hands[seat], hands[other] = hand, other_hand
            doubted[seat], doubted[other] = doubts, other_doubts
            cards[here], cards[there] = cards[there], cards[here]

    def world(self) -> World:
        """The deal as it is, the stock shuffled."""
        draw = self._draw
        stock = self._cards[len(self._owners) :]
        stock.sort(key=lambda _: draw())
        return World(self._hands[: self._stock], stock, self._at_once)


def _never(_hand: Mask) -> float:
    """The doubts about a hand that is known, or that nobody played."""
    return 0.0
