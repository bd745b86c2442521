"""Matches of bots against bots, to measure them: paired deals, so that luck of the cards cancels out.

A deal of a duel is played once for every seat of the challenger, always with the same decks; copies of the other bot
hold the other seats. A deal with these rotations is one sample: its games are not independent, deals are. Everything
follows from one seed; the clock that times decisions is the caller's. A match to 1 point is a single round.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from rami_bots.policy import Policy, time_enough
from rami_engine import (
    DECK_SIZE,
    Guards,
    MatchState,
    Phase,
    RuleOptions,
    apply,
    legal_actions,
    new_match,
    seat_view,
    start_round,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rami_engine import Action

DEVIATIONS_OF_95_PERCENT: Final = 1.96
"""Standard errors on either side of a mean within which the true mean lies 95 times in 100."""


class Player(Protocol):
    """Whoever plays a seat in the arena. It is shown the whole match; an honest one looks at what its seat sees."""

    def __call__(self, match: MatchState, seat: int, seed: int) -> Action:
        """A legal action of the seat to move."""
        ...  # pragma: no cover


@dataclass(slots=True)
class Played:
    """What one match was."""

    winner: int
    scores: tuple[int, ...]
    rounds: int
    turns: int
    """Completed turns of all seats."""
    seconds: list[list[float]]
    """Time of every decision, by seat."""


@dataclass(slots=True)
class Sample:
    """How a challenger fared in one deal, over all rotations of the seats."""

    games: int = 0
    wins: int = 0
    lead: float = 0.0
    """Sum over the games of the challenger's score less the mean score of the others."""
    rounds: int = 0
    seconds: list[float] = field(default_factory=list)
    """Time of every decision of the challenger."""
    rival_seconds: list[float] = field(default_factory=list)


class Estimate(NamedTuple):
    """A mean over deals, and how far off it may be."""

    mean: float
    margin: float
    """Half the width of the 95 % interval; 0 for fewer than two deals."""

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.mean - self.margin


def honest(policy: Policy) -> Player:
    """A player that asks a policy, which sees what its seat sees."""

    def play(match: MatchState, seat: int, seed: int) -> Action:
        return policy(seat_view(match, seat), legal_actions(match, seat), seed, time_enough)

    return play


def deck_of(seed: int, match_number: int, round_number: int) -> bytes:
    """A deck for measuring, never for people: it follows from small numbers."""
    deck = list(range(DECK_SIZE))
    _generator(f"deck {seed} {match_number} {round_number}").shuffle(deck)
    return bytes(deck)


def play_match(
    players: Sequence[Player],
    options: RuleOptions,
    guards: Guards,
    *,
    seed: int,
    match_number: int,
    clock: Callable[[], float],
    watch: Callable[[MatchState], None] | None = None,
) -> Played:
    """One match, seat s played by `players[s]`. `watch` is shown the match after every action.

    Raises IllegalAction should a player choose what the rules refuse.
    """
    match = new_match(len(players), options, guards)
    generator = _generator(f"policy {seed} {match_number}")
    seconds: list[list[float]] = [[] for _ in players]
    rounds = 0
    while match.phase != Phase.MATCH_OVER:
        rounds += 1
        start_round(match, deck_of(seed, match_number, rounds))
        current = match.round
        assert current is not None
        while match.phase in (Phase.DRAW, Phase.PLAY):
            seat = current.turn
            policy_seed = generator.getrandbits(64)
            begun = clock()
            action = players[seat](match, seat, policy_seed)
            seconds[seat].append(clock() - begun)
            apply(match, seat, action)
            if watch is not None:
                watch(match)
    assert match.winner is not None
    return Played(match.winner, tuple(match.scores), rounds, match.turns, seconds)


def duel(
    challenger: Player,
    other: Player,
    deals: Iterable[int],
    clock: Callable[[], float],
    *,
    players: int = 2,
    seed: int = 0,
    options: RuleOptions | None = None,
) -> Iterator[Sample]:
    """A sample for each numbered deal: the challenger in each seat in turn, every other seat held by the other."""
    for match_number in deals:
        sample = Sample()
        for seat in range(players):
            seated = [other] * players
            seated[seat] = challenger
            played = play_match(
                seated, options or RuleOptions(), Guards(), seed=seed, match_number=match_number, clock=clock
            )
            score = played.scores[seat]
            sample.games += 1
            sample.wins += played.winner == seat
            sample.lead += score - (sum(played.scores) - score) / (players - 1)
            sample.rounds += played.rounds
            for other_seat, seconds in enumerate(played.seconds):
                (sample.seconds if other_seat == seat else sample.rival_seconds).extend(seconds)
        yield sample


def win_rate(samples: Sequence[Sample]) -> Estimate:
    """Share of games that the challenger won. At least one sample."""
    return estimate([sample.wins / sample.games for sample in samples])


def mean_lead(samples: Sequence[Sample]) -> Estimate:
    """The challenger's lead over the mean score of the others, per game. At least one sample."""
    return estimate([sample.lead / sample.games for sample in samples])


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of independent values with its margin. At least one value."""
    count = len(values)
    mean = sum(values) / count
    if count == 1:
        return Estimate(mean, 0.0)
    variance = sum([(value - mean) ** 2 for value in values]) / (count - 1)
    return Estimate(mean, DEVIATIONS_OF_95_PERCENT * sqrt(variance / count))


def _generator(label: str) -> random.Random:
    """A generator that follows from a text in every process alike."""
    return random.Random(hashlib.sha256(label.encode()).digest())  # noqa: S311 - measures bots, guards nothing
