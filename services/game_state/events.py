"""Public events: what a step of a room's log looks like to each kind of viewer.

A step that hides nothing has one encoding for everybody. A draw from the stock has one for the seat that drew
and one for all others; a deal has one for each seat and one for spectators.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from game_state.projection import encode_cursor, timestamp
from game_state.steps import hides_card, played_parts, played_seat, privileged_seats, seat_to_move
from rami.game.v1 import event_pb2
from rami.store.v1 import step_pb2
from rami_engine import Phase, starting_seat, starting_stock
from rami_wire import action_to_proto, encode_field, phase_to_proto, to_cards
from rami_wire.cards import WIRE_CARDS

_CHANGES: Final = event_pb2.Event.DESCRIPTOR.fields_by_name["changes"].number


def encode_event(version: int, step: step_pb2.Step, viewer: int | None) -> bytes:
    """The serialized rami.game.v1.Event of a step as a seat sees it, or a spectator for `viewer` None."""
    frame = event_pb2.Event(
        version=version, cursor=encode_cursor(version, step.commit_id), time=timestamp(step.time_ms)
    )
    turn = seat_to_move(step)
    if turn is not None:
        frame.turn.seat = turn
        frame.turn.phase = phase_to_proto(Phase(step.phase))
        if step.deadline_ms:
            frame.turn.deadline.CopyFrom(timestamp(step.time_ms + step.deadline_ms))
    changes = [encode_field(_CHANGES, _encode_change(change, viewer)) for change in step.changes]
    return frame.SerializeToString() + b"".join(changes)


class CommittedStep:
    """A step of a room's history, and the encodings of its event: each is made once, when a viewer needs it."""

    __slots__ = ("_by_viewer", "_privileged", "_public", "previous_commit", "step", "version")

    def __init__(self, version: int, previous_commit: bytes, step: step_pb2.Step) -> None:
        self.version = version
        self.previous_commit = previous_commit
        """The commit id of the version before; empty for the first."""
        self.step = step
        self._privileged = privileged_seats(step)
        self._by_viewer: dict[int | None, bytes] = {}
        self._public: list[event_pb2.Change] | None = None

    @property
    def public_changes(self) -> list[event_pb2.Change]:
        """The changes that hide nothing from anybody."""
        if self._public is None:
            self._public = [
                event_pb2.Change.FromString(change.public)
                for change in self.step.changes
                if change.WhichOneof("kind") == "public"
            ]
        return self._public

    @property
    def commit_id(self) -> bytes:
        """The commit id of this version."""
        return self.step.commit_id

    def encoded(self, viewer: int | None) -> bytes:
        """The serialized rami.game.v1.Event for a seat, or for spectators with None."""
        key = viewer if self._privileged is None or viewer in self._privileged else None
        encoded = self._by_viewer.get(key)
        if encoded is None:
            encoded = encode_event(self.version, self.step, key)
            self._by_viewer[key] = encoded
        return encoded


def _encode_change(change: step_pb2.StepChange, viewer: int | None) -> bytes:
    kind = change.WhichOneof("kind")
    if kind == "played":
        played = change.played
        shown = viewer == played_seat(played) or not hides_card(played)
        return _encode_played(played.code, played.cards, played.meld, played.drawn_plus_one if shown else 0)
    if kind == "dealt":
        return event_pb2.Change(round_started=_dealt_message(change.dealt, viewer)).SerializeToString()
    return change.public


@lru_cache(maxsize=16_384)
def _encode_played(code: int, cards: bytes, meld: int, drawn_plus_one: int) -> bytes:
    """The serialized rami.game.v1.Change of an action: most are one of a few hundred."""
    seat, action, source, drawn = played_parts(
        step_pb2.PlayedChange(code=code, cards=cards, meld=meld, drawn_plus_one=drawn_plus_one)
    )
    message = event_pb2.ActionPlayed(seat=seat, action=action_to_proto(action), source=source)
    if drawn is not None:
        message.drawn = WIRE_CARDS[drawn]
    return event_pb2.Change(action_played=message).SerializeToString()


def _dealt_message(dealt: step_pb2.DealtChange, viewer: int | None) -> event_pb2.RoundStarted:
    players = len(dealt.hands)
    return event_pb2.RoundStarted(
        round_number=dealt.number,
        starting_seat=starting_seat(dealt.number, players),
        up_card=WIRE_CARDS[dealt.up_card],
        hand_size=dealt.hands[0].bit_count(),
        stock_size=starting_stock(players),
        hand=to_cards(dealt.hands[viewer]) if viewer is not None else (),
    )
