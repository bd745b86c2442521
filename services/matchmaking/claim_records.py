"""A claim: a table that has been taken out of the queue and gets a room; as a plain object, and as it is stored.

Reading trusts the store as little as `matchmaking.records` does. One that cannot be read is left to others.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from matchmaking.record_parts import (
    TEMPO_SCHEMA,
    UnreadableRecord,
    load_rules,
    load_tempo,
    parse_record,
    schema_for,
    store_rules,
    store_tempo,
)
from matchmaking.tickets import DEFAULT_TEMPO, PoolKey, Tempo
from rami.store.v1 import ticket_pb2

if TYPE_CHECKING:
    from matchmaking.tickets import Table
    from rami_engine.rules import RuleOptions


@dataclass(frozen=True, slots=True)
class ClaimedSeat:
    """One seat of a claimed table: a ticket's or a bot's."""

    ticket_id: str = ""
    player_id: str = ""
    name: str = ""
    bot: str = ""
    create_ms: int = 0
    place: int = 0
    """Which member of its ticket sits here, 0 for the leader."""


class ClaimedTicket(NamedTuple):
    """A ticket of a claimed table, with what all of its members get."""

    ticket_id: str
    player_ids: tuple[str, ...]
    """The leader first."""
    seats: tuple[int, ...]
    """The seats of the members, in their order."""
    create_ms: int


@dataclass(frozen=True)
class Claim:
    """A table that has been taken out of the queue and gets a room. What follows from its seats is made once."""

    match_id: UUID
    rules: RuleOptions
    seats: tuple[ClaimedSeat, ...]
    tempo: Tempo = DEFAULT_TEMPO

    @cached_property
    def key(self) -> str:
        """The match id as the store's keys spell it: 32 hex digits."""
        return self.match_id.hex

    @property
    def people(self) -> list[tuple[int, ClaimedSeat]]:
        """The seats that tickets hold, with their numbers."""
        return [(number, seat) for number, seat in enumerate(self.seats) if seat.ticket_id]

    @cached_property
    def tickets(self) -> list[ClaimedTicket]:
        """The tickets, in the order of their first seats."""
        grouped: dict[str, list[tuple[int, int, ClaimedSeat]]] = {}
        for number, seat in self.people:
            grouped.setdefault(seat.ticket_id, []).append((seat.place, number, seat))
        return [
            ClaimedTicket(
                ticket_id,
                tuple(seat.player_id for _, _, seat in sorted(rows, key=lambda row: row[0])),
                tuple(number for _, number, _ in sorted(rows, key=lambda row: row[0])),
                rows[0][2].create_ms,
            )
            for ticket_id, rows in grouped.items()
        ]

    @property
    def pool(self) -> str:
        """The name of the pool that the table belongs to."""
        return PoolKey(len(self.seats), self.rules, self.tempo).name


def claim_of(table: Table, match_id: UUID) -> Claim:
    """The claim of a table. Who sits where follows from the match id, so that waiting long wins no seat."""
    seats = [
        ClaimedSeat(ticket.ticket_id, member.player_id, member.name, "", ticket.create_ms, place)
        for ticket in table.tickets
        for place, member in enumerate(ticket.members)
    ]
    seats += [ClaimedSeat(bot=bot) for bot in table.bots]
    lots = [
        hashlib.blake2b(bytes([number]), key=match_id.bytes, digest_size=8).digest() for number in range(len(seats))
    ]
    order = sorted(range(len(seats)), key=lots.__getitem__)
    return Claim(match_id, table.rules, tuple(seats[number] for number in order), table.tempo)


def encode_claim(claim: Claim) -> bytes:
    """The record of a claim."""
    return ticket_pb2.StoredClaim(
        schema=schema_for(claim.tempo),
        match_id=claim.match_id.bytes,
        rules=store_rules(claim.rules),
        tempo=store_tempo(claim.tempo),
        seats=[
            ticket_pb2.ClaimedSeat(
                ticket_id=seat.ticket_id,
                player_id=seat.player_id,
                display_name=seat.name,
                bot=seat.bot,
                create_ms=seat.create_ms,
                place=seat.place,
            )
            for seat in claim.seats
        ],
    ).SerializeToString()


def decode_claim(record: bytes) -> Claim:
    """The claim of a record. Raises UnreadableRecord."""
    stored = ticket_pb2.StoredClaim()
    parse_record(stored, record, TEMPO_SCHEMA)
    if len(stored.match_id) != 16 or not 2 <= len(stored.seats) <= 4:
        raise UnreadableRecord("a claim without sense")
    seats = tuple(
        ClaimedSeat(seat.ticket_id, seat.player_id, seat.display_name, seat.bot, seat.create_ms, seat.place)
        for seat in stored.seats
    )
    if any(bool(seat.ticket_id) == bool(seat.bot) for seat in seats):
        raise UnreadableRecord("a claim without sense")
    if not any(seat.ticket_id for seat in seats):
        raise UnreadableRecord("a claim without people")
    return Claim(UUID(bytes=stored.match_id), load_rules(stored.rules), seats, load_tempo(stored))


__all__ = ["Claim", "ClaimedSeat", "ClaimedTicket", "claim_of", "decode_claim", "encode_claim"]
