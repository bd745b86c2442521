"""Streams of a room as clients hold them: what came, what is known by it, and waiting for what should come."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

import grpc.aio

from rami.game.v1 import game_service_pb2 as pb
from rami_client.state import RoomMirror
from rami_wire import action_to_proto
from support.game_cluster import CALL_SECONDS, Player, refusal, request_id
from support.game_tables import lively

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from rami.game.v1 import event_pb2
    from rami_engine import Action
    from support.game_cluster import Refusal


class Follower:
    """What a stream has brought so far. `mirror` fails on a step that is missing or does not fit."""

    def __init__(self, player: Player, room_id: str, call: Any) -> None:
        self.player = player
        self.room_id = room_id
        self.call = call
        self.mirror = RoomMirror(player_id=player.id)
        self.messages: list[pb.PlayResponse | pb.WatchRoomResponse] = []
        self.snapshots: list[event_pb2.Snapshot] = []
        self.events: list[event_pb2.Event] = []
        self.heartbeats = 0
        self.results: dict[str, pb.ActionResult] = {}

    @property
    def version(self) -> int:
        return self.mirror.version

    @property
    def versions(self) -> list[int]:
        """The versions of all events, as they came."""
        return [event.version for event in self.events]

    def stand_in(self, seat: int) -> bool:
        """Whether a bot plays for the person of a seat."""
        return self.mirror.room.seats[seat].player.stand_in

    async def read(self) -> pb.PlayResponse | pb.WatchRoomResponse:
        """The next message, taken in."""
        async with asyncio.timeout(CALL_SECONDS):
            message = await self.call.read()
        if message is grpc.aio.EOF:
            raise AssertionError(f"the stream is over: {await self.call.code()} {await self.call.details()}")
        self.take(message)
        return message  # type: ignore[no-any-return]  # read() is one of the two by the kind of stream

    def take(self, message: pb.PlayResponse | pb.WatchRoomResponse) -> None:
        self.messages.append(message)
        if message.HasField("snapshot"):
            self.snapshots.append(message.snapshot)
            self.mirror.take_snapshot(message.snapshot)
        for event in message.events:
            self.events.append(event)
            assert self.mirror.take_event(event) is not None, f"version {event.version} came twice"
        if message.HasField("legal_actions"):
            self.mirror.take_legal_actions(message.legal_actions)
        self.heartbeats += message.HasField("heartbeat")
        if isinstance(message, pb.PlayResponse):
            self.results.update((result.request_id, result) for result in message.results)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Read until something holds."""
        async with asyncio.timeout(CALL_SECONDS):
            while not condition():
                await self.read()

    async def until_version(self, version: int) -> None:
        await self.until(lambda: self.version >= version)

    async def end(self) -> Refusal:
        """Read to the end, which must be an error: which one."""
        return await end_of(self.call, self.take)

    async def close(self) -> None:
        self.call.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def end_of(call: Any, take: Callable[[Any], None] | None = None) -> Refusal:
    """How a stream ends, which must be with an error; what comes before is handed to `take`."""

    async def read_on() -> None:
        while (message := await call.read()) is not grpc.aio.EOF:
            if take is not None:
                take(message)
        code = await call.code()
        if code is not grpc.StatusCode.OK:
            raise grpc.aio.AioRpcError(
                code, await call.initial_metadata(), await call.trailing_metadata(), await call.details()
            )

    async with asyncio.timeout(CALL_SECONDS):
        return await refusal(read_on())


class Watch(Follower):
    """A WatchRoom stream."""

    def __init__(self, player: Player, room_id: str, cursor: bytes = b"", *, legal: bool = False) -> None:
        request = pb.WatchRoomRequest(room_id=room_id, cursor=cursor, legal_actions=legal)
        super().__init__(player, room_id, player.stub.WatchRoom(request, metadata=player.metadata))


class PlayStream(Follower):
    """A Play stream, opened with its hello when it is entered."""

    def __init__(self, player: Player, room_id: str, cursor: bytes = b"", *, legal: bool = True) -> None:
        super().__init__(player, room_id, player.stub.Play(metadata=player.metadata))
        self._hello = pb.PlayHello(room_id=room_id, cursor=cursor, legal_actions=legal)

    async def __aenter__(self) -> Self:
        await self.call.write(pb.PlayRequest(hello=self._hello))
        return self

    async def send(self, action: Action, version: int | None = None, key: str | None = None) -> str:
        """An action, chosen in the version that is held unless another is named; its request id."""
        key = key or request_id()
        play = pb.PlayAction(
            request_id=key,
            expected_version=self.version if version is None else version,
            action=action_to_proto(action),
        )
        await self.call.write(pb.PlayRequest(action=play))
        return key

    async def act(self, action: Action, version: int | None = None, key: str | None = None) -> pb.ActionResult:
        """Send an action and wait for what becomes of it."""
        key = await self.send(action, version, key)
        self.results.pop(key, None)
        await self.until(lambda: key in self.results)
        return self.results[key]


async def play_over(streams: dict[int, PlayStream], chance: random.Random, actions: int = 100_000) -> None:
    """Play for the people in these seats, each over its stream, until the match is over or they have acted enough."""
    lead = next(iter(streams.values()))

    def over() -> bool:
        return lead.mirror.room.HasField("result")

    for _ in range(actions):
        await lead.until(
            lambda: over() or (lead.mirror.room.HasField("turn") and lead.mirror.room.turn.seat in streams)
        )
        if over():
            return
        mover = streams[lead.mirror.room.turn.seat]
        await mover.until_version(lead.version)
        if mover.version == lead.version:
            result = await mover.act(lively(mover.mirror.legal_actions, chance))
            assert result.WhichOneof("outcome") == "version", result
        await lead.until_version(mover.version)


def reason_of(result: pb.ActionResult) -> str:
    """The reason of a refused action's status; empty for an accepted one."""
    from rami_kit.errors import error_info

    if result.WhichOneof("outcome") != "error":
        return ""
    info = error_info(result.error)
    return info.reason if info is not None else "?"
