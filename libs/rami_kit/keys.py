"""Every key and channel of the store: what it holds, who writes it, and how long it lives.

    key                         type        holds                                         owner        lives for
    {p<n>}:room:<token>         string      one room: version, commit id, encoded state   game         room expiry
    {p<n>}:room:<token>:log     stream      its events, entry id <version>-0              game         room expiry
    {p<n>}:room:<token>:events  channel     the same events as they are committed         game         -
    {p<n>}:due                  sorted set  rooms by the time something must happen       game         for ever
    {p<n>}:finished             stream      ended matches, for ratings and the archive    game         trimmed
    {p<n>}:list:<status>        sorted set  public rooms in a state by creation time      game         for ever
    {p<n>}:code:<CODE>          string      token of the room of a join code              game         room expiry
    {p<n>}:host:<player>        sorted set  rooms a player hosts by when they were made   game         7 days
    {p<n>}:own:<player>         sorted set  rooms a player sits in or hosts, as above     game         30 days
    {mm}:ticket:<id>            hash        a ticket                                      matchmaking  1 to 5 min
    {mm}:live:<player>          string      id of the live ticket of a player             matchmaking  as its ticket
    {mm}:waiting                sorted set  waiting tickets by the time they expire       matchmaking  1 day
    {mm}:changes                stream      tickets that came into and left the queue     matchmaking  5 min
    {mm}:events                 channel     ids of tickets whose state has changed        matchmaking  -
    {mm}:claim:<match>          hash        a claim: a table that is being seated         matchmaking  1 day
    {mm}:claims                 sorted set  claims by the time their lease ends           matchmaking  1 day
    {mm}:waits:<pool>           list        how long the latest matched players waited    matchmaking  1 day
    {mm}:player:<player>        string      rating and record of a player or bot          matchmaking  400 days
    {mm}:leaderboard            sorted set  rated players and bots by rating              matchmaking  400 days
    {mm}:rated:<room>           string      the match of a room is in the ratings         matchmaking  30 days

The braces are a hash tag: on a cluster everything of one partition lies in one slot, so that one script may
touch it all; all of matchmaking lies in one more. Keys of a room get a TTL with every write; sets and streams
of a partition lose their entries instead. Every key of matchmaking has a TTL; the ones above are the defaults
of its settings.

Room ids and join codes are what players see; both name the partition, so that any replica finds the room with
no look-up. `format_` and `parse_` are pairs.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

MAX_PARTITIONS: Final = 1024
ROOM_TOKEN_LENGTH: Final = 16
JOIN_CODE_LENGTH: Final = 6
CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Base 32 without I, L, O and U, which people misread."""

_ROOM_ID: Final = re.compile(rf"p(0|[1-9][0-9]{{0,3}})-([a-z2-7]{{{ROOM_TOKEN_LENGTH}}})", re.ASCII)
_JOIN_CODE: Final = re.compile(rf"[{CROCKFORD}]+", re.ASCII)
_MISREAD: Final = str.maketrans({"I": "1", "L": "1", "O": "0"})
_BETWEEN: Final = re.compile(r"[\s\u200b-\u200d\u2010-\u2015\u2060\ufeff-]+")
"""What stands between and around the characters of a code that was pasted: spaces, hyphens, and what nobody sees."""
_MOST_TYPED: Final = 64
"""Characters of a text that may be a join code."""


def partition_tag(partition: int) -> str:
    """The hash tag that all keys of a partition share."""
    return f"{{p{partition}}}"


def room_key(partition: int, token: str) -> str:
    """String: the state of a room."""
    return f"{{p{partition}}}:room:{token}"


def log_key(partition: int, token: str) -> str:
    """Stream: the events of a room."""
    return f"{{p{partition}}}:room:{token}:log"


def room_channel(partition: int, token: str) -> str:
    """Channel: the events of a room as they are committed."""
    return f"{{p{partition}}}:room:{token}:events"


def due_key(partition: int) -> str:
    """Sorted set: room tokens by the store time, in milliseconds, at which something must happen."""
    return f"{{p{partition}}}:due"


def finished_key(partition: int) -> str:
    """Stream: ended matches, one entry a match."""
    return f"{{p{partition}}}:finished"


def listing_key(partition: int, status: str) -> str:
    """Sorted set: tokens of public rooms in a state ("lobby", "in_match", "over") by creation time."""
    return f"{{p{partition}}}:list:{status}"


def code_key(partition: int, code: str) -> str:
    """String: the token of the room that a join code stands for. `code` is without the partition."""
    return f"{{p{partition}}}:code:{code}"


def hosted_key(partition: int, player_id: str) -> str:
    """Sorted set: ids of the rooms that a player hosts, by the store time, in milliseconds, at which they were made."""
    return f"{{p{partition}}}:host:{player_id}"


def own_rooms_key(partition: int, player_id: str) -> str:
    """Sorted set: ids of the rooms that a player sits in or hosts, by the store time, in ms, of their creation."""
    return f"{{p{partition}}}:own:{player_id}"


def ticket_key(ticket_id: str) -> str:
    """Hash: a ticket. With an empty id it is the common beginning of these keys, for scripts."""
    return f"{{mm}}:ticket:{ticket_id}"


def live_ticket_key(player_id: str) -> str:
    """String: id of the one live ticket of a player. With an empty id the common beginning, for scripts."""
    return f"{{mm}}:live:{player_id}"


def waiting_key() -> str:
    """Sorted set: ids of waiting tickets by the store time, in milliseconds, at which they expire."""
    return "{mm}:waiting"


def queue_changes_key() -> str:
    """Stream: which tickets came into the queue and which left it."""
    return "{mm}:changes"


def ticket_channel() -> str:
    """Channel: the id of every ticket whose state has changed."""
    return "{mm}:events"


def claim_key(match_id: str) -> str:
    """Hash: a claim, by match id in hex. With an empty id the common beginning of these keys, for scripts."""
    return f"{{mm}}:claim:{match_id}"


def claims_key() -> str:
    """Sorted set: match ids in hex by the store time, in milliseconds, at which the claim's lease ends."""
    return "{mm}:claims"


def waits_key(pool: str) -> str:
    """List: how long the latest matched players of a pool waited, in milliseconds, latest first."""
    return f"{{mm}}:waits:{pool}"


def player_key(player_id: str) -> str:
    """String: rating and record of a player, or of a bot profile under "bot:<profile>"."""
    return f"{{mm}}:player:{player_id}"


def leaderboard_key() -> str:
    """Sorted set: ids of rated players and bots by rating."""
    return "{mm}:leaderboard"


def rated_key(room_id: str) -> str:
    """String: says that the match of a room has been taken into the ratings."""
    return f"{{mm}}:rated:{room_id}"


def format_room_id(partition: int, token: str) -> str:
    """The id that clients use, such as "p17-abcdefghij234567"."""
    return f"p{partition}-{token}"


def parse_room_id(room_id: str) -> tuple[int, str] | None:
    """The partition and token of a room id; None for a text that is no room id."""
    match = _ROOM_ID.fullmatch(room_id)
    if match is None:
        return None
    partition = int(match[1])
    return (partition, match[2]) if partition < MAX_PARTITIONS else None


def format_join_code(partition: int, code: str, partitions: int) -> str:
    """The join code that players pass on: the partition, where there are several, and the code."""
    if partitions == 1:
        return code
    return CROCKFORD[partition >> 5] + CROCKFORD[partition & 31] + code


def parse_join_code(text: str, partitions: int) -> tuple[int, str] | None:
    """The partition and code of what a player typed or pasted, in any case and width, with the usual misreadings, and
    whatever came along around it; or None.
    """
    if len(text) > _MOST_TYPED:
        return None
    cleaned = _BETWEEN.sub("", unicodedata.normalize("NFKC", text)).upper().translate(_MISREAD)
    if _JOIN_CODE.fullmatch(cleaned) is None:
        return None
    partition = 0
    if partitions > 1:
        if len(cleaned) != JOIN_CODE_LENGTH + 2:
            return None
        partition = CROCKFORD.index(cleaned[0]) << 5 | CROCKFORD.index(cleaned[1])
        cleaned = cleaned[2:]
    if len(cleaned) != JOIN_CODE_LENGTH or partition >= partitions:
        return None
    return partition, cleaned


__all__ = [
    "CROCKFORD",
    "JOIN_CODE_LENGTH",
    "MAX_PARTITIONS",
    "ROOM_TOKEN_LENGTH",
    "claim_key",
    "claims_key",
    "code_key",
    "due_key",
    "finished_key",
    "format_join_code",
    "format_room_id",
    "hosted_key",
    "leaderboard_key",
    "listing_key",
    "live_ticket_key",
    "log_key",
    "own_rooms_key",
    "parse_join_code",
    "parse_room_id",
    "partition_tag",
    "player_key",
    "queue_changes_key",
    "rated_key",
    "room_channel",
    "room_key",
    "ticket_channel",
    "ticket_key",
    "waiting_key",
    "waits_key",
]
