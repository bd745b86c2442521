"""The bots there are, weakest first: their ids, how they are shown, and their policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rami_bots.easy import play_easy
from rami_bots.hard import play_hard
from rami_bots.normal import play_normal

if TYPE_CHECKING:
    from rami_bots.policy import Policy


class UnknownBot(LookupError):  # noqa: N818 - named for what is wrong
    """An id that no bot has."""


class Bot(NamedTuple):
    """A bot profile."""

    id: str
    """What rooms and decisions name it by; never changes."""
    display_name: str
    description: str
    """What it does, in one sentence for people."""
    policy: Policy
    quick: bool
    """Whether it decides in under a millisecond or so, whatever the position."""


BOTS: Final = (
    Bot("easy", "Easy", "Lays every meld and lay-off at once and discards the highest isolated card.", play_easy, True),
    Bot(
        "normal",
        "Normal",
        "Keeps cards that are one draw away from a meld, holds melds back and weighs what its discards give away.",
        play_normal,
        True,
    ),
    Bot(
        "hard",
        "Hard",
        "Remembers every card seen in public and searches for the play that leaves it the least deadwood.",
        play_hard,
        False,
    ),
)
"""Weakest first."""

_BY_ID: Final = {bot.id: bot for bot in BOTS}


def find_bot(bot_id: str) -> Bot:
    """The bot with an id. Raises UnknownBot."""
    bot = _BY_ID.get(bot_id)
    if bot is None:
        raise UnknownBot(bot_id)
    return bot
