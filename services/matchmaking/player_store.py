"""Players and bots in the store: their records, the leaderboard, and the one script that rates a match."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from google.protobuf.message import DecodeError

from matchmaking.ratings import BOT_PREFIX, PlayerRecord, new_bot, new_player, rate_match
from matchmaking.record_parts import SCHEMA, UnreadableRecord
from matchmaking.tickets import BotProfile
from rami.store.v1 import ticket_pb2
from rami_kit import keys
from rami_kit.redis_store import Script

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matchmaking.ratings import RatedSeat
    from rami_kit.redis_store import Store

DAY_MS: Final = 86_400_000
RECORDS_KEPT: Final = 10_000
"""Records of players that are remembered, which spares those who queue again a look at the store."""
_BEGINNER: Final = new_player("").skill

_RATE: Final = Script(
    "rate_match",
    """
-- Takes one match into the ratings, once.
-- KEYS: mark of the match, leaderboard, players...
-- ARGV: keep ms of the mark, keep ms of players, most on the leaderboard, then of each player: id, record that the
--       new one was made from (empty for none), new record, rating
-- Reply: 1 rated; 0 it was rated before; -1 a record is not the expected one any more, and nothing is done
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
for i = 3, #KEYS do
  if (redis.call('GET', KEYS[i]) or '') ~= ARGV[4 * i - 7] then
    return -1
  end
end
for i = 3, #KEYS do
  local at = 4 * i - 8
  redis.call('SET', KEYS[i], ARGV[at + 2], 'PX', ARGV[2])
  redis.call('ZADD', KEYS[2], ARGV[at + 3], ARGV[at])
end
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -1 - ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return 1
""",
)


class Ranked(NamedTuple):
    """A line of the leaderboard."""

    rank: int
    """Counts from 1."""
    player_id: str
    record: PlayerRecord


class LeaderboardPage(NamedTuple):
    """Some places of the leaderboard, one after the other."""

    players: list[Ranked]
    more: bool
    """There are places behind these."""


class PlayerStore:
    """The only way to players. Methods raise what the store raises."""

    def __init__(
        self,
        store: Store,
        bot_skills: Mapping[str, float],
        *,
        player_days: int,
        rated_days: int,
        leaderboard_size: int,
    ) -> None:
        """`bot_skills`: every bot profile with what its skill is taken for before its first match, in
        points.
        """
        self._store = store
        self._bot_skills = dict(bot_skills)
        self._player_ms = player_days * DAY_MS
        self.rated_ms = rated_days * DAY_MS
        """How long it is remembered that a match has been rated."""
        self._leaderboard_size = leaderboard_size
        self._remembered: OrderedDict[str, bytes] = OrderedDict()

    def is_bot(self, profile: str) -> bool:
        """Whether there is a bot profile of this name."""
        return profile in self._bot_skills

    async def find(self, player_id: str) -> PlayerRecord | None:
        """What is known of a player or a bot profile; None for nothing."""
        record, _ = await self._read(player_id)
        if record is None and player_id.startswith(BOT_PREFIX):
            profile = player_id.removeprefix(BOT_PREFIX)
            return self._fresh_bot(profile) if self.is_bot(profile) else None
        return record

    async def skill_of(self, player_id: str) -> float:
        """What a player's skill is taken for, in points; that of a beginner where nothing is known."""
        _, encoded = await self._read(player_id)
        return skill_in(encoded)

    def remembered(self, player_id: str) -> bytes:
        """A player's record as it was last seen here, which may be of long ago; empty for none."""
        return self._remembered.get(player_id, b"")

    def remember(self, player_id: str, encoded: bytes) -> None:
        """Takes a player's record as the store has it."""
        self._remembered.pop(player_id, None)
        if encoded:
            self._remembered[player_id] = encoded
            if len(self._remembered) > RECORDS_KEPT:
                self._remembered.popitem(last=False)

    async def bots(self) -> list[BotProfile]:
        """Every bot profile with its present skill."""
        names = sorted(self._bot_skills)
        records = await asyncio.gather(*(self.find(BOT_PREFIX + name) for name in names))
        return [
            BotProfile(name, record.skill, self._bot_skills[name])
            for name, record in zip(names, records, strict=True)
            if record
        ]

    async def leaderboard(self, first: int, count: int) -> LeaderboardPage:
        """`count` places from `first`, counted from 0. One whose record has expired is left out, and the ranks of the
        others stay as they are.
        """
        ids = await self._store.read("ZREVRANGE", keys.leaderboard_key(), first, first + count)
        names = [player_id.decode() for player_id in ids[:count]]
        rows = await asyncio.gather(*(self._read(name) for name in names))
        players = [
            Ranked(first + place + 1, name, record)
            for place, (name, (record, _)) in enumerate(zip(names, rows, strict=True))
            if record is not None
        ]
        return LeaderboardPage(players, more=len(ids) > count)

    async def rank_of(self, player_id: str) -> int | None:
        """A player's place on the leaderboard, from 1; None for none."""
        place = await self._store.read("ZREVRANK", keys.leaderboard_key(), player_id)
        return None if place is None else int(place) + 1

    async def rate(self, room_id: str, seats: Sequence[RatedSeat], winner: int, end_ms: int) -> bool:
        """Takes the match of a room into the ratings; False when it was taken before.

        May be repeated after any error. Another match of the same players at the same time only makes it
        look again.
        """
        ids = list(dict.fromkeys(seat.player_id for seat in seats))
        while True:
            rows = await asyncio.gather(*(self._read(player_id) for player_id in ids))
            before = {
                player_id: record or self._fresh(player_id) for player_id, (record, _) in zip(ids, rows, strict=True)
            }
            after = rate_match(seats, winner, before, end_ms)
            arguments: list[str | bytes | float] = [self.rated_ms, self._player_ms, self._leaderboard_size]
            for player_id, (_, encoded) in zip(ids, rows, strict=True):
                arguments += (player_id, encoded, _encode(after[player_id]), repr(after[player_id].rating))
            reply = await self._store.run(
                _RATE,
                [keys.rated_key(room_id), keys.leaderboard_key(), *(keys.player_key(one) for one in ids)],
                arguments,
                durable=True,
            )
            if reply >= 0:
                return bool(reply)

    async def _read(self, player_id: str) -> tuple[PlayerRecord | None, bytes]:
        """A record and its bytes. One that cannot be read counts as none: the next match writes a new one."""
        encoded = await self._store.read("GET", keys.player_key(player_id))
        if encoded is None:
            return None, b""
        try:
            return _decode(encoded), encoded
        except UnreadableRecord:
            return None, encoded

    def _fresh(self, player_id: str) -> PlayerRecord:
        if player_id.startswith(BOT_PREFIX):
            return self._fresh_bot(player_id.removeprefix(BOT_PREFIX))
        return new_player("")

    def _fresh_bot(self, profile: str) -> PlayerRecord:
        return new_bot(profile, self._bot_skills.get(profile, 1000.0))


def skill_in(encoded: bytes) -> float:
    """What a player's skill is taken for, in points, by the record; that of a beginner where there is none."""
    if not encoded:
        return _BEGINNER
    try:
        return _decode(encoded).skill
    except UnreadableRecord:
        return _BEGINNER


def _encode(record: PlayerRecord) -> bytes:
    return ticket_pb2.StoredPlayer(
        schema=SCHEMA,
        display_name=record.name,
        mu=record.mu,
        sigma=record.sigma,
        matches=record.matches,
        wins=record.wins,
        bot=record.bot,
        update_ms=record.update_ms,
    ).SerializeToString(deterministic=True)


def _decode(encoded: bytes) -> PlayerRecord:
    stored = ticket_pb2.StoredPlayer()
    try:
        stored.ParseFromString(encoded)
    except DecodeError:
        raise UnreadableRecord("bytes that are no record") from None
    if stored.schema != SCHEMA or not math.isfinite(stored.mu) or not 0 < stored.sigma < math.inf:
        raise UnreadableRecord("a player's record of an unknown layout")
    return PlayerRecord(
        stored.display_name,
        stored.mu,
        stored.sigma,
        stored.matches,
        stored.wins,
        stored.bot,
        stored.update_ms,
    )


__all__ = ["LeaderboardPage", "PlayerStore", "Ranked", "skill_in"]
