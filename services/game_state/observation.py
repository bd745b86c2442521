"""What is counted of the steps that this process commits: actions are counted where they are judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from game_state.steps import played_parts
from rami.game.v1 import event_pb2, rules_pb2

if TYPE_CHECKING:
    from game_state.events import CommittedStep
    from game_state.room import Room
    from rami_kit.metrics import GameMetrics


class StepObserver:
    """A listener of commits that counts them. One per process."""

    def __init__(self, metrics: GameMetrics) -> None:
        self._metrics = metrics
        self._play_commits = metrics.commits.labels("play")
        self._room_commits = metrics.commits.labels("room")
        self._autopilot_turns = metrics.autopilot_turns.labels()

    def committed(self, _room: Room, committed: CommittedStep) -> None:
        """Count a step, the actions that nobody asked for, and what ended."""
        first = committed.step.changes[0]
        if first.WhichOneof("kind") == "played":
            self._play_commits.inc()
            _, action, source, _ = played_parts(first.played)
            if source != event_pb2.ACTION_SOURCE_PLAYER:
                actor = event_pb2.ActionSource.Name(source).removeprefix("ACTION_SOURCE_").lower()
                self._metrics.actions.labels(action.kind.name.lower(), actor, "ok").inc()
        else:
            self._room_commits.inc()
        for change in committed.public_changes:
            kind = change.WhichOneof("kind")
            if kind == "match_ended":
                reason = rules_pb2.MatchEndReason.Name(change.match_ended.result.reason)
                self._metrics.matches.labels(reason.removeprefix("MATCH_END_REASON_").lower()).inc()
            elif kind == "seat_changed" and change.seat_changed.cause == event_pb2.SEAT_CHANGE_CAUSE_TIMED_OUT:
                self._autopilot_turns.inc()
