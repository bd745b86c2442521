"""The game service as matchmaking sees it: it creates rooms for claims.

Creating a room is idempotent by match id, so an answer that is lost is asked for again until there is one.
What matters is to know when there is certainly no room: only then may the players be seated elsewhere.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import grpc
import grpc.aio

from matchmaking.tickets import DEFAULT_TEMPO
from rami.game.v1 import match_room_service_pb2 as messages
from rami.game.v1 import match_room_service_pb2_grpc, room_pb2
from rami_kit.errors import from_rpc_error, reason_name, reasons
from rami_wire.rules import options_to_proto

if TYPE_CHECKING:
    from matchmaking.claim_records import Claim
    from rami_kit.auth import ServiceTokens

_Code = grpc.StatusCode

_REFUSALS: Final = frozenset(
    {
        _Code.INVALID_ARGUMENT,
        _Code.NOT_FOUND,
        _Code.ALREADY_EXISTS,
        _Code.PERMISSION_DENIED,
        _Code.FAILED_PRECONDITION,
        _Code.OUT_OF_RANGE,
        _Code.UNIMPLEMENTED,
        _Code.UNAUTHENTICATED,
    }
)
"""Codes that say: no room, and asking again will not help. After any other code there may be a room."""
_DEFECTS: Final = frozenset({_Code.INTERNAL, _Code.UNKNOWN, _Code.DATA_LOSS})


@dataclass(frozen=True, slots=True)
class Created:
    """There is a room."""

    room_id: str


@dataclass(frozen=True, slots=True)
class Refused:
    """There is no room, and there will be none for this claim."""

    cause: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """There may be a room: ask again."""

    cause: str
    defect: bool
    """The game service answered with a defect of its own."""


@dataclass(frozen=True, slots=True)
class NotSent:
    """The game service could not be reached, and nothing was sent."""


Outcome = Created | Refused | Unknown | NotSent


class GameRooms:
    """Asks the game service for rooms. Holds no state but the channel."""

    def __init__(self, channel: grpc.aio.Channel, tokens: ServiceTokens, *, timeout_seconds: float) -> None:
        self._channel = channel
        self._stub = match_room_service_pb2_grpc.MatchRoomServiceStub(channel)
        self._tokens = tokens
        self._timeout = timeout_seconds

    @property
    def ready(self) -> bool:
        """Whether the game service is connected. Asking makes the channel try."""
        return self._channel.get_state(try_to_connect=True) is grpc.ChannelConnectivity.READY

    async def create(self, claim: Claim) -> Outcome:
        """Asks for the room of a claim, once. Takes up to twice the timeout."""
        if not self.ready:
            try:
                async with asyncio.timeout(self._timeout):
                    await self._channel.channel_ready()
            except TimeoutError:
                return NotSent()
        try:
            answer = await self._stub.CreateMatchRoom(
                room_request(claim), timeout=self._timeout, metadata=self._tokens.metadata()
            )
        except grpc.aio.AioRpcError as error:
            peer = from_rpc_error(error)
            cause = reason_name(peer.reason) if peer.reason is not None else peer.code.name
            if peer.code in _REFUSALS or peer.reason == reasons.ERROR_REASON_LIMIT_REACHED:
                return Refused(cause)
            return Unknown(cause, peer.code in _DEFECTS)
        if not answer.room_id:
            return Unknown("no room id", defect=True)
        return Created(answer.room_id)


def room_request(claim: Claim) -> messages.CreateMatchRoomRequest:
    """The request for the room of a claim: the same for the same claim, whoever makes it."""
    options = room_pb2.RoomOptions(
        seats=len(claim.seats),
        rules=options_to_proto(claim.rules),
        visibility=room_pb2.VISIBILITY_PRIVATE,
        auto_start=True,
    )
    if claim.tempo != DEFAULT_TEMPO:
        # Left out else: claims that an older build has made, or takes over, are asked for in the same words.
        options.turn_time_limit.FromMilliseconds(claim.tempo.turn_limit_ms)
        options.round_interval.FromMilliseconds(claim.tempo.round_interval_ms)
    request = messages.CreateMatchRoomRequest(match_id=str(claim.match_id), options=options)
    for seat in claim.seats:
        if seat.bot:
            request.seats.add(bot=room_pb2.SeatedBot(bot=seat.bot))
        else:
            player = room_pb2.SeatedPlayer(player_id=seat.player_id, display_name=seat.name)
            request.seats.add(player=player)
    return request


__all__ = ["Created", "GameRooms", "NotSent", "Outcome", "Refused", "Unknown", "room_request"]
