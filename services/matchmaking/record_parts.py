"""The parts that stored records share: their layouts, the rules and the tempo of a table, and what is unreadable."""

from __future__ import annotations

from typing import Final

from google.protobuf.message import DecodeError

from matchmaking.tickets import DEFAULT_TEMPO, Tempo
from rami.store.v1 import ticket_pb2
from rami_engine.errors import OptionsError
from rami_engine.rules import RuleOptions

SCHEMA: Final = 1
TEMPO_SCHEMA: Final = 2
"""The layout of tickets and claims with a tempo of their own: builds that know of none leave them out."""


class UnreadableRecord(ValueError):  # noqa: N818 - named for what is wrong with the record
    """A stored record of an unknown layout, or none at all. The text never repeats the bytes."""


def parse_record(
    message: ticket_pb2.StoredTicket | ticket_pb2.StoredMember | ticket_pb2.StoredClaim,
    record: bytes,
    newest: int = SCHEMA,
) -> None:
    """Reads a record of a layout up to the `newest` into a message. Raises UnreadableRecord."""
    try:
        message.ParseFromString(record)
    except DecodeError:
        raise UnreadableRecord("bytes that are no record") from None
    if not SCHEMA <= message.schema <= newest:
        raise UnreadableRecord("a record of an unknown layout")


def store_rules(rules: RuleOptions) -> ticket_pb2.StoredRules:
    """The record of rule options."""
    return ticket_pb2.StoredRules(
        target_score=rules.target_score, ace_high=rules.ace_high, discard_to_win=rules.discard_to_win
    )


def schema_for(tempo: Tempo) -> int:
    """The layout of a ticket or claim that plays at a tempo."""
    return SCHEMA if tempo == DEFAULT_TEMPO else TEMPO_SCHEMA


def store_tempo(tempo: Tempo) -> ticket_pb2.StoredTempo | None:
    """The record of a tempo; None for the one that needs no word."""
    if tempo == DEFAULT_TEMPO:
        return None
    return ticket_pb2.StoredTempo(turn_limit_ms=tempo.turn_limit_ms, round_interval_ms=tempo.round_interval_ms)


def load_tempo(stored: ticket_pb2.StoredTicket | ticket_pb2.StoredClaim) -> Tempo:
    """The tempo of a record. Raises UnreadableRecord for one that no room has."""
    if not stored.HasField("tempo"):
        return DEFAULT_TEMPO
    try:
        return Tempo(stored.tempo.turn_limit_ms, stored.tempo.round_interval_ms)
    except ValueError:
        raise UnreadableRecord("a tempo that no room has") from None


def load_rules(stored: ticket_pb2.StoredRules) -> RuleOptions:
    """The rule options of a record. Raises UnreadableRecord for ones that there are not."""
    try:
        return RuleOptions(stored.target_score, stored.ace_high, stored.discard_to_win)
    except OptionsError:
        raise UnreadableRecord("rules outside their ranges") from None


__all__ = [
    "SCHEMA",
    "TEMPO_SCHEMA",
    "UnreadableRecord",
    "load_rules",
    "load_tempo",
    "parse_record",
    "schema_for",
    "store_rules",
    "store_tempo",
]
