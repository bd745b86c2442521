"""Stored records to plain objects and back, and the ids that are made of what a player says.

Reading never trusts what is in the store: a record that cannot be read is UnreadableRecord, and whoever
meets one leaves it out and goes on.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from google.protobuf.message import DecodeError

from matchmaking.tickets import Ticket
from rami.matchmaking.v1 import matchmaking_service_pb2 as messages
from rami.store.v1 import ticket_pb2
from rami_engine.errors import OptionsError
from rami_engine.rules import RuleOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matchmaking.tickets import Table

SCHEMA: Final = 1

WAITING: Final = messages.TICKET_STATE_WAITING
CLAIMED: Final = messages.TICKET_STATE_CLAIMED
MATCHED: Final = messages.TICKET_STATE_MATCHED
CANCELLED: Final = messages.TICKET_STATE_CANCELLED
EXPIRED: Final = messages.TICKET_STATE_EXPIRED
OVER: Final = frozenset({MATCHED, CANCELLED, EXPIRED})
"""States that a ticket does not leave."""

TICKET_FIELDS: Final = ("s", "d", "t", "b", "r", "e")
"""The fields of a ticket's hash that TicketState is read from: state, record, creation, rest, room, seat."""

_TICKET_ID: Final = re.compile(r"[a-z2-7]{26}", re.ASCII)


class UnreadableRecord(ValueError):  # noqa: N818 - named for what is wrong with the record
    """A stored record of an unknown layout, or none at all. The text never repeats the bytes."""


@dataclass(frozen=True, slots=True)
class TicketState:
    """A ticket as the store has it."""

    ticket_id: str
    state: messages.TicketState.ValueType
    ticket: Ticket | None
    """None when the record cannot be read."""
    create_ms: int
    room_id: str
    """Set once the state is MATCHED."""
    seat: int


@dataclass(frozen=True, slots=True)
class ClaimedSeat:
    """One seat of a claimed table: a ticket's or a bot's."""

    ticket_id: str = ""
    player_id: str = ""
    name: str = ""
    bot: str = ""
    create_ms: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A table that has been taken out of the queue and gets a room."""

    match_id: UUID
    rules: RuleOptions
    seats: tuple[ClaimedSeat, ...]

    @property
    def key(self) -> str:
        """The match id as the store's keys spell it: 32 hex digits."""
        return self.match_id.hex

    @property
    def people(self) -> list[tuple[int, ClaimedSeat]]:
        """The seats that tickets hold, with their numbers."""
        return [(number, seat) for number, seat in enumerate(self.seats) if seat.ticket_id]

    @property
    def pool(self) -> str:
        """The pool that the table belongs to, see `pool_name`."""
        return pool_name(len(self.seats), self.rules)


def ticket_id_for(player_id: str, request_id: UUID) -> str:
    """The id of the ticket that a request makes: a repeat of the request makes the same one."""
    digest = hashlib.blake2b(player_id.encode() + b"\0" + request_id.bytes, digest_size=16).digest()
    return base64.b32encode(digest).decode().rstrip("=").lower()


def is_ticket_id(text: str) -> bool:
    """Whether a text has the form of a ticket id. Nothing else gets into a key."""
    return _TICKET_ID.fullmatch(text) is not None


def pool_name(seats: int, rules: RuleOptions) -> str:
    """A short name of a pool for keys, such as "4:100" or "2:50ad"."""
    return f"{seats}:{rules.target_score}{'a' * rules.ace_high}{'d' * rules.discard_to_win}"


def wishes_of(ticket: Ticket) -> bytes:
    """The fingerprint of what a ticket accepts: equal for equal wishes."""
    wishes = repr((ticket.player_counts, ticket.rules, ticket.bots_allowed, ticket.bot))
    return hashlib.blake2b(wishes.encode(), digest_size=8).digest()


def encode_ticket(ticket: Ticket) -> bytes:
    """The part of a ticket that never changes; its times stand beside it."""
    return ticket_pb2.StoredTicket(
        schema=SCHEMA,
        player_id=ticket.player_id,
        display_name=ticket.name,
        player_counts=ticket.player_counts,
        rules=[_store_rules(rules) for rules in ticket.rules],
        bots_allowed=ticket.bots_allowed,
        bot=ticket.bot,
        skill=ticket.skill,
    ).SerializeToString()


def decode_ticket(ticket_id: str, record: bytes, create_ms: int, not_before_ms: int) -> Ticket:
    """The ticket of a record. Raises UnreadableRecord."""
    stored = ticket_pb2.StoredTicket()
    _parse(stored, record)
    counts = tuple(stored.player_counts)
    if (
        not stored.player_id
        or not counts
        or any(not 2 <= count <= 4 for count in counts)
        or list(counts) != sorted(set(counts))
        or not stored.rules
        or not math.isfinite(stored.skill)
    ):
        raise UnreadableRecord("a ticket without sense")
    return Ticket(
        ticket_id=ticket_id,
        player_id=stored.player_id,
        name=stored.display_name,
        player_counts=counts,
        rules=tuple(dict.fromkeys(_load_rules(rules) for rules in stored.rules)),
        bots_allowed=stored.bots_allowed,
        bot=stored.bot,
        skill=stored.skill,
        create_ms=create_ms,
        not_before_ms=not_before_ms,
    )


def ticket_state(ticket_id: str, fields: Sequence[bytes | None]) -> TicketState:
    """The state of a ticket from the values of TICKET_FIELDS, the first of which must be there.

    Raises UnreadableRecord for a hash that is no ticket; a ticket whose record alone is unreadable has no
    `ticket`.
    """
    state, record, create, rest, room, seat = fields
    try:
        create_ms, not_before_ms = int(create or b""), int(rest or b"0")
        number = int(state or b"")
        seat_number = int(seat or b"0")
    except ValueError:
        raise UnreadableRecord("a ticket without its times or state") from None
    if number not in (WAITING, CLAIMED, MATCHED, CANCELLED, EXPIRED):
        raise UnreadableRecord("a ticket in an unknown state")
    ticket = None
    try:
        ticket = decode_ticket(ticket_id, record or b"", create_ms, not_before_ms)
    except UnreadableRecord:
        ticket = None
    known = messages.TicketState.ValueType(number)
    return TicketState(ticket_id, known, ticket, create_ms, (room or b"").decode("ascii", "replace"), seat_number)


def claim_of(table: Table, match_id: UUID) -> Claim:
    """The claim of a table. Who sits where follows from the match id, so that waiting long wins no seat."""
    seats = [
        ClaimedSeat(ticket.ticket_id, ticket.player_id, ticket.name, "", ticket.create_ms) for ticket in table.tickets
    ]
    seats += [ClaimedSeat(bot=bot) for bot in table.bots]
    lots = [
        hashlib.blake2b(bytes([number]), key=match_id.bytes, digest_size=8).digest() for number in range(len(seats))
    ]
    order = sorted(range(len(seats)), key=lots.__getitem__)
    return Claim(match_id, table.rules, tuple(seats[number] for number in order))


def encode_claim(claim: Claim) -> bytes:
    """The record of a claim."""
    return ticket_pb2.StoredClaim(
        schema=SCHEMA,
        match_id=claim.match_id.bytes,
        rules=_store_rules(claim.rules),
        seats=[
            ticket_pb2.ClaimedSeat(
                ticket_id=seat.ticket_id,
                player_id=seat.player_id,
                display_name=seat.name,
                bot=seat.bot,
                create_ms=seat.create_ms,
            )
            for seat in claim.seats
        ],
    ).SerializeToString()


def decode_claim(record: bytes) -> Claim:
    """The claim of a record. Raises UnreadableRecord."""
    stored = ticket_pb2.StoredClaim()
    _parse(stored, record)
    if len(stored.match_id) != 16 or not 2 <= len(stored.seats) <= 4:
        raise UnreadableRecord("a claim without sense")
    seats = tuple(
        ClaimedSeat(seat.ticket_id, seat.player_id, seat.display_name, seat.bot, seat.create_ms)
        for seat in stored.seats
    )
    if any(bool(seat.ticket_id) == bool(seat.bot) for seat in seats):
        raise UnreadableRecord("a claim without sense")
    if not any(seat.ticket_id for seat in seats):
        raise UnreadableRecord("a claim without people")
    return Claim(UUID(bytes=stored.match_id), _load_rules(stored.rules), seats)


def _parse(message: ticket_pb2.StoredTicket | ticket_pb2.StoredClaim, record: bytes) -> None:
    try:
        message.ParseFromString(record)
    except DecodeError:
        raise UnreadableRecord("bytes that are no record") from None
    if message.schema != SCHEMA:
        raise UnreadableRecord("a record of an unknown layout")


def _store_rules(rules: RuleOptions) -> ticket_pb2.StoredRules:
    return ticket_pb2.StoredRules(
        target_score=rules.target_score, ace_high=rules.ace_high, discard_to_win=rules.discard_to_win
    )


def _load_rules(stored: ticket_pb2.StoredRules) -> RuleOptions:
    try:
        return RuleOptions(stored.target_score, stored.ace_high, stored.discard_to_win)
    except OptionsError:
        raise UnreadableRecord("rules outside their ranges") from None


__all__ = [
    "CANCELLED",
    "CLAIMED",
    "EXPIRED",
    "MATCHED",
    "OVER",
    "TICKET_FIELDS",
    "WAITING",
    "Claim",
    "ClaimedSeat",
    "TicketState",
    "UnreadableRecord",
    "claim_of",
    "decode_claim",
    "decode_ticket",
    "encode_claim",
    "encode_ticket",
    "is_ticket_id",
    "pool_name",
    "ticket_id_for",
    "ticket_state",
    "wishes_of",
]
