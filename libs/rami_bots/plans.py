"""What a hand could lay on the table in one turn: the plan that leaves the fewest points, and the way out.

A plan is a choice of lay-offs and melds without a card in two of them. The best plan is exact: only cards that
both a table meld and a meld of the hand could use have to be tried either way, and there are few of them.

Functions trust their caller that no card of the hand lies on the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rami_bots.patterns import melded
from rami_bots.policy import Considered
from rami_engine import (
    DRAW_DISCARD,
    Action,
    ActionKind,
    Mask,
    best_split,
    cards_of,
    deadwood_points,
    lay_offs_on,
    mask_points,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rami_bots.policy import Tell
    from rami_engine import RuleOptions, SeatView


class Plan(NamedTuple):
    """Actions of the play phase before the discard, and what they leave in hand."""

    lays: tuple[Action, ...]
    """Lay-offs, then melds. In this order each is legal, but for an emptied hand under `discard_to_win`."""
    left: Mask
    points: int
    """Points of the cards left."""


_LayOffs = tuple[Action, ...]
_NO_LAY_OFFS: Final[dict[Mask, _LayOffs]] = {0: ()}


def best_plan(hand: Mask, table: Sequence[Mask], ace_high: bool) -> Plan:
    """The plan that leaves the fewest points; among equals always the same one."""
    choices = _lay_off_choices(hand, table)
    laid_off = next(iter(choices))
    if len(choices) > 1:
        laid_off = min(choices, key=lambda cards: deadwood_points(hand & ~cards, ace_high))
    split = best_split(hand & ~laid_off, ace_high)
    melds = tuple([Action(ActionKind.MELD, meld) for meld in split.melds])
    return Plan(choices[laid_off] + melds, split.deadwood, split.points)


def lay_off_plan(hand: Mask, table: Sequence[Mask], ace_high: bool) -> Plan:
    """Only the lay-offs of the best plan: its melds stay in hand."""
    plan = best_plan(hand, table, ace_high)
    lay_offs = tuple([lay for lay in plan.lays if lay.kind == ActionKind.LAY_OFF])
    left = hand
    for lay in lay_offs:
        left ^= lay.cards
    return Plan(lay_offs, left, mask_points(left, ace_high))


def way_out(hand: Mask, table: Sequence[Mask], options: RuleOptions) -> Plan | None:
    """A plan that leaves nothing, or one card to discard, so that the round ends in this turn; None without one."""
    ace_high = options.ace_high
    stuck = hand & ~melded(hand) & ~_can_lay_off(hand, table)
    if stuck.bit_count() > 1:
        return None
    if not stuck and not options.discard_to_win:
        plan = best_plan(hand, table, ace_high)
        if not plan.left:
            return plan
    for card in cards_of(stuck or hand):
        plan = best_plan(hand ^ 1 << card, table, ace_high)
        if not plan.left:
            return Plan(plan.lays, 1 << card, mask_points(1 << card, ace_high))
    return None


def tell_draws(view: SeatView, legal: Sequence[Action], tell: Tell) -> None:
    """Tells of each legal draw how many points of deadwood it is known to save: 0 from the stock, which is hidden."""
    for draw in legal:
        saved = 0
        if draw == DRAW_DISCARD:
            ace_high = view.options.ace_high
            with_top = view.hand | 1 << view.discards[-1]
            saved = best_plan(view.hand, view.melds, ace_high).points - best_plan(with_top, view.melds, ace_high).points
        tell(Considered(draw, saved))


def tell_lay(lay: Action, ace_high: bool, tell: Tell) -> None:
    """Tells of a lay how many points it rids the hand of."""
    tell(Considered(lay, mask_points(lay.cards, ace_high)))


def _can_lay_off(hand: Mask, table: Sequence[Mask]) -> Mask:
    """The cards of a hand that some lay-off contains."""
    cards = 0
    for meld in table:
        for added in lay_offs_on(meld, hand):
            cards |= added
    return cards


def _lay_off_choices(hand: Mask, table: Sequence[Mask]) -> dict[Mask, _LayOffs]:
    """Sets of cards to lay off, with the lay-offs that do it. The best plan's set is among them."""
    ways_by_number = [(number, ways) for number, meld in enumerate(table, 1) if (ways := lay_offs_on(meld, hand))]
    if not ways_by_number:
        return _NO_LAY_OFFS
    contested = melded(hand)
    seen = 0
    for _, ways in ways_by_number:
        # The last way adds every card that any other way does.
        contested |= seen & ways[-1]
        seen |= ways[-1]
    choices = _NO_LAY_OFFS
    for number, ways in ways_by_number:
        free = not ways[-1] & contested
        added_by_choice = {
            cards | added: (*lays, Action(ActionKind.LAY_OFF, added, number))
            for cards, lays in choices.items()
            for added in (ways[-1:] if free else ways)
            if not cards & added
        }
        # What nothing else has a use for is laid off in every choice.
        choices = added_by_choice if free else choices | added_by_choice
    return choices
