"""The archive of finished matches as an operator reads it: a folder, or any address that fsspec reaches.

In it is a folder for each day on which matches ended, and in that a summary and a replay for each match.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import fsspec.core
from google.protobuf import json_format

from rami.game.v1 import game_service_pb2 as game
from rami_client import BadFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

SUMMARY_SUFFIX: Final = ".summary.json"
REPLAY_SUFFIX: Final = ".replay.json"

_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class ArchivedMatch(NamedTuple):
    """A match in the archive."""

    room_id: str
    day: str
    """When it ended, as YYYY-MM-DD (UTC)."""
    end: str
    """The same to the millisecond, ISO 8601."""
    seats: tuple[str, ...]
    """The name of every seat and its score."""
    winner: int | None
    reason: str
    rounds: int
    actions: int

    @classmethod
    def from_summary(cls, day: str, summary: dict[str, Any]) -> ArchivedMatch:
        """Raises KeyError and TypeError for what is no summary."""
        return cls(
            summary["room_id"],
            day,
            summary["end"],
            tuple(f"{seat['name']} {seat['score']}" for seat in summary["seats"]),
            summary["winner"],
            summary["reason"],
            summary["rounds"],
            summary["actions"],
        )


class ArchiveError(Exception):
    """An archive that cannot be reached, or does not hold what was asked for."""


class ArchiveReader:
    """Lists and opens."""

    def __init__(self, address: str) -> None:
        """Raises ArchiveError for an address that nothing here can reach."""
        self._address = address
        self._files: Any
        try:
            self._files, self._root = fsspec.core.url_to_fs(address)
        except (ImportError, ValueError) as error:
            raise ArchiveError(f"{address}: {error}") from error

    def matches(self, day: str | None = None) -> Iterator[ArchivedMatch]:
        """The matches, last day first; of one day only if it is given.

        Raises ArchiveError where there is no archive, and BadFileError for a broken summary.
        """
        for folder in [name for name in self._days() if day in (None, name)]:
            for path in sorted(self._names(f"{self._root}/{folder}"), reverse=True):
                if path.endswith(SUMMARY_SUFFIX):
                    yield self._summary(folder, path)

    def replay(self, room_id: str) -> game.GetReplayResponse:
        """The replay of a match. Raises ArchiveError, and BadFileError for a file that is no replay."""
        for day in self._days():
            path = f"{self._root}/{day}/{room_id}{REPLAY_SUFFIX}"
            if self._files.exists(path):
                try:
                    return json_format.Parse(self._files.cat_file(path), game.GetReplayResponse())
                except (UnicodeDecodeError, json_format.ParseError) as error:
                    raise BadFileError(path, "is no replay") from error
        raise ArchiveError(f"no match of the room {room_id} is in the archive {self._address}")

    def _days(self) -> list[str]:
        """The folders of the archive, last day first. Raises ArchiveError where nothing was ever archived."""
        if not self._files.isdir(self._root):
            raise ArchiveError(f"no archive is at {self._address}: the first match that ends there makes it")
        names = (Path(path).name for path in self._names(self._root))
        return sorted(filter(_DAY.fullmatch, names), reverse=True)

    def _names(self, folder: str) -> list[str]:
        return [str(path) for path in self._files.ls(folder, detail=False)]

    def _summary(self, day: str, path: str) -> ArchivedMatch:
        try:
            return ArchivedMatch.from_summary(day, json.loads(self._files.cat_file(path)))
        except (ValueError, KeyError, TypeError) as error:
            raise BadFileError(path, "is no summary of a match") from error


__all__ = ["ArchiveError", "ArchiveReader", "ArchivedMatch"]
