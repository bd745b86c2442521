"""What the simulated store holds besides bytes, dicts and lists, and how the words of its commands are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

EMPTY_ID: Final = (0, 0)


class CommandError(Exception):
    """What the server refuses a command with; the text begins with the word of the error."""


class Status(bytes):
    """A reply such as OK, which is no bulk string on the wire."""

    __slots__ = ()


OK: Final = Status(b"OK")


class SortedSet(dict[bytes, float]):
    """Scores by member."""

    __slots__ = ()

    def ranked(self) -> list[tuple[float, bytes]]:
        """Score and member, lowest first, equal scores by their bytes."""
        return sorted((score, member) for member, score in self.items())


class Stream:
    """A stream and its consumer groups."""

    __slots__ = ("added", "entries", "groups", "last")

    def __init__(self) -> None:
        self.entries: dict[tuple[int, int], list[bytes]] = {}
        self.last = EMPTY_ID
        self.added = 0
        self.groups: dict[bytes, Group] = {}

    def copy(self) -> Stream:
        """Another stream with the same entries and groups."""
        other = Stream()
        other.entries, other.last, other.added = dict(self.entries), self.last, self.added
        other.groups = {name: group.copy() for name, group in self.groups.items()}
        return other


class Group:
    """A consumer group: how far it has read, and what waits for an acknowledgement, with the time of delivery."""

    __slots__ = ("last", "pending")

    def __init__(self, last: tuple[int, int]) -> None:
        self.last = last
        self.pending: dict[tuple[int, int], int] = {}

    def copy(self) -> Group:
        """Another group that stands in the same place."""
        other = Group(self.last)
        other.pending = dict(self.pending)
        return other


def integer(text: bytes) -> int:
    try:
        return int(text)
    except ValueError:
        raise CommandError("ERR value is not an integer or out of range") from None


def number(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        raise CommandError("ERR value is not a valid float") from None


def span(length: int, first: int, last: int) -> slice:
    """The part of a sequence that Redis means by two places, the second one included."""
    first = max(0, first + length) if first < 0 else first
    last = last + length if last < 0 else last
    return slice(first, last + 1) if last >= first else slice(0, 0)


def listed(ranked: list[tuple[float, bytes]], options: Sequence[bytes]) -> list[bytes]:
    """Members, each followed by its score where that is asked for."""
    if any(option.upper() == b"WITHSCORES" for option in options):
        return [part for score, member in ranked for part in (member, score_text(score))]
    return [member for _, member in ranked]


def score_text(score: float) -> bytes:
    return b"%.17g" % score


def entry_id(text: bytes) -> tuple[int, int]:
    if text == b"-":
        return EMPTY_ID
    milliseconds, _, number = text.partition(b"-")
    return integer(milliseconds), integer(number or b"0")


def id_text(entry: tuple[int, int]) -> bytes:
    return b"%d-%d" % entry


__all__ = [
    "EMPTY_ID",
    "OK",
    "CommandError",
    "Group",
    "SortedSet",
    "Status",
    "Stream",
    "entry_id",
    "id_text",
    "integer",
    "listed",
    "number",
    "score_text",
    "span",
]
