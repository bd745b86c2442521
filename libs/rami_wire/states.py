"""A match in the store: the whole state of the engine, hidden cards included, as compact bytes.

Trusts what it reads: only the game service writes it.
"""

from __future__ import annotations

from rami.store.v1 import room_state_pb2 as store
from rami_engine import (
    EndReason,
    Guards,
    MatchState,
    Phase,
    RoundHistory,
    RoundResult,
    RoundState,
    RuleOptions,
)


def match_to_store(match: MatchState) -> store.StoredMatch:
    """The stored form of a match; options and guards are the room's and stand there."""
    message = store.StoredMatch(
        scores=match.scores,
        turns=match.turns,
        phase=match.phase,
        winner_plus_one=0 if match.winner is None else match.winner + 1,
    )
    current = match.round
    if current is not None:
        message.round.number = current.number
        message.round.hands.extend(current.hands)
        message.round.deck = current.deck
        message.round.stock_position = current.stock_pos
        message.round.discards = bytes(current.discards)
        message.round.melds.extend(current.melds)
        message.round.turn = current.turn
        message.round.turns = current.turns
        message.round.history = current.history.to_bytes()
    result = match.results
    if result is not None:
        message.last_result.number = result.number
        message.last_result.reason = result.reason
        message.last_result.winner = result.winner
        message.last_result.points = result.points
        message.last_result.hand_points.extend(result.hand_points)
        message.last_result.scores.extend(result.scores)
    return message


def match_from_store(message: store.StoredMatch, options: RuleOptions, guards: Guards) -> MatchState:
    """The match of a stored form, equal to the one that was written."""
    return MatchState(
        players=len(message.scores),
        options=options,
        guards=guards,
        scores=list(message.scores),
        turns=message.turns,
        phase=Phase(message.phase),
        round=_round(message.round) if message.HasField("round") else None,
        results=_result(message.last_result) if message.HasField("last_result") else None,
        winner=message.winner_plus_one - 1 if message.winner_plus_one else None,
    )


def _round(message: store.StoredRound) -> RoundState:
    return RoundState(
        number=message.number,
        hands=list(message.hands),
        deck=message.deck,
        stock_pos=message.stock_position,
        discards=list(message.discards),
        melds=list(message.melds),
        turn=message.turn,
        turns=message.turns,
        history=RoundHistory.from_bytes(message.history),
    )


def _result(message: store.StoredResult) -> RoundResult:
    return RoundResult(
        message.number,
        EndReason(message.reason),
        message.winner,
        message.points,
        tuple(message.hand_points),
        tuple(message.scores),
    )
