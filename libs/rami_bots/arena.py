"""Matches of bots against bots, to measure them: paired deals, so that luck of the cards cancels out.

A pair of a duel is the same decks played with the seats turned: with two seats each bot holds each seat once, and with
more seats the challenger holds every seat once among copies of the other bot. Everything follows from one seed;
the clock that times decisions is the caller's.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
    from collections.abc import Callable, Sequence


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
class Tally:
    """How a challenger fared in a duel."""

    matches: int = 0
    wins: int = 0
    lead: int = 0
    """Sum over the matches of the challenger's score less the mean score of the others, times the number of others."""
    seconds: list[float] = field(default_factory=list)
    """Time of every decision of the challenger."""
    rival_seconds: list[float] = field(default_factory=list)

    @property
    def win_rate(self) -> float:
        """Share of matches won; 0 before the first."""
        return self.wins / self.matches if self.matches else 0.0


def deck_of(seed: int, match_number: int, round_number: int) -> bytes:
    """A deck for measuring, never for people: it follows from small numbers."""
    deck = list(range(DECK_SIZE))
    _generator(f"deck {seed} {match_number} {round_number}").shuffle(deck)
    return bytes(deck)


def play_match(
    policies: Sequence[Policy],
    options: RuleOptions,
    guards: Guards,
    *,
    seed: int,
    match_number: int,
    clock: Callable[[], float],
    watch: Callable[[MatchState], None] | None = None,
) -> Played:
    """One match, seat s played by `policies[s]`. `watch` is shown the match after every action.

    Raises IllegalAction should a bot choose what the rules refuse.
    """
    match = new_match(len(policies), options, guards)
    generator = _generator(f"policy {seed} {match_number}")
    seconds: list[list[float]] = [[] for _ in policies]
    rounds = 0
    while match.phase != Phase.MATCH_OVER:
        rounds += 1
        start_round(match, deck_of(seed, match_number, rounds))
        current = match.round
        assert current is not None
        while match.phase in (Phase.DRAW, Phase.PLAY):
            seat = current.turn
            view, legal = seat_view(match, seat), legal_actions(match, seat)
            policy_seed = generator.getrandbits(64)
            begun = clock()
            action = policies[seat](view, legal, policy_seed, time_enough)
            seconds[seat].append(clock() - begun)
            apply(match, seat, action)
            if watch is not None:
                watch(match)
    assert match.winner is not None
    return Played(match.winner, tuple(match.scores), rounds, match.turns, seconds)


def duel(
    challenger: Policy,
    other: Policy,
    pairs: range,
    clock: Callable[[], float],
    *,
    players: int = 2,
    seed: int = 0,
    options: RuleOptions | None = None,
) -> Tally:
    """The challenger in each seat in turn, once per number of `pairs`, every other seat held by the other bot."""
    tally = Tally()
    for match_number in pairs:
        for seat in range(players):
            policies = [other] * players
            policies[seat] = challenger
            played = play_match(
                policies, options or RuleOptions(), Guards(), seed=seed, match_number=match_number, clock=clock
            )
            tally.matches += 1
            tally.wins += played.winner == seat
            tally.lead += players * played.scores[seat] - sum(played.scores)
            for other_seat, seconds in enumerate(played.seconds):
                (tally.seconds if other_seat == seat else tally.rival_seconds).extend(seconds)
    return tally


def _generator(label: str) -> random.Random:
    """A generator that follows from a text in every process alike."""
    return random.Random(hashlib.sha256(label.encode()).digest())  # noqa: S311 - measures bots, guards nothing
