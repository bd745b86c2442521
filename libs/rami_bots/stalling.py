"""The rule that keeps bots from stalling: after four own turns running that drew from the discard pile and laid
nothing, the next draw is from the stock.

Source: the rule sheet, sections "A turn" and "The bots".

The view tells of each card when it was last taken and last passed over, so the draw of a turn can have been
overwritten: only by a later taking or passing of the same card. What is laid is never overwritten. A turn whose draw
left no trace is settled by counting: the stock has shrunk by one card for every draw from it. Where even the count
leaves it open, the turn counts as a draw from the discard pile: the rule then may bind a bot early, and never late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rami_engine import starting_stock

if TYPE_CHECKING:
    from rami_engine import SeatView

MAX_FRUITLESS_TAKES: Final = 4


def must_draw_stock(view: SeatView) -> bool:
    """Whether the seat to move, in its draw phase, has to draw from the stock so as not to stall."""
    now, players = view.turn_number, view.players
    own_turns = range(now - MAX_FRUITLESS_TAKES * players, now, players)
    if own_turns[0] < 1:
        return False
    laid = {trace.laid_turn for trace in view.history}
    passed = {trace.passed_turn for trace in view.history if trace.passed_turn}
    if any(turn in laid or turn in passed for turn in own_turns):
        return False
    taken = {trace.taken_turn for trace in view.history if trace.taken_turn}
    if all(turn in taken for turn in own_turns):
        return True
    untraced_turns = now - 1 - len(taken) - len(passed)
    untraced_stock_draws = starting_stock(players) - view.stock_count - len(passed)
    return untraced_stock_draws < untraced_turns
