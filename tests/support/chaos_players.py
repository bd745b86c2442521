"""Callers for chaos: they keep to the contract, come back after every break, and write everything down.

A `Spectator` follows a room and keeps its place by the cursor of the last step that it was told. Who also plays is in
`chaos_seats.py`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc.aio

from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1.game_service_pb2_grpc import GameServiceStub
from rami.matchmaking.v1.matchmaking_service_pb2_grpc import MatchmakingServiceStub
from rami_kit.errors import from_rpc_error, reason_name
from rami_kit.testing import player as player_metadata
from support.chaos_evidence import OK, UNCERTAIN
from support.chaos_journal import Ended, Opened, Seated, Told
from support.chaos_truth import SPECTATOR

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from rami.game.v1 import event_pb2
    from rami.game.v1.game_service_pb2_grpc import GameServiceAsyncStub
    from rami.matchmaking.v1.matchmaking_service_pb2_grpc import MatchmakingServiceAsyncStub
    from support.chaos_journal import Journal

CALL_SECONDS = 2.0
"""Deadline of a call, and patience with an answer on a stream."""
PAUSE_SECONDS = 0.1
"""Before a call is repeated or a stream opened again."""

_LOCAL_FAILURE = "Internal error from Core"
_CHANNEL_OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 200),
)


class Caller:
    """Somebody with a name, who can reach every replica."""

    def __init__(self, name: str, addresses: Sequence[str], journal: Journal) -> None:
        self.name = name
        self.journal = journal
        self.metadata = player_metadata(name, name=name)
        self._channels = [grpc.aio.insecure_channel(address, options=_CHANNEL_OPTIONS) for address in addresses]
        self.stubs: list[GameServiceAsyncStub] = [GameServiceStub(channel) for channel in self._channels]
        self.queues: list[MatchmakingServiceAsyncStub] = [MatchmakingServiceStub(each) for each in self._channels]

    async def close(self) -> None:
        """Hang up."""
        await asyncio.gather(*(channel.close(None) for channel in self._channels))

    async def call(self, method: str, request: Any, seconds: float = 30.0) -> Any:
        """Make a call of GameService that may be repeated until it has an answer, by whichever replica gives one.

        Raises what it is refused with, and TimeoutError when nobody answers in time.
        """
        return await self._call(self.stubs, method, request, seconds)

    async def call_queue(self, method: str, request: Any, seconds: float = 30.0) -> Any:
        """As `call`, of MatchmakingService."""
        return await self._call(self.queues, method, request, seconds)

    async def _call(self, stubs: Sequence[object], method: str, request: Any, seconds: float) -> Any:
        turn = 0
        async with asyncio.timeout(seconds):
            while True:
                stub = stubs[turn % len(stubs)]
                try:
                    return await getattr(stub, method)(request, timeout=CALL_SECONDS, metadata=self.metadata)
                except grpc.aio.AioRpcError as error:
                    if error.code().name not in UNCERTAIN:
                        raise
                turn += 1
                await asyncio.sleep(PAUSE_SECONDS)


class Spectator(Caller):
    """Follows a room on one replica, and on the others where that one does not answer."""

    def __init__(
        self, name: str, addresses: Sequence[str], journal: Journal, chance: random.Random, *, replica: int = 0
    ) -> None:
        super().__init__(name, addresses, journal)
        self.chance = chance
        self.replica = replica
        """Where it watches first."""
        self.roaming = True
        """Opens the next stream at the next replica."""
        self.room = ""
        self.version = 0
        self.cursor = b""
        self.over = False
        """The match has ended, as far as this player was told."""
        self._task: asyncio.Task[None] | None = None
        self.stream: Any = None

    def sit(self, room: str, seat: int = SPECTATOR) -> None:
        """Take part in a room from now on."""
        self.room = room
        self.journal.write(Seated(self.journal.now(), room, self.name, seat))
        self._task = asyncio.create_task(self.live(), name=f"{self.name} in {room}")

    async def get_up(self) -> None:
        """Stop at once, whatever is open."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            error = None if self._task.cancelled() else self._task.exception()
            if error is not None:
                raise error
        await self.close()

    async def live(self) -> None:
        """Everything the player does, until it is cancelled."""
        await self.follow()

    async def follow(self) -> None:
        """Watch for ever; each break is followed by another stream, at the next replica."""
        while True:
            await self._follow_once()
            if self.roaming:
                self.replica = (self.replica + 1) % len(self.stubs)
            await asyncio.sleep(PAUSE_SECONDS)

    async def open_stream(self) -> None:
        """Open a stream of the room from the player's cursor on, as `stream`."""
        request = pb.WatchRoomRequest(room_id=self.room, cursor=self.cursor, legal_actions=True)
        self.stream = self.stubs[self.replica].WatchRoom(request, metadata=self.metadata)

    async def _follow_once(self) -> None:
        journal, number = self.journal, self.journal.number()
        journal.write(Opened(journal.now(), self.room, self.name, number, self.cursor, self.replica))
        code, reason = OK, ""
        try:
            await self.open_stream()
            async for message in self.stream:
                journal.write(Told(journal.now(), number, message.SerializeToString()))
                self.take(message)
        except grpc.aio.AioRpcError as error:
            code, reason = outcome(error)
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            code = "CANCELLED"  # the stream alone was, by `reopen`
        finally:
            if self.stream is not None:
                self.stream.cancel()
                self.stream = None
        journal.write(Ended(journal.now(), number, code, reason))

    def reopen(self) -> None:
        """Give up the stream, so that another is opened from the player's own place."""
        if self.stream is not None:
            self.stream.cancel()

    def take(self, message: pb.WatchRoomResponse | pb.PlayResponse) -> None:
        """Believe a message."""
        if message.HasField("snapshot"):
            self._move_to(message.snapshot.room.version, message.snapshot.cursor)
            self.over = message.snapshot.room.HasField("result")
            if message.snapshot.rewound:
                self.forget_turn()
        for event in message.events:
            self.take_event(event)
        if message.HasField("legal_actions"):
            self.may_act(message.legal_actions)

    def take_event(self, event: event_pb2.Event) -> None:
        """Believe a step that follows the last one. One of another past is not believed but looked into."""
        if event.version == self.version + 1:
            self._move_to(event.version, event.cursor)
        elif event.version == self.version and event.cursor != self.cursor:
            self.reopen()
        self.over = self.over or any(change.HasField("match_ended") for change in event.changes)

    def _move_to(self, version: int, cursor: bytes) -> None:
        self.version, self.cursor = version, cursor

    def may_act(self, _legal: event_pb2.LegalActions) -> None:
        """The player is to move: nothing for who only watches."""

    def forget_turn(self) -> None:
        """What the player knew has been lost: nothing for who only watches."""


def outcome(error: grpc.aio.AioRpcError) -> tuple[str, str]:
    """The code and reason that a call ended with."""
    peer = from_rpc_error(error)
    if peer.reason is None and peer.message == _LOCAL_FAILURE:
        # What a client's own gRPC makes of a write on a connection that has just broken; no service said it.
        return grpc.StatusCode.UNAVAILABLE.name, ""
    return peer.code.name, reason_name(peer.reason) if peer.reason is not None else ""


def is_cancelled() -> bool:
    """Whether it is the running task that was cancelled, and not just a call that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
