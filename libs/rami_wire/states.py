"""A match in the store: the whole state of the engine, hidden cards included, as compact bytes.

Trusts what it reads: only the game service writes it.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final

from rami.store.v1 import room_state_pb2 as store
from rami_engine import (
    DECK_SIZE,
    EndReason,
    Guards,
    MatchState,
    Phase,
    RoundHistory,
    RoundResult,
    RoundState,
    RuleOptions,
)
from rami_wire.framing import encode_field, encode_varint_field, field_heads, small_fields

_MATCH_FIELDS: Final = store.StoredMatch.DESCRIPTOR.fields_by_name
_ROUND: Final = _MATCH_FIELDS["round"].number
_LAST_RESULT: Final = _MATCH_FIELDS["last_result"].number
_TURNS: Final = _MATCH_FIELDS["turns"].number
_PHASES: Final = small_fields(_MATCH_FIELDS["phase"].number)
_ROUND_FIELDS: Final = store.StoredRound.DESCRIPTOR.fields_by_name
_NUMBER: Final = _ROUND_FIELDS["number"].number
_STOCK_POSITIONS: Final = small_fields(_ROUND_FIELDS["stock_position"].number)
_SEATS: Final = small_fields(_ROUND_FIELDS["turn"].number)
_ROUND_TURNS: Final = _ROUND_FIELDS["turns"].number
_MASK_BYTES: Final = 8
_MOST_MASKS: Final = 17
"""52 cards make so many melds at most."""
_MASKS: Final = tuple(struct.Struct(f"<{count}Q") for count in range(_MOST_MASKS + 1))
"""Packs so many masks as a packed field of fixed64."""
_HANDS: Final = field_heads(_ROUND_FIELDS["hands"].number, _MASK_BYTES * _MOST_MASKS)
_DECK: Final = field_heads(_ROUND_FIELDS["deck"].number, DECK_SIZE)
_DISCARDS: Final = field_heads(_ROUND_FIELDS["discards"].number, DECK_SIZE)
_MELDS: Final = field_heads(_ROUND_FIELDS["melds"].number, _MASK_BYTES * _MOST_MASKS)
_HISTORY: Final = _ROUND_FIELDS["history"].number


def encode_match(match: MatchState) -> bytes:
    """The serialized rami.store.v1.StoredMatch of a match; options and guards are the room's and stand there.

    Every step of every room is stored, so what is large is put together from ready bytes.
    """
    parts = [
        _encode_standing(tuple(match.scores), match.winner),
        encode_varint_field(_TURNS, match.turns),
        _PHASES[match.phase],
    ]
    current = match.round
    if current is not None:
        parts.append(encode_field(_ROUND, _encode_round(current)))
    if match.results is not None:
        parts.append(_encode_result(match.results))
    return b"".join(parts)


@lru_cache(maxsize=16_384)
def _encode_standing(scores: tuple[int, ...], winner: int | None) -> bytes:
    """What changes with a round."""
    message = store.StoredMatch(scores=scores, winner_plus_one=0 if winner is None else winner + 1)
    return message.SerializeToString()


def _encode_round(current: RoundState) -> bytes:
    hands, melds, discards = current.hands, current.melds, current.discards
    parts = [
        encode_varint_field(_NUMBER, current.number),
        _HANDS[_MASK_BYTES * len(hands)],
        _MASKS[len(hands)].pack(*hands),
        _DECK[len(current.deck)],
        current.deck,
        _STOCK_POSITIONS[current.stock_pos],
        _DISCARDS[len(discards)],
        bytes(discards),
        _SEATS[current.turn],
        encode_varint_field(_ROUND_TURNS, current.turns),
        encode_field(_HISTORY, current.history.to_bytes()),
    ]
    if melds:
        parts += (_MELDS[_MASK_BYTES * len(melds)], _MASKS[len(melds)].pack(*melds))
    return b"".join(parts)


@lru_cache(maxsize=4096)
def _encode_result(result: RoundResult) -> bytes:
    message = store.StoredResult(
        number=result.number,
        reason=result.reason,
        winner=result.winner,
        points=result.points,
        hand_points=result.hand_points,
        scores=result.scores,
    )
    return encode_field(_LAST_RESULT, message.SerializeToString())


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
