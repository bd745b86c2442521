"""What the simulated store holds and what its commands do to it: the part of Redis that the services use.

Values, errors and replies are those of Redis 7; `test_store.py` holds every script of the services against a real
server. Only the clock is another: the caller brings the time, in ms since 1970.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sim.values import (
    OK,
    CommandError,
    Group,
    SortedSet,
    Status,
    Stream,
    entry_id,
    id_text,
    integer,
    listed,
    number,
    score_text,
    span,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LAST_ID: Final = (1 << 64, 0)


WRITES: Final = frozenset(
    b"DEL PEXPIRE SET HSET HDEL HINCRBY LPUSH LTRIM ZADD ZREM ZREMRANGEBYRANK XADD XGROUP XAUTOCLAIM XREADGROUP "
    b"XACK".split()
)
"""Commands that a replica or the disk has to get."""


class Data:
    """All keys of the store. Commands take their arguments as bytes and give what Redis replies."""

    def __init__(self) -> None:
        self._values: dict[bytes, Any] = {}
        self._ends: dict[bytes, int] = {}
        self.now_us = 0
        self.writes = 0
        """How many commands have written something since the beginning."""
        self.published: list[tuple[bytes, bytes]] = []
        """What the commands since the last look have published."""
        self.commands: dict[bytes, Callable[..., Any]] = {
            name.removeprefix("do_").upper().encode(): getattr(self, name)
            for name in dir(self)
            if name.startswith("do_")
        }

    def run(self, name: bytes, args: Sequence[bytes]) -> Any:
        """The reply to a command. Raises CommandError, and KeyError for a command that is not simulated."""
        if name in WRITES:
            self.writes += 1
        return self.commands[name](*args)

    def copy_keys(self) -> tuple[dict[bytes, Any], dict[bytes, int]]:
        """Everything that is kept, for `put_keys`: later commands do not change it."""
        return {key: _copied(value) for key, value in self._values.items()}, dict(self._ends)

    def put_keys(self, kept: tuple[dict[bytes, Any], dict[bytes, int]]) -> None:
        """Hold what `copy_keys` has kept, and nothing else."""
        self._values = {key: _copied(value) for key, value in kept[0].items()}
        self._ends = dict(kept[1])

    def all_keys(self) -> list[bytes]:
        """Every key that has not expired, in order."""
        return sorted(key for key in list(self._values) if self._get(key) is not None)

    def pass_on(self, key: bytes, other: Data) -> None:
        """Hand a key over to another server, as MIGRATE does: it is on one of the two at any moment."""
        self.writes += 1
        other.writes += 1
        other._values[key] = self._values.pop(key)
        if key in self._ends:
            other._ends[key] = self._ends.pop(key)

    def ttl_ms(self, key: bytes) -> int | None:
        """How long a key lives on; None for ever."""
        return self._ends[key] - self._now_ms() if key in self._ends else None

    def _now_ms(self) -> int:
        return self.now_us // 1000

    def _get(self, key: bytes) -> Any:
        end = self._ends.get(key)
        if end is not None and end <= self._now_ms():
            del self._values[key], self._ends[key]
            return None
        return self._values.get(key)

    def _typed(self, key: bytes, kind: type) -> Any:
        value = self._get(key)
        if value is not None and type(value) is not kind:
            raise CommandError("WRONGTYPE Operation against a key holding the wrong kind of value")
        return value

    def _made(self, key: bytes, kind: type) -> Any:
        value = self._typed(key, kind)
        if value is None:
            value = self._values[key] = kind()
        return value

    def _drop(self, key: bytes) -> None:
        self._values.pop(key, None)
        self._ends.pop(key, None)

    # Keys and strings.

    def do_time(self) -> list[bytes]:
        return [b"%d" % (self.now_us // 1_000_000), b"%d" % (self.now_us % 1_000_000)]

    def do_exists(self, *names: bytes) -> int:
        return sum(self._get(name) is not None for name in names)

    def do_type(self, key: bytes) -> Status:
        names = {bytes: b"string", dict: b"hash", SortedSet: b"zset", Stream: b"stream", list: b"list"}
        value = self._get(key)
        return Status(b"none" if value is None else names[type(value)])

    def do_del(self, *names: bytes) -> int:
        count = self.do_exists(*dict.fromkeys(names))
        for name in names:
            self._drop(name)
        return count

    def do_pexpire(self, key: bytes, milliseconds: bytes) -> int:
        if self._get(key) is None:
            return 0
        self._ends[key] = self._now_ms() + integer(milliseconds)
        return 1

    def do_pttl(self, key: bytes) -> int:
        if self._get(key) is None:
            return -2
        ttl = self.ttl_ms(key)
        return -1 if ttl is None else ttl

    def do_get(self, key: bytes) -> bytes | None:
        value: bytes | None = self._typed(key, bytes)
        return value

    def do_set(self, key: bytes, value: bytes, *options: bytes) -> Status:
        end = None
        if options:
            if len(options) != 2 or options[0].upper() != b"PX":
                raise CommandError("ERR syntax error")
            end = self._now_ms() + integer(options[1])
        self._drop(key)
        self._values[key] = value
        if end is not None:
            self._ends[key] = end
        return OK

    def do_getrange(self, key: bytes, first: bytes, last: bytes) -> bytes:
        value = self._typed(key, bytes) or b""
        return bytes(value[span(len(value), integer(first), integer(last))])

    # Hashes and lists.

    def do_hset(self, key: bytes, *pairs: bytes) -> int:
        fields = self._made(key, dict)
        new = sum(name not in fields for name in dict.fromkeys(pairs[::2]))
        fields.update(zip(pairs[::2], pairs[1::2], strict=True))
        return new

    def do_hget(self, key: bytes, name: bytes) -> bytes | None:
        value: bytes | None = (self._typed(key, dict) or {}).get(name)
        return value

    def do_hexists(self, key: bytes, name: bytes) -> int:
        return int(name in (self._typed(key, dict) or {}))

    def do_hmget(self, key: bytes, *names: bytes) -> list[bytes | None]:
        fields = self._typed(key, dict) or {}
        return [fields.get(name) for name in names]

    def do_hdel(self, key: bytes, *names: bytes) -> int:
        fields = self._typed(key, dict) or {}
        count = sum(fields.pop(name, None) is not None for name in names)
        if not fields:
            self._drop(key)
        return count

    def do_hincrby(self, key: bytes, name: bytes, by: bytes) -> int:
        value = integer((self._typed(key, dict) or {}).get(name, b"0")) + integer(by)
        self._made(key, dict)[name] = b"%d" % value
        return value

    def do_lpush(self, key: bytes, *values: bytes) -> int:
        items = self._made(key, list)
        for value in values:
            items.insert(0, value)
        return len(items)

    def do_lrange(self, key: bytes, first: bytes, last: bytes) -> list[bytes]:
        items = self._typed(key, list) or []
        return list(items[span(len(items), integer(first), integer(last))])

    def do_ltrim(self, key: bytes, first: bytes, last: bytes) -> Status:
        start, end = integer(first), integer(last)
        items = self._typed(key, list)
        if items is not None:
            items[:] = items[span(len(items), start, end)]
            if not items:
                self._drop(key)
        return OK

    # Sorted sets.

    def do_zadd(self, key: bytes, *rest: bytes) -> int:
        only_known = rest[0].upper() == b"XX"
        pairs = rest[1:] if only_known else rest
        scores = [number(score) for score in pairs[::2]]
        members = self._typed(key, SortedSet) if only_known else self._made(key, SortedSet)
        if members is None:
            return 0
        new = 0
        for score, member in zip(scores, pairs[1::2], strict=True):
            if member in members:
                members[member] = score
            elif not only_known:
                members[member] = score
                new += 1
        return new

    def do_zrem(self, key: bytes, *names: bytes) -> int:
        members = self._typed(key, SortedSet) or SortedSet()
        count = sum(members.pop(name, None) is not None for name in names)
        if not members:
            self._drop(key)
        return count

    def do_zscore(self, key: bytes, name: bytes) -> bytes | None:
        score = (self._typed(key, SortedSet) or SortedSet()).get(name)
        return None if score is None else score_text(score)

    def do_zcard(self, key: bytes) -> int:
        return len(self._typed(key, SortedSet) or ())

    def do_zrange(self, key: bytes, first: bytes, last: bytes, *options: bytes) -> list[bytes]:
        ranked = (self._typed(key, SortedSet) or SortedSet()).ranked()
        return listed(ranked[span(len(ranked), integer(first), integer(last))], options)

    def do_zrevrange(self, key: bytes, first: bytes, last: bytes, *options: bytes) -> list[bytes]:
        ranked = (self._typed(key, SortedSet) or SortedSet()).ranked()[::-1]
        return listed(ranked[span(len(ranked), integer(first), integer(last))], options)

    def do_zrangebyscore(self, key: bytes, least: bytes, most: bytes, *options: bytes) -> list[bytes]:
        words = [option.upper() for option in options]
        low, high = number(least), number(most)
        members = self._typed(key, SortedSet)
        if members is None:
            return []
        found = [(score, member) for score, member in members.ranked() if low <= score <= high]
        if b"LIMIT" in words:
            place = words.index(b"LIMIT")
            start, count = integer(words[place + 1]), integer(words[place + 2])
            found = found[start : start + count] if count >= 0 else found[start:]
        return listed(found, words)

    def do_zremrangebyrank(self, key: bytes, first: bytes, last: bytes) -> int:
        ranked = (self._typed(key, SortedSet) or SortedSet()).ranked()
        gone = [member for _, member in ranked[span(len(ranked), integer(first), integer(last))]]
        return self.do_zrem(key, *gone) if gone else 0

    # Streams.

    def do_xadd(self, key: bytes, *rest: bytes) -> bytes:
        most = None
        if rest[0].upper() == b"MAXLEN":
            most = integer(rest[2] if rest[1] in (b"~", b"=") else rest[1])
            rest = rest[3:] if rest[1] in (b"~", b"=") else rest[2:]
        stream = self._typed(key, Stream) or Stream()
        if rest[0] == b"*":
            entry = max((self._now_ms(), 0), (stream.last[0], stream.last[1] + 1))
        else:
            entry = entry_id(rest[0])
            if entry <= stream.last:
                raise CommandError("ERR The ID specified in XADD is equal or smaller than the target stream top item")
        self._values[key] = stream
        stream.entries[entry] = list(rest[1:])
        stream.last = entry
        stream.added += 1
        # "~" trims whole nodes of 100 entries only; nothing here comes near.
        assert most is None or len(stream.entries) <= most + 100, "trimming is not simulated"
        return id_text(entry)

    def do_xrange(self, key: bytes, first: bytes, last: bytes, *options: bytes) -> list[Any]:
        stream = self._typed(key, Stream)
        if stream is None:
            return []
        least = entry_id(first.removeprefix(b"("))
        if first.startswith(b"("):
            least = least[0], least[1] + 1
        most = entry_id(last) if last != b"+" else _LAST_ID
        found = [[id_text(entry), fields] for entry, fields in stream.entries.items() if least <= entry <= most]
        return found[: integer(options[1])] if options else found

    def do_xinfo(self, what: bytes, key: bytes) -> list[Any]:
        stream = self._typed(key, Stream)
        assert what.upper() == b"STREAM"
        if stream is None:
            raise CommandError("ERR no such key")
        return [
            *(b"length", len(stream.entries)),
            *(b"last-generated-id", id_text(stream.last)),
            *(b"entries-added", stream.added),
        ]

    def do_xgroup(self, what: bytes, key: bytes, name: bytes, after: bytes) -> Status:
        stream = self._typed(key, Stream)
        assert what.upper() == b"CREATE"
        if stream is None:
            raise CommandError("ERR The XGROUP subcommand requires the key to exist.")
        if name in stream.groups:
            raise CommandError("BUSYGROUP Consumer Group name already exists")
        stream.groups[name] = Group(entry_id(after))
        return OK

    def do_xautoclaim(
        self, key: bytes, name: bytes, _consumer: bytes, idle_ms: bytes, _start: bytes, _count: bytes, most: bytes
    ) -> list[Any]:
        stream, group = self._group(key, name)
        found: list[Any] = []
        for entry, delivered in list(group.pending.items()):
            if self._now_ms() - delivered >= integer(idle_ms) and len(found) < integer(most):
                group.pending[entry] = self._now_ms()
                found.append([id_text(entry), stream.entries[entry]])
        return [b"0-0", found, []]

    def do_xreadgroup(self, *words: bytes) -> list[Any] | None:
        assert [word.upper() for word in words[::2][:2]] == [b"GROUP", b"COUNT"] or words[3].upper() == b"COUNT"
        name, most, key = words[1], integer(words[4]), words[6]
        stream, group = self._group(key, name)
        found = [entry for entry in stream.entries if entry > group.last][:most]
        if not found:
            return None
        group.last = found[-1]
        group.pending.update((entry, self._now_ms()) for entry in found)
        return [[key, [[id_text(entry), stream.entries[entry]] for entry in found]]]

    def do_xack(self, key: bytes, name: bytes, *entries: bytes) -> int:
        stream = self._typed(key, Stream)
        group = stream.groups.get(name) if stream is not None else None
        if group is None:
            return 0
        return sum(group.pending.pop(entry_id(entry), None) is not None for entry in entries)

    def _group(self, key: bytes, name: bytes) -> tuple[Stream, Group]:
        stream = self._typed(key, Stream)
        if stream is None or name not in stream.groups:
            raise CommandError(f"NOGROUP No such key '{key.decode()}' or consumer group '{name.decode()}'")
        return stream, stream.groups[name]

    # Channels.

    def do_spublish(self, channel: bytes, message: bytes) -> int:
        self.published.append((channel, message))
        return 0  # nobody in the services looks at how many have heard it


def _copied(value: Any) -> Any:
    if isinstance(value, bytes):
        return value
    if isinstance(value, SortedSet):
        return SortedSet(value)
    return value.copy()


__all__ = ["Data"]
