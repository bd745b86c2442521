"""Hard: remembers what was taken, discarded and passed over in public, and searches for the play with least deadwood.

Source: the rule sheet, section "The bots". Hard begins with Normal's choice and looks for a better one: every
candidate is tried in the same supposed deals (`worlds`), each played to the end of the round by a quick policy
(`playout`). What a playout is worth is the points that the round would bring, negative when a rival wins it: the
deadwood of all hands. As all candidates meet the same deals, their differences tell more than their averages; Hard
leaves Normal's choice only for a gain that stands out of the noise. The number of deals is bounded, so that the choice
does not depend on the machine; when time runs out, the deals tried so far decide.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from rami_bots.knowledge import knowledge_of
from rami_bots.normal import cheapest_discards, normal_draw, normal_plan
from rami_bots.patterns import LINKS
from rami_bots.plans import best_plan
from rami_bots.playout import Table
from rami_bots.policy import OutOfTime, first_legal_lay, is_draw, seat_of
from rami_bots.stalling import must_draw_stock
from rami_bots.worlds import World, worlds
from rami_engine import DRAW_DISCARD, DRAW_STOCK, Action, ActionKind, Mask, discard_action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rami_engine import SeatView

MAX_DEALS: Final = {2: 32, 3: 32, 4: 128}
"""Supposed deals in which each candidate is tried, at most, by number of seats. Rounds of four are short, so that a
playout costs little, and decided by small differences, so that they need more of them.
"""
DEALS_PER_LOOK: Final = 8
"""After so many more deals, candidates that are clearly worse are dropped."""
MAX_DISCARDS: Final = 5
"""Discards that are tried: those that Normal finds cheapest."""
CLEAR: Final = 1.0
"""Standard errors by which a mean difference must leave zero to count."""


class Candidate(NamedTuple):
    """A way to go on: an action, and what it makes of the turn."""

    action: Action
    """What to choose now."""
    melds: tuple[Mask, ...]
    """The table after the own lays of this turn."""
    hand: Mask
    """The own hand before the discard, or before the draw."""


def play_hard(view: SeatView, legal: Sequence[Action], seed: int, out_of_time: OutOfTime) -> Action:
    """Hard's choice. The seed makes the supposed deals."""
    candidates = candidates_of(view, legal)
    if len(candidates) == 1:
        return candidates[0].action
    return candidates[_clearly_best(view, candidates, seed, out_of_time)].action


def candidates_of(view: SeatView, legal: Sequence[Action]) -> list[Candidate]:
    """What is worth a try, Normal's choice first."""
    return _draws(view, legal) if is_draw(legal) else _plays(view, legal)


def _draws(view: SeatView, legal: Sequence[Action]) -> list[Candidate]:
    """Normal's draw, and taking a discard that is linked to the hand."""
    default = normal_draw(view, legal)
    draws = [default]
    worth_a_try = default == DRAW_STOCK and DRAW_DISCARD in legal and view.stock_count
    if worth_a_try and LINKS[view.discards[-1]] & view.hand and not must_draw_stock(view):
        draws.append(DRAW_DISCARD)
    return [Candidate(draw, view.melds, view.hand) for draw in draws]


def _plays(view: SeatView, legal: Sequence[Action]) -> list[Candidate]:
    """What Normal lays; or its discard, some others, and laying all that it holds back."""
    ace_high = view.options.ace_high
    lays = normal_plan(view).lays
    lay = first_legal_lay(lays, legal, ace_high) if lays else None
    if lay is not None:
        return [Candidate(lay, view.melds, view.hand)]
    candidates = [
        Candidate(discard_action(card), view.melds, view.hand) for card in cheapest_discards(view)[:MAX_DISCARDS]
    ]
    plan = best_plan(view.hand, view.melds, ace_high)
    if plan.lays and plan.left:
        # What would leave nothing ends the round and has been tried above, or must keep a card and is illegal.
        candidates.append(Candidate(plan.lays[0], _table_after(view.melds, plan.lays), plan.left))
    return candidates


def _table_after(table: Sequence[Mask], lays: Sequence[Action]) -> tuple[Mask, ...]:
    melds = list(table)
    for lay in lays:
        if lay.kind == ActionKind.MELD:
            melds.append(lay.cards)
        else:
            melds[lay.meld - 1] |= lay.cards
    return tuple(melds)


def _clearly_best(view: SeatView, candidates: Sequence[Candidate], seed: int, out_of_time: OutOfTime) -> int:
    """The place of the candidate with the clearest gain over the first; 0 where none gains clearly."""
    max_deals = MAX_DEALS[view.players]
    gains: dict[int, list[float]] = {place: [] for place in range(1, len(candidates))}
    for number, world in enumerate(worlds(view, knowledge_of(view), seed)):
        if number == max_deals or out_of_time():
            break
        if number and number % DEALS_PER_LOOK == 0:
            gains = {place: tried for place, tried in gains.items() if _mean(tried) > -CLEAR * _error(tried)}
            if not gains:
                return 0
        default = round_points(view, candidates[0], world)
        for place, tried in gains.items():
            tried.append(round_points(view, candidates[place], world) - default)
    clear = [
        (_mean(tried), -place)
        for place, tried in gains.items()
        if len(tried) >= DEALS_PER_LOOK and _mean(tried) > CLEAR * _error(tried)
    ]
    return -max(clear)[1] if clear else 0


def round_points(view: SeatView, candidate: Candidate, world: World) -> float:
    """What the round brings in a supposed deal when the seat goes on so; negative when a rival wins it."""
    seat, players = seat_of(view), view.players
    table = Table(world.hands, world.stock, view.discards, candidate.melds, view.options.ace_high)
    kind = candidate.action.kind
    if kind <= ActionKind.DRAW_DISCARD:
        pile = table.stock if kind == ActionKind.DRAW_STOCK else table.discards
        winner, points = table.play_out(seat, pile.pop())
    elif kind == ActionKind.DISCARD:
        table.hands[seat] = candidate.hand ^ candidate.action.cards
        table.discards.append(candidate.action.cards.bit_length() - 1)
        winner, points = table.play_out((seat + 1) % players)
    else:
        drawn = candidate.hand.bit_length() - 1
        table.hands[seat] = candidate.hand ^ 1 << drawn
        winner, points = table.play_out(seat, drawn)
    return points if winner == seat else -points / (players - 1)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _error(values: Sequence[float]) -> float:
    """The standard error of the mean; at least 2 values."""
    mean = _mean(values)
    return sqrt(sum([(value - mean) ** 2 for value in values]) / (len(values) * (len(values) - 1)))
