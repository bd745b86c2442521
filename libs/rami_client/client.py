"""The client: signs in, and calls everything that a player may call.

    async with Client.connect(game="127.0.0.1:7001", matchmaking="127.0.0.1:7003") as client:
        await client.sign_in_as_guest("Ada")
        ticket = await client.join_queue(player_counts=[3], bots_allowed=True)
        assignment = await client.wait_for_match(ticket.ticket_id)
        async with client.table(assignment.room_id) as table:
            await play_match(table, MyBot())

Requests and answers are the contract's own messages; actions and views are the engine's. Every call may
raise RpcError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rami.game.v1 import game_service_pb2 as game
from rami.game.v1 import game_service_pb2_grpc, rule_sheet_service_pb2_grpc
from rami.matchmaking.v1 import matchmaking_service_pb2_grpc, player_service_pb2_grpc
from rami.matchmaking.v1 import player_service_pb2 as players
from rami_client.calls import Calls, RetryPolicy, new_request_id, open_channel
from rami_client.lookups import Lookups
from rami_client.queueing import Queueing
from rami_client.state import RoomMirror
from rami_client.table import Table
from rami_client.watch import Watch
from rami_wire import action_to_proto

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    import grpc

    from rami.game.v1 import room_pb2
    from rami_client.receipt import Receipt
    from rami_engine import Action


class Client(Queueing, Lookups):
    """A player's connection to a cluster. Made by `connect`; use it as an async context manager."""

    def __init__(self, game_channel: grpc.aio.Channel, matchmaking_channel: grpc.aio.Channel, calls: Calls) -> None:
        Queueing.__init__(self, matchmaking_service_pb2_grpc.MatchmakingServiceStub(matchmaking_channel), calls)
        Lookups.__init__(
            self,
            rule_sheet_service_pb2_grpc.RuleSheetServiceStub(game_channel),
            player_service_pb2_grpc.PlayerServiceStub(matchmaking_channel),
            calls,
        )
        self.player_id = ""
        """The player's opaque id; empty until a guest has signed in."""
        self._channels = {game_channel, matchmaking_channel}
        self._game = game_service_pb2_grpc.GameServiceStub(game_channel)

    @classmethod
    def connect(
        cls,
        *,
        game: str,
        matchmaking: str | None = None,
        token: str | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        deadline_seconds: float = 10.0,
        retry: RetryPolicy | None = None,
        languages: str = "",
    ) -> Self:
        """A client of the services at these gRPC targets; `matchmaking` None means that the game target, an
        edge, serves it as well.

        Connects with the first call. `token` is the bearer token of a player who is signed in already;
        `credentials` turn on TLS; `deadline_seconds` bounds every attempt of a unary call. `languages`, such as
        "es-MX, en;q=0.5", gives errors a `localized_message` for the player. Must be called in an event loop.

        >>> async with Client.connect(game=game, matchmaking=matchmaking) as ann:
        ...     guest = await ann.sign_in_as_guest("Ann")
        >>> guest.player_id == ann.player_id
        True
        """
        game_channel = open_channel(game, credentials)
        matchmaking_channel = open_channel(matchmaking, credentials) if matchmaking else game_channel
        return cls(game_channel, matchmaking_channel, Calls(token, deadline_seconds, retry or RetryPolicy(), languages))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections; tables and watches end. Idempotent.

        >>> ann = Client.connect(game=game)
        >>> await ann.close()
        """
        self._calls.closed = True
        for follower in list(self._calls.followers):
            await follower.close()
        for channel in self._channels:
            await channel.close()

    @property
    def token(self) -> str | None:
        """The bearer token in use: a secret. None before signing in."""
        return self._calls.token

    async def sign_in_as_guest(self, display_name: str) -> players.CreateGuestResponse:
        """Signs in a new guest, as whom this client acts from here on.

        >>> guest = await client.sign_in_as_guest("Ada")
        >>> guest.player_id == client.player_id, guest.token == client.token
        (True, True)
        """
        request = players.CreateGuestRequest(display_name=display_name)
        guest = await self._calls.unary(self._players.CreateGuest, request)
        self._calls.token = guest.token
        self.player_id = guest.player_id
        return guest

    async def renew_guest(self, display_name: str = "") -> players.RenewGuestResponse:
        """Gives this guest a new token, as the same player, and another name if there is one.

        To be done before the old token ends: tables and watches that end with it are opened again with the new one.

        >>> renewed = await client.renew_guest("Ada Lovelace")
        >>> renewed.player_id == client.player_id, renewed.token == client.token, renewed.display_name
        (True, True, 'Ada Lovelace')
        """
        request = players.RenewGuestRequest(display_name=display_name)
        renewed = await self._calls.unary(self._players.RenewGuest, request)
        self._calls.token = renewed.token
        return renewed

    async def sign_in(self, token: str) -> players.Player:
        """Acts with the token of an identity provider from here on; the player that it speaks for.

        Also renews a token before it ends: tables and watches that end with the former one are opened again with this.
        Raises UnauthenticatedError for a token that does not count, and then acts as before.

        >>> player = await client.sign_in(token)
        >>> player.player_id == client.player_id
        True
        """
        former, self._calls.token = self._calls.token, token
        try:
            player = await self.player()
        except BaseException:
            self._calls.token = former
            raise
        self.player_id = player.player_id
        return player

    async def list_bots(self) -> list[game.BotProfile]:
        """The bots that may be seated, weakest first, and then those of other people's services.

        >>> [profile.bot for profile in await client.list_bots() if not profile.third_party]
        ['easy', 'normal', 'hard']
        """
        request = game.ListBotProfilesRequest(page_size=100)
        profiles: list[game.BotProfile] = []
        while True:
            page = await self._calls.unary(self._game.ListBotProfiles, request)
            profiles.extend(page.profiles)
            if not page.next_page_token:
                return profiles
            request.page_token = page.next_page_token

    async def create_room(
        self,
        options: room_pb2.RoomOptions,
        *,
        bots: Mapping[int, str] | None = None,
        observe: bool = False,
    ) -> room_pb2.Room:
        """Creates a room with this player as its host, and bots (profile by seat) in it.

        >>> room = await client.create_room(RoomOptions(seats=3), bots={1: "easy"})
        >>> [seat.WhichOneof("holder") for seat in room.seats]
        ['player', 'bot', None]
        """
        request = game.CreateRoomRequest(
            request_id=new_request_id(), options=options, bots=_bot_seats(bots or {}), observe=observe
        )
        return (await self._calls.unary(self._game.CreateRoom, request)).room

    async def get_room(self, room_id: str = "", *, join_code: str = "") -> room_pb2.Room:
        """A room as this player may see it, by its id or by its join code, which takes no seat.

        >>> (await client.get_room(room.room_id)).seats[0].player.display_name
        'Ada'
        >>> found = await friend.get_room(join_code=room.join_code)
        >>> found.room_id == room.room_id, [seat.WhichOneof("holder") for seat in found.seats]
        (True, ['player', None])
        """
        request = game.GetRoomRequest(room_id=room_id, join_code=join_code)
        return (await self._calls.unary(self._game.GetRoom, request, room_id=room_id)).room

    async def list_rooms(
        self,
        status: room_pb2.RoomStatus.ValueType | None = None,
        *,
        limit: int = 100,
        seats: int = 0,
        free_seat: bool = False,
        watchable: bool = False,
    ) -> list[room_pb2.Room]:
        """At most `limit` public rooms in a state, newest first; None means lobbies.

        Only those with so many `seats`, with a `free_seat`, and `watchable`, which this player may watch.

        >>> public = await client.create_room(RoomOptions(seats=2, visibility=VISIBILITY_PUBLIC))
        >>> public.room_id in [room.room_id for room in await client.list_rooms(free_seat=True)]
        True
        """
        request = game.ListRoomsRequest(
            page_size=min(limit, 100), seats=seats, free_seat=free_seat, watchable=watchable
        )
        if status is not None:
            request.status = status
        rooms: list[room_pb2.Room] = []
        while len(rooms) < limit:
            page = await self._calls.unary(self._game.ListRooms, request)
            rooms.extend(page.rooms)
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
        return rooms[:limit]

    async def list_own_rooms(self) -> list[room_pb2.Room]:
        """The rooms that this player holds a seat in or hosts, newest first; at most 200, those that are over included.

        >>> [own.room_id for own in await client.list_own_rooms()] == [room.room_id]
        True
        """
        request = game.ListOwnRoomsRequest(page_size=100)
        rooms: list[room_pb2.Room] = []
        while True:
            page = await self._calls.unary(self._game.ListOwnRooms, request)
            rooms.extend(page.rooms)
            if not page.next_page_token:
                return rooms
            request.page_token = page.next_page_token

    async def join_room(
        self, room_id: str = "", *, join_code: str = "", seat: int | None = None
    ) -> game.JoinRoomResponse:
        """Takes a seat by the room's id or by its join code, or takes the own one back from a stand-in.

        >>> joined = await friend.join_room(join_code=room.join_code)
        >>> joined.seat, joined.room.room_id == room.room_id
        (1, True)
        """
        request = game.JoinRoomRequest(request_id=new_request_id(), seat=seat)
        if join_code:
            request.join_code = join_code
        else:
            request.room_id = room_id
        return await self._calls.unary(self._game.JoinRoom, request, room_id=room_id)

    async def leave_room(self, room_id: str) -> int:
        """Leaves the own seat; the version of the room afterwards.

        >>> joined = await friend.join_room(join_code=room.join_code)
        >>> await friend.leave_room(room.room_id) == joined.room.version + 1
        True
        """
        request = game.LeaveRoomRequest(request_id=new_request_id(), room_id=room_id)
        return (await self._calls.unary(self._game.LeaveRoom, request, room_id=room_id)).version

    async def update_seats(self, room_id: str, bots: Mapping[int, str]) -> room_pb2.Room:
        """Puts bots (profile by seat) in seats, or takes them out where the profile is empty. Host only.

        >>> changed = await client.update_seats(room.room_id, {1: "hard"})
        >>> changed.seats[1].bot.bot
        'hard'
        """
        request = game.UpdateSeatsRequest(request_id=new_request_id(), room_id=room_id, changes=_bot_seats(bots))
        return (await self._calls.unary(self._game.UpdateSeats, request, room_id=room_id)).room

    async def set_entropy(self, room_id: str, entropy: bytes) -> room_pb2.Room:
        """Brings 1 to 32 bytes of own entropy. A `Table` does so by itself.

        >>> changed = await client.set_entropy(room.room_id, secrets.token_bytes(32))
        >>> changed.seats[0].entropy_set
        True
        """
        request = game.SetEntropyRequest(request_id=new_request_id(), room_id=room_id, entropy=entropy)
        return (await self._calls.unary(self._game.SetEntropy, request, room_id=room_id)).room

    async def start_match(self, room_id: str) -> int:
        """Starts the match; the version of the room afterwards. Host only.

        >>> changed = await client.update_seats(room.room_id, {1: "easy"})
        >>> await client.start_match(room.room_id) > changed.version
        True
        """
        request = game.StartMatchRequest(request_id=new_request_id(), room_id=room_id)
        return (await self._calls.unary(self._game.StartMatch, request, room_id=room_id)).version

    async def get_view(self, room_id: str) -> game.GetViewResponse:
        """The match as this player may see it, with what it may do.

        >>> shown = await client.get_view(started)
        >>> [action.WhichOneof("kind") for action in shown.legal_actions.actions]
        ['draw_stock', 'draw_discard']
        """
        request = game.GetViewRequest(room_id=room_id)
        return await self._calls.unary(self._game.GetView, request, room_id=room_id)

    async def submit_action(
        self, room_id: str, action: Action, *, expected_version: int, watch: Watch | None = None
    ) -> game.SubmitActionResponse:
        """Plays one action by a call of its own. Playing many, a `Table` is faster and stays current.

        A `watch` of the same room knows of the action as soon as the answer is here, and begins anew where the answer
        shows that what it holds was lost.

        >>> version = (await client.get_view(started)).legal_actions.version
        >>> answer = await client.submit_action(started, DRAW_STOCK, expected_version=version)
        >>> answer.event.version == version + 1, len(answer.legal_actions.actions) >= 8
        (True, True)
        """
        request = game.SubmitActionRequest(
            request_id=new_request_id(),
            room_id=room_id,
            expected_version=expected_version,
            action=action_to_proto(action),
            legal_actions=True,
        )
        response = await self._calls.unary(self._game.SubmitAction, request, room_id=room_id)
        if watch is not None:
            watch.believe(response.event)
        return response

    async def rematch(self, room_id: str) -> game.RematchResponse:
        """Asks for another match of those who sat in the room.

        >>> again = await client.rematch(finished)
        >>> again.room.room_id != finished, again.seat
        (True, 0)
        """
        request = game.RematchRequest(request_id=new_request_id(), room_id=room_id)
        return await self._calls.unary(self._game.Rematch, request, room_id=room_id)

    async def replay(self, room_id: str) -> game.GetReplayResponse:
        """The whole record of a match: all pages in one.

        >>> replay = await client.replay(finished)
        >>> verify(replay).replay.winner == replay.header.result.winner_seat
        True
        """
        request = game.GetReplayRequest(room_id=room_id, page_size=50)
        whole = await self._calls.unary(self._game.GetReplay, request, room_id=room_id)
        while whole.next_page_token:
            request.page_token = whole.next_page_token
            page = await self._calls.unary(self._game.GetReplay, request, room_id=room_id)
            whole.header.CopyFrom(page.header)
            whole.rounds.extend(page.rounds)
            whole.next_page_token = page.next_page_token
        return whole

    def table(self, room_id: str, *, seat: int | None = None, receipt: Receipt | None = None) -> Table:
        """The table of a room that this player holds a seat in, kept open from `async with` on.

        Brings entropy by itself. `seat` helps before the match where the client does not know its player id;
        `receipt` writes down what is seen.

        >>> async with client.table(started) as table:
        ...     while len(table.legal_actions) < 8 and await table.wait_for_turn():
        ...         version = await table.act(table.legal_actions[0])
        >>> table.view.phase.name
        'PLAY'
        """
        mirror = RoomMirror(seat=seat, player_id=self.player_id)
        return Table(self._game, self._calls, room_id, mirror, receipt)

    def watch(self, room_id: str) -> Watch:
        """A watcher of a room, kept current from `async with` on.

        >>> async with client.watch(room.room_id) as watching:
        ...     watching.version == room.version
        True
        """
        return Watch(self._game, self._calls, room_id, RoomMirror(player_id=self.player_id))


def _bot_seats(bots: Mapping[int, str]) -> list[game.BotSeat]:
    return [game.BotSeat(seat=seat, bot=bot) for seat, bot in bots.items()]
