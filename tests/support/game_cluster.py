"""Replicas of the game service in the test's own event loop, and players who call them."""

from __future__ import annotations

import uuid
from contextlib import AsyncExitStack, asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from unittest.mock import patch

import grpc
import grpc.aio
from google.protobuf.duration_pb2 import Duration

import game_state.service
from game_state.config import GameSettings
from game_state.rule_sheets import RuleSheets
from game_state.service import build
from rami.game.v1 import action_pb2, room_pb2, rules_pb2
from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1.game_service_pb2_grpc import GameServiceStub
from rami.game.v1.match_room_service_pb2_grpc import MatchRoomServiceStub
from rami_kit.auth import PLAYER_ISSUER, player_id
from rami_kit.errors import from_rpc_error, reason_name
from rami_kit.testing import channel_to, make_settings, player, running_app, service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    from rami.game.v1.game_service_pb2_grpc import GameServiceAsyncStub
    from rami.game.v1.match_room_service_pb2_grpc import MatchRoomServiceAsyncStub
    from rami_kit.app import App

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")

CALL_SECONDS = 60.0
"""Deadline of every unary call: far above what any takes."""
PATIENT: dict[str, Any] = {"redis_timeout_seconds": 20.0, "decision_timeout_seconds": 20.0}
"""Settings under which no replica takes a machine that stands still for a while for a store or bots that do not answer.
"""
NO_BOTS = "127.0.0.1:1"
"""Where no decision service answers."""


class Refusal(NamedTuple):
    """How a call was refused."""

    code: str
    reason: str
    metadata: dict[str, str]


def request_id() -> str:
    return str(uuid.uuid4())


def id_of(name: str) -> str:
    """The id that the player of a name has."""
    return player_id(PLAYER_ISSUER, name)


def duration(seconds: float) -> Duration:
    message = Duration()
    message.FromMilliseconds(round(seconds * 1000))
    return message


def room_options(
    seats: int = 2,
    *,
    public: bool = True,
    spectators: bool = True,
    target: int | None = None,
    turn_limit: float | None = None,
    bot_pace: float | None = 0.0,
    round_interval: float | None = None,
    auto_start: bool = False,
) -> room_pb2.RoomOptions:
    """Options as tests want them: public, watched by anybody, and bots that do not think."""
    options = room_pb2.RoomOptions(
        seats=seats,
        visibility=room_pb2.VISIBILITY_PUBLIC if public else room_pb2.VISIBILITY_PRIVATE,
        spectators_allowed=spectators,
        auto_start=auto_start,
    )
    if target is not None:
        options.rules.CopyFrom(rules_pb2.RuleOptions(target_score=target))
    if turn_limit is not None:
        options.turn_time_limit.CopyFrom(duration(turn_limit))
    if bot_pace is not None:
        options.bot_pace.CopyFrom(duration(bot_pace))
    if round_interval is not None:
        options.round_interval.CopyFrom(duration(round_interval))
    return options


class Player:
    """Somebody who calls one replica. `on(app)` is the same player at another."""

    def __init__(self, name: str, channel: grpc.aio.Channel) -> None:
        self.name = name
        self.id = id_of(name)
        self.channel = channel
        self.metadata = player(name, name=name)
        self.stub: GameServiceAsyncStub = GameServiceStub(channel)

    async def create(
        self, options: room_pb2.RoomOptions, bots: dict[int, str] | None = None, *, observe: bool = False
    ) -> room_pb2.Room:
        request = pb.CreateRoomRequest(request_id=request_id(), options=options, observe=observe)
        request.bots.extend(pb.BotSeat(seat=seat, bot=bot) for seat, bot in (bots or {}).items())
        return (await self.call(self.stub.CreateRoom, request)).room

    async def room(self, room_id: str) -> room_pb2.Room:
        return (await self.call(self.stub.GetRoom, pb.GetRoomRequest(room_id=room_id))).room

    async def room_with(self, code: str) -> room_pb2.Room:
        return (await self.call(self.stub.GetRoom, pb.GetRoomRequest(join_code=code))).room

    async def own_rooms(self) -> list[str]:
        """The ids of the rooms that the player sits in or hosts."""
        answer = await self.call(self.stub.ListOwnRooms, pb.ListOwnRoomsRequest(page_size=100))
        assert answer.next_page_token == ""
        return [room.room_id for room in answer.rooms]

    async def join(self, room_id: str, seat: int | None = None) -> pb.JoinRoomResponse:
        request = pb.JoinRoomRequest(request_id=request_id(), room_id=room_id, seat=seat)
        return await self.call(self.stub.JoinRoom, request)

    async def join_with(self, code: str) -> pb.JoinRoomResponse:
        return await self.call(self.stub.JoinRoom, pb.JoinRoomRequest(request_id=request_id(), join_code=code))

    async def leave(self, room_id: str) -> int:
        request = pb.LeaveRoomRequest(request_id=request_id(), room_id=room_id)
        return (await self.call(self.stub.LeaveRoom, request)).version

    async def bring(self, room_id: str, entropy: bytes) -> room_pb2.Room:
        request = pb.SetEntropyRequest(request_id=request_id(), room_id=room_id, entropy=entropy)
        return (await self.call(self.stub.SetEntropy, request)).room

    async def start(self, room_id: str) -> int:
        request = pb.StartMatchRequest(request_id=request_id(), room_id=room_id)
        return (await self.call(self.stub.StartMatch, request)).version

    async def view(self, room_id: str) -> pb.GetViewResponse:
        return await self.call(self.stub.GetView, pb.GetViewRequest(room_id=room_id))

    async def submit(
        self, room_id: str, version: int, action: action_pb2.Action, *, key: str | None = None, legal: bool = False
    ) -> pb.SubmitActionResponse:
        request = pb.SubmitActionRequest(
            request_id=key or request_id(),
            room_id=room_id,
            expected_version=version,
            action=action,
            legal_actions=legal,
        )
        return await self.call(self.stub.SubmitAction, request)

    async def rematch(self, room_id: str) -> pb.RematchResponse:
        return await self.call(self.stub.Rematch, pb.RematchRequest(request_id=request_id(), room_id=room_id))

    async def replay(self, room_id: str, page_size: int = 0) -> pb.GetReplayResponse:
        """The whole record, page by page, as one message."""
        whole = pb.GetReplayResponse()
        token = ""
        while True:
            request = pb.GetReplayRequest(room_id=room_id, page_size=page_size, page_token=token)
            page = await self.call(self.stub.GetReplay, request)
            whole.header.CopyFrom(page.header)
            whole.rounds.extend(page.rounds)
            token = page.next_page_token
            if not token:
                return whole

    async def call(self, method: grpc.aio.UnaryUnaryMultiCallable[RequestT, ResponseT], request: RequestT) -> ResponseT:
        return await method(request, timeout=CALL_SECONDS, metadata=self.metadata)


async def refusal(call: Awaitable[Any]) -> Refusal:
    """How a call is refused; fails the test when it is not."""
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        peer = from_rpc_error(error)
        return Refusal(peer.code.name, reason_name(peer.reason) if peer.reason else "", peer.metadata)
    raise AssertionError(f"the call was not refused: {answer}")


class _SharedSheets:
    load = staticmethod(lru_cache(RuleSheets.load))


class Cluster:
    """Replicas on one store with one decision service."""

    def __init__(self, store_url: str, ai_address: str, stack: AsyncExitStack, values: dict[str, Any]) -> None:
        self.store_url = store_url
        self.apps: list[App] = []
        self._ai_address = ai_address
        self._stack = stack
        self._values = values
        self._channels: list[grpc.aio.Channel] = []

    async def add_replica(self, **values: Any) -> App:
        settings = make_settings(
            GameSettings, self.store_url, **(PATIENT | {"ai_address": self._ai_address} | self._values | values)
        )
        # Loading the sheets takes longer than everything else, and they are the same in every replica.
        with patch.object(game_state.service, "RuleSheets", _SharedSheets):
            app = await self._stack.enter_async_context(running_app(settings, build, "game"))
        self.apps.append(app)
        self._channels.append(await self._stack.enter_async_context(channel_to(app)))
        return app

    def player(self, name: str, replica: int = 0) -> Player:
        return Player(name, self._channels[replica])

    def match_rooms(self, replica: int = 0) -> tuple[MatchRoomServiceAsyncStub, tuple[tuple[str, str], ...]]:
        """The stub that matchmaking uses, and its metadata."""
        return MatchRoomServiceStub(self._channels[replica]), service("rami-game")

    def sample(self, name: str, replica: int = 0, **labels: str) -> float:
        """The value of a metric of a replica; 0 when there is none."""
        return self.apps[replica].metrics.registry.get_sample_value(name, labels) or 0.0


@asynccontextmanager
async def game_cluster(
    store_url: str, replicas: int = 1, *, ai_address: str = NO_BOTS, **values: Any
) -> AsyncIterator[Cluster]:
    """So many replicas; `values` are settings of all of them."""
    async with AsyncExitStack() as stack:
        cluster = Cluster(store_url, ai_address, stack, values)
        for _ in range(replicas):
            await cluster.add_replica()
        yield cluster
