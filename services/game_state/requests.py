"""The accepted mutations that a room remembers, so that a repeat gets the first answer.

Each player's latest 16 are kept, 12 bytes each: 6 of the request id's fingerprint, 3 of the payload's, 3 of
the version they made. An older repeat cannot apply either: actions name the version they were chosen in.
Refusals are remembered nowhere: a repeat is judged anew.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

from rami_kit.errors import FieldViolation, RamiError, reasons

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

REMEMBERED: Final = 16
"""Mutations remembered for each player."""
PLAYERS_REMEMBERED: Final = 16
"""Players remembered in a room. More come only by sitting down and leaving; who left longest ago is then forgotten."""

_ID_BYTES: Final = 6
_PAYLOAD_BYTES: Final = 3
_VERSION_BYTES: Final = 3
_ENTRY_BYTES: Final = _ID_BYTES + _PAYLOAD_BYTES + _VERSION_BYTES


class RequestKey(NamedTuple):
    """The fingerprint of a mutation: whose, which, and what it asks for."""

    player_id: str
    request: bytes
    payload: bytes


class Repeat(NamedTuple):
    """A mutation that was accepted before."""

    version: int
    """The version that it made."""
    same_payload: bool


def request_key(player_id: str, request_id: str, payload: bytes) -> RequestKey:
    """The fingerprint of a mutation from its request id and what it asks for, in any fixed encoding."""
    return RequestKey(
        player_id,
        hashlib.blake2b(request_id.encode(), digest_size=_ID_BYTES).digest(),
        hashlib.blake2b(payload, digest_size=_PAYLOAD_BYTES).digest(),
    )


def request_id_reused() -> RamiError:
    """The error for a request id that came before with another payload."""
    return RamiError(
        reasons.ERROR_REASON_REQUEST_ID_REUSED,
        "the request_id was used for another payload",
        field_violations=(FieldViolation("request_id", "was used for another payload"),),
    )


class RequestMemory:
    """What one room remembers of accepted mutations, by player. Equal by value."""

    __slots__ = ("_entries",)

    def __init__(self, entries: dict[str, bytes] | None = None) -> None:
        self._entries = entries or {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RequestMemory) and self._entries == other._entries

    __hash__ = None  # type: ignore[assignment]  # mutable, equal by value

    def copy(self) -> RequestMemory:
        """An independent memory with the same entries."""
        return RequestMemory(self._entries.copy())

    def entries(self) -> Iterable[tuple[str, bytes]]:
        """The packed entries of every player, oldest first."""
        return self._entries.items()

    def find(self, key: RequestKey) -> Repeat | None:
        """What became of a mutation, if it was accepted and is still remembered."""
        packed = self._entries.get(key.player_id, b"")
        start = packed.find(key.request)
        while start % _ENTRY_BYTES and start > 0:
            start = packed.find(key.request, start + 1)  # that was no beginning of an entry, but bytes inside of some
        if start < 0:
            return None
        payload = packed[start + _ID_BYTES : start + _ID_BYTES + _PAYLOAD_BYTES]
        version = int.from_bytes(packed[start + _ENTRY_BYTES - _VERSION_BYTES : start + _ENTRY_BYTES])
        return Repeat(version, payload == key.payload)

    def remember(self, key: RequestKey, version: int) -> None:
        """Note an accepted mutation and forget the player's oldest beyond the latest 16."""
        # Taken out and put in again, so that the players stand in the order of their latest mutations.
        packed = self._entries.pop(key.player_id, b"") + key.request + key.payload
        packed += version.to_bytes(_VERSION_BYTES)
        self._entries[key.player_id] = packed[-REMEMBERED * _ENTRY_BYTES :]

    @property
    def crowded(self) -> bool:
        """Whether there are more players than need be remembered."""
        return len(self._entries) > PLAYERS_REMEMBERED

    def forget_absent(self, present: Container[str]) -> None:
        """Keep the memory small: drop players who are not `present` and have done nothing for longest."""
        surplus = len(self._entries) - PLAYERS_REMEMBERED
        if surplus > 0:
            absent = [player_id for player_id in self._entries if player_id not in present]
            for player_id in absent[:surplus]:
                del self._entries[player_id]
