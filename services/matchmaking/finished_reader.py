"""Finished matches into ratings: a consumer group on the streams that the game service writes.

An entry is acknowledged only when its match is in the ratings, or can never be. What a crashed replica has
left unacknowledged is delivered again after a while, to whoever asks; rating twice is impossible, because
the rating script remembers every match for longer than the streams do. All replicas share one consumer: its
name is only a label, and no dead consumer ever stays behind.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from google.protobuf.message import DecodeError

from matchmaking.ratings import BOT_PREFIX, RatedSeat
from rami.game.v1 import rules_pb2
from rami.store.v1 import finished_pb2
from rami_kit import keys
from rami_kit.errors import StoreUnavailable
from rami_kit.redis_store import Script

if TYPE_CHECKING:
    from matchmaking.player_store import PlayerStore
    from rami_kit.metrics import MatchmakingMetrics
    from rami_kit.redis_store import Store

SCHEMA: Final = 1
GROUP: Final = "ratings"
CONSUMER: Final = "matchmaking"
ENTRIES_AT_ONCE: Final = 100
POLL_SECONDS: Final = 0.5
AGE_MARGIN_MS: Final = 86_400_000
"""A match is too old to be rated so long before it would be forgotten that it has been rated."""

_log = logging.getLogger(__name__)

_DRAW: Final = Script(
    "draw_finished",
    """
-- Delivers finished matches: first what was delivered before and not acknowledged in time, then what is new.
-- KEYS: stream
-- ARGV: group, consumer, most entries, ms after which an entry is delivered again
-- Reply: entries, each [id, fields]
if redis.call('EXISTS', KEYS[1]) == 0 then
  return {}
end
local again = redis.pcall('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[4], '0-0', 'COUNT', ARGV[3])
if again.err then
  if not string.find(again.err, 'NOGROUP', 1, true) then
    return again
  end
  redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0')
  again = {'0-0', {}}
end
local entries = again[2]
local room = ARGV[3] - #entries
if room > 0 then
  local new = redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', room, 'STREAMS', KEYS[1], '>')
  if new then
    for _, entry in ipairs(new[1][2]) do
      entries[#entries + 1] = entry
    end
  end
end
return entries
""",
)


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
        self._players = players
        self._metrics = metrics
        self._partitions = partitions
        self._redeliver_ms = round(redeliver_seconds * 1000)
        self._matched_only = matched_only

    async def run(self) -> None:
        """Reads for ever."""
        while True:
            full = False
            for outcome in await asyncio.gather(
                *(self.read_partition(partition) for partition in range(self._partitions)), return_exceptions=True
            ):
                if isinstance(outcome, bool):
                    full |= outcome
                elif isinstance(outcome, Exception) and not isinstance(outcome, StoreUnavailable):
                    _log.error("finished matches could not be rated and will be delivered again", exc_info=outcome)
            if not full:
                await asyncio.sleep(POLL_SECONDS)

    async def read_partition(self, partition: int) -> bool:
        """Rates what one stream has now, up to ENTRIES_AT_ONCE; whether there may be more.

        Raises StoreUnavailable; what is not acknowledged then is delivered again.
        """
        stream = keys.finished_key(partition)
        entries = await self._store.run(_DRAW, [stream], [GROUP, CONSUMER, ENTRIES_AT_ONCE, self._redeliver_ms])
        for entry_id, fields in entries:
            try:
                outcome = await self._rate(dict(zip(fields[::2], fields[1::2], strict=True)).get(b"m", b""))
            except StoreUnavailable:
                raise
            except Exception:  # noqa: BLE001 - logged whole; it must not keep the entries behind it from being rated
                _log.exception("a finished match could not be rated and will be delivered again")
                self._metrics.rating_updates.labels("failed").inc()
                continue
            await self._store.write("XACK", stream, GROUP, entry_id)
            self._metrics.rating_updates.labels(outcome).inc()
        return len(entries) == ENTRIES_AT_ONCE

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
