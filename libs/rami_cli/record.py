"""What is kept of a match that was played here: the receipt while it goes on, the verified replay at its end."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from rami_cli.texts import text
from rami_client import Coverage, Receipt, Verification, save_replay, verify

if TYPE_CHECKING:
    from pathlib import Path

    from rami.game.v1 import game_service_pb2 as game


class MatchRecord:
    """The files of one match; `folder` None keeps the receipt in memory and no replay."""

    def __init__(self, folder: Path | None, room_id: str) -> None:
        """Raises OSError when the folder cannot be written to."""
        self._replay_path: Path | None = None
        self.receipt = Receipt()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._replay_path = folder / f"{room_id}.replay.json"
            self.receipt = Receipt.open(folder / f"{room_id}.receipt.jsonl")

    def finish(self, replay: game.GetReplayResponse) -> str:
        """Keeps the replay and verifies it against the receipt; what that proved. Raises ReplayError and OSError."""
        saved = ""
        if self._replay_path is not None:
            save_replay(self._replay_path, replay)
            saved = "\n" + text("saved", replay=str(self._replay_path), receipt=str(self.receipt.path))
        return describe(verify(replay, self.receipt)) + saved


def describe(verification: Verification) -> str:
    """What a verification has proved, in a few lines."""
    replay = verification.replay
    lines = [text("verified", rounds=replay.rounds, actions=replay.actions)]
    if replay.unchecked_round is not None:
        lines.append(text("verified-unchecked", round=replay.unchecked_round))
    if verification.coverage is None:
        lines.append(text("verified-no-receipt"))
    else:
        lines += _describe_coverage(verification.coverage)
    return "\n".join(lines)


def _describe_coverage(seen: Coverage) -> list[str]:
    """What a receipt has confirmed, and what it could not."""
    if not seen.sightings:
        return [text("receipt-empty")]
    versions = reduce(
        lambda some, more: text("version-and", some=some, more=more),
        (_span(first, last) for first, last in seen.versions),
    )
    lines = [text("receipt-whole" if seen.whole else "receipt-part", steps=seen.sightings, versions=versions)]
    if not seen.whole and not seen.from_start:
        lines.append(text("receipt-late"))
    if not seen.whole and not seen.to_end:
        lines.append(text("receipt-short", version=str(seen.versions[-1][1])))
    return lines


def _span(first: int, last: int) -> str:
    return text("version-span", first=str(first), last=str(last)) if first < last else str(first)
