"""What is kept of a match that was played here: the receipt while it goes on, the verified replay at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
        text = ""
        if self._replay_path is not None:
            save_replay(self._replay_path, replay)
            text = f"\nSaved {self._replay_path} and {self.receipt.path}"
        return describe(verify(replay, self.receipt)) + text


def describe(verification: Verification) -> str:
    """What a verification has proved, in a few lines."""
    replay = verification.replay
    text = (
        f"Replay verified from the commitment on: {_counted(replay.rounds, 'seed and deck', 'seeds and decks')}, "
        f"{_counted(replay.actions, 'action', 'actions')}, every result."
    )
    if replay.unchecked_round is not None:
        text += f"\nRound {replay.unchecked_round} is still played: its seed is not revealed yet."
    if verification.coverage is None:
        return text + (
            "\nNot checked without a receipt: the room, who sat where, the options, the guards, and all times."
        )
    return f"{text}\n{_describe_coverage(verification.coverage)}"


def _describe_coverage(seen: Coverage) -> str:
    """What a receipt has confirmed, and what it could not."""
    if not seen.sightings:
        return "The receipt saw nothing of the match: only the room, the rules and the commitment are those promised."
    versions = " and ".join(f"{first} to {last}" if first < last else str(first) for first, last in seen.versions)
    steps = f"{_counted(seen.sightings, 'step', 'steps')} of the receipt, and all agree"
    if seen.whole:
        return f"It is the match that was seen: {steps}. The receipt covers versions {versions}."
    text = f"It agrees with what was seen, which is not the whole match: {steps}."
    text += f"\nThe receipt covers only versions {versions}."
    if not seen.from_start:
        text += "\nIt did not see the match start: what came before, and the start time, is not checked against it."
    if not seen.to_end:
        last = seen.versions[-1][1]
        text += f"\nIt does not reach the end of the match: nothing after version {last} is checked against it."
    return text


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
