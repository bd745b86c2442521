"""Easy: lays every meld and lay-off at once, and discards the highest isolated card.

Source: the rule sheet, section "The bots". Isolated is a card with no other in hand of its rank, nor of its suit
within two ranks; the highest has most points, then the higher rank, then the higher index. Easy takes the discard
exactly when it can lay it in the same turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rami_bots.patterns import POINTS, dearest, isolated
from rami_bots.plans import best_plan, tell_draws, tell_lay, way_out
from rami_bots.policy import Considered, OutOfTime, Tell, can_take_discard, first_legal_lay, is_draw
from rami_bots.stalling import must_draw_stock
from rami_engine import DRAW_DISCARD, DRAW_STOCK, Action, cards_of, discard_action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rami_engine import SeatView


def play_easy(
    view: SeatView, legal: Sequence[Action], seed: int, out_of_time: OutOfTime, tell: Tell | None = None
) -> Action:
    """Easy's choice. It needs neither the seed nor time."""
    del seed, out_of_time
    ace_high = view.options.ace_high
    if is_draw(legal):
        if tell is not None:
            tell_draws(view, legal, tell)
        if can_take_discard(legal) and not must_draw_stock(view) and _lays_top_discard(view):
            return DRAW_DISCARD
        return DRAW_STOCK
    plan = way_out(view.hand, view.melds, view.options) or best_plan(view.hand, view.melds, ace_high)
    lay = first_legal_lay(plan.lays, legal, ace_high)
    if lay is not None:
        if tell is not None:
            tell_lay(lay, ace_high, tell)
        return lay
    loose = isolated(view.hand) or view.hand
    if tell is not None:
        for card in cards_of(loose):
            tell(Considered(discard_action(card), POINTS[ace_high][card]))
    return discard_action(dearest(loose, ace_high))


def _lays_top_discard(view: SeatView) -> bool:
    top = 1 << view.discards[-1]
    return not best_plan(view.hand | top, view.melds, view.options.ace_high).left & top
