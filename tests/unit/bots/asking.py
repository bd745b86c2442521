"""Bots asked for one decision in an arranged position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rami_bots import find_bot, time_enough
from rami_engine import Phase, RuleOptions, apply, format_action, legal_actions_for, parse_action, seat_view

if TYPE_CHECKING:
    from rami_bots import OutOfTime
    from rami_engine import MatchState, SeatView

BOT_IDS = ("easy", "normal", "hard")
ACE_HIGH = RuleOptions(ace_high=True)
DISCARD_TO_WIN = RuleOptions(discard_to_win=True)


def time_for(deals: int) -> OutOfTime:
    """Time for so many supposed deals."""
    left = iter(range(deals))
    return lambda: next(left, None) is None


def is_in(match: MatchState, *phases: Phase) -> bool:
    """Whether a match is in one of some phases."""
    return match.phase in phases


def view_of_turn(match: MatchState) -> SeatView:
    """What the seat to move sees."""
    assert match.round is not None
    return seat_view(match, match.round.turn)


def play(match: MatchState, *texts: str) -> None:
    """Actions of whichever seat is to move."""
    for text in texts:
        assert match.round is not None
        apply(match, match.round.turn, parse_action(text))


def ask(bot: str, match: MatchState, *, seed: int = 1, out_of_time: OutOfTime = time_enough) -> str:
    """The text of what a bot does in the seat to move."""
    view = view_of_turn(match)
    legal = legal_actions_for(view)
    action = find_bot(bot).policy(view, legal, seed, out_of_time)
    assert action in legal
    return format_action(action)
