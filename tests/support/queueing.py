"""A matchmaking replica in the test's own event loop, and players who queue on it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import grpc.aio
import pytest
import redis.asyncio

from matchmaking.config import MatchmakingSettings
from matchmaking.service import build
from rami.matchmaking.v1 import matchmaking_service_pb2 as messages
from rami.matchmaking.v1 import matchmaking_service_pb2_grpc, player_service_pb2_grpc
from rami_kit.auth import PLAYER_ISSUER, player_id
from rami_kit.errors import from_rpc_error, reason_name
from rami_kit.testing import channel_to, make_settings, player, running_app
from support.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from rami_kit.app import App

    Watch = grpc.aio.UnaryStreamCall[messages.WatchTicketRequest, messages.WatchTicketResponse]

TIMEOUT = 30.0
QUICK: dict[str, Any] = {
    "match_pass_seconds": 0.05,
    "larger_table_wait_seconds": 0.0,
    "bot_fill_wait_seconds": 0.2,
    "claim_lease_seconds": 1.0,
    "room_timeout_seconds": 30.0,
    "redis_timeout_seconds": 20.0,
    "guests_allowed": True,
}
"""Settings under which nothing takes long, and nothing is given up because the machine stands still for a while."""


class Client:
    """The stubs of a replica, wherever it runs."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self.queue = matchmaking_service_pb2_grpc.MatchmakingServiceStub(channel)
        self.players = player_service_pb2_grpc.PlayerServiceStub(channel)


class Replica(Client):
    """A replica in this event loop, and a look at its metrics."""

    def __init__(self, app: App, channel: grpc.aio.Channel) -> None:
        super().__init__(channel)
        self.app = app

    def sample(self, name: str, **labels: str) -> float:
        """A number of the service's own metrics; 0 for one that does not exist yet."""
        return self.app.metrics.registry.get_sample_value(f"rami_matchmaking_{name}", labels) or 0.0


@contextlib.asynccontextmanager
async def running_replica(store_url: str, game: str, **values: Any) -> AsyncIterator[Replica]:
    """A replica that is ready, with quick settings unless others are given."""
    settings = make_settings(MatchmakingSettings, store_url, game_address=game, **(QUICK | values))
    async with running_app(settings, build, "matchmaking") as app, channel_to(app) as channel:
        yield Replica(app, channel)


class Player:
    """Somebody who queues."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.player_id = player_id(PLAYER_ISSUER, subject)
        self.metadata = player(subject, name=subject.title())

    async def create(
        self,
        replica: Client,
        counts: Sequence[int] = (2,),
        *,
        request_id: str = "",
        **criteria: Any,
    ) -> messages.Ticket:
        """Queues."""
        request = messages.CreateTicketRequest(
            request_id=request_id or str(uuid4()),
            criteria=messages.TicketCriteria(player_counts=counts, **criteria),
        )
        answer = await replica.queue.CreateTicket(request, metadata=self.metadata, timeout=TIMEOUT)
        return answer.ticket

    async def get(self, replica: Client, ticket_id: str) -> messages.Ticket:
        """Reads a ticket."""
        request = messages.GetTicketRequest(ticket_id=ticket_id)
        answer = await replica.queue.GetTicket(request, metadata=self.metadata, timeout=TIMEOUT)
        return answer.ticket

    async def cancel(
        self,
        replica: Client,
        ticket_id: str,
        *,
        timeout: float = TIMEOUT,  # noqa: ASYNC109 - the call's deadline
    ) -> messages.Ticket:
        """Leaves the queue."""
        request = messages.CancelTicketRequest(request_id=str(uuid4()), ticket_id=ticket_id)
        answer = await replica.queue.CancelTicket(request, metadata=self.metadata, timeout=timeout)
        return answer.ticket

    def watch(self, replica: Client, ticket_id: str) -> Watch:
        """Follows a ticket."""
        return replica.queue.WatchTicket(messages.WatchTicketRequest(ticket_id=ticket_id), metadata=self.metadata)

    async def outcome(self, replica: Client, ticket_id: str) -> messages.Ticket:
        """Follows a ticket to its end."""
        last = messages.Ticket()
        async for news in self.watch(replica, ticket_id):
            last = news.ticket
        return last

    async def play(self, replica: Client, counts: Sequence[int] = (2,), **criteria: Any) -> messages.Ticket:
        """Queues and follows the ticket to its end."""
        ticket = await self.create(replica, counts, **criteria)
        return await self.outcome(replica, ticket.ticket_id)


async def next_ticket(watch: Watch) -> messages.Ticket:
    """The next news of a watch that has not ended."""
    async with asyncio.timeout(WAIT_SECONDS):
        news = await watch.read()
    assert isinstance(news, messages.WatchTicketResponse), "the watch has ended"
    return news.ticket


async def states_of(watch: Watch) -> list[messages.TicketState.ValueType]:
    """The states that a watch brings from now to its end."""
    states = []
    while isinstance(news := await watch.read(), messages.WatchTicketResponse):
        states.append(news.ticket.state)
    return states


async def refusal(call: Awaitable[object]) -> tuple[str, dict[str, str]]:
    """The reason and the metadata that a call is refused with."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    peer = from_rpc_error(caught.value)
    assert peer.reason is not None, caught.value
    return reason_name(peer.reason), peer.metadata


async def until(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    """Returns when a condition that has to be asked for holds; fails the test, naming `what`, when it never does."""
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while not await condition():  # noqa: ASYNC110 - the store tells nobody that a key is gone
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"it never came about that {what}") from None


async def key_names(client: redis.asyncio.Redis) -> set[str]:
    """Every key of the store."""
    found = await client.keys("*")
    return {name if isinstance(name, str) else name.decode() for name in found}


@contextlib.asynccontextmanager
async def store_client(url: str) -> AsyncIterator[redis.asyncio.Redis]:
    """A plain client that looks at what is stored."""
    async with redis.asyncio.Redis.from_url(url) as client:
        yield client
