"""What is held of a room and how news changes it: a pure state machine, fed with the messages of a stream.

snapshot             replaces everything; marked `rewound`, what was held before did not happen
event, version + 1   is applied
event, older         is dropped: it has been applied already
event, the same      is dropped as well; with another cursor it is of another past than what is held: OtherPastError
event, newer         is a gap: GapError, and the stream is resumed with the cursor that is held
event that cannot be DivergedError: the stream is opened anew for a snapshot
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rami.game.v1 import event_pb2, room_pb2
from rami_client import sight
from rami_client.sight import DivergedError
from rami_engine import MalformedAction, OptionsError, legal_actions_for
from rami_wire import action_from_proto, view_from_proto

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp

    from rami_engine import Action, SeatView


class GapError(Exception):
    """An event that skips one; caught within this library, which then resumes the stream."""


class OtherPastError(GapError):
    """An event of the version that is held, and not the one that is held: the store has lost some of the past."""


@dataclass(frozen=True, slots=True)
class Update:
    """One step of a room, and what is held after it."""

    version: int
    """The version of the room after the step."""
    changes: tuple[event_pb2.Change, ...]
    """What happened, in order; empty for a snapshot."""
    snapshot: bool
    """Everything was replaced: steps before this one may have been missed."""
    rewound: bool
    """A part of the past that was held did not happen: the store lost it."""
    room: room_pb2.Room
    """The room after the step. Not to be changed."""
    view: SeatView | None
    """The match after the step as the viewer sees it; None before the match."""
    time: Timestamp | None = None
    """When the step happened, in the store's time; None for a snapshot."""


class RoomMirror:
    """The room as its viewer knows it. `seat` and `player_id` say who that is until a view does."""

    def __init__(self, *, seat: int | None = None, player_id: str = "") -> None:
        self.room = room_pb2.Room()
        self.view: SeatView | None = None
        self.round_ended: event_pb2.RoundEnded | None = None
        """How the round ended that was dealt last, with its seed and what everybody still held; None while it is
        played."""
        self.match_ended: event_pb2.MatchEnded | None = None
        """How the match ended, with the seed of the round that it was abandoned in; None until then."""
        self.cursor = b""
        """Where to resume; empty before the first snapshot, and when a snapshot is wanted."""
        self._seat = seat
        self._player_id = player_id
        self._legal_version = 0
        self._legal_actions: tuple[Action, ...] = ()

    @property
    def version(self) -> int:
        """The version that is held; 0 before the first snapshot."""
        return self.room.version

    @property
    def seat(self) -> int | None:
        """The viewer's seat; None for a spectator, and while it is unknown."""
        if self.view is not None:
            return self.view.viewer
        for seat in self.room.seats:
            if self._player_id and seat.player.player_id == self._player_id:
                return seat.seat
        return self._seat

    @property
    def legal_actions(self) -> tuple[Action, ...]:
        """What the viewer may do now, in canonical order: the server's list where it has sent one for this
        version, else the engine's, which is the same as long as both play the same rules.
        """
        if self.view is None or self.room.status != room_pb2.ROOM_STATUS_IN_MATCH:
            return ()
        if self._legal_version == self.version:
            return self._legal_actions
        return legal_actions_for(self.view)

    def take_snapshot(self, snapshot: event_pb2.Snapshot) -> Update:
        """Replaces everything. Raises DivergedError for a snapshot that makes no sense."""
        try:
            view = view_from_proto(snapshot.view) if snapshot.HasField("view") else None
        except (MalformedAction, OptionsError) as error:
            raise DivergedError(str(error)) from error
        self.room = snapshot.room
        self.view = view
        self.round_ended = snapshot.round_ended if snapshot.HasField("round_ended") else None
        self.match_ended = snapshot.match_ended if snapshot.HasField("match_ended") else None
        self.cursor = snapshot.cursor
        self._legal_version = 0
        return Update(self.version, (), True, snapshot.rewound, self.room, view)

    def take_event(self, event: event_pb2.Event) -> Update | None:
        """Applies an event; None for one that was applied before. Raises GapError, OtherPastError and DivergedError,
        and nothing is changed then.
        """
        if event.version == self.version and event.cursor != self.cursor and self.cursor:
            raise OtherPastError(f"version {event.version} is not the one that is held")
        if event.version <= self.version:
            return None
        if event.version != self.version + 1 or not self.cursor:
            raise GapError(f"version {event.version} does not follow {self.version}")
        room = room_pb2.Room()
        room.CopyFrom(self.room)
        room.version = event.version
        view = self.view
        for change in event.changes:
            view = self._changed(room, view, change)
        if event.HasField("turn"):
            room.turn.CopyFrom(event.turn)
        else:
            room.ClearField("turn")
        self.room, self.view, self.cursor = room, view, event.cursor
        for change in event.changes:
            self._note_end(change)
        time = event.time if event.HasField("time") else None
        return Update(event.version, tuple(event.changes), False, False, room, view, time)

    def take_legal_actions(self, message: event_pb2.LegalActions) -> None:
        """Holds the server's list for the version that it names. Raises DivergedError."""
        try:
            self._legal_actions = tuple(action_from_proto(action) for action in message.actions)
        except MalformedAction as error:
            raise DivergedError(str(error)) from error
        self._legal_version = message.version

    def forget_cursor(self) -> None:
        """The next stream is to begin with a snapshot."""
        self.cursor = b""

    def _note_end(self, change: event_pb2.Change) -> None:
        match change.WhichOneof("kind"):
            case "round_started":
                self.round_ended = None
            case "round_ended":
                self.round_ended = change.round_ended
            case "match_ended":
                self.match_ended = change.match_ended
            case _:
                pass

    def _changed(self, room: room_pb2.Room, view: SeatView | None, change: event_pb2.Change) -> SeatView | None:
        """The view after a change, which `room` takes on as well."""
        match change.WhichOneof("kind"):
            case "match_started":
                room.status = room_pb2.ROOM_STATUS_IN_MATCH
                room.entropies[:] = change.match_started.entropies
                return _opening(room, self.seat)
            case "round_started":
                return sight.after_deal(_held(view), change.round_started)
            case "action_played":
                return sight.after_action(_held(view), change.action_played)
            case "round_ended":
                return sight.after_round(_held(view), change.round_ended)
            case "match_ended":
                room.status = room_pb2.ROOM_STATUS_OVER
                room.result.CopyFrom(change.match_ended.result)
                return sight.after_match(_held(view), change.match_ended)
            case _:
                _change_room(room, change)
                return view


def _change_room(room: room_pb2.Room, change: event_pb2.Change) -> None:
    """Takes on a change that is none of the match. Kinds that are not known here are for newer clients."""
    match change.WhichOneof("kind"):
        case "seat_changed":
            seat = change.seat_changed.seat
            if seat.seat >= len(room.seats):
                raise DivergedError("a seat changed that the room does not have")
            room.seats[seat.seat].CopyFrom(seat)
        case "host_changed":
            room.host_player_id = change.host_changed.host_player_id
        case "rematch_created":
            room.rematch_room_id = change.rematch_created.room_id
        case "room_closed":
            room.status = room_pb2.ROOM_STATUS_CLOSED
        case _:
            pass


def _held(view: SeatView | None) -> SeatView:
    if view is None:
        raise DivergedError("something happened in a match that has not begun")
    return view


def _opening(room: room_pb2.Room, viewer: int | None) -> SeatView:
    try:
        return sight.opening_view(room, viewer)
    except OptionsError as error:
        raise DivergedError(str(error)) from error
