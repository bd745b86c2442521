"""Hints for the player of `rami play --hint`: what the strongest bot would do in this seat, and how it sees the rest.

The bot runs here and sees what the player sees: nobody is asked, and nothing hidden is known.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from rich.text import Text

from rami_bots import BOTS, decide
from rami_cli.drawing import draw_action
from rami_cli.texts import text

if TYPE_CHECKING:
    from rami_bots import Considered, Decision
    from rami_engine import Action, SeatView

MAX_ALTERNATIVES: Final = 2
MAX_SECONDS: Final = 1.0
"""A hint that takes longer is made of what has been found by then."""


def hint_for(view: SeatView, legal: tuple[Action, ...], seconds: float = MAX_SECONDS) -> Text:
    """One line of advice for the seat to move, within so many seconds of computing."""
    end = time.monotonic() + seconds
    # The same hint for the same turn: seeds are for variety, and a player needs none.
    decision = decide(BOTS[-1], view, legal, view.turn_number, lambda: time.monotonic() >= end, explain=True)
    return draw_hint(decision)


def draw_hint(decision: Decision) -> Text:
    """A decision with the best alternatives, each with the points that the round may bring."""
    chosen = [one for one in decision.considered if one.action == decision.action]
    others = [one for one in decision.considered if one.action != decision.action and one.points is not None]
    line = Text.assemble((f"{text('hint')} ", "bold"), *map(_drawn, chosen))
    if others:
        line.append(f"; {text('hint-or')} ")
        line.append_text(Text(", ").join(_drawn(one) for one in others[:MAX_ALTERNATIVES]))
    return line


def _drawn(one: Considered) -> Text:
    drawn = draw_action(one.action)
    return drawn if one.points is None else Text.assemble(drawn, (f" ({one.points:+.1f})", "dim"))
