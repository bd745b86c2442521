"""A player for the arena that sees all cards: how much of what Hard does not know would help it.

It weighs the same candidates by the same playouts as Hard, in the true deal instead of supposed ones, the order of the
stock included. It is no bot: it takes the whole match, which no service has to give, and no id names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rami_bots.hard import candidates_of, round_points
from rami_bots.worlds import World
from rami_engine import legal_actions, seat_view

if TYPE_CHECKING:
    from rami_engine import Action, MatchState


def play_open_hand(match: MatchState, seat: int, seed: int) -> Action:
    """The candidate with the best playout in the deal as it is. A round is in play and the seat is to move."""
    del seed
    current = match.round
    assert current is not None, "a round is in play"
    view, legal = seat_view(match, seat), legal_actions(match, seat)
    candidates = candidates_of(view, legal)
    if len(candidates) == 1:
        return candidates[0].action
    world = World(current.hands, list(reversed(current.deck[current.stock_pos :])))
    points = [round_points(view, candidate, world) for candidate in candidates]
    return candidates[points.index(max(points))].action
