"""What a viewer's stream sends: an opening from its cursor on, then every step, each exactly once.

WatchRoom and Play share this. Their responses have the same fields in the same places, so one encoder serves
both; Play adds the results of its actions.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from game_state.actions import next_legal_actions
from game_state.feeds import steps_after
from game_state.projection import (
    COMMIT_ID_BYTES,
    decode_cursor,
    encode_cursor,
    encode_snapshot,
    require_reader,
    timestamp,
)
from game_state.repository import room_not_found
from game_state.watcher import Watcher
from rami.game.v1 import event_pb2, game_service_pb2
from rami_kit import keys
from rami_kit.errors import InvalidRequest, RamiError, StoreUnavailable, reasons, refused, shutting_down
from rami_kit.tracing import past_span
from rami_wire import encode_field

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from game_state.events import CommittedStep
    from game_state.feeds import FeedHub
    from game_state.own_rooms import OwnRooms
    from game_state.play_notices import PlayNotice
    from game_state.repository import RoomRepository
    from game_state.room import Room
    from rami_kit.metrics import GameMetrics

_FIELDS = game_service_pb2.PlayResponse.DESCRIPTOR.fields_by_name
_SNAPSHOT: Final = _FIELDS["snapshot"].number
_EVENTS: Final = _FIELDS["events"].number
_LEGAL_ACTIONS: Final = _FIELDS["legal_actions"].number
_HEARTBEAT: Final = _FIELDS["heartbeat"].number
_RESULTS: Final = _FIELDS["results"].number
RESULTS_LIMIT: Final = 64
"""Results that wait for a viewer who reads slowly; its next action is taken up when fewer do."""
LAST_WORDS_SECONDS: Final = 2.5
"""How long a stream that ends waits for what becomes of the action that it took last."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StreamParts:
    """What every stream of the process uses."""

    repository: RoomRepository
    hub: FeedHub
    own_rooms: OwnRooms
    metrics: GameMetrics
    draining: asyncio.Event
    heartbeat_seconds: float
    """A stream that was quiet for so long sends a heartbeat."""


def require_room_id(room_id: str) -> str:
    """The room id, checked for its form. Raises NOT_FOUND ROOM_NOT_FOUND for a text that is none."""
    if keys.parse_room_id(room_id) is None:
        raise room_not_found(room_id)
    return room_id


class RoomStream:
    """One viewer's stream of one room. Use as an asynchronous context manager around `messages`."""

    def __init__(self, parts: StreamParts, room_id: str, player_id: str, cursor: bytes, *, legal_actions: bool) -> None:
        """Raises InvalidRequest for bytes that are no cursor; empty bytes mean none."""
        self._parts = parts
        self._room_id = room_id
        self._player_id = player_id
        self._cursor = decode_cursor(cursor) if cursor else None
        if cursor and self._cursor is None:
            raise InvalidRequest("cursor", "must be a cursor that a stream has sent")
        self._wants_legal_actions = legal_actions
        self._now_ms = parts.repository.now_ms
        self._delivery_seconds = parts.metrics.delivery_seconds.labels()
        self._version = 0
        """The step that the viewer has seen last, and its commit id."""
        self._commit_id = b""
        self._seat: int | None = None
        self._is_host = False
        self._may_stay = True
        """The viewer may see the match, too, once there is one."""
        self._ended = False
        self._results: deque[tuple[int, bytes]] = deque()
        self._results_sent = asyncio.Event()
        self._failure: Exception | None = None
        self.judging = False
        """An action has been taken from the client, and what becomes of it is not known yet."""
        self.closing = False
        """The stream is about to end: no further action is taken."""
        self.watcher = Watcher()

    async def __aenter__(self) -> Self:
        """Join the room's feed. Raises NOT_FOUND ROOM_NOT_FOUND and StoreUnavailable."""
        self._feed = await self._parts.hub.open(self._room_id, self.watcher)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._parts.hub.close(self._feed, self.watcher)

    def add_result(self, version: int, result: bytes) -> None:
        """Send what became of an action, a serialized ActionResult, after the event of the version that it made."""
        self._results.append((version, result))
        self.watcher.wake()

    async def room_for_result(self) -> None:
        """Returns when a result more may wait: who sends actions and reads no answers must not fill the memory."""
        while len(self._results) >= RESULTS_LIMIT:
            self._results_sent.clear()
            await self._results_sent.wait()

    def fail(self, error: Exception) -> None:
        """End the stream with an error."""
        self._failure = error
        self.watcher.alarm()

    async def messages(self) -> AsyncGenerator[bytes]:
        """Serialized PlayResponse or WatchRoomResponse messages, until the room is gone.

        Raises PERMISSION_DENIED when the viewer may not, or no longer, see the room; SHUTTING_DOWN when the
        process drains; STREAM_SUPERSEDED; and what `fail` was given.
        """
        opening = await self._open()
        watcher, results = self.watcher, self._results
        # Counted before it is told anything: who has read the first message is among the viewers.
        viewers = self._parts.metrics.watchers.labels("spectator" if self._seat is None else "seat")
        viewers.inc()
        try:
            if opening:
                yield opening
            while not self._ended:
                if watcher.alarmed:
                    watcher.alarmed = False
                    end = self._reason_to_end()
                    if end is not None:
                        async with aclosing(self._last_words()) as last_words:
                            async for message in last_words:
                                yield message
                        raise end
                    doubted = watcher.take_doubt()
                    if doubted is not None:
                        await self._ask_who_plays(doubted)
                if watcher.queue or results or watcher.behind:
                    message = await self._news()
                    if message:
                        yield message
                        continue
                if not await watcher.wait(self._parts.heartbeat_seconds):
                    yield await self._sign_of_life()
        finally:
            viewers.dec()

    def _reason_to_end(self) -> Exception | None:
        if self._failure is not None:
            return self._failure
        if self.watcher.superseded:
            return refused(reasons.ERROR_REASON_STREAM_SUPERSEDED, "a newer Play stream has taken over")
        if self._parts.draining.is_set():
            return shutting_down()
        return None

    async def _last_words(self) -> AsyncGenerator[bytes]:
        """What is still to be told before the stream ends: what has become of the actions that it took."""
        self.closing = True
        clock = asyncio.get_running_loop().time
        deadline = clock() + LAST_WORDS_SECONDS
        while (self.judging or self._results) and clock() < deadline:
            try:
                message = await self._news()
            except RamiError as error:
                _log.debug("a stream ends without its last words: %s", error)
                return
            if message:
                yield message
            else:
                await self.watcher.wait(deadline - clock())

    async def _ask_who_plays(self, notice: PlayNotice) -> None:
        """Where the notice of a newer Play stream may have been lost: ask, and be told."""
        try:
            await self._parts.repository.ask_who_plays(self._room_id, notice)
        except StoreUnavailable:
            self.watcher.doubt()  # asked again with the next news or heartbeat

    async def _open(self) -> bytes:
        """What brings the viewer from its cursor to now; empty when it is there already."""
        room = await self._parts.repository.get(self._room_id)
        self._look_at(room)
        self._parts.own_rooms.note(self._player_id, room)
        if self._cursor is None:
            return self._snapshot(room)
        version, commit_id = self._cursor
        self._version, self._commit_id = version, commit_id
        if (version, commit_id) == (room.version, room.commit_id):
            return self._legal_actions(room)
        history = await steps_after(self._parts.repository, self._room_id, version, commit_id)
        if history.steps is None:
            return self._snapshot(room, rewound=not history.known)
        return await self._events(history.steps) if history.steps else b""

    def _look_at(self, room: Room) -> None:
        """See who the viewer is in the room. Raises PERMISSION_DENIED SPECTATORS_NOT_ALLOWED for nobody there."""
        require_reader(room, self._player_id)
        self._seat = room.seat_of(self._player_id)
        self._is_host = room.host == self._player_id
        self._may_stay = self._seat is not None or self._is_host or room.options.spectators_allowed

    async def _news(self) -> bytes:
        """Everything that waits for the viewer, as one message; empty when nothing does."""
        watcher = self.watcher
        if watcher.behind:
            watcher.behind = False
            return await self._fresh_start() + self._ready_results()
        queue, last_seen = watcher.queue, self._commit_id
        while queue and queue[0].version <= self._version:
            step = queue.popleft()
            if step.version == self._version:
                last_seen = step.commit_id
        steps = list(queue)
        queue.clear()
        if not self._follows(last_seen, steps):
            return await self._fresh_start() + self._ready_results()
        events = await self._events(steps) if steps else b""
        return events + self._ready_results() if self._results else events

    def _follows(self, last_seen: bytes, steps: list[CommittedStep]) -> bool:
        """Whether steps lead on from what the viewer was told last, which the feed knows as the commit `last_seen`: it
        may have been shown a step that the store has lost since, and of which its feed never heard.
        """
        return last_seen == self._commit_id and (not steps or steps[0].previous_commit == last_seen)

    async def _events(self, steps: list[CommittedStep]) -> bytes:
        """The events of steps that follow the viewer's place, of which there is one, and what it may do after them."""
        encoded = []
        for step in steps:
            if not self._may_stay and _begins_match(step):
                break
            encoded.append(step.told(self._seat))
            self._version, self._commit_id = step.version, step.commit_id
            if step.public_changes and self._is_turning_point(step):
                break
        else:
            last = steps[-1]
            self._observe_delivery(last)
            if self._wants_legal_actions and self._seat is not None and last.seat_to_move == self._seat:
                encoded.append(await self._legal_actions_after(last))
            return b"".join(encoded)
        if self._ended:
            return b"".join(encoded)
        # The viewer has become another kind of viewer: from here on it sees with other eyes, or nothing.
        self.watcher.behind = True
        self.watcher.wake()
        return b"".join(encoded)

    def _is_turning_point(self, step: CommittedStep) -> bool:
        """Whether a step ends the stream, or the viewer has another seat after it, or is the host no more."""
        turns = False
        for change in step.public_changes:
            if change.HasField("room_closed"):
                self._ended = True
                return True
            if change.HasField("seat_changed"):
                seat = change.seat_changed.seat
                holds = seat.player.player_id == self._player_id
                turns = turns or holds != (seat.seat == self._seat)
            elif change.HasField("host_changed"):
                turns = turns or self._is_host
        return turns

    async def _fresh_start(self) -> bytes:
        """A snapshot in place of steps that were lost; says so when the viewer's past is no longer true."""
        repository = self._parts.repository
        version, commit_id = self._version, self._commit_id
        room = await repository.find(self._room_id)
        if room is None:
            return self._gone()
        self._look_at(room)
        history = await steps_after(repository, self._room_id, version, commit_id)
        return self._snapshot(room, rewound=not history.known)

    def _snapshot(self, room: Room, *, rewound: bool = False) -> bytes:
        self._version, self._commit_id = room.version, room.commit_id
        snapshot = encode_snapshot(room, self._player_id, self._parts.repository.now_ms(), rewound=rewound)
        return encode_field(_SNAPSHOT, snapshot) + self._legal_actions(room)

    async def _legal_actions_after(self, step: CommittedStep) -> bytes:
        """What the viewer, who is to move, may do after a step."""
        repository = self._parts.repository
        room = repository.kept(self._room_id)
        if room is None or (room.version, room.commit_id) != (step.version, step.commit_id):
            room = await repository.find(self._room_id)
        # A room that has moved on brings another step, and with it what is legal then.
        return b"" if room is None else self._legal_actions(room)

    def _legal_actions(self, room: Room) -> bytes:
        if not self._wants_legal_actions or self._seat is None:
            return b""
        legal = next_legal_actions(room, self._seat, self._version)
        return b"" if legal is None else encode_field(_LEGAL_ACTIONS, legal)

    def _ready_results(self) -> bytes:
        """The results whose events the viewer has; a refusal has none to wait for."""
        results = self._results
        ready = []
        while results and results[0][0] <= self._version:
            ready.append(encode_field(_RESULTS, results.popleft()[1]))
        self._results_sent.set()
        return b"".join(ready)

    def _gone(self) -> bytes:
        """The end of a room that closed, or was lost, without a word to this viewer."""
        self._ended = True
        version = self._version + 1
        closed = event_pb2.Change(room_closed=event_pb2.RoomClosed(reason=event_pb2.ROOM_CLOSE_REASON_GONE))
        event = event_pb2.Event(
            version=version,
            cursor=encode_cursor(version, bytes(COMMIT_ID_BYTES)),
            time=timestamp(self._parts.repository.now_ms()),
            changes=[closed],
        )
        return encode_field(_EVENTS, event.SerializeToString())

    async def _sign_of_life(self) -> bytes:
        """What a stream says that has been quiet for long: a heartbeat, once the store has confirmed the silence."""
        try:
            room = await self._parts.repository.find(self._room_id)
        except StoreUnavailable:
            return self._heartbeat()
        if room is None:
            return self._gone()
        if (room.version, room.commit_id) != (self._version, self._commit_id):
            if room.commit_id == self._feed.commit_id and not self.watcher.queue:
                self.watcher.lose_track()  # the feed knows all there is: it is the viewer that was shown another past
            else:
                self._feed.fill()
        return self._heartbeat()

    def _heartbeat(self) -> bytes:
        now = timestamp(self._parts.repository.now_ms())
        return encode_field(_HEARTBEAT, event_pb2.Heartbeat(time=now).SerializeToString())

    def _observe_delivery(self, step: CommittedStep) -> None:
        late = max(0, self._now_ms() - step.step.time_ms) / 1000
        if step.step.trace_parent:
            past_span("deliver", step.step.trace_parent, late, room=self._room_id, version=step.version)
        self._delivery_seconds.observe(late)


def _begins_match(step: CommittedStep) -> bool:
    return any(change.HasField("match_started") for change in step.public_changes)
