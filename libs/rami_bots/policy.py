"""What every bot is: a pure function from what a seat sees, its legal actions and a seed to one of these actions.

Asked to, it tells what it considered and what it thought of it, which changes nothing about its choice.

A policy trusts its caller that the viewer is the seat to move and that the legal actions are those of the view.
It reads no clock: where its search is long, it asks `out_of_time` between two steps of bounded length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from rami_engine import DRAW_DISCARD, Action, ActionKind, mask_points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rami_engine import SeatView

OutOfTime: TypeAlias = "Callable[[], bool]"


class Considered(NamedTuple):
    """An action that a bot weighed. It follows from what the seat sees, so it tells nothing hidden."""

    action: Action
    points: float | None
    """What the bot thinks of it, in points, more being better; to be compared within one decision only. Of a bot that
    searches: the points that the round would bring, negative when a rival wins it. None for what it did not estimate.
    """
    deals: int = 0
    """Supposed deals that the estimate is from; 0 for a rule of thumb."""


Tell: TypeAlias = "Callable[[Considered], None]"


class Policy(Protocol):
    """How a bot plays."""

    def __call__(
        self, view: SeatView, legal: Sequence[Action], seed: int, out_of_time: OutOfTime, tell: Tell | None = None
    ) -> Action:
        """One of the legal actions, the same for the same arguments as long as time does not run out.

        `seed` is 0..2**64-1 and unrelated to every shuffle. Once `out_of_time` is true the answer comes at once,
        from what has been searched by then. `tell` hears of everything that was weighed, the choice included.
        """
        ...  # pragma: no cover


def time_enough() -> bool:
    """The `OutOfTime` of a caller that waits for the whole search."""
    return False


def seat_of(view: SeatView) -> int:
    """The seat that sees. Raises ValueError for a spectator's view."""
    if view.viewer is None:
        raise ValueError("a spectator has nothing to decide")
    return view.viewer


def is_draw(legal: Sequence[Action]) -> bool:
    """Whether the seat is to draw."""
    return legal[0].kind <= ActionKind.DRAW_DISCARD


def can_take_discard(legal: Sequence[Action]) -> bool:
    """Whether the top of the discard pile may be drawn."""
    return DRAW_DISCARD in legal


def first_legal_lay(lays: Iterable[Action], legal: Sequence[Action], ace_high: bool) -> Action | None:
    """The first of the planned lays that is legal; failing that, the legal lay worth most points, if there is any.

    All lays of a plan are legal but one that would empty the hand where the last card must be discarded.
    """
    for lay in lays:
        if lay in legal:
            return lay
    others = [action for action in legal if action.kind in (ActionKind.MELD, ActionKind.LAY_OFF)]
    return max(others, key=lambda action: mask_points(action.cards, ace_high), default=None)
