"""Normal: keeps useful combinations, weighs what a discard gives away, and holds melds back while that is safe.

Source: the rule sheet, section "The bots". A useful combination is cards one draw away from a meld; it counts by the
cards that would complete it and may still come, and by the points that each of them would save. A discard gives
something away when it can be laid off on the table, the more so when a rival is about to go out, or when a rival may
hold cards linked to it. Melds stay in hand as `holding` says; then all is laid at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rami_bots.holding import SMALL_HAND, has_to_lay, smallest_rival_hand
from rami_bots.patterns import LINKS, NEIGHBOURS, POINTS, outs
from rami_bots.plans import best_plan, lay_off_plan, tell_draws, tell_lay, way_out
from rami_bots.policy import Considered, OutOfTime, Tell, can_take_discard, first_legal_lay, is_draw
from rami_bots.stalling import must_draw_stock
from rami_engine import DRAW_DISCARD, DRAW_STOCK, FULL_DECK, Action, cards_of, deadwood_points, discard_action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rami_bots.plans import Plan
    from rami_engine import Card, Mask, SeatView


class Weights(NamedTuple):
    """What counts beside the points of deadwood, in such points."""

    out: float
    """The worth of a card that would complete a meld, and may still come."""
    saving: float
    """The worth of each point of deadwood that such a card would save."""
    table_risk: float = 3.0
    """The cost of discarding a card that fits a meld on the table."""
    late_table_risk: float = 6.0
    """The same when a rival is about to go out."""
    link_risk: float = 0.05
    """The cost of discarding a card, for each card linked to it that a rival may hold or draw."""


WEIGHTS: Final = Weights(out=2.0, saving=0.15)
"""Normal's own."""


def play_normal(
    view: SeatView, legal: Sequence[Action], seed: int, out_of_time: OutOfTime, tell: Tell | None = None
) -> Action:
    """Normal's choice. It needs neither the seed nor time."""
    del seed, out_of_time
    if is_draw(legal):
        if tell is not None:
            tell_draws(view, legal, tell)
        return normal_draw(view, legal)
    plan = normal_plan(view)
    lay = first_legal_lay(plan.lays, legal, view.options.ace_high) if plan.lays else None
    if lay is not None:
        if tell is not None:
            tell_lay(lay, view.options.ace_high, tell)
        return lay
    discards = cheapest_discards(view, WEIGHTS)
    if tell is not None:
        for discard in discards:
            tell(Considered(discard_action(discard.card), -discard.cost))
    return discard_action(discards[0].card)


def normal_draw(view: SeatView, legal: Sequence[Action]) -> Action:
    """Takes the discard exactly when the best plan with it lays or melds it."""
    if not can_take_discard(legal) or must_draw_stock(view):
        return DRAW_STOCK
    top = 1 << view.discards[-1]
    plan = best_plan(view.hand | top, view.melds, view.options.ace_high)
    return DRAW_STOCK if plan.left & top else DRAW_DISCARD


def normal_plan(view: SeatView) -> Plan:
    """What to lay now: everything to go out or where holding back is unsafe, else only lay-offs."""
    plan = way_out(view.hand, view.melds, view.options)
    if plan is not None:
        return plan
    choose = best_plan if has_to_lay(view) else lay_off_plan
    return choose(view.hand, view.melds, view.options.ace_high)


class Discard(NamedTuple):
    """A card of the hand as a discard."""

    cost: float
    """In points of deadwood; lower is better."""
    negated_points: int
    """Its points, negated: of cards that cost the same the dearest goes first."""
    card: Card


def cheapest_discards(view: SeatView, weights: Weights) -> list[Discard]:
    """The cards of the hand, the one it costs least to discard first."""
    hand, ace_high = view.hand, view.options.ace_high
    gone = fits_table = 0
    for meld in view.melds:
        gone |= meld
        fits_table |= NEIGHBOURS[meld]
    for card in view.discards:
        gone |= 1 << card
    may_come = FULL_DECK & ~(gone | hand)
    points = POINTS[ace_high]
    table_risk = weights.late_table_risk if smallest_rival_hand(view) <= SMALL_HAND else weights.table_risk

    def weighed(card: Card) -> Discard:
        rest = hand & ~(1 << card)
        cost = deadwood_points(rest, ace_high) - prospects(rest, may_come, weights, ace_high)
        cost += weights.link_risk * (LINKS[card] & may_come).bit_count()
        if fits_table >> card & 1:
            cost += table_risk
        return Discard(cost, -points[card], card)

    return sorted([weighed(card) for card in cards_of(hand)], key=lambda discard: (discard[:2], -discard.card))


def prospects(hand: Mask, may_come: Mask, weights: Weights, ace_high: bool) -> float:
    """What the cards are worth that would complete a meld of a hand and may still come."""
    waiting = outs(hand) & may_come
    worth = weights.out * waiting.bit_count()
    points = deadwood_points(hand, ace_high)
    while waiting:
        card = waiting & -waiting
        waiting ^= card
        saved = points - deadwood_points(hand | card, ace_high)
        if saved > 0:
            worth += weights.saving * saved
    return worth
