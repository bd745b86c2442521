"""What a request must look like before it is looked at any further. Every refusal names the field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from game_state.listing import RoomFilter
from game_state.lobby import require_profile
from game_state.room import RoomOptions
from rami.game.v1 import room_pb2
from rami_engine import MAX_PLAYERS, MIN_PLAYERS, RuleOptions
from rami_kit.errors import InvalidRequest
from rami_kit.spans import span_ms
from rami_wire import options_from_proto

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from rami.game.v1 import game_service_pb2

DEFAULT_TURN_LIMIT_MS: Final = 60_000
MAX_TURN_LIMIT_MS: Final = 24 * 3600 * 1000
MAX_BOT_PACE_MS: Final = 30_000
MAX_ROUND_INTERVAL_MS: Final = 60_000


def room_options(message: room_pb2.RoomOptions) -> tuple[RoomOptions, int]:
    """The options of a new room and its number of seats. Raises InvalidRequest and the engine's OptionsError."""
    if not MIN_PLAYERS <= message.seats <= MAX_PLAYERS:
        raise InvalidRequest("options.seats", f"must be within {MIN_PLAYERS}..{MAX_PLAYERS}")
    if message.visibility not in room_pb2.Visibility.values():
        raise InvalidRequest("options.visibility", "must be a known visibility")
    has_limit = message.HasField("turn_time_limit")
    rules = options_from_proto(message.rules, "options.rules") if message.HasField("rules") else RuleOptions()
    options = RoomOptions(
        rules=rules,
        public=message.visibility == room_pb2.VISIBILITY_PUBLIC,
        spectators_allowed=message.spectators_allowed,
        turn_limit_ms=span_ms(message.turn_time_limit, "options.turn_time_limit", MAX_TURN_LIMIT_MS)
        if has_limit
        else DEFAULT_TURN_LIMIT_MS,
        bot_pace_ms=span_ms(message.bot_pace, "options.bot_pace", MAX_BOT_PACE_MS)
        if message.HasField("bot_pace")
        else None,
        round_interval_ms=span_ms(message.round_interval, "options.round_interval", MAX_ROUND_INTERVAL_MS),
        auto_start=message.auto_start,
    )
    return options, message.seats


def room_filter(request: game_service_pb2.ListRoomsRequest) -> RoomFilter:
    """Which public rooms are asked for. Raises InvalidRequest for a number of seats that no room has."""
    if request.seats and not MIN_PLAYERS <= request.seats <= MAX_PLAYERS:
        raise InvalidRequest("seats", f"must be 0 or within {MIN_PLAYERS}..{MAX_PLAYERS}")
    return RoomFilter(request.seats, request.free_seat, request.watchable)


def bot_seats(
    changes: Iterable[game_service_pb2.BotSeat], field: str, seats: int, profiles: Collection[str]
) -> dict[int, str]:
    """Bots by seat. Raises InvalidRequest for a seat out of range or named twice, and BOT_NOT_FOUND."""
    bots: dict[int, str] = {}
    for change in changes:
        if change.seat >= seats:
            raise InvalidRequest(f"{field}.seat", f"must be a seat of the room, 0..{seats - 1}")
        if change.seat in bots:
            raise InvalidRequest(f"{field}.seat", "names the same seat twice")
        require_profile(change.bot, profiles)
        bots[change.seat] = change.bot
    return bots
