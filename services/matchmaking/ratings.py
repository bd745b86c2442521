"""Ratings: what is known of a player's skill, and what a finished match teaches about it.

The model is Plackett-Luce as the openskill library has it: a skill is a normal distribution (mu, sigma),
and a match is an order of its seats. Outside this module skills are in points, on a scale where a
difference of 200 gives three wins in four, as in chess: points = 1000 + 30 (mu - 25).

What is rated, and how:
- Every finished match with a winner in which a person played. An abandoned match has no result and is not
rated. A match between bots alone is not rated: anybody could make thousands of them. Operators may restrict
ratings to matches that matchmaking made (RAMI_RATED_ROOMS), where players cannot pick their rivals. - A
seat belongs to its player to the end, also when a bot stood in: leaving saves nobody's rating. - The winner
comes first, the others by their scores; equal scores share a place. - A bot profile is one player wherever
it plays. Where it holds several seats it learns the mean of what they teach.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from openskill.models import PlackettLuce

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BASE: Final = 1000.0
POINTS: Final = 30.0
"""Points for one unit of the model."""
CONSERVATIVE: Final = 3.0
"""The rating lies so many standard deviations below the mean, and starts at 1000 like the mean."""
START_MU: Final = 25.0
START_SIGMA: Final = 25.0 / 3
BOT_PREFIX: Final = "bot:"
"""Begins the id of a bot profile. Ids of people have no colon."""

_MODEL: Final = PlackettLuce(mu=START_MU, sigma=START_SIGMA)


@dataclass(frozen=True, slots=True)
class PlayerRecord:
    """What is known of a player or a bot profile."""

    name: str
    mu: float = START_MU
    sigma: float = START_SIGMA
    matches: int = 0
    wins: int = 0
    bot: bool = False
    update_ms: int = 0
    """When the latest rated match ended, in ms of the store's time."""

    @property
    def skill(self) -> float:
        """The mean of the estimate in points: what the matcher works with."""
        return BASE + POINTS * (self.mu - START_MU)

    @property
    def rating(self) -> float:
        """The conservative estimate in points: what the leaderboard ranks by. It grows as doubt goes."""
        return BASE + POINTS * (self.mu - START_MU - CONSERVATIVE * (self.sigma - START_SIGMA))

    @property
    def deviation(self) -> float:
        """One standard deviation, in points."""
        return POINTS * self.sigma


@dataclass(frozen=True, slots=True)
class RatedSeat:
    """A seat of a finished match."""

    player_id: str
    """The player's id, or BOT_PREFIX and the profile for a bot's own seat."""
    name: str
    score: int


def new_player(name: str) -> PlayerRecord:
    """A person of whom nothing is known."""
    return PlayerRecord(name)


def new_bot(profile: str, skill: float) -> PlayerRecord:
    """A bot profile that has not been rated yet, taken to be as skilled as the settings say, in points."""
    return PlayerRecord(profile, mu=START_MU + (skill - BASE) / POINTS, bot=True)


def rate_match(
    seats: Sequence[RatedSeat], winner: int, records: Mapping[str, PlayerRecord], end_ms: int
) -> dict[str, PlayerRecord]:
    """The records of everybody at the table after the match; `records` has everybody's before it."""
    best = max(seat.score for seat in seats)
    ranks = [0.0 if number == winner else 1.0 + best - seat.score for number, seat in enumerate(seats)]
    before = [records[seat.player_id] for seat in seats]
    teams = [[_MODEL.rating(mu=record.mu, sigma=record.sigma)] for record in before]
    after = [team[0] for team in _MODEL.rate(teams, ranks=ranks)]
    rated: dict[str, PlayerRecord] = {}
    for seat in seats:
        if seat.player_id in rated:
            continue
        held = [number for number, other in enumerate(seats) if other.player_id == seat.player_id]
        record = records[seat.player_id]
        rated[seat.player_id] = replace(
            record,
            name=seat.name or record.name,
            mu=sum(after[number].mu for number in held) / len(held),
            sigma=sum(after[number].sigma for number in held) / len(held),
            matches=record.matches + 1,
            wins=record.wins + (winner in held),
            update_ms=max(record.update_ms, end_ms),
        )
    return rated


def quality_of(spread: float) -> float:
    """How even a table is: twice the chance of its weakest player against its strongest, 1 for a coin toss."""
    return float(2.0 / (1.0 + 10.0 ** (spread / 400.0)))


__all__ = [
    "BOT_PREFIX",
    "PlayerRecord",
    "RatedSeat",
    "new_bot",
    "new_player",
    "quality_of",
    "rate_match",
]
