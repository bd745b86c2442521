"""Stored records to plain objects and back, and the ids that are made of what a player says.

Reading never trusts what is in the store: a record that cannot be read is UnreadableRecord, and whoever
meets one leaves it out and goes on.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Final

from google.protobuf.message import DecodeError

from matchmaking.record_parts import (
    SCHEMA,
    TEMPO_SCHEMA,
    UnreadableRecord,
    load_rules,
    load_tempo,
    parse_record,
    schema_for,
    store_rules,
    store_tempo,
)
from matchmaking.tickets import DEFAULT_TEMPO, Member, Ticket
from rami.matchmaking.v1 import matchmaking_service_pb2 as messages
from rami.store.v1 import ticket_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from uuid import UUID


WAITING: Final = messages.TICKET_STATE_WAITING
CLAIMED: Final = messages.TICKET_STATE_CLAIMED
MATCHED: Final = messages.TICKET_STATE_MATCHED
CANCELLED: Final = messages.TICKET_STATE_CANCELLED
EXPIRED: Final = messages.TICKET_STATE_EXPIRED
FORMING: Final = messages.TICKET_STATE_FORMING
OVER: Final = frozenset({MATCHED, CANCELLED, EXPIRED})
"""States that a ticket does not leave."""

TICKET_FIELDS: Final = ("s", "d", "t", "b", "r", "e", "p", "x", "y", "z", "m1", "m2", "m3")
"""The fields of a ticket's hash that TicketState is read from, see `matchmaking.ticket_scripts`."""
MEMBER_FIELDS: Final = (b"m1", b"m2", b"m3")

TICKETS_REMEMBERED: Final = 20_000
"""A ticket is read when it comes into the queue, with every look of its player, and when it leaves: so many are kept as
they were read, by the bytes that they were read from.
"""

_SEATS: Final = frozenset(counts for number in (1, 2, 3) for counts in combinations((2, 3, 4), number))
"""Every way to accept numbers of seats."""
_PAIRS: Final = ["".join(pair) for pair in product("abcdefghijklmnopqrstuvwxyz234567", repeat=2)]
_TICKET_ID: Final = re.compile(r"[a-z2-7]{26}", re.ASCII)


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
    seats: tuple[int, ...]
    """The seats of the members, in their order; set once the state is MATCHED."""
    player_ids: tuple[str, ...] = ()
    """Everybody who was named, the leader first."""
    confirmed: Mapping[str, str] = field(default_factory=dict)
    """The names of the members who have confirmed, by player id; without the leader."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    cancelled_by: str = ""
    confirm_by_ms: int = 0
    """Until when the party has to be complete; 0 unless it is FORMING."""

    def seat_of(self, player_id: str) -> int:
        """The seat of a member. Trusts the caller that the ticket is matched and the player its member."""
        return self.seats[self.player_ids.index(player_id)]


def _base32(digest: bytes) -> str:
    """The 26 characters of base 32 (RFC 4648, lower case, unpadded) of 16 bytes; b32encode takes much longer."""
    bits = int.from_bytes(digest) << 2
    return "".join([_PAIRS[bits >> shift & 1023] for shift in range(120, -1, -10)])


def ticket_id_for(player_id: str, request_id: UUID) -> str:
    """The id of the ticket that a request makes: a repeat of the request makes the same one."""
    digest = hashlib.blake2b(player_id.encode() + b"\0" + request_id.bytes, digest_size=16).digest()
    return _base32(digest)


def is_ticket_id(text: str) -> bool:
    """Whether a text has the form of a ticket id. Nothing else gets into a key."""
    return _TICKET_ID.fullmatch(text) is not None


def wishes_of(ticket: Ticket, party: Sequence[str] = (), attributes: Mapping[str, str] | None = None) -> bytes:
    """The fingerprint of what a ticket accepts and brings: equal for equal wishes. `party`: the other members."""
    wishes: tuple[object, ...] = (ticket.player_counts, ticket.rules, ticket.bots_allowed, ticket.bot)
    if ticket.weakest_bot or party or attributes:
        company = (ticket.player_id, *party) if party else ()
        wishes += (ticket.weakest_bot, company, tuple(sorted((attributes or {}).items())))
    if ticket.tempo != DEFAULT_TEMPO:
        wishes += (ticket.tempo,)
    return hashlib.blake2b(repr(wishes).encode(), digest_size=8).digest()


def encode_ticket(ticket: Ticket, party: Iterable[str] = ()) -> bytes:
    """The part of a ticket that never changes; its times stand beside it. `party`: the other members."""
    return ticket_pb2.StoredTicket(
        schema=schema_for(ticket.tempo),
        player_id=ticket.player_id,
        display_name=ticket.name,
        player_counts=ticket.player_counts,
        rules=[store_rules(rules) for rules in ticket.rules],
        bots_allowed=ticket.bots_allowed,
        bot=ticket.bot,
        skill=ticket.skill,
        weakest_bot=ticket.weakest_bot,
        party=party,
        tempo=store_tempo(ticket.tempo),
    ).SerializeToString()


def encode_member(member: Member) -> bytes:
    """The record of a member who confirms."""
    return ticket_pb2.StoredMember(
        schema=SCHEMA, player_id=member.player_id, display_name=member.name, skill=member.skill
    ).SerializeToString()


def decode_member(record: bytes) -> Member:
    """The member of a record. Raises UnreadableRecord."""
    stored = ticket_pb2.StoredMember()
    parse_record(stored, record)
    if not stored.player_id or not math.isfinite(stored.skill):
        raise UnreadableRecord("a member without sense")
    return Member(stored.player_id, stored.display_name, stored.skill)


def encode_attributes(attributes: Mapping[str, str]) -> bytes:
    """The record of what a leader gave to be kept; empty for nothing."""
    if not attributes:
        return b""
    return ticket_pb2.StoredAttributes(attributes=attributes).SerializeToString()


def decode_ticket(
    ticket_id: str, record: bytes, create_ms: int, not_before_ms: int, members: Sequence[bytes] = ()
) -> Ticket:
    """The ticket of a record, with the records of the members who have confirmed. Raises UnreadableRecord."""
    return _decode_ticket(ticket_id, record, create_ms, not_before_ms, tuple(members))


@lru_cache(maxsize=TICKETS_REMEMBERED)
def _decode_ticket(
    ticket_id: str, record: bytes, create_ms: int, not_before_ms: int, members: tuple[bytes, ...]
) -> Ticket:
    stored = ticket_pb2.StoredTicket()
    parse_record(stored, record, TEMPO_SCHEMA)
    counts = tuple(stored.player_counts)
    if (
        not stored.player_id
        or counts not in _SEATS
        or len(stored.party) >= counts[0]
        or not stored.rules
        or not math.isfinite(stored.skill)
    ):
        raise UnreadableRecord("a ticket without sense")
    party: tuple[Member, ...] = ()
    if members:
        leader = Member(stored.player_id, stored.display_name, stored.skill)
        party = (leader, *(decode_member(member) for member in members))
        if [member.player_id for member in party[1:]] != list(stored.party):
            raise UnreadableRecord("a party that is not the one named")
    return Ticket(
        ticket_id=ticket_id,
        player_id=stored.player_id,
        name=stored.display_name,
        player_counts=counts,
        rules=tuple(dict.fromkeys(load_rules(rules) for rules in stored.rules)),
        bots_allowed=stored.bots_allowed,
        bot=stored.bot,
        skill=sum(member.skill for member in party) / len(party) if party else stored.skill,
        create_ms=create_ms,
        not_before_ms=not_before_ms,
        weakest_bot=stored.weakest_bot,
        party=party,
        tempo=load_tempo(stored),
    )


def ticket_state(ticket_id: str, fields: Sequence[bytes | None]) -> TicketState:
    """The state of a ticket from the values of TICKET_FIELDS, the first of which must be there.

    Raises UnreadableRecord for a hash that is no ticket; a ticket whose record alone is unreadable has no
    `ticket`.
    """
    state, record, create, rest, room, seats, players, attributes, withdrawn_by, confirm_by, *members = fields
    try:
        create_ms, not_before_ms, confirm_by_ms = int(create or b""), int(rest or b"0"), int(confirm_by or b"0")
        number = int(state or b"")
        seat_numbers = tuple(int(seat) for seat in (seats or b"").split())
    except ValueError:
        raise UnreadableRecord("a ticket without its times or state") from None
    if number not in (WAITING, CLAIMED, MATCHED, CANCELLED, EXPIRED, FORMING):
        raise UnreadableRecord("a ticket in an unknown state")
    player_ids = tuple((players or b"").decode("ascii", "replace").split())
    if number == MATCHED and len(seat_numbers) != len(player_ids):
        raise UnreadableRecord("a matched ticket without its seats")
    ticket, confirmed = None, {}
    try:
        known_members: list[bytes] = []
        if len(player_ids) > 1:
            confirmed = {one.player_id: one.name for one in map(decode_member, filter(None, members))}
            complete = [member for member in members[: len(player_ids) - 1] if member is not None]
            # Only a complete party is a party; the seats of others are nobody's yet.
            known_members = complete if len(complete) == len(player_ids) - 1 else []
        ticket = decode_ticket(ticket_id, record or b"", create_ms, not_before_ms, known_members)
    except UnreadableRecord:
        ticket = None
    known = messages.TicketState.ValueType(number)
    return TicketState(
        ticket_id,
        known,
        ticket,
        create_ms,
        (room or b"").decode("ascii", "replace"),
        seat_numbers,
        player_ids,
        confirmed,
        _decode_attributes(attributes or b""),
        (withdrawn_by or b"").decode("ascii", "replace"),
        confirm_by_ms,
    )


def _decode_attributes(record: bytes) -> dict[str, str]:
    """What a leader gave; nothing where it cannot be read, for nobody else depends on it."""
    if not record:
        return {}
    stored = ticket_pb2.StoredAttributes()
    try:
        stored.ParseFromString(record)
    except DecodeError:
        return {}
    return dict(stored.attributes)


__all__ = [
    "CANCELLED",
    "CLAIMED",
    "EXPIRED",
    "FORMING",
    "MATCHED",
    "MEMBER_FIELDS",
    "OVER",
    "TICKET_FIELDS",
    "WAITING",
    "TicketState",
    "UnreadableRecord",
    "decode_member",
    "decode_ticket",
    "encode_attributes",
    "encode_member",
    "encode_ticket",
    "is_ticket_id",
    "ticket_id_for",
    "ticket_state",
    "wishes_of",
]
