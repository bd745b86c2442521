"""A matchmaking service for client tests: tickets whose states a test says, and faults on request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

import grpc

from rami.matchmaking.v1 import matchmaking_service_pb2 as matchmaking
from rami.matchmaking.v1 import player_service_pb2 as players
from support.self_signed import self_signed
from support.statuses import Context, abort, status_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from google.protobuf.message import Message
    from google.rpc import status_pb2


class FakeQueue:
    """The server. Use it as an async context manager; `target` is where it listens."""

    def __init__(self) -> None:
        self.target = ""
        self.ticket = matchmaking.Ticket(ticket_id="ticket-1", state=matchmaking.TICKET_STATE_WAITING)
        self.requests: list[Message] = []
        self.metadata: list[dict[str, str | bytes]] = []
        self.failures: list[status_pb2.Status] = []
        """Statuses that the next calls end with, in order."""
        self.watches = 0
        """Streams that have been opened."""
        self.breaks = 0
        self.lost_streams = 0
        """So many of the next watches say what the ticket is and then no more, and never end."""
        self._changed = asyncio.Event()
        self._server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
        unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        tickets = {
            "CreateTicket": _handler(unary, self._create_ticket, matchmaking.CreateTicketRequest),
            "GetTicket": _handler(unary, self._get_ticket, matchmaking.GetTicketRequest),
            "CancelTicket": _handler(unary, self._cancel_ticket, matchmaking.CancelTicketRequest),
            "WatchTicket": _handler(stream, self._watch_ticket, matchmaking.WatchTicketRequest),
        }
        guests = {
            "CreateGuest": _handler(unary, self._create_guest, players.CreateGuestRequest),
            "ListLeaderboard": _handler(unary, self._list_leaderboard, players.ListLeaderboardRequest),
        }
        for service, handlers in (("MatchmakingService", tickets), ("PlayerService", guests)):
            handler = grpc.method_handlers_generic_handler(f"rami.matchmaking.v1.{service}", handlers)
            self._server.add_generic_rpc_handlers((handler,))

    async def __aenter__(self) -> Self:
        self.target = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop(None)

    def listen_with_tls(self, folder: Path) -> tuple[str, dict[str, str]]:
        """Listens with TLS as well, before it is entered; its URL, and what the environment of a client has to say."""
        certificate, key = self_signed(folder, "localhost")
        credentials = grpc.ssl_server_credentials([(key.read_bytes(), certificate.read_bytes())])
        port = self._server.add_secure_port("localhost:0", credentials)
        return f"https://localhost:{port}", {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(certificate)}

    def change(self, state: matchmaking.TicketState.ValueType, room_id: str = "") -> None:
        """The ticket takes another state."""
        self.ticket.state = state
        if room_id:
            self.ticket.assignment.CopyFrom(matchmaking.Assignment(room_id=room_id, seat=1))
        self._wake()

    def break_streams(self) -> None:
        """Ends every open watch."""
        self.breaks += 1
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _enter(self, request: Message, context: Context) -> None:
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata() or ()))
        if self.failures:
            await abort(context, self.failures.pop(0))

    async def _create_ticket(
        self, request: matchmaking.CreateTicketRequest, context: Context
    ) -> matchmaking.CreateTicketResponse:
        await self._enter(request, context)
        self.ticket.criteria.CopyFrom(request.criteria)
        return matchmaking.CreateTicketResponse(ticket=self.ticket)

    async def _get_ticket(
        self, request: matchmaking.GetTicketRequest, context: Context
    ) -> matchmaking.GetTicketResponse:
        await self._enter(request, context)
        return matchmaking.GetTicketResponse(ticket=self.ticket)

    async def _cancel_ticket(
        self, request: matchmaking.CancelTicketRequest, context: Context
    ) -> matchmaking.CancelTicketResponse:
        await self._enter(request, context)
        self.change(matchmaking.TICKET_STATE_CANCELLED)
        return matchmaking.CancelTicketResponse(ticket=self.ticket)

    async def _watch_ticket(self, request: matchmaking.WatchTicketRequest, context: Context) -> None:
        self.watches += 1
        breaks = self.breaks
        await self._enter(request, context)
        while True:
            changed = self._changed
            await context.write(matchmaking.WatchTicketResponse(ticket=self.ticket))
            if self.ticket.state > matchmaking.TICKET_STATE_CLAIMED:
                return
            if self.lost_streams:
                self.lost_streams -= 1
                await asyncio.Event().wait()
            await changed.wait()
            if breaks != self.breaks:
                await abort(context, status_of("SHUTTING_DOWN", retry_after_seconds=0.01))

    async def _create_guest(self, request: players.CreateGuestRequest, context: Context) -> players.CreateGuestResponse:
        await self._enter(request, context)
        return players.CreateGuestResponse(player_id=f"id of {request.display_name}", token="guest-token")

    async def _list_leaderboard(
        self, request: players.ListLeaderboardRequest, context: Context
    ) -> players.ListLeaderboardResponse:
        """Pages of two, whatever is asked for, over five players."""
        await self._enter(request, context)
        first = int(request.page_token or "1")
        ranks = range(first, min(first + 2, 6))
        return players.ListLeaderboardResponse(
            players=[players.RankedPlayer(rank=rank) for rank in ranks],
            next_page_token=str(first + 2) if first + 2 < 6 else "",
        )


def _handler(
    kind: Callable[..., grpc.RpcMethodHandler[Any, Any]], method: Callable[..., Any], request: type[Message]
) -> grpc.RpcMethodHandler[Any, Any]:
    """A method of the service; answers are serialized as the messages they are."""
    return kind(
        method,
        request_deserializer=request.FromString,
        response_serializer=lambda response: response.SerializeToString(),
    )
