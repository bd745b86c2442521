"""A room as stored bytes and back. The layout is rami.store.v1.RoomState.

The stored value is 16 bytes of header (version, commit id) and the encoded state: the header alone tells
whether a room in memory is still the current one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from google.protobuf.message import DecodeError

from game_state.requests import RequestMemory
from game_state.room import Room, RoomOptions, Seat, Status
from rami.store.v1 import room_state_pb2 as store
from rami_engine import Guards, RuleOptions, SeedChain
from rami_kit.errors import RamiError, StoreError, reasons
from rami_wire import encode_field, encode_match, encode_varint, encode_varint_field, match_from_store, varint_tag

SCHEMA: Final = 1
"""The layout that this build writes. A field that an older build would lose when it writes the room back needs a new
one, since that build is then refused the room instead; tests/golden keeps rooms of every layout for `READ`.
"""
READ: Final = frozenset({SCHEMA})
"""The layouts that this build reads."""
NEWER_RETRY_SECONDS: Final = 1.0

HEADER_BYTES: Final = 16

_FIELDS: Final = store.RoomState.DESCRIPTOR.fields_by_name
_EXPIRE_MS: Final = varint_tag(_FIELDS["expire_ms"].number)
_TURN_DEADLINE_MS: Final = _FIELDS["turn_deadline_ms"].number
_ADVANCE_MS: Final = _FIELDS["advance_ms"].number
_BOT_MS: Final = _FIELDS["bot_ms"].number
_MATCH: Final = _FIELDS["match"].number
_REQUESTS: Final = _FIELDS["requests"].number
_ENTRIES: Final = store.StoredRequests.DESCRIPTOR.fields_by_name["entries"].number


class NewerRoom(RamiError):  # noqa: N818 - named for what was met
    """A newer build has written the room (UNAVAILABLE): during an upgrade another replica answers, or this one soon
    is another.
    """

    def __init__(self, room_id: str, schema: int) -> None:
        super().__init__(
            reasons.ERROR_REASON_PEER_UNAVAILABLE,
            f"room {room_id} is stored in layout {schema} of a newer version of the service; this one reads {SCHEMA}",
            metadata={"peer": "game"},
            retry_after_seconds=NEWER_RETRY_SECONDS,
        )


def room_header(room: Room) -> bytes:
    """The header of a room; empty for one that is not stored yet."""
    return room.version.to_bytes(8) + room.commit_id if room.version else b""


def encode_room(room: Room) -> bytes:
    """The encoded state, without the header. What seldom changes is kept encoded: every step comes through here."""
    chain = room.chain
    made_from = (
        room.status,
        room.options,
        room.guards,
        room.host,
        room.join_code,
        chain.root,
        chain.checkpoint,
        chain.checkpoint_round,
        room.commitment,
        room.create_ms,
        room.create_fingerprint,
        room.match_id,
        room.start_ms,
        room.rematch_room_id,
        room.autopilot,
        room.abandoned,
        *room.seats,
    )
    # Mostly the very same objects as in the version before: comparing them costs next to nothing.
    head = room.encoded_head
    if head is None or head[0] != made_from:
        head = room.encoded_head = (made_from, _encode_head(room))
    parts = [
        head[1],
        _EXPIRE_MS,
        encode_varint(room.expire_ms),
    ]
    if room.turn_deadline_ms:
        parts.append(encode_varint_field(_TURN_DEADLINE_MS, room.turn_deadline_ms))
    if room.advance_ms:
        parts.append(encode_varint_field(_ADVANCE_MS, room.advance_ms))
    if room.bot_ms:
        parts.append(encode_varint_field(_BOT_MS, room.bot_ms))
    if room.match is not None:
        parts.append(encode_field(_MATCH, encode_match(room.match)))
    for player_id, entries in room.requests.entries():
        parts += (_encode_requests_head(player_id, len(entries)), entries)
    return b"".join(parts)


def _encode_head(room: Room) -> bytes:
    """The part of a state that stays the same while a round is played by the same people."""
    options = room.options
    message = store.RoomState(
        schema=SCHEMA,
        status=room.status,
        join_code=room.join_code,
        options=store.StoredOptions(
            target_score=options.rules.target_score,
            ace_high=options.rules.ace_high,
            discard_to_win=options.rules.discard_to_win,
            visibility=int(options.public),
            spectators_allowed=options.spectators_allowed,
            turn_limit_ms=options.turn_limit_ms,
            bot_pace_ms=options.bot_pace_ms,
            round_interval_ms=options.round_interval_ms,
            auto_start=options.auto_start,
        ),
        host_player_id=room.host,
        seed_chain=room.chain.to_bytes(),
        commitment=room.commitment,
        create_ms=room.create_ms,
        create_fingerprint=room.create_fingerprint,
        match_id=room.match_id,
        start_ms=room.start_ms,
        max_turns_per_round=room.guards.max_turns_per_round,
        max_turns_per_match=room.guards.max_turns_per_match,
        rematch_room_id=room.rematch_room_id,
        autopilot=room.autopilot,
        abandoned=room.abandoned,
    )
    for seat in room.seats:
        message.seats.add(
            player_id=seat.player_id,
            display_name=seat.name,
            bot=seat.bot,
            missed_turns=seat.missed,
            entropy=seat.entropy,
            left=seat.left,
        )
    return message.SerializeToString()


@lru_cache(maxsize=50_000)
def _encode_requests_head(player_id: str, length: int) -> bytes:
    """What stands before the remembered requests of a player: most remember as many as they can."""
    player = store.StoredRequests(player_id=player_id).SerializeToString()
    # The entries are the last field, so that whatever they are, everything before them is the same.
    field = encode_field(_REQUESTS, player + encode_field(_ENTRIES, bytes(length)))
    return field[: len(field) - length]


def decode_room(room_id: str, stored: bytes) -> Room:
    """The room of a stored value, header included. Raises NewerRoom for a layout of a later build, StoreError
    for what no build has written.
    """
    try:
        message = store.RoomState.FromString(stored[HEADER_BYTES:])
    except DecodeError:
        raise StoreError(f"room {room_id} is stored in bytes that are no room") from None
    if message.schema > SCHEMA:
        raise NewerRoom(room_id, message.schema)
    if message.schema not in READ:
        raise StoreError(f"room {room_id} is stored in layout {message.schema}, which this build does not read")
    kept = message.options
    rules = RuleOptions(kept.target_score, kept.ace_high, kept.discard_to_win)
    guards = Guards(message.max_turns_per_round, message.max_turns_per_match)
    return Room(
        room_id=room_id,
        version=int.from_bytes(stored[:8]),
        commit_id=stored[8:HEADER_BYTES],
        status=Status(message.status),
        options=RoomOptions(
            rules=rules,
            public=bool(kept.visibility),
            spectators_allowed=kept.spectators_allowed,
            turn_limit_ms=kept.turn_limit_ms,
            bot_pace_ms=kept.bot_pace_ms if kept.HasField("bot_pace_ms") else None,
            round_interval_ms=kept.round_interval_ms,
            auto_start=kept.auto_start,
        ),
        guards=guards,
        seats=[
            Seat(
                player_id=seat.player_id,
                name=seat.display_name,
                bot=seat.bot,
                missed=seat.missed_turns,
                entropy=seat.entropy,
                left=seat.left,
            )
            for seat in message.seats
        ],
        host=message.host_player_id,
        join_code=message.join_code,
        chain=SeedChain.from_bytes(message.seed_chain),
        commitment=message.commitment,
        create_ms=message.create_ms,
        create_fingerprint=message.create_fingerprint,
        expire_ms=message.expire_ms,
        requests=RequestMemory({kept.player_id: kept.entries for kept in message.requests}),
        match_id=message.match_id,
        match=match_from_store(message.match, rules, guards) if message.HasField("match") else None,
        start_ms=message.start_ms,
        turn_deadline_ms=message.turn_deadline_ms,
        bot_ms=message.bot_ms,
        advance_ms=message.advance_ms,
        autopilot=message.autopilot,
        abandoned=message.abandoned,
        rematch_room_id=message.rematch_room_id,
    )
