"""Following a room over a stream that may break: reconnects, gaps, rewinds, and telling whoever listens.

A `Follower` owns one background task. It opens the stream with the cursor that is held, feeds the mirror, and
opens it again when it breaks for a reason that may pass. Reasons that do not pass end it: `error` says why.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Final, Self, TypeAlias
from weakref import WeakSet

import grpc

from rami.game.v1 import game_service_pb2 as game
from rami.game.v1 import room_pb2
from rami_client.errors import (
    RamiClientError,
    RpcError,
    TableEndedError,
    UnauthenticatedError,
    UnavailableError,
    error_from_call,
)
from rami_client.sight import DivergedError
from rami_client.state import GapError, OtherPastError, RoomMirror, Update

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType

    from google.protobuf.timestamp_pb2 import Timestamp

    from rami.game.v1 import event_pb2
    from rami_client.calls import Calls, Stream
    from rami_engine import SeatView

LISTENER_LIMIT: Final = 1_000
"""Updates kept for a listener that does not keep up; then they give way to the latest state."""

_DIVERGENCE_LIMIT: Final = 5
_CLOCK_SAMPLES: Final = 32
PASSING_CODES: Final = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        # A proxy or a dying server ends streams with these: opening the stream anew tells whether it passes.
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNKNOWN,
    }
)


News: TypeAlias = game.WatchRoomResponse | game.PlayResponse


class Follower(ABC):
    """Keeps a room current. Use it as an async context manager; entering waits for the first snapshot."""

    def __init__(self, calls: Calls, room_id: str, mirror: RoomMirror) -> None:
        self.room_id = room_id
        self.error: RamiClientError | None = None
        """Why following ended before the room did; None while it goes on and after a good end."""
        self._calls = calls
        self._mirror = mirror
        self._pulse = asyncio.Event()
        self._listeners: WeakSet[asyncio.Queue[Update | None]] = WeakSet()
        self._task: asyncio.Task[None] | None = None
        self._ended = False
        self._heard = False
        self._divergences = 0
        self._stream: Stream | None = None
        self._clock: deque[float] = deque(maxlen=_CLOCK_SAMPLES)

    @abstractmethod
    def _open(self) -> Stream:
        """Starts a stream that resumes after the mirror's cursor."""

    # What follows is for those who need it.

    async def _greet(self, stream: Stream) -> None:  # noqa: B027 - most streams need no word first
        """Says what has to be said first on a new stream."""

    async def _take(self, message: News) -> None:  # noqa: B027 - most streams carry nothing of their own
        """Handles what only this kind of stream carries."""

    def _finish(self) -> None:  # noqa: B027 - most have nobody who waits
        """Lets go of whoever still waits, when following has ended."""

    @property
    def room(self) -> room_pb2.Room:
        """The room as it is held. Not to be changed: every update brings a new one."""
        return self._mirror.room

    @property
    def view(self) -> SeatView | None:
        """The match as the viewer sees it; None before the match."""
        return self._mirror.view

    @property
    def version(self) -> int:
        """The version of the room that is held."""
        return self._mirror.version

    @property
    def seat(self) -> int | None:
        """The viewer's seat; None for a spectator, and while it is unknown."""
        return self._mirror.seat

    @property
    def clock_offset_seconds(self) -> float:
        """How far the store's clock, which deadlines are told in, is ahead of this one's; 0 while it is unknown."""
        # A message can only come late, by no less than its way takes: the greatest distance is the nearest.
        return max(self._clock, default=0.0)

    @property
    def seconds_left(self) -> float | None:
        """What is left of the turn that is played, never below 0; None without a limit, and while nobody may act."""
        turn = self.room.turn
        if not turn.HasField("deadline"):
            return None
        return max(0.0, _seconds(turn.deadline) - time.time() - self.clock_offset_seconds)

    @property
    def round_ended(self) -> event_pb2.RoundEnded | None:
        """How the round ended that was dealt last, with its seed and what everybody still held; None while it is
        played. Also known to who comes after the end.
        """
        return self._mirror.round_ended

    @property
    def match_ended(self) -> event_pb2.MatchEnded | None:
        """How the match ended, with the seed of the round that it was abandoned in; None until then."""
        return self._mirror.match_ended

    @property
    def over(self) -> bool:
        """The match has ended, or the room is gone."""
        return self.room.status in (room_pb2.ROOM_STATUS_OVER, room_pb2.ROOM_STATUS_CLOSED)

    @property
    def ended(self) -> bool:
        """Nothing more will come: the room is gone, following was given up, or `close` was called."""
        return self._ended

    async def __aenter__(self) -> Self:
        self._calls.followers[self] = None
        self._task = asyncio.create_task(self._run(), name=f"follow {self.room_id}")
        try:
            while not self.version and not self._ended:
                await self.changed()
        except asyncio.CancelledError:
            await self.close()
            raise
        if self.error is not None:
            raise self.error
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends following. Idempotent.

        >>> await watching.close()
        >>> watching.ended
        True
        """
        task, self._task = self._task, None
        try:
            if task is not None:
                task.cancel()
                await asyncio.wait([task])  # which does not take for the task's what is this one's own cancellation
                if not task.cancelled():
                    task.result()
        finally:
            self._end(None)

    async def changed(self) -> None:
        """Waits for the next update or the end.

        >>> changed = await client.update_seats(room.room_id, {1: "easy"})
        >>> while watching.version < changed.version:
        ...     await watching.changed()
        >>> watching.room.seats[1].bot.bot
        'easy'
        """
        await self._pulse.wait()

    def updates(self) -> AsyncIterator[Update]:
        """Every update from now on, in order, until following ends. Raises the error that ended it.

        Who falls 1,000 updates behind finds them replaced by one that is marked as a snapshot.

        >>> updates = watching.updates()
        >>> changed = await client.update_seats(room.room_id, {1: "easy"})
        >>> update = await anext(updates)
        >>> update.version == changed.version, update.changes[0].WhichOneof("kind")
        (True, 'seat_changed')
        """
        queue: asyncio.Queue[Update | None] = asyncio.Queue()
        self._listeners.add(queue)
        if self._ended:
            queue.put_nowait(None)
        return self._listen(queue)

    def believe(self, event: event_pb2.Event) -> None:
        """Takes an event that came by another way, such as the answer to SubmitAction.

        The next event is applied at once, and is not told again by the stream. One that shows that what is held did not
        happen, because the store has lost it, makes the stream begin anew: it brings a snapshot marked `rewound`.

        >>> async with client.watch(started) as watching:
        ...     answer = await client.submit_action(started, DRAW_STOCK, expected_version=watching.version)
        ...     watching.believe(answer.event)
        ...     watching.version == answer.event.version
        True
        """
        if self._ended or not self.version:
            return
        try:
            update = self._mirror.take_event(event)
        except OtherPastError:
            if self._stream is not None:
                self._stream.cancel()
        except (GapError, DivergedError):
            return  # what lies between is on its way, and this comes with it
        else:
            if update is not None:
                self._tell(update)
                self._wake()

    def __aiter__(self) -> AsyncIterator[Update]:
        return self.updates()

    async def _listen(self, queue: asyncio.Queue[Update | None]) -> AsyncIterator[Update]:
        try:
            while (update := await queue.get()) is not None:
                yield update
            if self.error is not None:
                raise self.error
        finally:
            self._listeners.discard(queue)

    async def _run(self) -> None:
        try:
            error = await self._follow()
        except Exception as defect:
            self._end(TableEndedError(f"following the room failed: {defect!r}"))
            raise
        self._end(error)

    async def _follow(self) -> RamiClientError | None:
        """Follows until it cannot go on; the error that ended it, or None when the room is gone."""
        clock = asyncio.get_running_loop().time
        failures, broken_since = 0, clock()
        while True:
            self._heard = False
            token = self._calls.token
            error = await self._read_stream()
            if self.room.status == room_pb2.ROOM_STATUS_CLOSED:
                return None
            renewed = isinstance(error, UnauthenticatedError) and self._calls.token != token
            if not isinstance(error, RpcError) or not (renewed or error.code in PASSING_CODES):
                return error
            if self._heard:
                failures, broken_since = 0, clock()
            failures += 1
            if clock() - broken_since > self._calls.retry.give_up_after_seconds:
                return error
            await asyncio.sleep(self._calls.retry.pause_seconds(failures, error))

    async def _read_stream(self) -> RamiClientError:
        """Reads one stream until it breaks; why it did."""
        stream = self._stream = self._open()
        try:
            await self._greet(stream)
            while True:
                message = await self._calls.next_message(stream)
                if not isinstance(message, News):
                    return _broken("the stream ended")
                self._take_news(message)
                self._heard = True
                await self._take(message)
                self._wake()
        except GapError as gap:
            return _broken(str(gap))
        except DivergedError as divergence:
            self._mirror.forget_cursor()
            self._divergences += 1
            if self._divergences >= _DIVERGENCE_LIMIT:
                return TableEndedError(f"what the server sends makes no sense to this client: {divergence}")
            return _broken(str(divergence))
        except UnavailableError as unheard:
            return unheard
        except grpc.aio.AioRpcError as failure:
            return error_from_call(failure)
        finally:
            stream.cancel()

    def _take_news(self, message: News) -> None:
        if message.HasField("snapshot"):
            if message.snapshot.HasField("time"):
                self._hear_clock(message.snapshot.time)
            self._tell(self._mirror.take_snapshot(message.snapshot))
        for event in message.events:
            if event.HasField("time"):
                self._hear_clock(event.time)
            update = self._mirror.take_event(event)
            if update is not None:
                self._divergences = 0
                self._tell(update)
        if message.HasField("legal_actions"):
            self._mirror.take_legal_actions(message.legal_actions)
        if message.heartbeat.HasField("time"):
            self._hear_clock(message.heartbeat.time)

    def _hear_clock(self, stored: Timestamp) -> None:
        self._clock.append(_seconds(stored) - time.time())

    def _tell(self, update: Update) -> None:
        self._record(update)
        for queue in self._listeners:
            if queue.qsize() >= LISTENER_LIMIT:
                while not queue.empty():
                    queue.get_nowait()
                update = Update(update.version, (), True, update.rewound, update.room, update.view)
            queue.put_nowait(update)

    def _record(self, update: Update) -> None:  # noqa: B027 - most write nothing down
        """Sees every update before anybody is told."""

    def _wake(self) -> None:
        self._pulse.set()
        self._pulse = asyncio.Event()

    def _end(self, error: RamiClientError | None) -> None:
        self._calls.followers.pop(self, None)
        if self._ended:
            return
        self._ended = True
        self.error = error
        self._finish()
        for queue in self._listeners:
            queue.put_nowait(None)
        self._wake()


def _seconds(stored: Timestamp) -> float:
    return stored.seconds + stored.nanos / 1e9


def _broken(description: str) -> UnavailableError:
    """A stream that has to be opened anew, for a reason that no server gave."""
    return UnavailableError(grpc.StatusCode.UNAVAILABLE, description)
