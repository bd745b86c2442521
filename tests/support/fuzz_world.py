"""A cluster in which something is going on, and a valid request for every method that fits it at the moment."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from google.protobuf.duration_pb2 import Duration
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from rami.ai.v1 import decision_service_pb2 as ai
from rami.game.v1 import game_service_pb2 as game
from rami.game.v1 import match_room_service_pb2 as rooms
from rami.game.v1 import room_pb2, rules_pb2
from rami.game.v1 import rule_sheet_service_pb2 as sheets
from rami.matchmaking.v1 import matchmaking_service_pb2 as queue
from rami.matchmaking.v1 import player_service_pb2 as players
from support.game_cluster import Player, room_options
from support.queueing import Client
from support.queueing import Player as Queuer

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from google.protobuf.message import Message

    from support.three_services import ThreeServices

PEOPLE = ("ann", "bob", "eve")


class FuzzWorld:
    """Rooms in every state and a ticket, made anew now and then, since broken requests play, leave and cancel."""

    def __init__(self, cluster: ThreeServices, chance: random.Random) -> None:
        self._chance = chance
        self._ann, self._bob, self._eve = (Player(name, cluster["game"].channel) for name in PEOPLE)
        self._tickets = Client(cluster["matchmaking"].channel)
        self._generation = 0
        self.lobby = room_pb2.Room()
        self.hidden = room_pb2.Room()
        self.match = ""
        self.over = ""
        self.ticket = ""
        self.view = game.GetViewResponse()

    async def renew(self) -> None:
        """Things go on."""
        self._generation += 1
        self.lobby = await self._ann.create(room_options(3), {1: "easy", 2: "easy"})
        self.hidden = await self._ann.create(room_options(2, public=False))
        over = await self._ann.create(room_options(2), {1: "easy"})
        await self._ann.start(over.room_id)
        await self._ann.leave(over.room_id)
        self.over = over.room_id
        match = await self._ann.create(room_options(3, target=150), {2: "easy"})
        await self._bob.join(match.room_id)
        await self._ann.start(match.room_id)
        self.match = match.room_id
        views = [await player.view(match.room_id) for player in (self._ann, self._bob)]
        self.view = max(views, key=lambda view: len(view.legal_actions.actions))
        # Nobody else queues for as long as this table takes: the ticket stays until it is cancelled or expires.
        self.ticket = (await Queuer(f"ann{self._generation}").create(self._tickets, (4,))).ticket_id

    @property
    def ticket_owner(self) -> str:
        """Who has the ticket."""
        return f"ann{self._generation}"

    def valid(self, name: str, request: type[Message]) -> Message:
        """A request of a method, by its short name; an empty one for a method that nobody has thought of here."""
        make = REQUESTS.get(name)
        return request() if make is None else make(self)

    def a_room(self) -> str:
        """Any of the rooms, the match mostly."""
        return self._chance.choice((self.match, self.match, self.match, self.lobby.room_id, self.over))

    def an_id(self) -> str:
        """A request id, mostly one that nobody has used."""
        if self._chance.random() < 0.1:
            return "5f3c1fbe-4b1c-4f0e-9d3c-9c1d3f1a2b3c"
        return str(uuid.UUID(int=self._chance.getrandbits(128), version=4))

    def an_action(self) -> Any:
        """What may have been legal a moment ago."""
        return self._chance.choice(self.view.legal_actions.actions)

    def a_decision(self) -> ai.DecideRequest:
        """What a bot could be asked."""
        return ai.DecideRequest(
            view=self.view.snapshot.view,
            legal_actions=self.view.legal_actions.actions,
            bot="easy",
            policy_seed=self._chance.getrandbits(64),
        )

    def options(self) -> room_pb2.RoomOptions:
        """Of a room."""
        options = room_options(self._chance.choice((2, 3, 4)), public=self._chance.random() < 0.5, target=100)
        options.auto_start = self._chance.random() < 0.5
        return options

    def hello(self) -> game.PlayRequest:
        """The beginning of a Play stream."""
        cursor = self.view.snapshot.cursor if self._chance.random() < 0.5 else b""
        return game.PlayRequest(hello=game.PlayHello(room_id=self.match, cursor=cursor, legal_actions=True))

    def play(self) -> game.PlayRequest:
        """A message of a Play stream."""
        action = game.PlayAction(request_id=self.an_id(), expected_version=self.version(), action=self.an_action())
        return game.PlayRequest(action=action)

    def version(self) -> int:
        """About where the match stands."""
        return self.view.snapshot.room.version + self._chance.choice((0, 0, 1, 2, 3, 5))


REQUESTS: dict[str, Callable[[FuzzWorld], Message]] = {
    "DecisionService/Decide": FuzzWorld.a_decision,
    "DecisionService/DecideMany": lambda w: ai.DecideManyRequest(
        call_id=w._chance.getrandbits(20), request=w.a_decision(), timeout=Duration(seconds=5)
    ),
    "DecisionService/ListBots": lambda _: ai.ListBotsRequest(page_size=2),
    "GameService/CreateRoom": lambda w: game.CreateRoomRequest(
        request_id=w.an_id(), options=w.options(), bots=[game.BotSeat(seat=1, bot="easy")], observe=True
    ),
    "GameService/GetRoom": lambda w: game.GetRoomRequest(
        **w._chance.choice(({"room_id": w.a_room()}, {"join_code": w.hidden.join_code}))
    ),
    "GameService/ListRooms": lambda w: game.ListRoomsRequest(
        status=w._chance.randrange(4),  # type: ignore[arg-type]  # a number is a status
        page_size=3,
        seats=w._chance.choice((0, 3)),
        free_seat=True,
    ),
    "GameService/ListOwnRooms": lambda w: game.ListOwnRoomsRequest(page_size=2, page_token=f"1700000000000.{w.match}"),
    "GameService/JoinRoom": lambda w: game.JoinRoomRequest(
        request_id=w.an_id(), seat=1, **w._chance.choice(({"room_id": w.a_room()}, {"join_code": w.hidden.join_code}))
    ),
    "GameService/LeaveRoom": lambda w: game.LeaveRoomRequest(request_id=w.an_id(), room_id=w.a_room()),
    "GameService/UpdateSeats": lambda w: game.UpdateSeatsRequest(
        request_id=w.an_id(),
        room_id=w.lobby.room_id,
        changes=[game.BotSeat(seat=2, bot=w._chance.choice(("easy", "")))],
    ),
    "GameService/SetEntropy": lambda w: game.SetEntropyRequest(
        request_id=w.an_id(), room_id=w.lobby.room_id, entropy=b"e" * 32
    ),
    "GameService/StartMatch": lambda w: game.StartMatchRequest(request_id=w.an_id(), room_id=w.lobby.room_id),
    "GameService/GetView": lambda w: game.GetViewRequest(room_id=w.a_room()),
    "GameService/SubmitAction": lambda w: game.SubmitActionRequest(
        request_id=w.an_id(), room_id=w.match, expected_version=w.version(), action=w.an_action(), legal_actions=True
    ),
    "GameService/WatchRoom": lambda w: game.WatchRoomRequest(
        room_id=w.a_room(), cursor=w.view.snapshot.cursor, legal_actions=True
    ),
    "GameService/Play": FuzzWorld.play,
    "GameService/GetReplay": lambda w: game.GetReplayRequest(room_id=w.a_room(), page_size=2, page_token="1"),
    "GameService/Rematch": lambda w: game.RematchRequest(request_id=w.an_id(), room_id=w.over),
    "GameService/ListBotProfiles": lambda _: game.ListBotProfilesRequest(page_size=1, page_token="easy"),
    "MatchRoomService/CreateMatchRoom": lambda w: rooms.CreateMatchRoomRequest(
        match_id=w.an_id(),
        options=w.options(),
        seats=[
            rooms.MatchSeat(player=room_pb2.SeatedPlayer(player_id=w._ann.id, display_name="Ann")),
            rooms.MatchSeat(bot=room_pb2.SeatedBot(bot="easy")),
        ],
    ),
    "RuleSheetService/ListRuleSheets": lambda _: sheets.ListRuleSheetsRequest(page_size=2),
    "RuleSheetService/GetRuleSheet": lambda w: sheets.GetRuleSheetRequest(
        locales=w._chance.choice((["en"], ["fr-CA", "de"]))
    ),
    "MatchmakingService/CreateTicket": lambda w: queue.CreateTicketRequest(
        request_id=w.an_id(),
        criteria=queue.TicketCriteria(
            player_counts=[3, 4],
            rules=[rules_pb2.RuleOptions(target_score=100)],
            bots_allowed=False,
            round_interval=Duration(seconds=4),
        ),
    ),
    "MatchmakingService/GetTicket": lambda w: queue.GetTicketRequest(ticket_id=w.ticket),
    "MatchmakingService/WatchTicket": lambda w: queue.WatchTicketRequest(ticket_id=w.ticket),
    "MatchmakingService/CancelTicket": lambda w: queue.CancelTicketRequest(request_id=w.an_id(), ticket_id=w.ticket),
    "PlayerService/CreateGuest": lambda _: players.CreateGuestRequest(display_name="Ann"),
    "PlayerService/RenewGuest": lambda _: players.RenewGuestRequest(display_name="Anna"),
    "PlayerService/GetPlayer": lambda w: players.GetPlayerRequest(player_id=w._bob.id),
    "PlayerService/ListLeaderboard": lambda _: players.ListLeaderboardRequest(page_size=5, page_token="AAAAAA=="),
    "Health/Check": lambda _: health_pb2.HealthCheckRequest(service="rami.game.v1.GameService"),
    "Health/Watch": lambda _: health_pb2.HealthCheckRequest(),
    "ServerReflection/ServerReflectionInfo": lambda w: reflection_pb2.ServerReflectionRequest(
        **{
            w._chance.choice(
                ("list_services", "file_containing_symbol", "file_by_filename")
            ): "rami.game.v1.GameService"
        }
    ),
}


__all__ = ["PEOPLE", "FuzzWorld"]
