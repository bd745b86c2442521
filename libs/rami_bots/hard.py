"""Hard: remembers what was taken, discarded and passed over in public, and searches for the play with least deadwood.

Source: the rule sheet, section "The bots". Hard begins with Normal's choice, as the stock runs low with less hope of
cards that may not come any more, and looks for a better one: every candidate is tried in the same supposed deals
(`worlds`), each played to the end of the round by a quick policy (`playout`). What a playout is worth is the points
that the round would bring, negative when a rival wins it: the deadwood of all hands. As all candidates meet the same
deals, their differences tell more than their averages; Hard leaves its first choice only for a gain that stands out of
the noise. The number of deals is bounded, so that the choice does not depend on the machine; when time runs out, the
deals tried so far decide.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from rami_bots.holding import turns_run_out
from rami_bots.knowledge import knowledge_of
from rami_bots.normal import WEIGHTS, Weights, cheapest_discards, normal_draw, normal_plan
from rami_bots.patterns import LINKS, POINTS
from rami_bots.plans import best_plan, way_out
from rami_bots.playout import Table
from rami_bots.policy import Considered, OutOfTime, Tell, first_legal_lay, is_draw, seat_of
from rami_bots.stalling import must_draw_stock
from rami_bots.worlds import World, worlds
from rami_engine import DRAW_DISCARD, DRAW_STOCK, Action, ActionKind, Mask, discard_action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rami_bots.plans import Plan
    from rami_engine import SeatView


class Stage(NamedTuple):
    """A part of the search, at whose end the less promising candidates are dropped."""

    deals: int
    """Supposed deals in which each candidate has been tried by the end of it."""
    keep: int
    """Candidates other than Normal's choice that stay, at most."""


STAGES: Final = {
    2: (Stage(20, 3), Stage(40, 2), Stage(72, 1), Stage(120, 1)),
    3: (Stage(16, 3), Stage(32, 2), Stage(64, 1), Stage(104, 1)),
    4: (Stage(16, 3), Stage(32, 2), Stage(64, 1), Stage(128, 1)),
}
"""The search by number of seats. The same playouts spread evenly leave a choice that is worth less: most candidates
are soon seen to be bad. Rounds of four are short, so that a playout costs little, and their points vary more.
"""
MAX_DISCARDS: Final = 5
"""Discards that are tried: those that cost least."""
HOLDING_DISCARDS: Final = 3
"""The same when all could be laid instead."""
CHEAP: Final = 3
"""The points of a discard that a seat of three may take though it completes nothing."""
LOW_STOCK: Final = 4
"""The stock at which a seat of four may take a discard that completes nothing."""
CLEAR: Final = {2: 0.75, 3: 1.0, 4: 1.5}
"""Standard errors by which a mean gain must leave zero to count, by number of seats. The more the points of a round
vary, the likelier it is that a gain is luck: Normal's choice is a good one to begin with.
"""
HOPELESS: Final = 0.5
"""Standard errors by which a mean gain is below zero when a candidate is dropped."""
MIN_DEALS: Final = 8
"""With fewer, nothing is clear."""
WAITING_TURNS: Final = 2
"""With fewer turns to come, awaited cards are worth less, in proportion: few of them still come."""


class Candidate(NamedTuple):
    """A way to go on: an action, and what it makes of the turn."""

    action: Action
    """What to choose now."""
    melds: tuple[Mask, ...]
    """The table after the own lays of this turn."""
    hand: Mask
    """The own hand before the discard, or before the draw."""


class _Estimate(NamedTuple):
    points: float | None
    """What the round would bring, on average; None without a deal."""
    deals: int


class _Found(NamedTuple):
    """What a search came to."""

    best: int
    """The place of the candidate with the clearest gain over the first; 0 where none gains clearly."""
    estimates: tuple[_Estimate, ...]
    """By place."""


def play_hard(
    view: SeatView, legal: Sequence[Action], seed: int, out_of_time: OutOfTime, tell: Tell | None = None
) -> Action:
    """Hard's choice. The seed makes the supposed deals."""
    candidates = candidates_of(view, legal)
    if len(candidates) == 1:
        if tell is not None:
            tell(Considered(candidates[0].action, None))
        return candidates[0].action
    found = _search(view, candidates, seed, out_of_time)
    if tell is not None:
        for candidate, estimated in zip(candidates, found.estimates, strict=True):
            tell(Considered(candidate.action, estimated.points, estimated.deals))
    return candidates[found.best].action


def candidates_of(view: SeatView, legal: Sequence[Action]) -> list[Candidate]:
    """What is worth a try, Normal's choice first."""
    return _draws(view, legal) if is_draw(legal) else _plays(view, legal)


def _draws(view: SeatView, legal: Sequence[Action]) -> list[Candidate]:
    """Normal's draw and, where it was measured to pay, taking the discard."""
    default = normal_draw(view, legal)
    draws = [default]
    if default == DRAW_STOCK and DRAW_DISCARD in legal and _may_take(view) and not must_draw_stock(view):
        draws.append(DRAW_DISCARD)
    return [Candidate(draw, view.melds, view.hand) for draw in draws]


def _may_take(view: SeatView) -> bool:
    """Whether the discard is worth a try though it completes no meld.

    With an empty stock it goes on with the round. Else it may be something to build on, or a cheap card for a dear
    one; with four seats only when few turns are left: before that, playouts like it more than it is worth.
    """
    if view.players == 4 or not view.stock_count:
        return view.stock_count <= LOW_STOCK
    top = view.discards[-1]
    cheap = view.players == 3 and POINTS[view.options.ace_high][top] <= CHEAP
    return cheap or LINKS[top] & view.hand != 0


def _plays(view: SeatView, legal: Sequence[Action]) -> list[Candidate]:
    """What Normal lays; or its discard and some others; and laying all that it holds back, or holding what it lays."""
    ace_high = view.options.ace_high
    lays = normal_plan(view).lays
    lay = first_legal_lay(lays, legal, ace_high) if lays else None
    plan = best_plan(view.hand, view.melds, ace_high)
    if lay is not None and not (_may_hold(view, lay) and plan.left):
        return [Candidate(lay, view.melds, view.hand)]
    discards = [
        Candidate(discard_action(discard.card), view.melds, view.hand)
        for discard in cheapest_discards(view, weights_of(view))
    ]
    if lay is not None:
        return [_laying_all(view, lay, plan), *discards[:HOLDING_DISCARDS]]
    candidates = discards[:MAX_DISCARDS]
    if plan.lays and plan.left:
        # What would leave nothing ends the round and has been tried above, or must keep a card and is illegal.
        candidates.append(_laying_all(view, plan.lays[0], plan))
    return candidates


def _may_hold(view: SeatView, lay: Action) -> bool:
    """Whether a lay of Normal's can as well wait: a meld that neither ends the round nor is due to its last turns."""
    if lay.kind != ActionKind.MELD or turns_run_out(view):
        return False
    return way_out(view.hand, view.melds, view.options) is None


def _laying_all(view: SeatView, first: Action, plan: Plan) -> Candidate:
    return Candidate(first, _table_after(view.melds, plan.lays), plan.left)


def weights_of(view: SeatView) -> Weights:
    """Normal's weights, less what cannot come any more before the stock is gone."""
    turns = view.stock_count / view.players
    share = min(1.0, turns / WAITING_TURNS) if turns >= 1 else 0.0
    return WEIGHTS._replace(out=WEIGHTS.out * share, saving=WEIGHTS.saving * share)


def _table_after(table: Sequence[Mask], lays: Sequence[Action]) -> tuple[Mask, ...]:
    melds = list(table)
    for lay in lays:
        if lay.kind == ActionKind.MELD:
            melds.append(lay.cards)
        else:
            melds[lay.meld - 1] |= lay.cards
    return tuple(melds)


def _search(view: SeatView, candidates: Sequence[Candidate], seed: int, out_of_time: OutOfTime) -> _Found:
    """Tries all candidates in the same supposed deals, fewer and fewer of them as the search goes on."""
    gains: list[list[float]] = [[] for _ in candidates]
    """What each brought more than the first, by place, then by deal."""
    first: list[float] = []
    staying = list(range(1, len(candidates)))
    best = 0
    clear = CLEAR[view.players]
    deals = worlds(view, knowledge_of(view), seed)
    for stage in STAGES[view.players]:
        while len(first) < stage.deals and not out_of_time():
            world = next(deals)
            points = round_points(view, candidates[0], world)
            first.append(points)
            for place in staying:
                gains[place].append(round_points(view, candidates[place], world) - points)
        if len(first) < MIN_DEALS:
            break
        hopes = {place: _mean(gains[place]) for place in staying}
        errors = {place: _error(gains[place]) for place in staying}
        staying.sort(key=lambda place: -hopes[place])
        best = next((place for place in staying if hopes[place] > clear * errors[place]), 0)
        staying = [place for place in staying if hopes[place] > -HOPELESS * errors[place]][: stage.keep]
        if len(first) < stage.deals or not staying:
            break
    return _Found(best, tuple([_estimate(first, gained) for gained in [[0.0] * len(first), *gains[1:]]]))


def _estimate(first: Sequence[float], gained: Sequence[float]) -> _Estimate:
    """The mean points of a candidate that was tried in as many deals as it has gains over the first."""
    if not gained:
        return _Estimate(None, 0)
    return _Estimate(_mean(first) + _mean(gained), len(gained))


def round_points(view: SeatView, candidate: Candidate, world: World) -> float:
    """What the round brings in a supposed deal when the seat goes on so; negative when a rival wins it."""
    seat, players = seat_of(view), view.players
    ace_high = view.options.ace_high
    table = Table(world.hands, world.stock, view.discards, candidate.melds, ace_high, own=seat, at_once=world.at_once)
    kind = candidate.action.kind
    if kind == ActionKind.DRAW_STOCK and not table.stock:
        winner, points = table.settle()
    elif kind <= ActionKind.DRAW_DISCARD:
        pile = table.stock if kind == ActionKind.DRAW_STOCK else table.discards
        winner, points = table.play_out(seat, pile.pop())
    elif kind == ActionKind.DISCARD:
        table.hold(seat, candidate.hand ^ candidate.action.cards)
        table.discards.append(candidate.action.cards.bit_length() - 1)
        winner, points = table.play_out((seat + 1) % players)
    else:
        drawn = candidate.hand.bit_length() - 1
        table.hold(seat, candidate.hand ^ 1 << drawn)
        winner, points = table.play_out(seat, drawn)
    return points if winner == seat else -points / (players - 1)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _error(values: Sequence[float]) -> float:
    """The standard error of the mean; at least 2 values."""
    mean = _mean(values)
    return sqrt(sum([(value - mean) ** 2 for value in values]) / (len(values) * (len(values) - 1)))
