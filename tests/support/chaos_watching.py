"""What watchers were told, step by step: nothing skipped, nothing doubled, nothing that did not happen.

A player's streams are read as one: each goes on from the cursor that it was opened with. A step is known by its
cursor; whether it belongs to the final record follows from its version, time, seat and action.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rami.game.v1 import room_pb2
from rami_engine import DRAW_STOCK
from rami_wire import encode_action
from support.chaos_evidence import actions_of
from support.chaos_truth import SPECTATOR, same_view

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from rami.game.v1 import event_pb2
    from rami.game.v1 import game_service_pb2 as pb
    from support.chaos_evidence import Evidence, RoomEvidence, Stream

_DRAW_STOCK = encode_action(DRAW_STOCK)


class Trouble(NamedTuple):
    """Something wrong with what a watcher was told; `fault` is the name of a Fault."""

    fault: str
    text: str


class _Place:
    """Where a watcher stands."""

    __slots__ = ("cursor", "version")

    def __init__(self, version: int, cursor: bytes) -> None:
        self.version = version
        self.cursor = cursor


def check_streams(room: RoomEvidence, evidence: Evidence, counts: Counter[str]) -> Iterator[Trouble]:
    """Everything wrong with the streams of a room, and with the events that came as answers."""
    for who in sorted({stream.who for stream in room.streams}):
        streams = [stream for stream in room.streams if stream.who == who]
        for stream in streams:
            yield from _StreamReader(room, stream, evidence.losses).read(counts)
        yield from _check_end(room, streams[-1])
    for _, who, event in room.events:
        if room.in_truth(event.cursor):
            yield from _check_event(room, who, event)


class _StreamReader:
    """Reads one stream as its player did, from the cursor that it was opened with."""

    def __init__(self, room: RoomEvidence, stream: Stream, losses: list[float]) -> None:
        self._room = room
        self._stream = stream
        self._who = stream.who
        self._losses = losses
        self._place: _Place | None = None
        if stream.cursor:
            self._place = _Place(_version_at(room, stream.cursor), stream.cursor)

    def read(self, counts: Counter[str]) -> Iterator[Trouble]:
        """Everything wrong with the stream."""
        counts["streams resumed" if self._stream.cursor else "streams opened afresh"] += 1
        for at, message in self._stream.messages:
            if message.HasField("snapshot"):
                snapshot = message.snapshot
                counts["snapshots rewound" if snapshot.rewound else "snapshots"] += 1
                yield from self._check_snapshot(snapshot, at)
                self._place = _Place(snapshot.room.version, snapshot.cursor)
            for event in message.events:
                counts["steps told on streams"] += 1
                yield from self._check_order(event)
                yield from self._check_content(event)
                self._place = _Place(event.version, event.cursor)
            yield from self._check_results(message)

    def _check_snapshot(self, snapshot: event_pb2.Snapshot, at: float) -> Iterator[Trouble]:
        version, place = snapshot.room.version, self._place
        in_truth = self._room.in_truth(snapshot.cursor)
        if snapshot.rewound:
            if not any(loss < at for loss in self._losses):
                yield Trouble("FALSE_REWIND", f"{self._who} at version {version}")
        elif place is not None and version < place.version:
            yield Trouble("SILENT_REWIND", f"{self._who} went back from version {place.version} to {version}")
        elif place is not None and self._room.in_truth(place.cursor) is False and in_truth:
            yield Trouble("SILENT_REWIND", f"{self._who} got a snapshot of version {version} that does not say so")
        if in_truth:
            yield from _check_view(self._room, self._who, snapshot)

    def _check_order(self, event: event_pb2.Event) -> Iterator[Trouble]:
        place = self._place
        if place is None:
            yield Trouble("SKIPPED_STEP", f"{self._who}'s stream began with version {event.version}, no snapshot")
        elif event.version > place.version + 1:
            yield Trouble("SKIPPED_STEP", f"{self._who} was told of version {event.version} after {place.version}")
        elif event.version <= place.version:
            yield Trouble("DOUBLED_STEP", f"{self._who} was told of version {event.version} after {place.version}")
        elif self._room.in_truth(place.cursor) is False and self._room.in_truth(event.cursor):
            yield Trouble("SILENT_REWIND", f"{self._who} went on from a lost version {place.version}")

    def _check_content(self, event: event_pb2.Event) -> Iterator[Trouble]:
        in_truth = self._room.in_truth(event.cursor)
        if in_truth:
            yield from _check_event(self._room, self._who, event)
        elif in_truth is False and not any(loss > self._stream.opened_at for loss in self._losses):
            yield Trouble("CONTRADICTION", f"{self._who} was told of a version {event.version} that nobody made")

    def _check_results(self, message: pb.PlayResponse) -> Iterator[Trouble]:
        """The result of an action comes with or after its event."""
        reached = self._place.version if self._place is not None else 0
        for result in message.results:
            if not result.HasField("error") and result.version > reached:
                yield Trouble("SKIPPED_STEP", f"{self._who} got the result of version {result.version} before it")


def _check_view(room: RoomEvidence, who: str, snapshot: event_pb2.Snapshot) -> Iterator[Trouble]:
    """The view of a snapshot is what the record gives for its version."""
    assert room.truth is not None
    if snapshot.room.status != room_pb2.ROOM_STATUS_IN_MATCH or not snapshot.HasField("view"):
        return  # before the match there is none, and a match that was given up ends as no action ends it
    expected = room.truth.views.get((snapshot.room.version, room.seat_of(who)))
    if expected is not None and expected != same_view(snapshot.view):
        yield Trouble("CONTRADICTION", f"{who}'s snapshot of version {snapshot.room.version} is not what was played")


def _check_event(room: RoomEvidence, who: str, event: event_pb2.Event) -> Iterator[Trouble]:
    """An event of the record tells a seat the cards that it drew and was dealt, and nobody else's draws."""
    truth = room.truth
    assert truth is not None
    if truth.flaw:
        return
    seat = room.seat_of(who)
    for played in actions_of(event):
        hidden = truth.played[event.version].action == _DRAW_STOCK and played.seat != seat
        if event.version in truth.drawn and played.drawn != (0 if hidden else truth.drawn[event.version]):
            yield Trouble("CONTRADICTION", f"{who} was told of another card drawn in version {event.version}")
    for change in event.changes:
        started = change.round_started
        dealt = truth.dealt.get(started.round_number) if change.HasField("round_started") else None
        if dealt is not None and seat != SPECTATOR and dealt[seat] != list(started.hand):
            yield Trouble("CONTRADICTION", f"{who} was told of another hand in round {started.round_number}")


def _check_end(room: RoomEvidence, stream: Stream) -> Iterator[Trouble]:
    """Who watched to the end has been told of the last step."""
    if stream.code or not room.final_version:
        return
    version = _version_at(room, stream.cursor)
    for _, message in stream.messages:
        if message.HasField("snapshot"):
            version = message.snapshot.room.version
        if message.events:
            version = message.events[-1].version
    if version != room.final_version:
        yield Trouble("LEFT_BEHIND", f"{stream.who} stands at version {version} of {room.final_version}")


def _version_at(room: RoomEvidence, cursor: bytes) -> int:
    """The version of a cursor that somebody was given with an event or a snapshot; 0 for none."""
    if cursor in room.steps:
        return room.steps[cursor][0]
    return room.snapshots.get(cursor, 0)
