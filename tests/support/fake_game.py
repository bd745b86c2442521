"""A game service for client tests: one process, rooms in memory, and faults on request.

It speaks the public contract over the real engine and conversions, so that a client cannot tell it from a service
that behaves; and it misbehaves where a test asks it to. Players are named by their token.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

import grpc

from rami.game.v1 import event_pb2, room_pb2
from rami.game.v1 import game_service_pb2 as game
from rami_engine import Guards, IllegalAction, MalformedAction, RuleOptions
from rami_wire import action_from_proto, legal_actions_to_proto
from support.fake_room import FakeRoom
from support.statuses import Context, abort, status_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message
    from google.rpc import status_pb2


class FakeGame:
    """The server. Use it as an async context manager; `target` is where it listens."""

    def __init__(self) -> None:
        self.rooms: dict[str, FakeRoom] = {}
        self.target = ""
        self.calls: list[tuple[str, object]] = []
        """Every request, hello and action, by method."""
        self.metadata: list[dict[str, str | bytes]] = []
        """What came with every call."""
        self.failures: list[tuple[str, status_pb2.Status]] = []
        """Statuses that the next calls of a method end with, in order."""
        self.lose_actions = 0
        """So many actions break their stream before they are played."""
        self.on_lost: Callable[[], None] = lambda: None
        """What happens with each of them."""
        self.lose_answers = 0
        """So many actions are played, and their stream breaks before the answer."""
        self.store_lapses: list[bool] = []
        """For the next actions in order: whether one is played, while its answer is that the store is away."""
        self.streams = 0
        """Play and watch streams that are open."""
        self.break_status = status_of("SHUTTING_DOWN", retry_after_seconds=0.01)
        self.breaks = 0
        self.owners: dict[tuple[str, int], object] = {}
        self._server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
        handlers = {
            "GetRoom": _handler(grpc.unary_unary_rpc_method_handler, self._get_room, game.GetRoomRequest),
            "StartMatch": _handler(grpc.unary_unary_rpc_method_handler, self._start_match, game.StartMatchRequest),
            "SetEntropy": _handler(grpc.unary_unary_rpc_method_handler, self._set_entropy, game.SetEntropyRequest),
            "GetReplay": _handler(grpc.unary_unary_rpc_method_handler, self._get_replay, game.GetReplayRequest),
            "WatchRoom": _handler(grpc.unary_stream_rpc_method_handler, self._watch_room, game.WatchRoomRequest),
            "Play": _handler(grpc.stream_stream_rpc_method_handler, self._play, game.PlayRequest),
        }
        service = grpc.method_handlers_generic_handler("rami.game.v1.GameService", handlers)
        self._server.add_generic_rpc_handlers((service,))

    async def __aenter__(self) -> Self:
        self.target = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop(None)

    def add_room(
        self,
        names: list[str],
        *,
        room_id: str = "p0-abcdefgh23456723",
        options: RuleOptions | None = None,
    ) -> FakeRoom:
        """A lobby of people (by name) and bots (empty names)."""
        room = FakeRoom(room_id, names, options or RuleOptions(target_score=60), Guards(), bytes(range(32)))
        self.rooms[room_id] = room
        return room

    def break_streams(self, status: status_pb2.Status | None = None) -> None:
        """Ends every open stream."""
        if status is not None:
            self.break_status = status
        self.breaks += 1
        for room in self.rooms.values():
            room.wake()

    def requests(self, method: str) -> list[object]:
        """The requests of a method so far."""
        return [request for name, request in self.calls if name == method]

    async def _get_room(self, request: game.GetRoomRequest, context: Context) -> game.GetRoomResponse:
        room, _ = await self._enter("GetRoom", request, context, request.room_id)
        return game.GetRoomResponse(room=room.message())

    async def _start_match(self, request: game.StartMatchRequest, context: Context) -> game.StartMatchResponse:
        room, _ = await self._enter("StartMatch", request, context, request.room_id)
        room.start()
        return game.StartMatchResponse(version=room.version)

    async def _set_entropy(self, request: game.SetEntropyRequest, context: Context) -> game.SetEntropyResponse:
        room, seat = await self._enter("SetEntropy", request, context, request.room_id)
        if seat is None:
            await abort(context, status_of("NOT_SEATED"))
        elif request.request_id not in room.answers:
            if room.match is not None:
                await abort(context, status_of("MATCH_ALREADY_STARTED"))
            if room.entropies[seat]:
                await abort(context, status_of("ENTROPY_ALREADY_SET", metadata={"seat": str(seat)}))
            room.bring_entropy(seat, request.entropy)
            room.answers[request.request_id] = room.version
        return game.SetEntropyResponse(room=room.message())

    async def _get_replay(self, request: game.GetReplayRequest, context: Context) -> game.GetReplayResponse:
        """Pages of one round each, whatever is asked for."""
        room, _ = await self._enter("GetReplay", request, context, request.room_id)
        place = int(request.page_token or "0")
        return game.GetReplayResponse(
            header=room.replay_header(),
            rounds=room.rounds[place : place + 1],
            next_page_token=str(place + 1) if place + 1 < len(room.rounds) else "",
        )

    async def _watch_room(self, request: game.WatchRoomRequest, context: Context) -> None:
        room, seat = await self._enter("WatchRoom", request, context, request.room_id)
        await Feed(self, room, context, seat).run(request.cursor)

    async def _play(self, _: object, context: Context) -> None:
        first = await context.read()
        assert isinstance(first, game.PlayRequest)
        room, seat = await self._enter("Play", first.hello, context, first.hello.room_id)
        if seat is None:
            await abort(context, status_of("NOT_SEATED"))
        feed = Feed(self, room, context, seat, plays=True)
        self.owners[room.room_id, seat] = feed
        room.wake()
        reader = asyncio.create_task(self._read_actions(room, seat, feed))
        try:
            await feed.run(first.hello.cursor)
        finally:
            reader.cancel()

    async def _read_actions(self, room: FakeRoom, seat: int, feed: Feed) -> None:
        while isinstance(message := await feed.context.read(), game.PlayRequest):
            played = message.action
            self.calls.append(("action", played))
            if self.lose_actions:
                self.lose_actions -= 1
                feed.lost = True
                self.on_lost()
            else:
                result = self._answer(room, seat, played)
                if self.lose_answers and result.version:
                    self.lose_answers -= 1
                    feed.lost = True
                else:
                    feed.results.append(result)
            room.wake()

    def _answer(self, room: FakeRoom, seat: int, played: game.PlayAction) -> game.ActionResult:
        if not self.store_lapses:
            return self._judge(room, seat, played)
        if self.store_lapses.pop(0):
            self._judge(room, seat, played)
        away = status_of("STORE_UNAVAILABLE", retry_after_seconds=0.01)
        return game.ActionResult(request_id=played.request_id, error=away)

    def _judge(self, room: FakeRoom, seat: int, played: game.PlayAction) -> game.ActionResult:
        result = game.ActionResult(request_id=played.request_id)
        if played.request_id in room.answers:
            result.version = room.answers[played.request_id]
            return result
        try:
            action = action_from_proto(played.action)
            if played.expected_version != room.version:
                metadata = {"current_version": str(room.version)}
                result.error.CopyFrom(status_of("STALE_VERSION", metadata=metadata))
            else:
                room.play(seat, action, event_pb2.ACTION_SOURCE_PLAYER)
                result.version = room.answers[played.request_id] = room.version
                room.play_bots()
        except MalformedAction as error:
            violations = ((error.field, error.description),)
            result.error.CopyFrom(status_of("INVALID_REQUEST", violations=violations))
        except IllegalAction as error:
            result.error.CopyFrom(status_of(error.reason.value))
        return result

    async def _enter(self, method: str, request: object, context: Context, room_id: str) -> tuple[FakeRoom, int | None]:
        """The room of a call and the caller's seat in it, after the failures that are due."""
        self.calls.append((method, request))
        metadata = dict(context.invocation_metadata() or ())
        self.metadata.append(metadata)
        player = str(metadata.get("authorization", "")).removeprefix("Bearer ")
        for place, (name, status) in enumerate(self.failures):
            if name == method:
                del self.failures[place]
                await abort(context, status)
        if not player:
            await abort(context, status_of("TOKEN_MISSING"))
        if room_id not in self.rooms:
            await abort(context, status_of("ROOM_NOT_FOUND", metadata={"room_id": room_id}))
        room = self.rooms[room_id]
        return room, room.names.index(player) if player in room.names else None


class Feed:
    """One open stream: sends a snapshot where one is needed, then every step and every result."""

    def __init__(
        self, server: FakeGame, room: FakeRoom, context: Context, viewer: int | None, *, plays: bool = False
    ) -> None:
        self.server = server
        self.room = room
        self.context = context
        self.viewer = viewer
        self.plays = plays
        self.results: list[game.ActionResult] = []
        self.lost = False

    async def run(self, cursor: bytes) -> None:
        """Feeds the stream until something ends it."""
        self.server.streams += 1
        try:
            await self._feed(cursor)
        finally:
            self.server.streams -= 1

    async def _feed(self, cursor: bytes) -> None:
        room, breaks, epoch = self.room, self.server.breaks, self.room.epoch
        known = room.version_of(cursor)
        response = self._response()
        if known is None:
            response.snapshot.CopyFrom(room.snapshot(self.viewer, rewound=bool(cursor)))
            known = room.version
        told = 0
        while room.status != room_pb2.ROOM_STATUS_CLOSED or room.version != known or response.ByteSize():
            changed = room.changed
            response.events.extend(room.events_after(known, self.viewer))
            known = room.version
            if self.viewer is not None and known != told and (legal := room.legal(self.viewer)):
                response.legal_actions.CopyFrom(legal_actions_to_proto(known, legal))
            told = known
            if isinstance(response, game.PlayResponse):
                response.results.extend(self.results)
                self.results.clear()
            if self.lost:
                await abort(self.context, status_of("SHUTTING_DOWN", retry_after_seconds=0.01))
            if response.ByteSize():
                await self.context.write(response)
                response = self._response()
            if self.plays and self.server.owners[room.room_id, self.viewer or 0] is not self:
                await abort(self.context, status_of("STREAM_SUPERSEDED"))
            if breaks != self.server.breaks or room.epoch != epoch:
                await abort(self.context, self.server.break_status)
            if room.version == known and room.status != room_pb2.ROOM_STATUS_CLOSED:
                await changed.wait()

    def _response(self) -> game.PlayResponse | game.WatchRoomResponse:
        return game.PlayResponse() if self.plays else game.WatchRoomResponse()


def _handler(
    kind: Callable[..., grpc.RpcMethodHandler[Any, Any]], method: Callable[..., Any], request: type[Message]
) -> grpc.RpcMethodHandler[Any, Any]:
    """A method of the service; answers are serialized as the messages they are."""
    return kind(
        method,
        request_deserializer=request.FromString,
        response_serializer=lambda response: response.SerializeToString(),
    )
