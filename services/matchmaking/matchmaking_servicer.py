"""MatchmakingService: players queue, follow their ticket, and leave the queue."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from google.protobuf.duration_pb2 import Duration

from matchmaking.criteria import (
    parse_counts,
    parse_party,
    parse_rules,
    parse_tempo,
    ticket_from_request,
    ticket_message,
)
from matchmaking.page_tokens import format_page_token, parse_page_token
from matchmaking.player_store import skill_in
from matchmaking.records import CANCELLED, CLAIMED, EXPIRED, MATCHED, OVER, WAITING, is_ticket_id
from matchmaking.tickets import Member, PoolKey
from rami.matchmaking.v1 import matchmaking_service_pb2 as messages
from rami.matchmaking.v1 import matchmaking_service_pb2_grpc
from rami_kit.auth import current_caller
from rami_kit.errors import InvalidRequest, RamiError, reasons, refused, shutting_down
from rami_kit.paging import page_size
from rami_kit.request_ids import require_request_id
from rami_wire.rules import options_to_proto

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    import grpc.aio

    from matchmaking.player_store import PlayerStore
    from matchmaking.queue_report import PoolReport, QueueReport
    from matchmaking.records import TicketState
    from matchmaking.ticket_store import Cancelled, Queued, TicketStore
    from matchmaking.tickets import Ticket
    from matchmaking.watchers import TicketWatchers
    from rami_kit.metrics import MatchmakingMetrics

    Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]

WATCHES_PER_TICKET: Final = 8
"""Watches of one ticket by one player in one process; a player needs one for every device."""
DEFAULT_PAGE_SIZE: Final = 50
MAX_PAGE_SIZE: Final = 100
HEARTBEATS: Final = 3
"""A watch tells so often of a ticket, and reads it, within the time after which one that nobody reads expires."""
ANSWER_SECONDS: Final = 0.25
"""Kept of a deadline for the answer itself."""
LOOK_AGAIN_SECONDS: Final = 1.0
"""While it waits for the outcome of a claim, CancelTicket looks again after so long even without news."""


class MatchmakingServicer(matchmaking_service_pb2_grpc.MatchmakingServiceServicer):
    """The servicer. Every method is a player's own: somebody else's ticket does not exist."""

    def __init__(
        self,
        *,
        store: TicketStore,
        players: PlayerStore,
        report: QueueReport,
        watchers: TicketWatchers,
        on_arrival: Callable[[], None],
        bot_fill_ms: int,
        draining: asyncio.Event,
        metrics: MatchmakingMetrics,
    ) -> None:
        """`on_arrival` is told when a ticket has come into the queue through here. `draining` set and the watchers
        woken: every watch ends with SHUTTING_DOWN.
        """
        self._store = store
        self._players = players
        self._report = report
        self._watchers = watchers
        self._on_arrival = on_arrival
        self._bot_fill_ms = bot_fill_ms
        self._draining = draining
        self._heartbeat_seconds = store.times.idle_ms / 1000 / HEARTBEATS
        self._created = metrics.ticket_events.labels("created")
        self._cancelled = metrics.ticket_events.labels("cancelled")
        self._cancelled_wait = metrics.wait_seconds.labels("0", "none", "cancelled")

    async def CreateTicket(
        self, request: messages.CreateTicketRequest, _context: Context
    ) -> messages.CreateTicketResponse:
        """Queues the caller, or gives the live ticket."""
        caller = current_caller()
        ticket = ticket_from_request(request, caller, self._players.is_bot)
        queued = await self._queue(ticket, parse_party(request.party_player_ids, caller), request.attributes)
        if queued.reused:
            message = "the request_id has been used for other wishes"
            raise refused(reasons.ERROR_REASON_REQUEST_ID_REUSED, message)
        if queued.other_ticket_id:
            raise _already_queued(queued.other_ticket_id)
        assert queued.state is not None
        if queued.made:
            self._created.inc()
            if queued.state.state == WAITING:
                self._on_arrival()
        return messages.CreateTicketResponse(ticket=ticket_message(queued.state, caller.player_id))

    async def ConfirmTicket(
        self, request: messages.ConfirmTicketRequest, _context: Context
    ) -> messages.ConfirmTicketResponse:
        """Joins the party of a ticket that names the caller."""
        require_request_id(request.request_id)
        ticket_id, caller = _checked_ticket_id(request.ticket_id), current_caller()
        skill = await self._players.skill_of(caller.player_id)
        queued = await self._store.confirm(ticket_id, Member(caller.player_id, caller.name, skill))
        if queued is None:
            raise _not_found()
        if queued.other_ticket_id:
            raise _already_queued(queued.other_ticket_id)
        assert queued.state is not None
        if queued.state.state in (CANCELLED, EXPIRED):
            name = messages.TicketState.Name(queued.state.state)
            raise refused(reasons.ERROR_REASON_TICKET_OVER, "the ticket is over: make a new one", state=name)
        if queued.state.state == WAITING:
            self._on_arrival()
        return messages.ConfirmTicketResponse(ticket=ticket_message(queued.state, caller.player_id))

    async def GetTicket(self, request: messages.GetTicketRequest, _context: Context) -> messages.GetTicketResponse:
        """Reads an own ticket, and tells that the caller is still there."""
        state = await self._read(request.ticket_id)
        return messages.GetTicketResponse(ticket=ticket_message(state, current_caller().player_id))

    async def WatchTicket(
        self, request: messages.WatchTicketRequest, _context: Context
    ) -> AsyncIterator[messages.WatchTicketResponse]:
        """Follows an own ticket to its end, and tells that the caller is still there."""
        ticket_id, player_id = _checked_ticket_id(request.ticket_id), current_caller().player_id
        if self._watchers.count(ticket_id, player_id) >= WATCHES_PER_TICKET:
            raise refused(
                reasons.ERROR_REASON_LIMIT_REACHED,
                "the ticket is watched too often",
                limit="watches_per_ticket",
                value=WATCHES_PER_TICKET,
            )
        with self._watchers.watching(ticket_id, player_id) as changed:
            sent: TicketState | None = None
            quiet_until = 0.0
            has_news = False
            while True:
                changed.clear()
                state = await self._read(ticket_id, may_be_over=has_news)
                now = time.monotonic()
                if state != sent or now >= quiet_until:
                    yield messages.WatchTicketResponse(ticket=ticket_message(state, player_id))
                    sent, quiet_until = state, now + self._heartbeat_seconds
                if state.state in OVER:
                    return
                if self._draining.is_set():
                    raise shutting_down()
                # Where nothing is new, the ticket is sent again, and kept alive by reading it.
                has_news = await _set_within(changed, max(0.0, quiet_until - now))

    async def CancelTicket(
        self, request: messages.CancelTicketRequest, context: Context
    ) -> messages.CancelTicketResponse:
        """Leaves the queue. While a room is being created for the ticket, waits for what comes of it."""
        require_request_id(request.request_id)
        ticket_id, player_id = _checked_ticket_id(request.ticket_id), current_caller().player_id
        cancelled = await self._cancel(ticket_id, player_id)
        if cancelled.state.state == CLAIMED:
            left = context.time_remaining()
            cancelled = await self._await_claim(ticket_id, player_id, (left or 0.0) - ANSWER_SECONDS)
        state = cancelled.state
        if state.state == MATCHED:
            raise refused(reasons.ERROR_REASON_TICKET_MATCHED, "the ticket has a seat already", room_id=state.room_id)
        if cancelled.now:
            self._cancelled.inc()
            self._cancelled_wait.observe(cancelled.waited_ms / 1000)
        return messages.CancelTicketResponse(ticket=ticket_message(state, player_id))

    async def GetQueue(self, request: messages.GetQueueRequest, _context: Context) -> messages.GetQueueResponse:
        """Tells how many wait for which table, how long that took others, and how long it may take."""
        size = page_size(request.page_size, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)
        first = parse_page_token(request.page_token) if request.page_token else 0
        if request.player_counts:
            rules = parse_rules(request.rules, "rules")
            counts, tempo = parse_counts(request.player_counts, "player_counts"), parse_tempo(request)
            wanted = [PoolKey(seats, one, tempo) for seats in counts for one in rules]
        elif request.rules:
            raise InvalidRequest("rules", "must be empty where no player_counts are named")
        elif request.HasField("turn_time_limit") or request.HasField("round_interval"):
            field = "turn_time_limit" if request.HasField("turn_time_limit") else "round_interval"
            raise InvalidRequest(field, "must be unset where no player_counts are named")
        else:
            wanted = await self._report.waiting_pools()
        response = messages.GetQueueResponse(bot_fill_wait=_duration(self._bot_fill_ms))
        for report in await self._report.pools(wanted[first : first + size]):
            _add_pool(response, report)
        if len(wanted) > first + size:
            response.next_page_token = format_page_token(first + size)
        return response

    async def _cancel(self, ticket_id: str, player_id: str) -> Cancelled:
        cancelled = await self._store.cancel(ticket_id, player_id)
        if cancelled is None:
            raise _not_found()
        return cancelled

    async def _await_claim(self, ticket_id: str, player_id: str, seconds: float) -> Cancelled:
        """Cancels as soon as it is known what comes of a claim. Raises PEER_UNAVAILABLE when that takes too long."""
        give_up_at = time.monotonic() + seconds
        with self._watchers.watching(ticket_id, player_id) as changed:
            while True:
                changed.clear()
                cancelled = await self._cancel(ticket_id, player_id)
                if cancelled.state.state != CLAIMED:
                    return cancelled
                wait = min(LOOK_AGAIN_SECONDS, give_up_at - time.monotonic())
                if wait <= 0:
                    message = "the room of the ticket is still being created: call again"
                    raise refused(reasons.ERROR_REASON_PEER_UNAVAILABLE, message, retry_after_seconds=1.0, peer="game")
                # It looks again also without news: a message may have been lost.
                await _set_within(changed, wait)

    async def _queue(self, ticket: Ticket, party: Sequence[str], attributes: Mapping[str, str]) -> Queued:
        """Queues with the skill that the player has at this moment. Mostly it is known without asking for it first:
        the store turns down what rests on another record, and tells that one.
        """
        record = self._players.remembered(ticket.player_id)
        while True:
            wish = replace(ticket, skill=skill_in(record))
            queued = await self._store.create(wish, party, attributes, record)
            if queued.record is None:
                return queued
            record = queued.record
            self._players.remember(ticket.player_id, record)

    async def _read(self, text: str, *, may_be_over: bool = False) -> TicketState:
        ticket_id = _checked_ticket_id(text)
        state = await self._store.read(ticket_id, current_caller().player_id, may_be_over=may_be_over)
        if state is None:
            raise _not_found()
        return state


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    """Returns when the event is set, or after so long; whether it is set."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


def _checked_ticket_id(text: str) -> str:
    if not text:
        raise InvalidRequest("ticket_id", "must be set")
    if not is_ticket_id(text):
        raise _not_found()
    return text


def _add_pool(response: messages.GetQueueResponse, report: PoolReport) -> None:
    key = report.key
    pool = response.pools.add(seats=key.seats, rules=options_to_proto(key.rules), waiting_players=report.players)
    pool.turn_time_limit.CopyFrom(_duration(key.tempo.turn_limit_ms))
    pool.round_interval.CopyFrom(_duration(key.tempo.round_interval_ms))
    for field, milliseconds in (
        (pool.longest_wait, report.longest_ms),
        (pool.median_wait, report.median_ms),
        (pool.p95_wait, report.p95_ms),
        (pool.estimated_wait, report.estimate_ms),
    ):
        if milliseconds is not None:
            field.CopyFrom(_duration(milliseconds))


def _already_queued(ticket_id: str) -> RamiError:
    return refused(
        reasons.ERROR_REASON_ALREADY_QUEUED,
        "there is a live ticket with other wishes: cancel it first",
        ticket_id=ticket_id,
    )


def _not_found() -> RamiError:
    return refused(reasons.ERROR_REASON_TICKET_NOT_FOUND, "you have no ticket with this id")


def _duration(milliseconds: int) -> Duration:
    milliseconds = max(0, milliseconds)
    return Duration(seconds=milliseconds // 1000, nanos=milliseconds % 1000 * 1_000_000)


__all__ = ["MatchmakingServicer"]
