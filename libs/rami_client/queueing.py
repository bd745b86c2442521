"""Waiting in the queue, alone or as a party: tickets, and following one until it has a seat."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import grpc
from google.protobuf.duration_pb2 import Duration

from rami.matchmaking.v1 import matchmaking_service_pb2 as matchmaking
from rami_client.calls import new_request_id
from rami_client.errors import RpcError, TicketEndedError, UnavailableError, error_from_call
from rami_client.follow import PASSING_CODES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from rami.game.v1 import rules_pb2
    from rami.matchmaking.v1.matchmaking_service_pb2_grpc import MatchmakingServiceAsyncStub
    from rami_client.calls import Calls

_ENDED: Final = frozenset(
    {
        matchmaking.TICKET_STATE_MATCHED,
        matchmaking.TICKET_STATE_CANCELLED,
        matchmaking.TICKET_STATE_EXPIRED,
    }
)


class Queueing:
    """The part of a client that queues."""

    def __init__(self, stub: MatchmakingServiceAsyncStub, calls: Calls) -> None:
        self._matchmaking = stub
        self._calls = calls

    async def join_queue(
        self,
        *,
        player_counts: Iterable[int],
        rules: Iterable[rules_pb2.RuleOptions] = (),
        bots_allowed: bool = True,
        bot: str = "",
        weakest_bot: str = "",
        party: Iterable[str] = (),
        attributes: Mapping[str, str] | None = None,
        turn_limit_seconds: float | None = None,
        round_interval_seconds: float = 0.0,
    ) -> matchmaking.Ticket:
        """Queues this player for a table of one of these sizes, by one of these rules (none: the defaults).

        `bot` is the profile to fill with, empty for the service's choice among those from `weakest_bot` on.
        `party` names the other players, by id, of a party that this player leads: the ticket is FORMING until
        each of them has called `confirm_ticket` with its id, which the leader passes on. `attributes` are
        kept with the ticket and shown to nobody else. Only players with the same `turn_limit_seconds` (None: 60,
        0: no limit) and `round_interval_seconds` meet. Raises FailedPreconditionError ALREADY_QUEUED while
        another ticket is live.

        >>> ticket = await client.join_queue(player_counts=[2, 3], bots_allowed=True, weakest_bot="normal")
        >>> list(ticket.criteria.player_counts)
        [2, 3]
        """
        criteria = matchmaking.TicketCriteria(
            player_counts=player_counts,
            rules=rules,
            bots_allowed=bots_allowed,
            bot=bot,
            weakest_bot=weakest_bot,
            turn_time_limit=_span(turn_limit_seconds),
            round_interval=_span(round_interval_seconds),
        )
        request = matchmaking.CreateTicketRequest(
            request_id=new_request_id(), criteria=criteria, party_player_ids=party, attributes=attributes
        )
        return (await self._calls.unary(self._matchmaking.CreateTicket, request)).ticket

    async def confirm_ticket(self, ticket_id: str) -> matchmaking.Ticket:
        """Confirms to be of the party of a ticket that names this player.

        Raises NotFoundError TICKET_NOT_FOUND when it does not, FailedPreconditionError ALREADY_QUEUED while
        another ticket is live, or TICKET_OVER when the ticket has ended.

        >>> ticket = await client.join_queue(player_counts=[3], party=[friend.player_id])
        >>> confirmed = await friend.confirm_ticket(ticket.ticket_id)
        >>> [member.confirmed for member in confirmed.party]
        [True, True]
        """
        request = matchmaking.ConfirmTicketRequest(request_id=new_request_id(), ticket_id=ticket_id)
        return (await self._calls.unary(self._matchmaking.ConfirmTicket, request)).ticket

    async def get_ticket(self, ticket_id: str) -> matchmaking.Ticket:
        """An own ticket as it is now.

        >>> ticket = await client.join_queue(player_counts=[4], bots_allowed=False)
        >>> (await client.get_ticket(ticket.ticket_id)).state == TICKET_STATE_WAITING
        True
        """
        request = matchmaking.GetTicketRequest(ticket_id=ticket_id)
        return (await self._calls.unary(self._matchmaking.GetTicket, request)).ticket

    async def leave_queue(self, ticket_id: str) -> matchmaking.Ticket:
        """Withdraws a ticket, with the whole party. Raises FailedPreconditionError TICKET_MATCHED when it is too
        late.

        >>> ticket = await client.join_queue(player_counts=[4], bots_allowed=False)
        >>> (await client.leave_queue(ticket.ticket_id)).state == TICKET_STATE_CANCELLED
        True
        """
        request = matchmaking.CancelTicketRequest(request_id=new_request_id(), ticket_id=ticket_id)
        return (await self._calls.unary(self._matchmaking.CancelTicket, request)).ticket

    async def queue(
        self,
        *,
        player_counts: Iterable[int] = (),
        rules: Iterable[rules_pb2.RuleOptions] = (),
        turn_limit_seconds: float | None = None,
        round_interval_seconds: float | None = None,
    ) -> list[matchmaking.QueuePool]:
        """How many wait for what, for how long, and what a wait may be: of the pools of these sizes, rules and times,
        or of all where somebody waits.

        >>> [pool.seats for pool in await client.queue(player_counts=[2, 3])]
        [2, 3]
        """
        request = matchmaking.GetQueueRequest(
            player_counts=player_counts,
            rules=rules,
            page_size=100,
            turn_time_limit=_span(turn_limit_seconds),
            round_interval=_span(round_interval_seconds),
        )
        pools: list[matchmaking.QueuePool] = []
        while True:
            page = await self._calls.unary(self._matchmaking.GetQueue, request)
            pools.extend(page.pools)
            if not page.next_page_token:
                return pools
            request.page_token = page.next_page_token

    async def watch_ticket(self, ticket_id: str) -> AsyncIterator[matchmaking.Ticket]:
        """A ticket now and after each change, until it is matched, cancelled or expired. Survives broken
        streams.

        >>> ticket = await client.join_queue(player_counts=[4], bots_allowed=False)
        >>> async for ticket in client.watch_ticket(ticket.ticket_id):
        ...     if ticket.state == TICKET_STATE_WAITING:
        ...         ticket = await client.leave_queue(ticket.ticket_id)
        >>> ticket.state == TICKET_STATE_CANCELLED
        True
        """
        clock = asyncio.get_running_loop().time
        last: matchmaking.Ticket | None = None
        failures, heard_at = 0, clock()
        while True:
            call = self._matchmaking.WatchTicket(
                matchmaking.WatchTicketRequest(ticket_id=ticket_id), metadata=self._calls.metadata()
            )
            error: RpcError = UnavailableError(grpc.StatusCode.UNAVAILABLE, "the stream ended early")
            try:
                while isinstance(response := await self._calls.next_message(call), matchmaking.WatchTicketResponse):
                    failures, heard_at = 0, clock()
                    if response.ticket != last:
                        last = response.ticket
                        yield last
                    if last.state in _ENDED:
                        return
            except UnavailableError as failure:
                error = failure
            except grpc.aio.AioRpcError as failure:
                error = error_from_call(failure)
            finally:
                call.cancel()
            silent = clock() - heard_at > self._calls.retry.give_up_after_seconds
            if silent or error.code not in PASSING_CODES:
                raise error
            failures += 1
            await self._calls.pause(failures, error)

    async def wait_for_match(self, ticket_id: str) -> matchmaking.Assignment:
        """The seat that a ticket gets. Raises TicketEndedError when it is cancelled or expires instead.

        >>> ticket = await client.join_queue(player_counts=[2], bots_allowed=True)
        >>> assignment = await client.wait_for_match(ticket.ticket_id)
        >>> (await client.get_room(assignment.room_id)).seats[assignment.seat].player.display_name
        'Ada'
        """
        state = matchmaking.TICKET_STATE_UNSPECIFIED
        async for ticket in self.watch_ticket(ticket_id):
            state = ticket.state
            if state == matchmaking.TICKET_STATE_MATCHED:
                return ticket.assignment
        raise TicketEndedError(ticket_id, state, matchmaking.TicketState.Name(state))


def _span(seconds: float | None) -> Duration | None:
    """The message of a span of time; None, a field that is not set, for None."""
    if seconds is None:
        return None
    span = Duration()
    span.FromMilliseconds(round(seconds * 1000))
    return span
