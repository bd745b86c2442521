"""Hash slots of a cluster: which one a key lies in, and who serves it."""

from __future__ import annotations

from binascii import crc_hqx
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rami_kit.resp import Argument, Reply

SLOT_COUNT: Final = 16384

_KEYLESS: Final = frozenset({"TIME", "INFO", "PING", "COMMAND", "CONFIG", "CLUSTER", "ROLE", "SCRIPT", "DBSIZE"})
_SECOND_WORD: Final = frozenset({"XINFO", "XGROUP", "OBJECT", "MEMORY"})
"""Commands whose first key stands behind a subcommand."""
_UNKNOWN_HOSTS: Final = frozenset({"", "?"})
"""What a node says in place of a host that it does not know, or was told not to."""


def slot_of(key: str | bytes) -> int:
    """The slot of a key or sharded channel: of its hash tag, where it has one, else of all of it."""
    if isinstance(key, str):
        key = key.encode()
    start = key.find(b"{")
    if start >= 0:
        end = key.find(b"}", start + 1)
        if end > start + 1:
            key = key[start + 1 : end]
    return crc_hqx(key, 0) % SLOT_COUNT


def first_key(command: tuple[Argument, ...]) -> str | bytes | None:
    """The key that a command is routed by; None for one that any server may answer.

    Trusts that the command has its key right behind its name, or behind the subcommand, as all have that
    services use.
    """
    name = command[0]
    if name in _KEYLESS:
        return None
    place = 2 if name in _SECOND_WORD else 1
    if len(command) <= place:
        return None
    key = command[place]
    return key if isinstance(key, (str, bytes)) else str(key)


def parse_slots(reply: Reply, asked_host: str) -> list[tuple[int, int, str, int]]:
    """Of a reply to CLUSTER SLOTS: first slot, last slot, host and port of the master of each range.

    A node that does not know its own host says nothing there: then it is the one that was asked. Raises
    ValueError for a reply of another shape.
    """
    ranges = []
    try:
        for first, last, (host, port, *_), *_ in reply:
            name = host.decode() if host else ""
            ranges.append((int(first), int(last), asked_host if name in _UNKNOWN_HOSTS else name, int(port)))
    except (TypeError, ValueError, AttributeError):
        raise ValueError("no table of slots") from None
    return ranges


def parse_redirection(text: str, asked_host: str) -> tuple[int, str, int]:
    """Slot, host and port of an error such as "MOVED 3999 127.0.0.1:6381". Raises ValueError for another text."""
    _, slot, place = text.split(" ")[:3]
    host, _, port = place.rpartition(":")
    return int(slot), asked_host if host in _UNKNOWN_HOSTS else host, int(port)


__all__ = ["SLOT_COUNT", "first_key", "parse_redirection", "parse_slots", "slot_of"]
