"""Finished matches into ratings: a consumer group on the streams that the game service writes.

An entry is acknowledged only when its match is in the ratings, or can never be. Rating twice is impossible, because
the rating script remembers every match for longer than the streams do.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from google.protobuf.message import DecodeError

from matchmaking.ratings import BOT_PREFIX, RatedSeat
from rami.game.v1 import rules_pb2
from rami.store.v1 import finished_pb2
from rami_kit import keys
from rami_kit.errors import StoreUnavailable
from rami_kit.finished_stream import FinishedStream

if TYPE_CHECKING:
    from matchmaking.player_store import PlayerStore
    from rami_kit.metrics import MatchmakingMetrics
    from rami_kit.redis_store import Store

SCHEMA: Final = 1
GROUP: Final = "ratings"
AGE_MARGIN_MS: Final = 86_400_000
"""A match is too old to be rated so long before it would be forgotten that it has been rated."""

_log = logging.getLogger(__name__)


class FinishedMatch(NamedTuple):
    """A match that counts: it has a winner, and a person played."""

    room_id: str
    matched: bool
    """Matchmaking made it."""
    seats: list[RatedSeat]
    winner: int
    end_ms: int


class FinishedReader:
    """Rates what the streams of all partitions bring."""

    def __init__(
        self,
        store: Store,
        players: PlayerStore,
        metrics: MatchmakingMetrics,
        *,
        partitions: int,
        redeliver_seconds: float,
        matched_only: bool,
    ) -> None:
        """Entries that were delivered and not acknowledged for `redeliver_seconds` are delivered again."""
        self._store = store
        self._stream = FinishedStream(store, GROUP, partitions=partitions, redeliver_seconds=redeliver_seconds)
        self._players = players
        self._metrics = metrics
        self._matched_only = matched_only

    async def run(self) -> None:
        """Reads for ever."""
        await self._stream.run(self._take)

    async def read_partition(self, partition: int) -> bool:
        """Rates what one stream has now; whether there may be more. Raises StoreUnavailable."""
        return await self._stream.read_partition(partition, self._take)

    async def _take(self, encoded: bytes) -> None:
        """Rates the match of an entry. Raises what keeps it from being acknowledged."""
        try:
            outcome = await self._rate(encoded)
        except StoreUnavailable:
            raise
        except Exception:
            self._metrics.rating_updates.labels("failed").inc()
            raise
        self._metrics.rating_updates.labels(outcome).inc()

    async def _rate(self, encoded: bytes) -> str:
        """What became of an entry, as the metric names it."""
        match = read_finished(encoded)
        if isinstance(match, str):
            if match == "unreadable":
                _log.error("an entry of finished matches cannot be read: it is left out of the ratings")
            return match
        if self._matched_only and not match.matched:
            return "unmatched"
        if self._store.clock.now() * 1000 - match.end_ms > self._players.rated_ms - AGE_MARGIN_MS:
            return "too_old"
        rated = await self._players.rate(match.room_id, match.seats, match.winner, match.end_ms)
        return "rated" if rated else "duplicate"


def read_finished(encoded: bytes) -> FinishedMatch | str:
    """The match of an entry, or why it is not rated: unreadable, abandoned, no_winner or bots_only."""
    message = finished_pb2.FinishedMatch()
    try:
        message.ParseFromString(encoded)
    except DecodeError:
        return "unreadable"
    if (
        message.schema != SCHEMA
        or keys.parse_room_id(message.room_id) is None
        or not 2 <= len(message.seats) <= 4
        or message.winner_plus_one > len(message.seats)
        or any(not seat.player_id and not seat.bot for seat in message.seats)
    ):
        return "unreadable"
    if message.end_reason == rules_pb2.MATCH_END_REASON_ABANDONED:
        return "abandoned"
    if message.winner_plus_one == 0:
        return "no_winner"
    if not any(seat.player_id for seat in message.seats):
        return "bots_only"
    seats = [
        RatedSeat(seat.player_id or BOT_PREFIX + seat.bot, seat.display_name or seat.bot, seat.score)
        for seat in message.seats
    ]
    matched = bool(message.match_id)
    return FinishedMatch(message.room_id, matched, seats, message.winner_plus_one - 1, message.end_ms)


__all__ = ["FinishedMatch", "FinishedReader", "read_finished"]
