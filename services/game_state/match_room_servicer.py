"""MatchRoomService: rooms for tables that matchmaking has made. For services only."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from game_state.lobby import require_profile
from game_state.room import Seat
from game_state.validation import room_options
from rami.game.v1 import match_room_service_pb2 as pb
from rami.game.v1 import match_room_service_pb2_grpc
from rami_kit.errors import InvalidRequest
from rami_kit.names import MAX_NAME_LENGTH
from rami_kit.request_ids import require_request_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    import grpc.aio

    from game_state.creation import RoomMaker

MAX_PLAYER_ID_LENGTH = 64


class MatchRoomServicer(match_room_service_pb2_grpc.MatchRoomServiceServicer):
    """The service that matchmaking calls."""

    def __init__(self, maker: RoomMaker, bot_profiles: Sequence[str]) -> None:
        self._maker = maker
        self._bot_profiles = bot_profiles

    async def CreateMatchRoom(
        self, request: pb.CreateMatchRoomRequest, _context: grpc.aio.ServicerContext[Any, Any]
    ) -> pb.CreateMatchRoomResponse:
        match_id = require_request_id(request.match_id, "match_id")
        request.options.auto_start = True
        options, seat_count = room_options(request.options)
        if len(request.seats) != seat_count:
            raise InvalidRequest("seats", f"must be {seat_count}, as the options say")
        seats = tuple(self._seat(seat) for seat in request.seats)
        people = [seat.player_id for seat in seats if seat.player_id]
        if not people or len(set(people)) != len(people):
            raise InvalidRequest("seats", "must hold at least one person and nobody twice")
        room, _ = await self._maker.create(
            self._maker.room_id("match", match_id),
            options,
            seats,
            host="",
            payload=request.SerializeToString(deterministic=True),
            match_id=uuid.UUID(match_id).bytes,
        )
        return pb.CreateMatchRoomResponse(room_id=room.room_id)

    def _seat(self, message: pb.MatchSeat) -> Seat:
        holder = message.WhichOneof("holder")
        if holder == "player":
            player_id, name = message.player.player_id, message.player.display_name
            if not 1 <= len(player_id) <= MAX_PLAYER_ID_LENGTH:
                raise InvalidRequest("seats.player.player_id", f"must have 1 to {MAX_PLAYER_ID_LENGTH} characters")
            if not 1 <= len(name) <= MAX_NAME_LENGTH:
                raise InvalidRequest("seats.player.display_name", f"must have 1 to {MAX_NAME_LENGTH} characters")
            return Seat(player_id=player_id, name=name)
        if holder == "bot" and message.bot.bot:
            require_profile(message.bot.bot, self._bot_profiles)
            return Seat(bot=message.bot.bot)
        raise InvalidRequest("seats.holder", "must be a person or a bot")
