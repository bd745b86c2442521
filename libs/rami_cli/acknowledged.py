"""What a seat asked for and what it was told, written down outside the cluster and held against the replay.

Every action is written down before it is sent, and its acknowledgement on receipt, so that the journal is true whatever
dies in between. A journal is JSON lines, in a file or in memory:

    {"kind": "asked", "number": 1, "expected_version": 12, "action": "discard 7H"}
    {"kind": "acknowledged", "number": 1, "version": 13}
    {"kind": "refused", "number": 2, "error": "ABORTED STALE_VERSION: …"}
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rami.game.v1 import event_pb2
from rami_client import RamiClientError
from rami_engine import format_action
from rami_wire import action_from_proto

if TYPE_CHECKING:
    from pathlib import Path

    from rami.game.v1 import game_service_pb2 as game
    from rami.game.v1 import replay_pb2
    from rami_client import Table
    from rami_engine import Action


class LostMoveError(Exception):
    """The replay and the journal of a seat contradict each other; the text names every place."""


class Comparison(NamedTuple):
    """What a replay holds of what a seat has asked for; nothing is lost and nothing is doubled."""

    asked: int
    acknowledged: int
    unacknowledged: int
    """Actions in the replay that were asked for and never acknowledged."""


@dataclass(slots=True)
class _Asked:
    """One action and what became of it; `version` is the acknowledged one, 0 for none."""

    expected_version: int
    action: str
    version: int = 0


class AskedActions:
    """The journal of one seat in one match."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` None keeps it in memory. Raises OSError when the file cannot be made."""
        self.path = path
        self._asked: list[_Asked] = []
        if path is not None:
            path.touch(mode=0o600)

    @property
    def asked(self) -> int:
        """Actions that were asked for."""
        return len(self._asked)

    @property
    def acknowledged(self) -> int:
        """Actions that were acknowledged."""
        return sum(asked.version > 0 for asked in self._asked)

    async def play(self, table: Table, action: Action, expected_version: int) -> int:
        """`Table.act`, written down. Raises what that raises."""
        number = self.write_asked(expected_version, action)
        try:
            version = await table.act(action, expected_version=expected_version)
        except RamiClientError as error:
            self._write({"kind": "refused", "number": number, "error": str(error)})
            raise
        self.write_acknowledged(number, version)
        return version

    def write_asked(self, expected_version: int, action: Action) -> int:
        """An action is about to be asked for; its number."""
        asked = _Asked(expected_version, format_action(action))
        self._asked.append(asked)
        number = len(self._asked)
        self._write({"kind": "asked", "number": number, "expected_version": expected_version, "action": asked.action})
        return number

    def write_acknowledged(self, number: int, version: int) -> None:
        """The action of a number was acknowledged as a version of the room."""
        self._asked[number - 1].version = version
        self._write({"kind": "acknowledged", "number": number, "version": version})

    def compare(self, replay: game.GetReplayResponse, seat: int) -> Comparison:
        """Holds the journal against a replay of the match in which it was written by a seat.

        Raises LostMoveError when an acknowledged action is not in the replay as it was asked for and where it was said
        to be, when two were acknowledged as one, and when the replay has one of the seat's player that was not asked
        for. Bots and autopilot may have acted for the seat: those actions are nobody's.
        """
        played = {action.version: action for record in replay.rounds for action in record.actions}
        wrong: list[str] = []
        found: set[int] = set()
        for asked in self._asked:
            if not asked.version:
                continue
            if asked.version in found:
                wrong.append(f"version {asked.version} was acknowledged twice")
            elif not _is_of(played.get(asked.version), seat, asked.action):
                wrong.append(f"'{asked.action}' was acknowledged as version {asked.version} and is not there")
            found.add(asked.version)
        unacknowledged = 0
        wishes = {(asked.expected_version + 1, asked.action) for asked in self._asked if not asked.version}
        for version, action in played.items():
            if version in found or (action.seat, action.source) != (seat, event_pb2.ACTION_SOURCE_PLAYER):
                continue
            text = format_action(action_from_proto(action.action))
            if (version, text) in wishes:
                unacknowledged += 1
            else:
                wrong.append(f"'{text}' is version {version} and was not asked for")
        if wrong:
            raise LostMoveError("the replay is not what was acknowledged: " + "; ".join(wrong))
        return Comparison(self.asked, self.acknowledged, unacknowledged)

    def _write(self, line: dict[str, Any]) -> None:
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def _is_of(played: replay_pb2.ReplayAction | None, seat: int, action: str) -> bool:
    """Whether a replay's action is a seat's own, as it was asked for."""
    if played is None or (played.seat, played.source) != (seat, event_pb2.ACTION_SOURCE_PLAYER):
        return False
    return format_action(action_from_proto(played.action)) == action
