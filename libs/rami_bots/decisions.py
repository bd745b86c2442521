"""A decision with its reasons: what a bot chose and, asked for, what it considered."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rami_bots.bots import Bot
    from rami_bots.policy import Considered, OutOfTime
    from rami_engine import Action, SeatView


class Decision(NamedTuple):
    """What a bot chose, and why."""

    action: Action
    considered: tuple[Considered, ...]
    """What it weighed, the best first, what it did not estimate last; empty when nobody asked."""


def decide(
    bot: Bot,
    view: SeatView,
    legal: Sequence[Action],
    seed: int,
    out_of_time: OutOfTime,
    *,
    explain: bool = False,
) -> Decision:
    """The choice of a bot; its policy says what the arguments are. Explaining costs a little time and changes nothing.

    The bot need not choose what it thinks most of: it may ask for a clear gain before it leaves its first thought.
    """
    if not explain:
        return Decision(bot.policy(view, legal, seed, out_of_time), ())
    considered: list[Considered] = []
    action = bot.policy(view, legal, seed, out_of_time, considered.append)
    considered.sort(key=lambda one: (one.points is None, -(one.points or 0)))
    return Decision(action, tuple(considered))
