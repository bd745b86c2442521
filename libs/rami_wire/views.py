"""Seat views on the wire: the one message that people and bots get."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rami.game.v1 import rules_pb2, view_pb2
from rami_engine import (
    DECK_SIZE,
    MAX_PLAYERS,
    MIN_PLAYERS,
    CardTrace,
    MalformedAction,
    OptionsError,
    Phase,
    SeatView,
    cards_of,
    is_meld,
)
from rami_wire.cards import WIRE_CARDS, to_card, to_cards, to_mask
from rami_wire.framing import encode_field, encode_varint_field, field_heads, small_fields
from rami_wire.rules import (
    guards_from_proto,
    guards_to_proto,
    options_from_proto,
    options_to_proto,
    phase_from_proto,
    phase_to_proto,
    result_from_proto,
    result_to_proto,
)

if TYPE_CHECKING:
    from rami_engine import Card, Guards, Mask, RoundResult, RuleOptions

_FIELDS: Final = view_pb2.SeatView.DESCRIPTOR.fields_by_name
_ROUND_NUMBER: Final = _FIELDS["round_number"].number
_PHASES: Final = {phase: encode_varint_field(_FIELDS["phase"].number, phase_to_proto(phase)) for phase in Phase}
_TURN_SEATS: Final = small_fields(_FIELDS["turn_seat"].number)
_TURN_NUMBER: Final = _FIELDS["turn_number"].number
_MATCH_TURNS: Final = _FIELDS["match_turns"].number
_HAND: Final = field_heads(_FIELDS["hand"].number, DECK_SIZE)
_HAND_SIZES: Final = field_heads(_FIELDS["hand_sizes"].number, MAX_PLAYERS)
_STOCK_SIZES: Final = small_fields(_FIELDS["stock_size"].number)
_DISCARDS: Final = field_heads(_FIELDS["discards"].number, DECK_SIZE)
_PACKED_CARDS: Final = bytes(WIRE_CARDS).ljust(0x100, b"\0")
"""Turns the bytes of card indexes into a packed field of cards: their enum values take one byte each."""
_TRACES: Final = _FIELDS["traces"].number
_LONGEST_TRACE: Final = 64
"""Bytes: more than the fields of a trace have together."""


def view_to_proto(view: SeatView) -> view_pb2.SeatView:
    """The message of a view: everything its viewer may see and nothing else."""
    return view_pb2.SeatView.FromString(encode_view(view))


def encode_view(view: SeatView) -> bytes:
    """The serialized message of a view, put together from what is kept ready: one is made for every action of a bot."""
    hand, hand_sizes, discards = cards_of(view.hand), view.hand_sizes, view.discards
    parts = [
        _encode_terms(view.rules_id, view.rules_version, view.players, view.viewer, view.options, view.guards),
        _encode_standing(view.scores, view.winner, view.last_result),
        encode_varint_field(_ROUND_NUMBER, view.round_number),
        _PHASES[view.phase],
        _TURN_SEATS[view.turn or 0],
        encode_varint_field(_TURN_NUMBER, view.turn_number),
        encode_varint_field(_MATCH_TURNS, view.match_turns),
        _HAND_SIZES[len(hand_sizes)],
        bytes(hand_sizes),
        _STOCK_SIZES[view.stock_count],
    ]
    if hand:
        parts += (_HAND[len(hand)], bytes(hand).translate(_PACKED_CARDS))
    if discards:
        parts += (_DISCARDS[len(discards)], bytes(discards).translate(_PACKED_CARDS))
    parts += map(_encode_meld, enumerate(view.melds, 1))
    parts += map(_encode_trace, view.history)
    return b"".join(parts)


@lru_cache(maxsize=1024)
def _encode_terms(  # noqa: PLR0917 - together they are the key of the cache
    rules_id: str, rules_version: str, players: int, viewer: int | None, options: RuleOptions, guards: Guards
) -> bytes:
    """What stays the same for a viewer's whole match."""
    message = view_pb2.SeatView(
        rules_id=rules_id,
        rules_version=rules_version,
        players=players,
        seat=viewer,
        options=options_to_proto(options),
        guards=guards_to_proto(guards),
    )
    return message.SerializeToString()


@lru_cache(maxsize=4096)
def _encode_standing(scores: tuple[int, ...], winner: int | None, last_result: RoundResult | None) -> bytes:
    """What changes with a round."""
    message = view_pb2.SeatView(scores=scores, winner_seat=winner)
    if last_result is not None:
        message.last_round.CopyFrom(result_to_proto(last_result))
    return message.SerializeToString()


@lru_cache(maxsize=4096)
def _encode_meld(numbered: tuple[int, Mask]) -> bytes:
    number, meld = numbered
    message = view_pb2.SeatView(melds=[rules_pb2.TableMeld(number=number, cards=to_cards(meld))])
    return message.SerializeToString()


def view_from_proto(message: view_pb2.SeatView) -> SeatView:
    """The engine's view.

    Checks single fields, not that the view could come about in a match. Raises MalformedAction or
    OptionsError, naming the field below `view`, for a number or card outside its range.
    """
    players = message.players
    if not MIN_PLAYERS <= players <= MAX_PLAYERS:
        raise OptionsError("view.players", f"must be within {MIN_PLAYERS}..{MAX_PLAYERS}")
    if len(message.scores) != players or len(message.hand_sizes) != players:
        raise OptionsError("view.players", "must be the number of scores and of hand sizes")
    phase = phase_from_proto(message.phase)
    dealt = message.round_number > 0
    if not dealt and phase != Phase.NOT_STARTED:
        raise OptionsError("view.round_number", "must be 1 or more in a match")
    return SeatView(
        rules_id=message.rules_id,
        rules_version=message.rules_version,
        players=players,
        viewer=_seat(message.seat, players, "view.seat") if message.HasField("seat") else None,
        options=options_from_proto(message.options, "view.options"),
        guards=guards_from_proto(message.guards),
        scores=tuple(message.scores),
        phase=phase,
        round_number=message.round_number,
        turn=_seat(message.turn_seat, players, "view.turn_seat") if dealt else None,
        turn_number=message.turn_number,
        hand=to_mask(message.hand, "view.hand"),
        hand_sizes=tuple(message.hand_sizes),
        stock_count=message.stock_size,
        discards=_discards(message),
        melds=tuple([_meld(meld) for meld in message.melds]),
        history=_history(message, players),
        last_result=result_from_proto(message.last_round) if message.HasField("last_round") else None,
        match_turns=message.match_turns,
        winner=_seat(message.winner_seat, players, "view.winner_seat") if message.HasField("winner_seat") else None,
    )


def _meld(message: rules_pb2.TableMeld) -> Mask:
    mask = to_mask(message.cards, "view.melds.cards")
    # The engine trusts that what lies on the table is a meld.
    if not is_meld(mask):
        raise MalformedAction("view.melds.cards", "must be a set or a run")
    return mask


def _discards(message: view_pb2.SeatView) -> tuple[Card, ...]:
    values = message.discards
    to_mask(values, "view.discards")  # each is a card, and none lies there twice
    return tuple([value - 1 for value in values])


def _seat(value: int, players: int, field: str) -> int:
    if value >= players:
        raise MalformedAction(field, f"must be a seat, 0..{players - 1}")
    return value


@lru_cache(maxsize=16_384)
def _encode_trace(trace: CardTrace) -> bytes:
    """The field of a serialized view that holds a trace: between two looks at a match few traces change."""
    message = view_pb2.CardTrace(
        card=WIRE_CARDS[trace.card],
        discarded_by=trace.discarded_by,
        discarded_turn=trace.discarded_turn,
        taken_by=trace.taken_by,
        taken_turn=trace.taken_turn,
        laid_by=trace.laid_by,
        laid_turn=trace.laid_turn,
        passed_by_mask=trace.passed_by,
        passed_turn=trace.passed_turn,
    )
    return encode_field(_TRACES, message.SerializeToString())


def _history(message: view_pb2.SeatView, players: int) -> tuple[CardTrace, ...]:
    encoded = [trace.SerializeToString() for trace in message.traces]
    # Fields of a later version make a trace of any length: such a one is not kept.
    decode = _decode_trace if len(max(encoded, key=len, default=b"")) <= _LONGEST_TRACE else _decode_trace.__wrapped__
    return tuple([decode(one, players) for one in encoded])


@lru_cache(maxsize=16_384)
def _decode_trace(encoded: bytes, players: int) -> CardTrace:
    """The trace of a serialized message, kept as in `_encode_trace`."""
    message = view_pb2.CardTrace.FromString(encoded)

    def seat(field: str) -> int | None:
        if not message.HasField(field):  # type: ignore[arg-type]  # one of the optional fields, named below
            return None
        return _seat(getattr(message, field), players, f"view.traces.{field}")

    return CardTrace(
        card=to_card(message.card, "view.traces.card"),
        discarded_by=seat("discarded_by"),
        discarded_turn=message.discarded_turn,
        taken_by=seat("taken_by"),
        taken_turn=message.taken_turn,
        laid_by=seat("laid_by"),
        laid_turn=message.laid_turn,
        passed_by=message.passed_by_mask,
        passed_turn=message.passed_turn,
    )
