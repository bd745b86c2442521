"""Public events: what a step of a room's log looks like to each kind of viewer.

A step that hides nothing has one encoding for everybody. A draw from the stock has one for the seat that drew
and one for all others; a deal has one for each seat and one for spectators. What does not depend on the viewer is
encoded once for all of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from game_state.projection import (
    CURSOR_BYTES,
    LONGEST_TIMESTAMP,
    LONGEST_TURN,
    encode_cursor,
    encode_timestamp,
    encode_turn,
)
from game_state.steps import Dealt, Played, Public, Step, StepChange, privileged_seats
from rami.game.v1 import event_pb2, game_service_pb2
from rami_engine import starting_seat, starting_stock
from rami_wire import action_to_proto, encode_field, encode_varint, field_heads, to_cards, varint_tag
from rami_wire.cards import WIRE_CARDS

_FIELDS: Final = event_pb2.Event.DESCRIPTOR.fields_by_name
_VERSION: Final = varint_tag(_FIELDS["version"].number)
_CURSOR: Final = field_heads(_FIELDS["cursor"].number, CURSOR_BYTES)[CURSOR_BYTES]
_TIME: Final = field_heads(_FIELDS["time"].number, LONGEST_TIMESTAMP)
_CHANGES: Final = _FIELDS["changes"].number
_EVENTS: Final = game_service_pb2.PlayResponse.DESCRIPTOR.fields_by_name["events"].number
"""As in WatchRoomResponse."""
_TURN: Final = field_heads(_FIELDS["turn"].number, LONGEST_TURN)


class CommittedStep:
    """A step of a room's history, and the encodings of its event: each is made once, when a viewer needs it."""

    __slots__ = (
        "_by_viewer",
        "_frame",
        "_privileged",
        "_told",
        "commit_id",
        "previous_commit",
        "public_changes",
        "seat_to_move",
        "step",
        "version",
    )

    def __init__(self, version: int, previous_commit: bytes, step: Step) -> None:
        self.version = version
        self.previous_commit = previous_commit
        """The commit id of the version before; empty for the first."""
        self.step = step
        self.commit_id = step.commit_id
        self.seat_to_move = step.seat_to_move
        self.public_changes = [
            event_pb2.Change.FromString(change.encoded) for change in step.changes if type(change) is Public
        ]
        """The changes that hide nothing from anybody, of actions apart."""
        self._privileged = privileged_seats(step.changes)
        self._by_viewer: dict[int | None, bytes] = {}
        self._told: dict[int | None, bytes] = {}
        self._frame = b""

    def encoded(self, viewer: int | None) -> bytes:
        """The serialized rami.game.v1.Event for a seat, or for spectators with None."""
        key = viewer if self._privileged is None or viewer in self._privileged else None
        encoded = self._by_viewer.get(key)
        if encoded is None:
            if not self._frame:
                self._frame = _encode_frame(self)
            changes = [_encode_change(change, key) for change in self.step.changes]
            encoded = self._by_viewer[key] = self._frame + b"".join(changes)
        return encoded

    def told(self, viewer: int | None) -> bytes:
        """The serialized message of a stream, of any kind, that holds this event alone."""
        key = viewer if self._privileged is None or viewer in self._privileged else None
        told = self._told.get(key)
        if told is None:
            told = self._told[key] = encode_field(_EVENTS, self.encoded(key))
        return told


def _encode_frame(committed: CommittedStep) -> bytes:
    """The serialized Event without its changes."""
    version, seat, step = committed.version, committed.seat_to_move, committed.step
    time = encode_timestamp(step.time_ms)
    parts = [
        _VERSION,
        encode_varint(version),
        _CURSOR,
        encode_cursor(version, step.commit_id),
        _TIME[len(time)],
        time,
    ]
    if seat is not None:
        turn = encode_turn(seat, step.phase, step.time_ms + step.deadline_ms if step.deadline_ms else 0)
        parts += (_TURN[len(turn)], turn)
    return b"".join(parts)


def _encode_change(change: StepChange, viewer: int | None) -> bytes:
    """The field of a serialized Event that holds a change."""
    if isinstance(change, Played):
        if change.hides_card and viewer != change.seat:
            return _encode_played(Played(change.seat, change.action, change.source, None))
        return _encode_played(change)
    if isinstance(change, Public):
        return encode_field(_CHANGES, change.encoded)
    started = event_pb2.Change(round_started=_dealt_message(change, viewer))
    return encode_field(_CHANGES, started.SerializeToString())


@lru_cache(maxsize=16_384)
def _encode_played(played: Played) -> bytes:
    """As `_encode_change`: most actions are one of a few hundred."""
    message = event_pb2.ActionPlayed(seat=played.seat, action=action_to_proto(played.action), source=played.source)
    if played.drawn is not None:
        message.drawn = WIRE_CARDS[played.drawn]
    return encode_field(_CHANGES, event_pb2.Change(action_played=message).SerializeToString())


def _dealt_message(dealt: Dealt, viewer: int | None) -> event_pb2.RoundStarted:
    players = len(dealt.hands)
    return event_pb2.RoundStarted(
        round_number=dealt.number,
        starting_seat=starting_seat(dealt.number, players),
        up_card=WIRE_CARDS[dealt.up_card],
        hand_size=dealt.hands[0].bit_count(),
        stock_size=starting_stock(players),
        hand=to_cards(dealt.hands[viewer]) if viewer is not None else (),
    )
