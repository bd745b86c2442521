"""Tickets and the queue in the store: one method for every script, with its keys, times and replies.

Methods raise what the store raises (StoreUnavailable, StoreUncertain, StoreError). After a lost answer all of them
may be repeated: what has been done already is found and not done again.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from matchmaking import ticket_scripts
from matchmaking.queue_scripts import FOLLOW, SURVEY
from matchmaking.records import (
    FORMING,
    OVER,
    TICKET_FIELDS,
    WAITING,
    TicketState,
    UnreadableRecord,
    encode_attributes,
    encode_member,
    encode_ticket,
    ticket_state,
    wishes_of,
)
from rami_kit import keys
from rami_kit.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matchmaking.tickets import Member, Ticket, TicketTimes
    from rami_kit.redis_store import Store

EXPIRED_AT_ONCE: Final = 200
CHANGES_AT_ONCE: Final = 250
"""Taking in so many takes some milliseconds, and nobody is served meanwhile."""


class Queued(NamedTuple):
    """What became of a wish to queue; exactly one of the first four."""

    state: TicketState | None = None
    """The live ticket of the player, or the one that the same request has made before."""
    other_ticket_id: str = ""
    """The player has a live ticket with other wishes."""
    reused: bool = False
    """The same request has made a ticket with other wishes."""
    record: bytes | None = None
    """What the player's record is, in place of the one that the skill was taken from: nothing is done."""
    made: bool = False
    """The ticket is new."""


class Cancelled(NamedTuple):
    """What became of a wish to leave."""

    state: TicketState
    now: bool
    """The ticket was taken out by this call."""
    waited_ms: int


class QueueChange(NamedTuple):
    """One entry of the stream of changes."""

    ticket_id: str
    entry: dict[bytes, bytes] | None
    """What came in: d, t, b and the members as in a ticket's hash. None: the ticket left the queue."""


class Changes(NamedTuple):
    """What has changed in the queue after a place in the stream."""

    ever: int
    """How many changes there have ever been; -1 when there is no stream."""
    live: int
    """How many tickets wait or form."""
    last_id: bytes
    changes: list[QueueChange]


class Survey(NamedTuple):
    """The queue as a whole at one moment."""

    ever: int
    last_id: bytes
    ticket_ids: list[str]
    """Those that wait, and those that form."""


class TicketStore:
    """The only way to tickets, but for what becomes of them in a claim: see `matchmaking.claim_store`."""

    def __init__(self, store: Store, times: TicketTimes) -> None:
        self._store = store
        self.times = times

    async def create(
        self,
        ticket: Ticket,
        party: Sequence[str] = (),
        attributes: Mapping[str, str] | None = None,
        record: bytes = b"",
    ) -> Queued:
        """Queues a player, or begins to form a party with others; or finds the live ticket. The store sets the
        time of creation. `record`: that of the player which the skill is taken from; empty for none.
        """
        reply = await self._store.run(
            ticket_scripts.CREATE,
            [
                keys.ticket_key(ticket.ticket_id),
                keys.live_ticket_key(ticket.player_id),
                keys.waiting_key(),
                keys.queue_changes_key(),
                keys.player_key(ticket.player_id),
            ],
            [
                ticket.ticket_id,
                ticket.player_id,
                encode_ticket(ticket, party),
                wishes_of(ticket, party, attributes),
                self.times.idle_ms,
                self.times.keep_ms,
                " ".join((ticket.player_id, *party)),
                encode_attributes(attributes or {}),
                self.times.confirm_ms,
                record,
            ],
            durable=True,
        )
        kind = reply[0]
        if kind == b"made":
            return Queued(state=self._made(ticket, int(reply[1]), party, attributes or {}), made=True)
        if kind == b"reused":
            return Queued(reused=True)
        if kind == b"queued":
            return Queued(other_ticket_id=reply[1].decode())
        if kind == b"rated":
            return Queued(record=reply[1])
        return Queued(state=ticket_state(reply[1].decode(), reply[2:]))

    def _made(self, ticket: Ticket, now_ms: int, party: Sequence[str], attributes: Mapping[str, str]) -> TicketState:
        """The state of a new ticket, as reading it would give it."""
        return TicketState(
            ticket.ticket_id,
            FORMING if party else WAITING,
            replace(ticket, create_ms=now_ms),
            now_ms,
            room_id="",
            seats=(),
            player_ids=(ticket.player_id, *party),
            attributes=dict(attributes),
            confirm_by_ms=now_ms + self.times.confirm_ms if party else 0,
        )

    async def confirm(self, ticket_id: str, member: Member) -> Queued | None:
        """A member confirms to be of a party; a ticket that is not forming stays as it is. None when the member
        was not named.
        """
        reply = await self._store.run(
            ticket_scripts.CONFIRM,
            [
                keys.ticket_key(ticket_id),
                keys.live_ticket_key(member.player_id),
                keys.waiting_key(),
                keys.queue_changes_key(),
            ],
            [ticket_id, member.player_id, encode_member(member), self.times.idle_ms, self.times.keep_ms],
            durable=True,
        )
        if reply is None:
            return None
        if reply[0] == b"queued":
            return Queued(other_ticket_id=reply[1].decode())
        return Queued(state=ticket_state(ticket_id, reply[2:]))

    async def read(self, ticket_id: str, player_id: str, *, may_be_over: bool = False) -> TicketState | None:
        """A player's ticket, which stays alive through it; None when the player has none with this id.

        The end of a ticket is told only once it is durable: nobody could take it back. Where it `may_be_over`, it is
        read so at once.
        """
        state = await self._read(ticket_id, player_id, durable=may_be_over)
        if not may_be_over and state is not None and state.state in OVER:
            state = await self._read(ticket_id, player_id, durable=True)
        return state

    async def _read(self, ticket_id: str, player_id: str, *, durable: bool) -> TicketState | None:
        reply = await self._store.run(
            ticket_scripts.READ,
            [keys.ticket_key(ticket_id), keys.waiting_key(), keys.live_ticket_key(player_id)],
            [ticket_id, player_id, self.times.idle_ms],
            durable=durable,
        )
        return None if reply is None else ticket_state(ticket_id, reply)

    async def cancel(self, ticket_id: str, player_id: str) -> Cancelled | None:
        """Takes a player's waiting ticket out; None when the player has none with this id."""
        reply = await self._store.run(
            ticket_scripts.CANCEL,
            [
                keys.ticket_key(ticket_id),
                keys.live_ticket_key(player_id),
                keys.waiting_key(),
                keys.queue_changes_key(),
            ],
            [ticket_id, player_id, self.times.keep_ms],
            durable=True,
        )
        if reply is None:
            return None
        return Cancelled(ticket_state(ticket_id, reply[2:]), reply[0] == 1, int(reply[1]))

    async def expire(self, *, grace_ms: int = 0) -> list[int]:
        """Takes out tickets that nobody has read in time; how long each had waited, in ms. With a grace, those of them
        that wait get so long once more, and only parties that are not complete in time end.
        """
        reply = await self._store.run(
            ticket_scripts.EXPIRE,
            [keys.waiting_key(), keys.queue_changes_key()],
            [EXPIRED_AT_ONCE, self.times.keep_ms, grace_ms],
        )
        return [int(waited) for waited in reply]

    async def follow(self, last_id: bytes) -> Changes:
        """The next CHANGES_AT_ONCE changes of the queue, at most, after `last_id`."""
        reply = await self._store.run(
            FOLLOW, [keys.queue_changes_key(), keys.waiting_key()], [last_id, CHANGES_AT_ONCE]
        )
        changes = []
        for entry_id, fields in reply[2:]:
            entry = dict(zip(fields[::2], fields[1::2], strict=True))
            ticket_id = entry.get(b"i", b"").decode("ascii", "replace")
            changes.append(QueueChange(ticket_id, entry if b"d" in entry else None))
            last_id = entry_id
        return Changes(int(reply[0]), int(reply[1]), last_id, changes)

    async def survey(self) -> Survey:
        """The ids of all tickets that wait or form, and the place in the stream of changes that belongs to them."""
        ever, last_id, ids = await self._store.run(SURVEY, [keys.queue_changes_key(), keys.waiting_key()])
        return Survey(int(ever), last_id, [ticket_id.decode("ascii", "replace") for ticket_id in ids])

    async def look_up(self, ticket_ids: Sequence[str]) -> list[TicketState | None]:
        """The states of tickets, whoever they belong to; None for what is gone or cannot be read."""
        replies = await asyncio.gather(
            *(self._store.read("HMGET", keys.ticket_key(one), *TICKET_FIELDS) for one in ticket_ids),
            return_exceptions=True,
        )
        states: list[TicketState | None] = []
        for ticket_id, reply in zip(ticket_ids, replies, strict=True):
            if isinstance(reply, StoreError):
                states.append(None)  # a key that is no hash
            elif isinstance(reply, BaseException):
                raise reply
            else:
                states.append(_readable(ticket_id, reply))
        return states

    async def waits(self, pool: str) -> list[int]:
        """How long the latest matched players of a pool waited, in ms."""
        reply = await self._store.read("LRANGE", keys.waits_key(pool), 0, -1)
        return [int(waited) for waited in reply]


def _readable(ticket_id: str, fields: Sequence[bytes | None]) -> TicketState | None:
    try:
        return ticket_state(ticket_id, fields)
    except UnreadableRecord:
        return None


__all__ = ["Cancelled", "Changes", "QueueChange", "Queued", "Survey", "TicketStore"]
