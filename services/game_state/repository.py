"""Rooms in the store and in memory: reads, confirmation, and the commit of every step.

A replica keeps the rooms it used last. An accepted step on a kept room costs one round trip. Nothing else is
answered from a kept room before a read has confirmed that it is still the current one: no refusal, no view,
no permission. A commit that is refused or uncertain forgets the room.
"""

from __future__ import annotations

import asyncio
import os
import struct
from collections import OrderedDict, defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from game_state.codec import HEADER_BYTES, decode_room, encode_room, room_header
from game_state.events import CommittedStep
from game_state.play_notices import ANNOUNCEMENT, QUESTION, PlayNotice
from game_state.projection import COMMIT_ID_BYTES, match_result_message
from game_state.room import Status
from game_state.scripts import ANNOUNCE_PLAY, CLOSE, COMMIT, HAND_OVER, KEEP
from game_state.steps import Step
from rami.store.v1 import finished_pb2
from rami_kit import keys
from rami_kit.errors import StoreUncertain, reasons, refused

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from game_state.draft import Draft
    from game_state.room import Room
    from rami_kit.metrics import GameMetrics
    from rami_kit.redis_store import Script, Store

TTL_MARGIN_MS: Final = 60_000
"""Keys outlive the expiry of their room by this much, so that the room can be closed in order first."""

FINISHED_KEPT: Final = 100_000
"""About so many finished matches stay in the stream of a partition."""

COMMIT_IDS_AT_ONCE: Final = 256

_LISTED: Final = {Status.LOBBY: "lobby", Status.IN_MATCH: "in_match", Status.OVER: "over"}
_MESSAGE_HEAD: Final = struct.Struct(">cQ8s8s")
STEP_MESSAGE: Final = b"S"
"""First byte of a published step."""


class CommitListener(Protocol):
    """Who is told of every step that this process has committed, before the committer goes on."""

    def committed(self, room: Room, committed: CommittedStep) -> None:
        """Called in the event loop; must not block."""


class InFlight(NamedTuple):
    """A commit that the store has not answered yet."""

    commit_id: bytes
    answer: asyncio.Future[object]
    """Done once it has."""


class CommitConflict(Exception):  # noqa: N818 - an outcome that the caller handles, not a failure
    """Another step came first; `current` is the room as it is now, None when it is gone."""

    def __init__(self, current: Room | None) -> None:
        super().__init__("another step came first")
        self.current = current


class JoinCodeTaken(Exception):  # noqa: N818 - see CommitConflict
    """Another room has the join code that was drawn for a new one."""


def encode_step_message(version: int, previous_commit: bytes, commit_id: bytes, step: bytes) -> bytes:
    """The published form of a step."""
    return _MESSAGE_HEAD.pack(STEP_MESSAGE, version, previous_commit, commit_id) + step


def step_of_message(message: bytes) -> tuple[int, bytes]:
    """The version and commit id of a published step. Trusts that the message begins with STEP_MESSAGE."""
    _, version, _, commit_id = _MESSAGE_HEAD.unpack_from(message)
    return version, commit_id


def decode_step_message(message: bytes) -> CommittedStep:
    """The step of its published form. Trusts that the message begins with STEP_MESSAGE."""
    _, version, previous, _ = _MESSAGE_HEAD.unpack_from(message)
    return CommittedStep(version, previous, Step.from_bytes(message[_MESSAGE_HEAD.size :]))


class RoomRepository:
    """Reads and commits rooms. One per process."""

    def __init__(self, store: Store, metrics: GameMetrics, *, kept_rooms: int, lease_ms: int) -> None:
        """`kept_rooms`: how many decoded rooms stay in memory."""
        self._store = store
        self._metrics = metrics
        self._kept: OrderedDict[str, Room] = OrderedDict()
        self._kept_rooms = kept_rooms
        self._lease_ms = lease_ms
        self._listeners: list[CommitListener] = []
        self._uncertain_listeners: list[Callable[[str, bytes], None]] = []
        self._in_flight: dict[str, InFlight] = {}
        self._commit_ids: list[bytes] = []
        """Random bytes for commits to come: the system is asked for many at once, since each time costs the same."""
        self._clock = store.clock
        self._hits = metrics.cache.labels("hit")
        self._misses = metrics.cache.labels("miss")
        self._conflicts = metrics.commit_conflicts.labels()
        self._evicted = metrics.cache.labels("evicted")
        self._by_status = {status: metrics.rooms.labels(status.name.lower()) for status in Status}

    def add_listener(self, listener: CommitListener) -> None:
        """Tell somebody of every step committed here."""
        self._listeners.append(listener)

    def on_uncertain(self, listener: Callable[[str, bytes], None]) -> None:
        """Tell somebody the room and the commit id of every commit of this process whose outcome stays unknown here."""
        self._uncertain_listeners.append(listener)

    def now_ms(self) -> int:
        """The store's time in ms. Raises StoreUnavailable before the store was first reached."""
        return int(self._clock.now() * 1000)

    def commit_in_flight(self, room_id: str) -> InFlight | None:
        """The commit of this process that the store has not answered yet."""
        return self._in_flight.get(room_id)

    def kept(self, room_id: str) -> Room | None:
        """The room in memory, which may be out of date."""
        room = self._kept.get(room_id)
        if room is not None:
            self._kept.move_to_end(room_id)
        return room

    def forget(self, room_id: str) -> None:
        """Drop a room from memory."""
        room = self._kept.pop(room_id, None)
        if room is not None:
            self._by_status[room.status].dec()

    async def find(self, room_id: str) -> Room | None:
        """The room as the store has it now, confirmed; None when there is none."""
        kept = self.kept(room_id)
        if kept is None:
            self._misses.inc()
            return await self._read(room_id)
        header = await self._store.read("GETRANGE", _keys_of(room_id).room, 0, HEADER_BYTES - 1)
        if header == room_header(kept):
            self._hits.inc()
            return kept
        self.forget(room_id)
        self._misses.inc()
        return await self._read(room_id) if header else None

    async def get(self, room_id: str) -> Room:
        """As `find`. Raises NOT_FOUND ROOM_NOT_FOUND for a room that does not exist and for no room id."""
        room = await self.find(room_id) if keys.parse_room_id(room_id) is not None else None
        if room is None:
            raise room_not_found(room_id)
        return room

    async def get_for_change(self, room_id: str) -> tuple[Room, bool]:
        """The room to change and whether it is confirmed: a kept one need not be, since the commit finds out.

        Raises NOT_FOUND ROOM_NOT_FOUND.
        """
        kept = self.kept(room_id)
        if kept is not None:
            self._hits.inc()
            return kept, False
        return await self.get(room_id), True

    async def room_with_code(self, text: str, partitions: int) -> str:
        """The id of the room with a join code. Raises NOT_FOUND JOIN_CODE_NOT_FOUND."""
        place = keys.parse_join_code(text, partitions)
        token: bytes | None = None
        if place is not None:
            token = await self._store.read("GET", keys.code_key(*place))
        if place is None or token is None:
            raise refused(reasons.ERROR_REASON_JOIN_CODE_NOT_FOUND, "no room has this join code")
        return keys.format_room_id(place[0], token.decode())

    async def commit(self, before: Room, draft: Draft) -> CommittedStep:
        """Commit a draft made from `before`: its room is then the new version, kept, and the listeners are told.

        Raises CommitConflict when another step came first, JoinCodeTaken, and StoreUnavailable; after
        StoreUncertain the step may or may not have been applied.
        """
        room = draft.room
        step = draft.seal(self._next_commit_id())
        answer = self._run_commit(before, room, step)
        in_flight = self._in_flight[room.room_id] = InFlight(room.commit_id, answer)
        try:
            reply = await answer
        except (StoreUncertain, asyncio.CancelledError):
            # It may have been applied: what is remembered of the room may be out of date.
            self.forget(room.room_id)
            for tell in self._uncertain_listeners:
                tell(room.room_id, room.commit_id)
            raise
        finally:
            if self._in_flight.get(room.room_id) is in_flight:
                del self._in_flight[room.room_id]
        if reply != 1:
            self.forget(room.room_id)
            if reply == 2:
                raise JoinCodeTaken
            self._conflicts.inc()
            current = decode_room(room.room_id, reply) if isinstance(reply, bytes) else None
            if current is not None:
                self._keep(current)
            raise CommitConflict(current)
        if room.status == Status.CLOSED:
            self.forget(room.room_id)
        else:
            self._keep(room)
        committed = CommittedStep(room.version, before.commit_id, step)
        for listener in self._listeners:
            listener.committed(room, committed)
        return committed

    async def keep(self, room: Room) -> bool:
        """Make sure that a room as it was read is as durable as the settings say; False when it has moved on.

        What was read may be a step whose committer was told that it is not durable yet: only after this may
        somebody else be told that it is done. Raises StoreUnavailable, and StoreUncertain while it is not durable.
        """
        return await self._run(KEEP, [_keys_of(room.room_id).room], [room_header(room)]) == 1

    async def log(self, room_id: str, first: int, last: int, most: int) -> list[tuple[int, Step]]:
        """The steps `first` to `last` of a room's log, at most `most` of them, with their versions."""
        entries = await self._store.read("XRANGE", _keys_of(room_id).log, f"{first}-0", f"{last}-0", "COUNT", most)
        return [(int(entry.partition(b"-")[0]), Step.from_bytes(fields[1])) for entry, fields in entries]

    async def hand_over(self, room_ids: Collection[str]) -> None:
        """Make rooms due now, so that the sweeper of any replica takes them over. Raises StoreUnavailable."""
        tokens: dict[int, list[str | bytes | int]] = defaultdict(list)
        for room_id in room_ids:
            at = _keys_of(room_id)
            tokens[at.partition].append(at.token)
        await asyncio.gather(
            *(self._store.run(HAND_OVER, [keys.due_key(partition)], part) for partition, part in tokens.items())
        )

    async def announce_play(self, room_id: str, seat: int, stream_id: bytes) -> PlayNotice:
        """Tell every replica that a seat has opened a Play stream, so that an older one ends; what they are told.

        Raises StoreUnavailable.
        """
        at = _keys_of(room_id)
        order: bytes = await self._store.run(
            ANNOUNCE_PLAY, [at.room], [at.channel, ANNOUNCEMENT + bytes((seat,)), stream_id]
        )
        return PlayNotice(seat, order, stream_id)

    async def ask_who_plays(self, room_id: str, notice: PlayNotice) -> None:
        """Ask every replica whether a seat has a newer Play stream than this. Raises StoreUnavailable."""
        await self._store.publish(room_channel(room_id), notice.encode(QUESTION))

    async def repeat_play(self, room_id: str, notice: PlayNotice) -> None:
        """Tell every replica once more that a seat has a Play stream. Raises StoreUnavailable."""
        await self._store.publish(room_channel(room_id), notice.encode(ANNOUNCEMENT))

    def _next_commit_id(self) -> bytes:
        if not self._commit_ids:
            drawn = os.urandom(COMMIT_ID_BYTES * COMMIT_IDS_AT_ONCE)
            self._commit_ids = [
                drawn[start : start + COMMIT_ID_BYTES] for start in range(0, len(drawn), COMMIT_ID_BYTES)
            ]
        return self._commit_ids.pop()

    def _run_commit(self, before: Room, room: Room, step: Step) -> asyncio.Future[object]:
        at = _keys_of(room.room_id)
        partition, token, channel = at.partition, at.token, at.channel
        encoded_step = step.to_bytes()
        message = encode_step_message(room.version, before.commit_id, room.commit_id, encoded_step)
        room_keys = [at.room, at.log, at.due]
        # A join code is without its partition in the key, as a room is.
        code = keys.code_key(partition, room.join_code[-keys.JOIN_CODE_LENGTH :]) if room.join_code else ""
        if room.status == Status.CLOSED:
            listings = [keys.listing_key(partition, name) for name in _LISTED.values()]
            closing = [*room_keys, *listings, *([code] if code else [])]
            return self._run(CLOSE, closing, [room_header(before), token, channel, message, len(listings)])
        extra = _listing_change(before, room, partition)
        if code:
            extra["c"] = code
        finished = b""
        if room.status == Status.OVER and before.status != Status.OVER:
            finished = finished_match(room, step.time_ms).SerializeToString()
            extra["f"] = keys.finished_key(partition)
        return self._run(
            COMMIT,
            [*room_keys, *extra.values()],
            [
                room_header(before),
                room_header(room) + encode_room(room),
                room.version,
                encoded_step,
                room.expire_ms - step.time_ms + TTL_MARGIN_MS,
                room.due_ms(self._lease_ms),
                token,
                channel,
                message,
                "".join(extra),
                room.create_ms,
                finished,
                FINISHED_KEPT,
            ],
        )

    def _run(self, script: Script, script_keys: list[str], args: list[str | bytes | int]) -> asyncio.Future[object]:
        return self._store.run(script, script_keys, args, durable=True)

    async def _read(self, room_id: str) -> Room | None:
        stored: bytes | None = await self._store.read("GET", _keys_of(room_id).room)
        if not stored:
            return None
        room = decode_room(room_id, stored)
        self._keep(room)
        return room

    def _keep(self, room: Room) -> None:
        before = self._kept.get(room.room_id)
        self._kept[room.room_id] = room
        if before is not None:
            self._kept.move_to_end(room.room_id)
            if before.status is room.status:
                return  # as after almost every step
            self._by_status[before.status].dec()
        self._by_status[room.status].inc()
        if len(self._kept) > self._kept_rooms:
            self.forget(next(iter(self._kept)))
            self._evicted.inc()


def room_not_found(room_id: str) -> Exception:
    """The error for a room that does not exist, or no longer."""
    return refused(reasons.ERROR_REASON_ROOM_NOT_FOUND, "no room has this id", room_id=room_id[:64])


def room_channel(room_id: str) -> str:
    """The channel on which the steps of a room are published."""
    return _keys_of(room_id).channel


def finished_match(room: Room, end_ms: int) -> finished_pb2.FinishedMatch:
    """What the rest of the cluster learns of a match that has ended."""
    result = match_result_message(room)
    assert result is not None
    message = finished_pb2.FinishedMatch(
        schema=1,
        room_id=room.room_id,
        match_id=room.match_id,
        winner_plus_one=result.winner_seat + 1 if result.HasField("winner_seat") else 0,
        end_reason=result.reason,
        end_ms=end_ms,
    )
    for seat, score in zip(room.seats, result.scores, strict=True):
        message.seats.add(player_id=seat.player_id, display_name=seat.name, bot=seat.bot, score=score)
    return message


class _RoomKeys(NamedTuple):
    """Where everything about a room is in the store."""

    partition: int
    token: str
    room: str
    log: str
    due: str
    channel: str


@lru_cache(maxsize=10_000)
def _keys_of(room_id: str) -> _RoomKeys:
    """Made once for many steps. Room ids are short: they are checked where they come in."""
    place = keys.parse_room_id(room_id)
    assert place is not None, "room ids are checked where they come in"
    partition, token = place
    return _RoomKeys(
        partition,
        token,
        keys.room_key(partition, token),
        keys.log_key(partition, token),
        keys.due_key(partition),
        keys.room_channel(partition, token),
    )


def _listing_change(before: Room, room: Room, partition: int) -> dict[str, str]:
    """The public listings that the room leaves ("o") and enters ("i") with this step."""
    if not room.options.public or (before.version and before.status == room.status):
        return {}
    listings = {"i": keys.listing_key(partition, _LISTED[room.status])}
    if before.version:
        listings["o"] = keys.listing_key(partition, _LISTED[before.status])
    return listings
