"""The journal of a chaos run, sorted by what belongs together: rooms, requests, streams, faults."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import grpc

from rami.game.v1 import event_pb2
from rami.game.v1 import game_service_pb2 as pb
from rami_kit.errors import error_info
from support.chaos_journal import (
    Answered,
    Asked,
    AtRest,
    Ended,
    Expected,
    FinishedMatches,
    Killed,
    Lagged,
    Lost,
    Opened,
    Record,
    Replayed,
    Seated,
    Told,
)
from support.chaos_truth import SPECTATOR, Played, Truth, canonical, truth_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OK: Final = "OK"
UNCERTAIN: Final = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "RESOURCE_EXHAUSTED"})
"""Codes after which a client repeats the call with the same request id."""

_CODE_NAMES: Final = {code.value[0]: code.name for code in grpc.StatusCode}

Identity: TypeAlias = "Played | None"
"""What a step did, as far as the record of the room keeps it; None for a step without an action."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request, once."""

    at: float
    code: str
    reason: str
    version: int
    """Of an accepted request; else 0."""
    current_version: int
    """Of a STALE_VERSION refusal; else -1."""


@dataclass(slots=True)
class Request:
    """Everything asked under one request id."""

    room: str
    who: str
    request_id: str
    expected_version: int
    action: bytes
    asked_at: list[float] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    @property
    def accepted(self) -> list[Answer]:
        """The answers that acknowledge it."""
        return [answer for answer in self.answers if answer.code == OK]

    @property
    def refused(self) -> list[Answer]:
        """The answers that say for good that it has not been applied."""
        return [answer for answer in self.answers if answer.code != OK and answer.code not in UNCERTAIN]

    def __str__(self) -> str:
        return f"{self.who}'s {self.request_id[:8]} on version {self.expected_version}"


@dataclass(slots=True)
class Stream:
    """One stream of a player."""

    room: str
    who: str
    number: int
    opened_at: float
    cursor: bytes
    messages: list[tuple[float, pb.PlayResponse]] = field(default_factory=list)
    code: str = ""
    """What it ended with; empty while it is open."""


@dataclass(slots=True)
class RoomEvidence:
    """Everything about one room."""

    room: str
    seats: dict[str, int] = field(default_factory=dict)
    requests: dict[tuple[str, str], Request] = field(default_factory=dict)
    """By player and request id."""
    streams: list[Stream] = field(default_factory=list)
    steps: dict[bytes, tuple[int, Identity]] = field(default_factory=dict)
    """What anybody was told of a step, by its cursor: version and what it did."""
    snapshots: dict[bytes, int] = field(default_factory=dict)
    """The version of every cursor that came with a snapshot."""
    news: list[tuple[float, int]] = field(default_factory=list)
    """When a step was first told to anybody, and when it was made, by the clock of the store in ns."""
    deals: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """The versions in which a round was said to be dealt."""
    over_at: float | None = None
    """When somebody was first told that the match has ended."""
    events: list[tuple[float, str, event_pb2.Event]] = field(default_factory=list)
    """Every event that came as the answer of a call, with who got it."""
    final_version: int = 0
    truth: Truth | None = None

    def seat_of(self, who: str) -> int:
        """The seat of a player; SPECTATOR for who only watches."""
        return self.seats.get(who, SPECTATOR)

    def went_on(self, expected: Expected, limit: float) -> bool:
        """Whether a step that was made since an Expected has been told by a moment."""
        return any(expected.at < at <= limit and made > expected.wall_ns for at, made in self.news)

    def in_truth(self, cursor: bytes) -> bool | None:
        """Whether a step is part of the final record; None where the record cannot tell."""
        assert self.truth is not None
        if cursor not in self.steps:
            return None
        version, identity = self.steps[cursor]
        recorded = self.truth.played.get(version)
        if identity is None and recorded is None:
            return None
        return identity == recorded


@dataclass(slots=True)
class Evidence:
    """A whole run."""

    rooms: dict[str, RoomEvidence] = field(default_factory=dict)
    kills: int = 0
    finished: Counter[str] | None = None
    """How often the match of each room was passed on as finished; None where nobody looked."""
    losses: list[float] = field(default_factory=list)
    """When the store lost steps, acknowledged or not."""
    acknowledged_losses: list[float] = field(default_factory=list)
    """When it may have lost steps that were acknowledged."""
    expectations: list[Expected] = field(default_factory=list)
    lags: list[Lagged] = field(default_factory=list)
    until: float = 0.0
    """When the last record was written."""

    def deadline(self, expected: Expected) -> float:
        """When a match must have gone on at the latest: time in which nobody could run does not count."""
        limit = expected.at + expected.within
        for lag in self.lags:
            if expected.at < lag.at <= limit + lag.seconds:
                limit += lag.seconds
        return limit


def gather(records: Iterable[Record]) -> Evidence:
    """Sort the records of a journal."""
    sorter = Sorter()
    for record in records:
        sorter.take(record)
    return sorter.finished()


class Sorter:
    """Puts one record after the other in its place; also while the run goes on."""

    def __init__(self) -> None:
        self.evidence = Evidence()
        self._calls: dict[int, Request] = {}
        self._streams: dict[int, Stream] = {}
        self._replays: dict[str, pb.GetReplayResponse] = {}

    def take(self, record: Record) -> None:
        """Take the next record."""
        evidence = self.evidence
        evidence.until = record.at
        match record:
            case Seated():
                self._room(record.room).seats[record.who] = record.seat
            case Asked() | Answered():
                self._take_call(record)
            case Opened() | Told() | Ended():
                self._take_stream(record)
            case Lost():
                evidence.losses.append(record.at)
                if record.acknowledged:
                    evidence.acknowledged_losses.append(record.at)
            case Expected():
                evidence.expectations.append(record)
            case Lagged():
                evidence.lags.append(record)
            case Killed():
                evidence.kills += 1
            case AtRest() | Replayed() | FinishedMatches():
                self._take_last_words(record)
            case _:
                pass  # for who reads the file, and for who checks the queue

    def finished(self) -> Evidence:
        """Everything, with what the records of the rooms prove."""
        for name, replay in self._replays.items():
            room = self._room(name)
            room.truth = truth_of(replay, _snapshot_versions(room), room.deals)
        return self.evidence

    def _room(self, name: str) -> RoomEvidence:
        room = self.evidence.rooms.get(name)
        if room is None:
            room = self.evidence.rooms[name] = RoomEvidence(name)
        return room

    def _take_call(self, record: Asked | Answered) -> None:
        if isinstance(record, Asked):
            self._calls[record.call] = _take_asked(self._room(record.room), record)
        else:
            request = self._calls[record.call]
            _take_answered(self._room(request.room), request, record)

    def _take_last_words(self, record: AtRest | Replayed | FinishedMatches) -> None:
        if isinstance(record, AtRest):
            self._room(record.room).final_version = record.version
        elif isinstance(record, Replayed):
            self._replays[record.room] = pb.GetReplayResponse.FromString(record.replay)
        else:
            self.evidence.finished = Counter(record.rooms)

    def _take_stream(self, record: Opened | Told | Ended) -> None:
        if isinstance(record, Opened):
            stream = Stream(record.room, record.who, record.stream, record.at, record.cursor)
            self._streams[record.stream] = stream
            self._room(record.room).streams.append(stream)
        elif isinstance(record, Told):
            stream = self._streams[record.stream]
            _take_told(self._room(stream.room), stream, record)
        else:
            self._streams[record.stream].code = record.code


def _take_asked(room: RoomEvidence, record: Asked) -> Request:
    key = record.who, record.request_id
    request = room.requests.get(key)
    if request is None:
        action = canonical(record.action)
        request = Request(record.room, record.who, record.request_id, record.expected_version, action)
        room.requests[key] = request
    request.asked_at.append(record.at)
    return request


def _take_answered(room: RoomEvidence, request: Request, record: Answered) -> None:
    version = 0
    if record.code == OK:
        event = event_pb2.Event.FromString(record.event)
        version = event.version
        room.events.append((record.at, request.who, event))
        _take_event(room, record.at, event)
    request.answers.append(Answer(record.at, record.code, record.reason, version, record.current_version))


def _take_told(room: RoomEvidence, stream: Stream, record: Told) -> None:
    message = pb.PlayResponse.FromString(record.message)
    stream.messages.append((record.at, message))
    if message.HasField("snapshot"):
        room.snapshots[message.snapshot.cursor] = message.snapshot.room.version
        if message.snapshot.room.HasField("result") and room.over_at is None:
            room.over_at = record.at
    for event in message.events:
        _take_event(room, record.at, event)
    for result in message.results:
        request = room.requests[stream.who, result.request_id]
        request.answers.append(answer_of(result, record.at))


def _take_event(room: RoomEvidence, at: float, event: event_pb2.Event) -> None:
    if event.cursor not in room.steps:
        room.steps[event.cursor] = (event.version, identity_of(event))
        room.news.append((at, event.time.ToNanoseconds()))
    for change in event.changes:
        if change.HasField("round_started"):
            room.deals[change.round_started.round_number].add(event.version)
        elif change.HasField("match_ended") and room.over_at is None:
            room.over_at = at


def answer_of(result: pb.ActionResult, at: float) -> Answer:
    """What became of an action that was asked for on a stream."""
    if not result.HasField("error"):
        return Answer(at, OK, "", result.version, -1)
    info = error_info(result.error)
    reason = info.reason if info is not None else ""
    current = int(info.metadata.get("current_version", "-1")) if info is not None else -1
    return Answer(at, _CODE_NAMES[result.error.code], reason, 0, current)


def identity_of(event: event_pb2.Event) -> Identity:
    """What an event says that a seat did."""
    for played in actions_of(event):
        action = canonical(played.action.SerializeToString())
        return Played(event.version, played.seat, action, played.source, event.time.ToNanoseconds())
    return None


def actions_of(event: event_pb2.Event) -> Iterator[event_pb2.ActionPlayed]:
    """The actions of an event; there is at most one."""
    for change in event.changes:
        if change.HasField("action_played"):
            yield change.action_played


def _snapshot_versions(room: RoomEvidence) -> Iterator[int]:
    for stream in room.streams:
        for _, message in stream.messages:
            if message.HasField("snapshot"):
                yield message.snapshot.room.version
