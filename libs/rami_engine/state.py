"""The state of a match and of its round: plain parts, and nothing that plays.

Both classes are mutable, equal by value, copied cheaply, and built from plain parts, so that a store can take
them apart and put them together again. They trust whoever builds them. Only `match.py` changes them. They
know every card, so their texts (`repr`) tell what the whole table may see and no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from rami_engine.cards import DECK_SIZE, Card, Mask

if TYPE_CHECKING:
    from rami_engine.history import RoundHistory
    from rami_engine.rules import Guards, RuleOptions


class Phase(IntEnum):
    """What the match waits for."""

    NOT_STARTED = 0
    """The first deal."""
    DRAW = 1
    """The seat to move draws."""
    PLAY = 2
    """The seat to move melds, lays off, and at last discards."""
    ROUND_OVER = 3
    """The next deal."""
    MATCH_OVER = 4
    """Nothing."""


class EndReason(IntEnum):
    """Why a round ended."""

    WENT_OUT = 1
    STOCK_EXHAUSTED = 2
    TURN_LIMIT = 3


class MatchEndReason(IntEnum):
    """Why a match ended: a round's winner reached the target, or the match had completed its turns."""

    TARGET_SCORE = 1
    TURN_LIMIT = 2


class RoundResult(NamedTuple):
    """How a round ended. Tuples are by seat."""

    number: int
    """Rounds count from 1."""
    reason: EndReason
    winner: int
    points: int
    """What the winner's score grew by: the points of all rivals' hands."""
    hand_points: tuple[int, ...]
    """Points of the cards left in each hand, the winner's included."""
    scores: tuple[int, ...]
    """The scores after the round."""


class MatchResult(NamedTuple):
    """How a match ended."""

    winner: int
    scores: tuple[int, ...]
    reason: MatchEndReason


@dataclass(slots=True, repr=False)
class RoundState:
    """A round as it stands, in play or over."""

    number: int
    """Rounds count from 1."""
    hands: list[Mask]
    """By seat."""
    deck: bytes
    """The card indexes of the whole deck in the order of the deal."""
    stock_pos: int
    """Place in `deck` of the top card of the stock; 52 when the stock is empty."""
    discards: list[Card]
    """Oldest first; the last is the top."""
    melds: list[Mask]
    """Meld number n stands at place n - 1."""
    turn: int
    """The seat to move, or the seat that acted last when the round is over."""
    turns: int
    """Turns completed in the round, of all seats together."""
    history: RoundHistory

    @property
    def stock_count(self) -> int:
        """Cards left in the stock."""
        return DECK_SIZE - self.stock_pos

    def copy(self) -> RoundState:
        """An independent round, equal to this one."""
        return RoundState(
            self.number,
            self.hands.copy(),
            self.deck,
            self.stock_pos,
            self.discards.copy(),
            self.melds.copy(),
            self.turn,
            self.turns,
            self.history.copy(),
        )

    def __repr__(self) -> str:
        return f"<RoundState number={self.number} turn={self.turn} turns={self.turns} stock={self.stock_count}>"


@dataclass(slots=True, repr=False)
class MatchState:
    """A match as it stands. `round` is None before the first deal only."""

    players: int
    options: RuleOptions
    guards: Guards
    scores: list[int]
    """By seat."""
    turns: int
    """Turns completed in the match, of all seats together."""
    phase: Phase
    round: RoundState | None
    """The round in play, or the last one between rounds and after the match."""
    results: RoundResult | None
    """How the last finished round ended."""
    winner: int | None
    """The seat that won the match, once it is over."""

    def copy(self) -> MatchState:
        """An independent match, equal to this one."""
        return MatchState(
            self.players,
            self.options,
            self.guards,
            self.scores.copy(),
            self.turns,
            self.phase,
            self.round.copy() if self.round is not None else None,
            self.results,
            self.winner,
        )

    def __repr__(self) -> str:
        return f"<MatchState players={self.players} phase={self.phase.name} scores={self.scores} {self.round!r}>"
