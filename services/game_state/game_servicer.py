"""GameService: each call is validated, judged on a room, and answered with what the caller may see."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from game_state import lobby
from game_state.actions import next_legal_actions
from game_state.changes import find_repeat
from game_state.events import CommittedStep
from game_state.lobby import Person
from game_state.looks import Looks
from game_state.play_stream import played_stream
from game_state.projection import require_reader, room_message
from game_state.replays import replay_page
from game_state.requests import request_key
from game_state.room import Seat, Status
from game_state.seats import require_seat
from game_state.streams import RoomStream, StreamParts, require_room_id
from game_state.validation import bot_seats, room_filter, room_options
from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1 import game_service_pb2_grpc
from rami_kit.auth import current_caller
from rami_kit.errors import InvalidRequest, StoreUnavailable, reasons, refused
from rami_kit.paging import page_size, wrong_page_token
from rami_kit.request_ids import require_request_id
from rami_wire import encode_field

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from typing import TypeAlias, TypeVar

    import grpc.aio

    from game_state.actions import ActionPlayer
    from game_state.bot_roster import BotRoster
    from game_state.changes import Changed, RoomChanger
    from game_state.creation import RoomMaker
    from game_state.draft import Draft
    from game_state.guessing import CodeGuard
    from game_state.hosting import HostedRooms
    from game_state.listing import RoomLister
    from game_state.own_rooms import OwnRooms
    from game_state.repository import RoomRepository
    from game_state.requests import RequestKey
    from game_state.room import Room, RoomOptions

    Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
    Mutation: TypeAlias = (
        pb.CreateRoomRequest
        | pb.JoinRoomRequest
        | pb.LeaveRoomRequest
        | pb.UpdateSeatsRequest
        | pb.SetEntropyRequest
        | pb.StartMatchRequest
        | pb.RematchRequest
    )
    ResultT = TypeVar("ResultT")

DEFAULT_ROOMS_PAGE: Final = 20
MAX_ROOMS_PAGE: Final = 100
DEFAULT_REPLAY_PAGE: Final = 10
MAX_REPLAY_PAGE: Final = 50

_SUBMIT_FIELDS: Final = pb.SubmitActionResponse.DESCRIPTOR.fields_by_name
_SUBMIT_EVENT: Final = _SUBMIT_FIELDS["event"].number
_SUBMIT_LEGAL_ACTIONS: Final = _SUBMIT_FIELDS["legal_actions"].number


@dataclass(frozen=True, slots=True)
class GameParts:
    """What the servicer hands its calls to."""

    repository: RoomRepository
    changer: RoomChanger
    maker: RoomMaker
    hosted: HostedRooms
    own_rooms: OwnRooms
    codes: CodeGuard
    lister: RoomLister
    actions: ActionPlayer
    streams: StreamParts
    roster: BotRoster
    partitions: int


class GameServicer(game_service_pb2_grpc.GameServiceServicer):
    """The service that players call."""

    def __init__(self, parts: GameParts) -> None:
        self._parts = parts
        self._repository = parts.repository
        self._looks = Looks()

    async def CreateRoom(self, request: pb.CreateRoomRequest, _context: Context) -> pb.CreateRoomResponse:
        request_id = require_request_id(request.request_id)
        options, seat_count = room_options(request.options)
        bots = bot_seats(request.bots, "bots", seat_count, self._parts.roster.profiles)
        person = _person()
        seats = [Seat(bot=bots.get(number, "")) for number in range(seat_count)]
        if not request.observe:
            seats[_host_seat(seats)] = Seat(player_id=person.player_id, name=person.name)
        room_id = self._parts.maker.room_id("room", person.player_id, request_id)
        room = await self._host(person, room_id, options, seats, _payload(request))
        return pb.CreateRoomResponse(room=room_message(room, person.player_id))

    async def GetRoom(self, request: pb.GetRoomRequest, _context: Context) -> pb.GetRoomResponse:
        if not request.join_code:
            room, player_id = await self._readable_room(request.room_id)
        elif request.room_id:
            raise InvalidRequest("join_code", "must be empty where the room is named by its id")
        else:
            room_id = await self._room_with_code(request.join_code)
            room, player_id = await self._readable_room(room_id, with_code=True)
        return pb.GetRoomResponse(room=room_message(room, player_id))

    async def ListRooms(self, request: pb.ListRoomsRequest, _context: Context) -> pb.ListRoomsResponse:
        size = page_size(request.page_size, DEFAULT_ROOMS_PAGE, MAX_ROOMS_PAGE)
        return await self._parts.lister.page(
            request.status, size, request.page_token, current_caller().player_id, room_filter(request)
        )

    async def ListOwnRooms(self, request: pb.ListOwnRoomsRequest, _context: Context) -> pb.ListOwnRoomsResponse:
        size = page_size(request.page_size, DEFAULT_ROOMS_PAGE, MAX_ROOMS_PAGE)
        return await self._parts.own_rooms.page(current_caller().player_id, size, request.page_token)

    async def JoinRoom(self, request: pb.JoinRoomRequest, _context: Context) -> pb.JoinRoomResponse:
        person = _person()
        wished = request.seat if request.HasField("seat") else None
        which = request.WhichOneof("room")
        if which is None:
            raise InvalidRequest("room", "must be named by its id or join code")
        by_code = which == "join_code"
        room_id = await self._room_with_code(request.join_code) if by_code else request.room_id

        def judge(draft: Draft) -> int:
            return lobby.join(draft, person, wished, with_code=by_code)

        changed = await self._change(room_id, judge, request)
        seat = await self._seat_taken(changed, person.player_id)
        return pb.JoinRoomResponse(room=room_message(changed.room, person.player_id), seat=seat)

    async def LeaveRoom(self, request: pb.LeaveRoomRequest, _context: Context) -> pb.LeaveRoomResponse:
        player_id = current_caller().player_id
        changed = await self._change(request.room_id, lambda draft: lobby.leave(draft, player_id), request)
        if changed.room.host != player_id:
            self._parts.hosted.give_back(player_id, request.room_id)
            if changed.room.seat_of(player_id) is None:
                self._parts.own_rooms.drop(player_id, request.room_id)
        return pb.LeaveRoomResponse(version=changed.version)

    async def UpdateSeats(self, request: pb.UpdateSeatsRequest, _context: Context) -> pb.UpdateSeatsResponse:
        player_id = current_caller().player_id
        profiles = self._parts.roster.profiles
        if not request.changes:
            raise InvalidRequest("changes", "must name at least one seat")

        def judge(draft: Draft) -> None:
            changes = bot_seats(request.changes, "changes", len(draft.room.seats), profiles)
            lobby.update_seats(draft, player_id, changes)

        changed = await self._change(request.room_id, judge, request)
        return pb.UpdateSeatsResponse(room=room_message(changed.room, player_id))

    async def SetEntropy(self, request: pb.SetEntropyRequest, _context: Context) -> pb.SetEntropyResponse:
        player_id = current_caller().player_id
        changed = await self._change(
            request.room_id, lambda draft: lobby.set_entropy(draft, player_id, request.entropy), request
        )
        return pb.SetEntropyResponse(room=room_message(changed.room, player_id))

    async def StartMatch(self, request: pb.StartMatchRequest, _context: Context) -> pb.StartMatchResponse:
        player_id = current_caller().player_id
        changed = await self._change(request.room_id, lambda draft: lobby.start(draft, player_id), request)
        return pb.StartMatchResponse(version=changed.version)

    async def GetView(  # type: ignore[override]  # ready-encoded bytes
        self, request: pb.GetViewRequest, _context: Context
    ) -> bytes:
        room, player_id = await self._readable_room(request.room_id)
        return self._looks.encoded(room, player_id, self._repository.now_ms())

    async def SubmitAction(  # type: ignore[override]  # ready-encoded bytes
        self, request: pb.SubmitActionRequest, _context: Context
    ) -> bytes:
        player_id = current_caller().player_id
        room_id = require_room_id(request.room_id)
        changed = await self._parts.actions.play(
            room_id, player_id, request.request_id, request.expected_version, request.action
        )
        step = changed.step or await self._logged_step(room_id, changed.version)
        event = encode_field(_SUBMIT_EVENT, step.encoded(changed.room.seat_of(player_id)))
        if request.legal_actions:
            legal = _legal_actions(changed.room, player_id, changed.version)
            if legal is not None:
                event += encode_field(_SUBMIT_LEGAL_ACTIONS, legal)
        return event

    async def WatchRoom(  # type: ignore[override]  # ready-encoded bytes
        self, request: pb.WatchRoomRequest, _context: Context
    ) -> AsyncIterator[bytes]:
        room_id = require_room_id(request.room_id)
        player_id = current_caller().player_id
        stream = RoomStream(
            self._parts.streams, room_id, player_id, request.cursor, legal_actions=request.legal_actions
        )
        async with stream, aclosing(stream.messages()) as messages:
            async for message in messages:
                yield message

    async def Play(  # type: ignore[override]  # ready-encoded bytes
        self, requests: AsyncIterator[pb.PlayRequest], _context: Context
    ) -> AsyncIterator[bytes]:
        player_id = current_caller().player_id
        async with (
            played_stream(self._parts.streams, self._parts.actions, player_id, requests) as stream,
            aclosing(stream.messages()) as messages,
        ):
            async for message in messages:
                yield message

    async def GetReplay(self, request: pb.GetReplayRequest, _context: Context) -> pb.GetReplayResponse:
        size = page_size(request.page_size, DEFAULT_REPLAY_PAGE, MAX_REPLAY_PAGE)
        room, _ = await self._readable_room(request.room_id)
        return await replay_page(self._repository, room, size, request.page_token)

    async def Rematch(self, request: pb.RematchRequest, _context: Context) -> pb.RematchResponse:
        person = _person()
        key = request_key(person.player_id, require_request_id(request.request_id), _payload(request))
        old = await self._repository.get(request.room_id)
        repeat = find_repeat(old, key) is not None
        number = require_seat(old, person.player_id)
        if old.status != Status.OVER:
            raise refused(reasons.ERROR_REASON_MATCH_NOT_OVER, "the match is still played", room_id=old.room_id)
        new_id = self._parts.maker.room_id("rematch", old.room_id)
        if repeat:
            room = await self._repository.get(new_id)
            require_reader(room, person.player_id)
            return pb.RematchResponse(room=room_message(room, person.player_id), seat=number)
        room, seat = await self._rematch_room(old, new_id, person, number, key)
        await self._parts.changer.change(old.room_id, lambda draft: lobby.note_rematch(draft, new_id), key)
        return pb.RematchResponse(room=room_message(room, person.player_id), seat=seat)

    async def ListBotProfiles(
        self, request: pb.ListBotProfilesRequest, _context: Context
    ) -> pb.ListBotProfilesResponse:
        size = page_size(request.page_size, DEFAULT_ROOMS_PAGE, MAX_ROOMS_PAGE)
        profiles = self._parts.roster.profiles
        if request.page_token and request.page_token not in profiles:
            raise wrong_page_token()
        # A token is the last id of the page before.
        first = profiles.index(request.page_token) + 1 if request.page_token else 0
        page = profiles[first : first + size]
        more = first + size < len(profiles)
        return pb.ListBotProfilesResponse(
            profiles=[self._parts.roster.describe(bot) for bot in page], next_page_token=page[-1] if more else ""
        )

    async def _rematch_room(
        self, old: Room, new_id: str, person: Person, number: int, key: RequestKey
    ) -> tuple[Room, int]:
        """The room of a rematch and the caller's seat there, the old one where it is free. The first call creates the
        room, the others join it.
        """
        seats = [Seat(bot=seat.bot) for seat in old.seats]
        seats[number] = Seat(player_id=person.player_id, name=person.name)
        if not old.rematch_room_id:
            room = await self._host(person, new_id, lobby.rematch_options(old.options), seats, old.room_id.encode())
            if room.version == 1 and room.host == person.player_id:
                return room, number

        def judge(draft: Draft) -> int:
            # A guest of the host may have sat down there, or a bot: any other seat is as good then.
            wished = number if draft.room.seats[number].empty else None
            return lobby.join(draft, person, wished, with_code=True)

        changed = await self._parts.changer.change(new_id, judge, key)
        return changed.room, await self._seat_taken(changed, person.player_id)

    async def _host(
        self, person: Person, room_id: str, options: RoomOptions, seats: Sequence[Seat], payload: bytes
    ) -> Room:
        """The room of this id, created now or before, which takes one of its host's places while it lives."""
        await self._parts.hosted.take_place(person.player_id, room_id)
        room, created = await self._parts.maker.create(
            room_id, options, tuple(seats), host=person.player_id, payload=payload
        )
        if not created and (room.host != person.player_id or room.status == Status.OVER):
            self._parts.hosted.give_back(person.player_id, room_id)
        return room

    async def _readable_room(self, room_id: str, *, with_code: bool = False) -> tuple[Room, str]:
        """The room as the store has it now, and the caller, who may read it."""
        player_id = current_caller().player_id
        room = await self._repository.get(room_id)
        require_reader(room, player_id, with_code=with_code)
        return room, player_id

    async def _room_with_code(self, join_code: str) -> str:
        """The id of the room with a join code. Raises JOIN_CODE_NOT_FOUND, and RATE_LIMITED for who guesses."""
        return await self._parts.codes.room_of(
            lambda: self._repository.room_with_code(join_code, self._parts.partitions)
        )

    async def _change(self, room_id: str, judge: Callable[[Draft], ResultT], request: Mutation) -> Changed[ResultT]:
        """Change a room for the caller, once for each request id."""
        request_id = require_request_id(request.request_id)
        key = request_key(current_caller().player_id, request_id, _payload(request))
        return await self._parts.changer.change(require_room_id(room_id), judge, key)

    async def _seat_taken(self, changed: Changed[int], player_id: str) -> int:
        """The seat that a join has taken; for a repeat by who has left since, the one that it took.

        Raises SPECTATORS_NOT_ALLOWED for who has left and may not see the room any more.
        """
        seat = changed.room.seat_of(player_id)
        if seat is not None:
            return seat
        require_reader(changed.room, player_id)
        step = await self._logged_step(changed.room.room_id, changed.version)
        for change in step.public_changes:
            if change.seat_changed.seat.player.player_id == player_id:
                return change.seat_changed.seat.seat
        return require_seat(changed.room, player_id)

    async def _logged_step(self, room_id: str, version: int) -> CommittedStep:
        """The step that an accepted action made before. Raises StoreUnavailable if the log lost it."""
        log = await self._repository.log(room_id, version, version, 1)
        if not log:
            raise StoreUnavailable("the first answer cannot be read")
        return CommittedStep(version, b"", log[0][1])


def _person() -> Person:
    caller = current_caller()
    return Person(caller.player_id, caller.name)


def _payload(request: Mutation) -> bytes:
    """What a request asks for, in one fixed encoding. Its kind is a part: some differ in nothing else."""
    # Its id is a part as well, and is one and the same in either case of its letters.
    request.request_id = request.request_id.lower()
    return request.DESCRIPTOR.full_name.encode() + b"\0" + request.SerializeToString(deterministic=True)


def _host_seat(seats: Sequence[Seat]) -> int:
    for number, seat in enumerate(seats):
        if seat.empty:
            return number
    raise InvalidRequest("bots", "must leave a seat for the host, who does not only observe")


def _legal_actions(room: Room, player_id: str, version: int) -> bytes | None:
    seat = room.seat_of(player_id)
    return None if seat is None else next_legal_actions(room, seat, version)
