"""Every method of every service by who calls it: one table, which a new method has to enter."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

import ai_decision.service
import game_state.service
import matchmaking.service
from ai_decision.config import AiSettings
from game_state.config import GameSettings
from matchmaking.config import MatchmakingSettings
from rami.ai.v1 import decision_service_pb2 as ai
from rami.game.v1 import game_service_pb2 as game
from rami.game.v1 import match_room_service_pb2 as match_rooms
from rami.game.v1 import room_pb2
from rami.matchmaking.v1 import matchmaking_service_pb2 as queue
from rami.matchmaking.v1 import player_service_pb2 as players
from rami_engine import RULES_ID, RULES_VERSION
from rami_kit.errors import from_rpc_error, reason_name
from rami_kit.testing import (
    bearer,
    channel_to,
    make_settings,
    player,
    player_token,
    running_app,
    service,
)
from support.contract import Method, common_methods, contract_methods
from support.forgeries import ED, RSA, STRANGERS, provided
from support.game_cluster import CALL_SECONDS, Player, request_id, room_options
from support.queueing import Client
from support.queueing import Player as Queuer
from support.tokens import jwk, write_jwks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from google.protobuf.message import Message

    from support.game_bots import FakeBots

    Metadata = tuple[tuple[str, str], ...]

WORDS: Final = {
    "ok": ("OK", ""),
    "missing": ("UNAUTHENTICATED", "TOKEN_MISSING"),
    "expired": ("UNAUTHENTICATED", "TOKEN_EXPIRED"),
    "invalid": ("UNAUTHENTICATED", "TOKEN_INVALID"),
    "scope": ("PERMISSION_DENIED", "SCOPE_MISSING"),
    "seat": ("PERMISSION_DENIED", "NOT_SEATED"),
    "host": ("PERMISSION_DENIED", "NOT_HOST"),
    "hidden": ("PERMISSION_DENIED", "SPECTATORS_NOT_ALLOWED"),
    "code": ("PERMISSION_DENIED", "JOIN_CODE_REQUIRED"),
    "begun": ("FAILED_PRECONDITION", "MATCH_ALREADY_STARTED"),
    "guest": ("PERMISSION_DENIED", "NOT_A_GUEST"),
    "nothing": ("NOT_FOUND", "TICKET_NOT_FOUND"),
}
"""What stands in the table: code and reason."""

# none      no token                               aud       a service's token for another audience
# expired   was good, by any key                   service   a service's token for this one
# forged    signed with some other key             player    who may: the host, seated and to move; the ticket's owner
# alg=none  not signed at all                      scoped    the same with a service's scope in the token
# confused  HS256 with a public key as the secret  other     another player, who is not let in
#                                                  watcher   a player who may watch and holds no seat
TABLE: Final = """
                                      none     expired  forged   alg=none confused aud      service  player   scoped   other    watcher
DecisionService/Decide                missing  expired  invalid  invalid  invalid  invalid  ok       scope    scope    scope    scope
DecisionService/DecideMany            missing  expired  invalid  invalid  invalid  invalid  ok       scope    scope    scope    scope
DecisionService/ListBots              missing  expired  invalid  invalid  invalid  invalid  ok       scope    scope    scope    scope
MatchRoomService/CreateMatchRoom      missing  expired  invalid  invalid  invalid  invalid  ok       scope    scope    scope    scope
GameService/CreateRoom                missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       ok       ok
GameService/GetRoom                   missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       hidden   ok
GameService/ListRooms                 missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       ok       ok
GameService/ListOwnRooms              missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       ok       ok
GameService/JoinRoom                  missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       code     begun
GameService/LeaveRoom                 missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       seat     seat
GameService/UpdateSeats               missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       host     host
GameService/SetEntropy                missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       seat     seat
GameService/StartMatch                missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       host     host
GameService/GetView                   missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       hidden   ok
GameService/SubmitAction              missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       seat     seat
GameService/WatchRoom                 missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       hidden   ok
GameService/Play                      missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       seat     seat
GameService/GetReplay                 missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       hidden   ok
GameService/Rematch                   missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       seat     seat
GameService/ListBotProfiles           missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       ok       ok
RuleSheetService/ListRuleSheets       ok       ok       ok       ok       ok       ok       ok       ok       ok       ok       ok
RuleSheetService/GetRuleSheet         ok       ok       ok       ok       ok       ok       ok       ok       ok       ok       ok
MatchmakingService/CreateTicket       missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       ok       ok
MatchmakingService/ConfirmTicket      missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       nothing  nothing
MatchmakingService/GetTicket          missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       nothing  nothing
MatchmakingService/WatchTicket        missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       nothing  nothing
MatchmakingService/CancelTicket       missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       nothing  nothing
MatchmakingService/GetQueue           missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       ok       ok
PlayerService/CreateGuest             ok       ok       ok       ok       ok       ok       ok       ok       ok       ok       ok
PlayerService/RenewGuest              missing  expired  invalid  invalid  invalid  invalid  scope    guest    guest    guest    guest
PlayerService/GetPlayer               missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       ok       ok
PlayerService/ListLeaderboard         missing  expired  invalid  invalid  invalid  invalid  scope    ok       ok       ok       ok
Health/Check                          ok       ok       ok       ok       ok       ok       ok       ok       ok       ok       ok
Health/List                           ok       ok       ok       ok       ok       ok       ok       ok       ok       ok       ok
Health/Watch                          ok       ok       ok       ok       ok       ok       ok       ok       ok       ok       ok
ServerReflection/ServerReflectionInfo ok       ok       ok       ok       ok       ok       ok       ok       ok       ok       ok
"""  # noqa: E501 - a table


def table() -> dict[str, dict[str, str]]:
    """The words by method and column."""
    head, *rows = (line.split() for line in TABLE.strip().splitlines())
    assert all(len(row) == len(head) + 1 for row in rows)
    return {row[0]: dict(zip(head, row[1:], strict=True)) for row in rows}


# The services, and something to ask them for.


class Site(NamedTuple):
    """All three services."""

    channels: dict[str, grpc.aio.Channel]

    def player(self, name: str) -> Player:
        return Player(name, self.channels["game"])


@asynccontextmanager
async def site(store_url: str, folder: Path, bots: FakeBots) -> AsyncIterator[Site]:
    write_jwks(folder / "jwks.json", jwk(RSA, "rsa", "RS256"), jwk(ED, "ed", "EdDSA"))
    values = {"jwt_jwks_file": str(folder / "jwks.json"), "guests_allowed": True, "ai_address": bots.target}
    async with AsyncExitStack() as stack:
        channels = {}
        for name, build, kind, url in (
            ("ai", ai_decision.service.build, AiSettings, None),
            ("game", game_state.service.build, GameSettings, store_url),
            ("matchmaking", matchmaking.service.build, MatchmakingSettings, store_url),
        ):
            known = {key: value for key, value in values.items() if key in kind.model_fields}
            settings = make_settings(kind, url, redis_timeout_seconds=30.0, **known)
            app = await stack.enter_async_context(running_app(settings, build, name))
            channels[name] = await stack.enter_async_context(channel_to(app))
        yield Site(channels)


class Place(NamedTuple):
    """What the request of one call is about."""

    room: str = "p0-aaaaaaaaaaaaaaaa"
    view: game.GetViewResponse = game.GetViewResponse()
    ticket: str = "aaaaaaaaaaaaaaaaaaaaaaaaaa"


SPREAD: Final = 12
"""Of the bad tokens each method gets every so many'th."""
LOBBY: Final = {"JoinRoom", "LeaveRoom", "UpdateSeats", "SetEntropy", "StartMatch"}
"""Methods that somebody who may calls in a lobby; the others of the game service are called in a match."""


async def make_place(site: Site, name: str, column: str) -> Place:
    """A room, made by ann, in which the method can be called by those who may; or ann's ticket."""
    service, _, method = name.partition("/")
    if service == "MatchmakingService":
        queuer = Queuer(f"ann {name} {column}")
        return Place(ticket=(await queuer.create(Client(site.channels["matchmaking"]), (4,))).ticket_id)
    if service != "GameService":
        return Place()
    ann, bob = site.player("ann"), site.player("bob")
    watched = column == "watcher"
    room = await ann.create(room_options(3, public=watched, spectators=watched), {1: "easy", 2: "easy"})
    if method in LOBBY and not watched:
        return Place(room.room_id)
    assert bob.id
    await ann.start(room.room_id)
    if method == "Rematch":
        await ann.leave(room.room_id)
    return Place(room.room_id, await ann.view(room.room_id))


def queue_caller(name: str, column: str) -> str:
    """The owner of the ticket that `make_place` makes, so that no two columns share one."""
    return f"ann {name} {column}"


DECIDE: Final = ai.DecideRequest(view={"rules_id": RULES_ID, "rules_version": RULES_VERSION}, bot="easy")  # type: ignore[arg-type]  # a dict is a message
REQUESTS: Final[dict[str, Callable[[Place], Message]]] = {
    "DecisionService/Decide": lambda _: DECIDE,
    "DecisionService/DecideMany": lambda _: ai.DecideManyRequest(call_id=1, request=DECIDE),
    "MatchRoomService/CreateMatchRoom": lambda _: match_rooms.CreateMatchRoomRequest(
        match_id=request_id(),
        options=room_options(2),
        seats=[
            match_rooms.MatchSeat(player=room_pb2.SeatedPlayer(player_id="p" * 26, display_name="Ann")),
            match_rooms.MatchSeat(bot=room_pb2.SeatedBot(bot="easy")),
        ],
    ),
    "GameService/CreateRoom": lambda _: game.CreateRoomRequest(request_id=request_id(), options=room_options(2)),
    "GameService/GetRoom": lambda at: game.GetRoomRequest(room_id=at.room),
    "GameService/JoinRoom": lambda at: game.JoinRoomRequest(request_id=request_id(), room_id=at.room),
    "GameService/LeaveRoom": lambda at: game.LeaveRoomRequest(request_id=request_id(), room_id=at.room),
    "GameService/UpdateSeats": lambda at: game.UpdateSeatsRequest(
        request_id=request_id(), room_id=at.room, changes=[game.BotSeat(seat=1, bot="hard")]
    ),
    "GameService/SetEntropy": lambda at: game.SetEntropyRequest(
        request_id=request_id(), room_id=at.room, entropy=b"entropy"
    ),
    "GameService/StartMatch": lambda at: game.StartMatchRequest(request_id=request_id(), room_id=at.room),
    "GameService/GetView": lambda at: game.GetViewRequest(room_id=at.room),
    "GameService/SubmitAction": lambda at: game.SubmitActionRequest(
        request_id=request_id(),
        room_id=at.room,
        expected_version=at.view.legal_actions.version,
        action=at.view.legal_actions.actions[0] if at.view.legal_actions.actions else None,
    ),
    "GameService/WatchRoom": lambda at: game.WatchRoomRequest(room_id=at.room),
    "GameService/Play": lambda at: game.PlayRequest(hello=game.PlayHello(room_id=at.room)),
    "GameService/GetReplay": lambda at: game.GetReplayRequest(room_id=at.room),
    "GameService/Rematch": lambda at: game.RematchRequest(request_id=request_id(), room_id=at.room),
    "MatchmakingService/CreateTicket": lambda _: queue.CreateTicketRequest(
        request_id=request_id(), criteria=queue.TicketCriteria(player_counts=[4])
    ),
    "MatchmakingService/ConfirmTicket": lambda at: queue.ConfirmTicketRequest(
        request_id=request_id(), ticket_id=at.ticket
    ),
    "MatchmakingService/GetTicket": lambda at: queue.GetTicketRequest(ticket_id=at.ticket),
    "MatchmakingService/WatchTicket": lambda at: queue.WatchTicketRequest(ticket_id=at.ticket),
    "MatchmakingService/CancelTicket": lambda at: queue.CancelTicketRequest(
        request_id=request_id(), ticket_id=at.ticket
    ),
    "PlayerService/CreateGuest": lambda _: players.CreateGuestRequest(display_name="Ann"),
    "Health/Check": lambda _: health_pb2.HealthCheckRequest(),
    "ServerReflection/ServerReflectionInfo": lambda _: reflection_pb2.ServerReflectionRequest(list_services="*"),
}
"""Requests that somebody who may gets no refusal for; methods that are not here take an empty one."""


async def answer(site: Site, method: Method, request: Message, metadata: Metadata) -> tuple[str, str]:
    """The code and reason of a call; a stream that sends something is OK."""
    while True:
        got = await _answer(site, method, request, metadata)
        # The client's own library says so when a stream ends while it is still writing: it has heard no answer.
        if got != ("INTERNAL", "") or not method.descriptor.client_streaming:
            return got


async def _answer(site: Site, method: Method, request: Message, metadata: Metadata) -> tuple[str, str]:
    channel: Any = site.channels[method.process]
    raw = request.SerializeToString()
    try:
        if method.descriptor.client_streaming or method.descriptor.server_streaming:
            if method.descriptor.client_streaming:
                call = channel.stream_stream(method.path)(iter([raw]), metadata=metadata)
            else:
                call = channel.unary_stream(method.path)(raw, metadata=metadata)
            async for _ in call:
                break
            call.cancel()
        else:
            await channel.unary_unary(method.path)(raw, timeout=CALL_SECONDS, metadata=metadata)
    except grpc.aio.AioRpcError as error:
        peer = from_rpc_error(error)
        return peer.code.name, reason_name(peer.reason) if peer.reason else ""
    return "OK", ""


async def callers(site: Site, method: Method, column: str) -> tuple[Place, Sequence[Metadata]]:
    """Everybody of a column, and what they ask for."""
    audience = f"rami-{method.process}"
    if column == "none":
        return Place(), [(), (("x-authorization", "Bearer x"),)]
    if column in STRANGERS:
        # The same code judges them all: each method gets some, and all methods together all of them.
        tokens = STRANGERS[column](audience)
        return Place(), [bearer(token) for token in tokens[METHODS.index(method) % min(SPREAD, len(tokens)) :: SPREAD]]
    if column == "service":
        return Place(), [service(audience)]
    owner = "ann" if method.process != "matchmaking" else queue_caller(method.name, column)
    name = {"player": owner, "scoped": owner, "other": "eve", "watcher": "eve"}[column]
    place = await make_place(site, method.name, column)
    if column == "scoped":
        token = player_token(name, scope="service admin", roles=["service"], kind="service")
        return place, [bearer(token)]
    return place, [player(name)]


METHODS: Final = [
    *contract_methods(),
    *(method for name in ("ai", "game", "matchmaking") for method in common_methods(name)),
]


def test_every_method_stands_in_the_table() -> None:
    assert sorted(table()) == sorted({method.name for method in METHODS})
    assert {word for row in table().values() for word in row.values()} == set(WORDS)
    assert set(REQUESTS) <= set(table())


@pytest.mark.timeout(300)
async def test_every_cell_of_the_table(store_url: str, tmp_path: Path, bots: FakeBots) -> None:
    wrong = []
    async with site(store_url, tmp_path, bots) as all_three:
        for method in METHODS:
            make: Callable[[Place], Message] = REQUESTS.get(method.name, lambda _, empty=method.request: empty())  # type: ignore[misc]  # bound on purpose
            for column, word in table()[method.name].items():
                place, asking = await callers(all_three, method, column)
                for number, metadata in enumerate(asking):
                    got = await answer(all_three, method, make(place), metadata)
                    if not fits(got, word, method.name):
                        wrong.append(f"{method.process} {method.name}, {column} {number}: {got}, not {WORDS[word]}")
    assert not wrong, "\n".join(wrong)


def fits(got: tuple[str, str], word: str, name: str) -> bool:
    """Whether an answer is that of the table. A decision that is let in is refused for having no legal actions."""
    if word == "ok" and name.startswith("DecisionService/Decide"):
        return got in {("INVALID_ARGUMENT", "INVALID_REQUEST"), ("OK", "")}
    return got == WORDS[word]


async def test_good_tokens_of_every_kind_of_key_get_in(store_url: str, tmp_path: Path, bots: FakeBots) -> None:
    method = next(method for method in METHODS if method.name == "GameService/ListRooms")
    async with site(store_url, tmp_path, bots) as all_three:
        for token in (player_token("ann"), provided(ED, "EdDSA", "ed"), provided(RSA, "RS256", "rsa")):
            assert await answer(all_three, method, game.ListRoomsRequest(), bearer(token)) == ("OK", "")
