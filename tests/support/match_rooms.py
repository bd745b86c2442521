"""A MatchRoomService for matchmaking tests: a real gRPC server with rooms in memory, and faults on request."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Self

import grpc
import grpc.aio
import jwt

from rami.game.v1 import match_room_service_pb2 as messages
from rami.game.v1 import match_room_service_pb2_grpc
from rami_kit.errors import RamiError, reasons, refused, to_status
from rami_kit.testing import SERVICE_SECRET
from support.ports import free_port, give_back
from support.statuses import abort

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

Context = grpc.aio.ServicerContext[Any, Any]


class FakeMatchRooms(match_room_service_pb2_grpc.MatchRoomServiceServicer):
    """Rooms by match id. Use it as an async context manager; `target` is where it listens."""

    def __init__(self) -> None:
        self.rooms: dict[str, messages.CreateMatchRoomRequest] = {}
        """The request that made each room, by room id."""
        self.calls = 0
        self.errors: list[RamiError] = []
        """What the next calls end with, in order, before they make a room."""
        self.lose_answers = 0
        """So many calls make their room and lose the answer."""
        self.open = asyncio.Event()
        """Clear it, and calls wait before they make a room."""
        self.open.set()
        self.hold_answers: asyncio.Event | None = None
        """When there is one, calls make their room and wait for it before they answer."""
        self.latency: Callable[[], float] = lambda: 0.0
        """How many seconds a call takes, before it makes a room and again before it answers."""
        self.target = ""
        self._ids: dict[str, str] = {}
        self._port = 0
        self._server: grpc.aio.Server | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
        give_back(self._port)

    async def start(self) -> None:
        """Listens; after a stop, on the same port, which nobody else gets meanwhile."""
        self._server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
        match_room_service_pb2_grpc.add_MatchRoomServiceServicer_to_server(self, self._server)
        self._port = self._port or free_port()
        self._server.add_insecure_port(f"127.0.0.1:{self._port}")
        self.target = f"127.0.0.1:{self._port}"
        await self._server.start()

    async def stop(self) -> None:
        """Goes away as a killed process does: calls in flight end unanswered."""
        server, self._server = self._server, None
        if server is not None:
            await server.stop(None)

    @contextlib.asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        """The service is gone for as long as the context lasts."""
        await self.stop()
        try:
            yield
        finally:
            await self.start()

    @property
    def players(self) -> list[str]:
        """The player of every seat of every room; more than once if in more than one."""
        return [seat.player.player_id for room in self.rooms.values() for seat in room.seats if seat.player.player_id]

    def room_of(self, player_id: str) -> tuple[str, int]:
        """The one room and seat of a player."""
        places = [
            (room_id, number)
            for room_id, room in self.rooms.items()
            for number, seat in enumerate(room.seats)
            if seat.player.player_id == player_id
        ]
        assert len(places) == 1, f"{player_id} is in {places}"
        return places[0]

    async def CreateMatchRoom(  # noqa: N802 - RPC
        self, request: messages.CreateMatchRoomRequest, context: Context
    ) -> messages.CreateMatchRoomResponse:
        self.calls += 1
        try:
            self._check_token(context)
            await self.open.wait()
            await asyncio.sleep(self.latency())
            if self.errors:
                raise self.errors.pop(0)
            room_id = self._ids.get(request.match_id)
            if room_id is None:
                room_id = "p0-" + f"{len(self._ids):a>16}".translate(str.maketrans("0189", "uvwx"))
                self._ids[request.match_id] = room_id
                self.rooms[room_id] = request
            elif self.rooms[room_id] != request:
                raise refused(reasons.ERROR_REASON_REQUEST_ID_REUSED, "another payload")
            await asyncio.sleep(self.latency())
            if self.hold_answers is not None:
                await self.hold_answers.wait()
            if self.lose_answers:
                self.lose_answers -= 1
                raise refused(reasons.ERROR_REASON_STORE_UNAVAILABLE, "the answer is lost")
        except RamiError as error:
            await abort(context, to_status(error))
        return messages.CreateMatchRoomResponse(room_id=room_id)

    @staticmethod
    def _check_token(context: Context) -> None:
        for key, value in context.invocation_metadata() or ():
            if key == "authorization" and isinstance(value, str):
                jwt.decode(value.removeprefix("Bearer "), SERVICE_SECRET, ["HS256"], audience="rami-game")
                return
        raise refused(reasons.ERROR_REASON_TOKEN_MISSING, "no token")
