"""Keeping finished matches: each is written to an archive before its room expires.

The archive is a folder, or any address that fsspec reaches. A match makes two files in the folder of the day on which
it ended (UTC): the replay, as everybody can verify it, and after it a summary, so that what has a summary is whole.
Their names follow from the match: one that is delivered twice is written twice with the same content, and so is there
once. Everything in them was public when the match ended.
"""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import fsspec.core
from google.protobuf import json_format
from google.protobuf.message import DecodeError

from game_state.replays import whole_replay
from rami.game.v1 import rules_pb2
from rami.store.v1 import finished_pb2
from rami_kit import keys
from rami_kit.errors import RamiError, reasons
from rami_kit.finished_stream import FinishedStream
from rami_kit.settings import SettingsError

if TYPE_CHECKING:
    from game_state.repository import RoomRepository
    from rami.game.v1 import game_service_pb2
    from rami_kit.metrics import GameMetrics
    from rami_kit.redis_store import Store

GROUP: Final = "archive"
SCHEMA: Final = 1
REPLAY_SUFFIX: Final = ".replay.json"
SUMMARY_SUFFIX: Final = ".summary.json"

_log = logging.getLogger(__name__)


class Archive:
    """Where finished matches are written."""

    def __init__(self, address: str) -> None:
        """Raises ValueError for an address that fsspec does not know, ImportError for one that needs more than it."""
        self._files: Any
        self._files, self._root = fsspec.core.url_to_fs(address)
        self._one_at_a_time = asyncio.Lock()

    async def write(
        self, day: str, room_id: str, replay: game_service_pb2.GetReplayResponse, summary: dict[str, Any]
    ) -> None:
        """Write the files of a match. Raises what the file system raises; then nothing but the replay is there."""
        async with self._one_at_a_time:  # fsspec keeps the transaction of a file system in one place
            await asyncio.to_thread(self._write, f"{self._root}/{day}/{room_id}", replay, summary)

    def _write(self, stem: str, replay: game_service_pb2.GetReplayResponse, summary: dict[str, Any]) -> None:
        self._files.makedirs(stem.rpartition("/")[0], exist_ok=True)
        texts = {
            REPLAY_SUFFIX: json_format.MessageToJson(replay, indent=1),
            SUMMARY_SUFFIX: json.dumps(summary, ensure_ascii=False),
        }
        for suffix, text in texts.items():
            # Within a transaction a file appears whole or not at all.
            with self._files.transaction, self._files.open(stem + suffix, "wb") as file:
                file.write(f"{text}\n".encode())


def open_archive(address: str) -> Archive:
    """The archive of RAMI_ARCHIVE_URL. Raises SettingsError for an address that cannot be reached by anything here."""
    try:
        return Archive(address)
    except (ImportError, ValueError) as error:
        raise SettingsError(f"RAMI_ARCHIVE_URL: {error}") from None


class Archivist:
    """Archives every match that ends in the cluster. One runs in each replica; they share the work."""

    def __init__(
        self,
        archive: Archive,
        store: Store,
        repository: RoomRepository,
        metrics: GameMetrics,
        *,
        partitions: int,
        redeliver_seconds: float,
    ) -> None:
        self._archive = archive
        self._store = store
        self._repository = repository
        self._metrics = metrics
        self._stream = FinishedStream(store, GROUP, partitions=partitions, redeliver_seconds=redeliver_seconds)

    async def run(self) -> None:
        """Archive for ever. What cannot be written now comes again."""
        await self._stream.run(self.take)

    async def take(self, encoded: bytes) -> None:
        """Archive the match of an entry of the stream. Raises what keeps it from being archived now."""
        try:
            outcome = await self._take(encoded)
        except Exception:
            self._metrics.archived.labels("failed").inc()
            raise
        self._metrics.archived.labels(outcome).inc()

    async def _take(self, encoded: bytes) -> str:
        """What became of the match, as the metric names it."""
        message = finished_pb2.FinishedMatch()
        try:
            message.ParseFromString(encoded)
        except DecodeError:
            message.Clear()
        if message.schema != SCHEMA or keys.parse_room_id(message.room_id) is None:
            _log.error("an entry of finished matches cannot be read: it is not archived")
            return "unreadable"
        try:
            replay = await whole_replay(self._repository, await self._repository.get(message.room_id))
        except RamiError as error:
            if error.reason != reasons.ERROR_REASON_ROOM_NOT_FOUND:
                raise
            _log.error("a room has expired before its match was archived", extra={"room_id": message.room_id})
            return "lost"
        day = datetime.fromtimestamp(message.end_ms / 1000, UTC).date().isoformat()
        await self._archive.write(day, message.room_id, replay, summary_of(message, replay))
        self._metrics.archive_seconds.labels().observe(max(0.0, self._store.clock.now() - message.end_ms / 1000))
        return "stored"


def summary_of(message: finished_pb2.FinishedMatch, replay: game_service_pb2.GetReplayResponse) -> dict[str, Any]:
    """The line by which a match is found again: when, who, how it ended."""
    reason = rules_pb2.MatchEndReason.Name(message.end_reason)  # type: ignore[arg-type]  # stored as a number
    return {
        "room_id": message.room_id,
        "start": replay.header.start_time.ToJsonString(),
        "end": datetime.fromtimestamp(message.end_ms / 1000, UTC).isoformat(timespec="milliseconds"),
        "seats": [
            {"name": seat.display_name or seat.bot, "player_id": seat.player_id, "bot": seat.bot, "score": seat.score}
            for seat in message.seats
        ],
        "winner": message.winner_plus_one - 1 if message.winner_plus_one else None,
        "reason": reason.removeprefix("MATCH_END_REASON_").lower(),
        "rounds": len(replay.rounds),
        "actions": sum(len(played.actions) for played in replay.rounds),
    }


__all__ = ["GROUP", "Archive", "Archivist", "open_archive", "summary_of"]
