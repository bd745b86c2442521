"""What a viewer may see of a room: the public messages made from a `Room`.

Every permission of a reader is decided here, and everything that leaves the service about a room passes
through here or through `events.py`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from game_state.room import Status
from rami.game.v1 import event_pb2, room_pb2, rules_pb2
from rami_engine import RULES_ID, RULES_VERSION, MatchEndReason, Phase, legal_actions, match_result, seat_view
from rami_kit.errors import reasons, refused
from rami_wire import (
    encode_field,
    encode_legal_actions,
    encode_varint,
    encode_varint_field,
    encode_view,
    guards_to_proto,
    options_to_proto,
    phase_to_proto,
    result_to_proto,
    to_cards,
    varint_tag,
)

if TYPE_CHECKING:
    from game_state.room import Room, RoomOptions, Seat
    from rami_engine import Guards, MatchState, RoundResult

COMMIT_ID_BYTES: Final = 8
CURSOR_BYTES: Final = 16
LONGEST_TIMESTAMP: Final = 12
"""Bytes of a serialized Timestamp of this millennium, at most."""
LONGEST_TURN: Final = 20
"""Bytes of a serialized Turn, at most."""
_SECONDS: Final = varint_tag(Timestamp.DESCRIPTOR.fields_by_name["seconds"].number)
_NANOS: Final = Timestamp.DESCRIPTOR.fields_by_name["nanos"].number
_RESTS: Final = tuple(encode_varint_field(_NANOS, rest * 1_000_000) for rest in range(1000))
"""What a serialized Timestamp has beyond its seconds, by milliseconds."""
_DEADLINE: Final = room_pb2.Turn.DESCRIPTOR.fields_by_name["deadline"].number
_ROOM_FIELDS: Final = room_pb2.Room.DESCRIPTOR.fields_by_name
_EXPIRE_TIME: Final = _ROOM_FIELDS["expire_time"].number
_TURN: Final = _ROOM_FIELDS["turn"].number
_SNAPSHOT_FIELDS: Final = event_pb2.Snapshot.DESCRIPTOR.fields_by_name
_ROOM: Final = _SNAPSHOT_FIELDS["room"].number
_VIEW: Final = _SNAPSHOT_FIELDS["view"].number
_SNAPSHOT_TIME: Final = _SNAPSHOT_FIELDS["time"].number
_STATUSES = {
    Status.LOBBY: room_pb2.ROOM_STATUS_LOBBY,
    Status.IN_MATCH: room_pb2.ROOM_STATUS_IN_MATCH,
    Status.OVER: room_pb2.ROOM_STATUS_OVER,
    Status.CLOSED: room_pb2.ROOM_STATUS_CLOSED,
}
_MATCH_END_REASONS = {
    MatchEndReason.TARGET_SCORE: rules_pb2.MATCH_END_REASON_TARGET_SCORE,
    MatchEndReason.TURN_LIMIT: rules_pb2.MATCH_END_REASON_TURN_LIMIT,
}


def timestamp(milliseconds: int) -> Timestamp:
    """The message of a moment of the store's clock."""
    seconds, rest = divmod(milliseconds, 1000)
    return Timestamp(seconds=seconds, nanos=rest * 1_000_000)


def encode_timestamp(milliseconds: int) -> bytes:
    """The same, serialized. Put together: every event of every room has one."""
    seconds, rest = divmod(milliseconds, 1000)
    return _SECONDS + encode_varint(seconds) + _RESTS[rest]


def duration(milliseconds: int) -> Duration:
    """The message of a span of time."""
    seconds, rest = divmod(milliseconds, 1000)
    return Duration(seconds=seconds, nanos=rest * 1_000_000)


def may_watch(room: Room, player_id: str) -> bool:
    """Whether a player may follow the match of a room, now or once there is one."""
    return room.seat_of(player_id) is not None or player_id == room.host or room.options.spectators_allowed


def require_reader(room: Room, player_id: str, *, with_code: bool = False) -> None:
    """Refuse who may not see the room. Raises PERMISSION_DENIED SPECTATORS_NOT_ALLOWED.

    `with_code`: the reader knows the join code, with which it could sit down in the lobby.
    """
    if may_watch(room, player_id):
        return
    if (room.options.public or with_code) and room.status == Status.LOBBY:
        return
    raise refused(reasons.ERROR_REASON_SPECTATORS_NOT_ALLOWED, "the room allows no spectators")


def seat_to_proto(number: int, seat: Seat) -> room_pb2.Seat:
    """A seat as everybody sees it."""
    message = room_pb2.Seat(seat=number, entropy_set=bool(seat.entropy))
    if seat.player_id:
        message.player.player_id = seat.player_id
        message.player.display_name = seat.name
        message.player.stand_in = seat.stand_in
        message.player.missed_turns = seat.missed
    elif seat.bot:
        message.bot.bot = seat.bot
    return message


def options_message(options: RoomOptions, seats: int) -> room_pb2.RoomOptions:
    """The options of a room; the bot pace is left out where the room follows the default."""
    message = room_pb2.RoomOptions(
        seats=seats,
        rules=options_to_proto(options.rules),
        visibility=room_pb2.VISIBILITY_PUBLIC if options.public else room_pb2.VISIBILITY_PRIVATE,
        spectators_allowed=options.spectators_allowed,
        turn_time_limit=duration(options.turn_limit_ms),
        round_interval=duration(options.round_interval_ms),
        auto_start=options.auto_start,
    )
    if options.bot_pace_ms is not None:
        message.bot_pace.CopyFrom(duration(options.bot_pace_ms))
    return message


def room_message(room: Room, player_id: str) -> room_pb2.Room:
    """A room as a player sees it, seated or not."""
    return room_pb2.Room.FromString(encode_room_message(room, player_id))


def encode_room_message(room: Room, player_id: str) -> bytes:
    """The same, serialized. What stays for a while is kept ready: clients that look and do not listen look often."""
    turn = room.turn_seat()
    message = room_pb2.Room(
        version=room.version,
        result=match_result_message(room),
        watchable=may_watch(room, player_id),
        # For who sits at the table; the host may not.
        join_code=room.join_code if room.seat_of(player_id) is not None or player_id == room.host else "",
    )
    parts = [
        _encode_terms(room.options, len(room.seats), room.guards),
        _encode_table(
            room.room_id,
            room.status,
            room.host,
            room.commitment,
            room.create_ms,
            room.rematch_room_id,
            tuple(room.seats),
            started=room.match is not None,
        ),
        message.SerializeToString(),
        encode_field(_EXPIRE_TIME, encode_timestamp(room.expire_ms)),
    ]
    if turn is not None:
        parts.append(encode_field(_TURN, encode_turn(turn, room.current_match().phase, room.deadline_ms())))
    return b"".join(parts)


@lru_cache(maxsize=4096)
def _encode_table(  # noqa: PLR0917 - together they are the key of the cache
    room_id: str,
    status: Status,
    host: str,
    commitment: bytes,
    create_ms: int,
    rematch_room_id: str,
    seats: tuple[Seat, ...],
    *,
    started: bool,
) -> bytes:
    """The part of a serialized Room that stays the same while a match is played by the same people."""
    message = room_pb2.Room(
        room_id=room_id,
        status=_STATUSES[status],
        seats=[seat_to_proto(number, seat) for number, seat in enumerate(seats)],
        host_player_id=host,
        commitment=commitment,
        entropies=[seat.entropy for seat in seats] if started else (),
        create_time=timestamp(create_ms),
        rematch_room_id=rematch_room_id,
    )
    return message.SerializeToString()


@lru_cache(maxsize=4096)
def _encode_terms(options: RoomOptions, seats: int, guards: Guards) -> bytes:
    """The part of a serialized Room that many rooms share: under which terms is played."""
    message = room_pb2.Room(
        options=options_message(options, seats),
        guards=guards_to_proto(guards),
        rules_id=RULES_ID,
        rules_version=RULES_VERSION,
    )
    return message.SerializeToString()


def encode_turn(seat: int, phase: int, deadline_ms: int) -> bytes:
    """The serialized Turn of a seat to move; `phase` is the engine's, and a deadline of 0 is none."""
    turn = _encode_endless_turn(seat, phase)
    return turn + encode_field(_DEADLINE, encode_timestamp(deadline_ms)) if deadline_ms else turn


@lru_cache
def _encode_endless_turn(seat: int, phase: int) -> bytes:
    return room_pb2.Turn(seat=seat, phase=phase_to_proto(Phase(phase))).SerializeToString()


def match_result_message(room: Room) -> rules_pb2.MatchResult | None:
    """How the match ended; None until then."""
    if room.match is None:
        return None
    if room.abandoned:
        return rules_pb2.MatchResult(reason=rules_pb2.MATCH_END_REASON_ABANDONED, scores=room.match.scores)
    result = match_result(room.match)
    if result is None:
        return None
    return rules_pb2.MatchResult(
        reason=_MATCH_END_REASONS[result.reason], winner_seat=result.winner, scores=result.scores
    )


def round_ended_message(room: Room) -> event_pb2.RoundEnded | None:
    """How the round ended that was dealt last: its result, its seed, and what everybody still held, all public now.

    None before the match, while a round is played, and for one in which the match was abandoned.
    """
    match = room.match
    result = None if match is None else _result_of_last_deal(match)
    if match is None or match.round is None or result is None:
        return None
    ended = event_pb2.RoundEnded(result=result_to_proto(result), seed=room.chain.seed(result.number))
    for seat, hand in enumerate(match.round.hands):
        ended.hands.append(rules_pb2.RemainingHand(seat=seat, cards=to_cards(hand)))
    return ended


def match_ended_message(room: Room) -> event_pb2.MatchEnded | None:
    """How the match ended, with the seed of the round that it was abandoned in; None until then."""
    result = match_result_message(room)
    if result is None:
        return None
    ended = event_pb2.MatchEnded(result=result)
    match = room.current_match()
    if match.round is not None and _result_of_last_deal(match) is None:
        ended.seed = room.chain.seed(match.round.number)
    return ended


def _result_of_last_deal(match: MatchState) -> RoundResult | None:
    """The result of the round that was dealt last; None until it is played to its end."""
    dealt, ended = match.round, match.results
    return ended if dealt is not None and ended is not None and dealt.number == ended.number else None


def encode_snapshot(room: Room, player_id: str, now_ms: int, *, rewound: bool = False) -> bytes:
    """A serialized Snapshot: the whole room as a player sees it, at a moment of the store's clock."""
    sight = encode_sight(room, player_id) + encode_snapshot_time(now_ms)
    return sight + event_pb2.Snapshot(rewound=True).SerializeToString() if rewound else sight


def encode_sight(room: Room, player_id: str) -> bytes:
    """A serialized Snapshot without its time: what a player sees of a version of a room, whenever it looks."""
    message = event_pb2.Snapshot(
        cursor=encode_cursor(room.version, room.commit_id),
        round_ended=round_ended_message(room),
        match_ended=match_ended_message(room),
    )
    parts = [encode_field(_ROOM, encode_room_message(room, player_id)), message.SerializeToString()]
    if room.match is not None:
        parts.append(encode_field(_VIEW, encode_view(seat_view(room.match, room.seat_of(player_id)))))
    return b"".join(parts)


def encode_snapshot_time(now_ms: int) -> bytes:
    """The field of a serialized Snapshot that holds its time."""
    return encode_field(_SNAPSHOT_TIME, encode_timestamp(now_ms))


def encoded_legal_actions(room: Room, seat: int) -> bytes:
    """The serialized rami.game.v1.LegalActions of a seat; trusts that a match is played."""
    return encode_legal_actions(room.version, legal_actions(room.current_match(), seat))


def encode_cursor(version: int, commit_id: bytes) -> bytes:
    """The opaque cursor of a version: 8 bytes of the number, then the commit id."""
    return version.to_bytes(8) + commit_id


def decode_cursor(cursor: bytes) -> tuple[int, bytes] | None:
    """The version and commit id of a cursor; None for bytes that are no cursor."""
    if len(cursor) != CURSOR_BYTES:
        return None
    return int.from_bytes(cursor[:8]), cursor[8:]
