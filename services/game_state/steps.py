"""Steps: what a committed change of a room leaves in its log, hidden cards included.

In memory a step is plain tuples, since each is looked at by several listeners; its stored form is
rami.store.v1.Step, where the commonest step by far, an action, is written tightly. Public events are made from
steps by `events.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from game_state.projection import COMMIT_ID_BYTES
from rami.store.v1 import step_pb2
from rami_engine import Action, ActionKind, Card, Mask, Phase, cards_of, mask_of
from rami_wire import encode_field, encode_varint, encode_varint_field, field_heads, varint_tag

if TYPE_CHECKING:
    from rami.game.v1 import event_pb2
    from rami_engine import RoundState

_SEAT_BITS: Final = 2
_KIND_BITS: Final = 3
_FIELDS: Final = step_pb2.Step.DESCRIPTOR.fields_by_name
_COMMIT_ID: Final = field_heads(_FIELDS["commit_id"].number, COMMIT_ID_BYTES)
_TIME_MS: Final = varint_tag(_FIELDS["time_ms"].number)
_DEADLINE_MS: Final = _FIELDS["deadline_ms"].number
_TRACE_PARENT: Final = _FIELDS["trace_parent"].number
_CHANGES: Final = _FIELDS["changes"].number
_IN_PLAY: Final = (Phase.DRAW, Phase.PLAY)


class Played(NamedTuple):
    """A seat acted."""

    seat: int
    action: Action
    source: event_pb2.ActionSource.ValueType
    drawn: Card | None
    """The card that came to its hand."""

    @property
    def hides_card(self) -> bool:
        """Whether a card was drawn that only its seat may see."""
        return self.drawn is not None and self.action.kind == ActionKind.DRAW_STOCK


class Dealt(NamedTuple):
    """A round was dealt."""

    number: int
    hands: tuple[Mask, ...]
    """By seat."""
    up_card: Card


class Public(NamedTuple):
    """Something that hides nothing from anybody."""

    encoded: bytes
    """The serialized rami.game.v1.Change."""


StepChange: TypeAlias = Played | Dealt | Public


@dataclass(slots=True)
class Step:
    """What one commit did. Equal by value; not changed once it is committed."""

    commit_id: bytes
    """8 random bytes."""
    time_ms: int
    """When it was committed, by the store's time."""
    changes: list[StepChange]
    """In order."""
    turn: int | None
    """The seat to move afterwards."""
    phase: int
    """The engine's phase afterwards; 0 without a match."""
    deadline_ms: int = 0
    """When the turn runs out, in ms after `time_ms`; 0 for never."""
    trace_parent: str = ""
    """The trace that it was committed in, as a W3C traceparent; empty where nothing is traced."""

    @property
    def seat_to_move(self) -> int | None:
        """The seat to move afterwards; None while no action is possible."""
        return self.turn if self.phase in _IN_PLAY else None

    def to_bytes(self) -> bytes:
        """The serialized rami.store.v1.Step."""
        parts = [
            _COMMIT_ID[len(self.commit_id)],
            self.commit_id,
            _TIME_MS,
            encode_varint(self.time_ms),
            _encode_standing(self.turn, self.phase),
        ]
        if self.deadline_ms:
            parts.append(encode_varint_field(_DEADLINE_MS, self.deadline_ms))
        if self.trace_parent:
            parts.append(encode_field(_TRACE_PARENT, self.trace_parent.encode()))
        parts += [_encode_change(change) for change in self.changes]
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, encoded: bytes) -> Step:
        """The step of a stored form, which is trusted: only this service writes it."""
        message = step_pb2.Step.FromString(encoded)
        return cls(
            commit_id=message.commit_id,
            time_ms=message.time_ms,
            changes=[_decode_change(change) for change in message.changes],
            turn=message.turn_plus_one - 1 if message.turn_plus_one else None,
            phase=message.phase,
            deadline_ms=message.deadline_ms,
            trace_parent=message.trace_parent,
        )


def dealt_change(dealt: RoundState) -> Dealt:
    """The change of a round that was dealt just now."""
    return Dealt(dealt.number, tuple(dealt.hands), dealt.discards[0])


def privileged_seats(changes: list[StepChange]) -> tuple[int, ...] | None:
    """The seats that see more of a step than everybody else does; None where each sees something of its own."""
    seats = []
    for change in changes:
        if isinstance(change, Dealt):
            return None
        if isinstance(change, Played) and change.hides_card:
            seats.append(change.seat)
    return tuple(seats)


@lru_cache
def _encode_standing(turn: int | None, phase: int) -> bytes:
    """The fields of a serialized Step that say where the match stands."""
    return step_pb2.Step(turn_plus_one=0 if turn is None else turn + 1, phase=phase).SerializeToString()


def _encode_change(change: StepChange) -> bytes:
    """The field of a serialized Step that holds a change."""
    if isinstance(change, Played):
        return _encode_played(change)
    if isinstance(change, Public):
        message = step_pb2.StepChange(public=change.encoded)
    else:
        message = step_pb2.StepChange(dealt=step_pb2.DealtChange(**change._asdict()))
    return encode_field(_CHANGES, message.SerializeToString())


@lru_cache(maxsize=16_384)
def _encode_played(played: Played) -> bytes:
    """As `_encode_change`: most actions are one of a few hundred."""
    kind, cards, meld = played.action
    message = step_pb2.PlayedChange(
        code=played.seat | kind << _SEAT_BITS | played.source << _SEAT_BITS + _KIND_BITS,
        cards=bytes(cards_of(cards)),
        meld=meld,
        drawn_plus_one=0 if played.drawn is None else played.drawn + 1,
    )
    return encode_field(_CHANGES, step_pb2.StepChange(played=message).SerializeToString())


def _decode_change(change: step_pb2.StepChange) -> StepChange:
    kind = change.WhichOneof("kind")
    if kind == "played":
        return _decode_played(change.played)
    if kind == "dealt":
        return Dealt(change.dealt.number, tuple(change.dealt.hands), change.dealt.up_card)
    return Public(change.public)


def _decode_played(played: step_pb2.PlayedChange) -> Played:
    code = played.code
    kind = ActionKind(code >> _SEAT_BITS & (1 << _KIND_BITS) - 1)
    source: event_pb2.ActionSource.ValueType = code >> _SEAT_BITS + _KIND_BITS  # type: ignore[assignment]  # an int
    drawn = played.drawn_plus_one - 1 if played.drawn_plus_one else None
    return Played(code & (1 << _SEAT_BITS) - 1, Action(kind, mask_of(played.cards), played.meld), source, drawn)
