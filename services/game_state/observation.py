"""What is counted of the steps that this process commits: actions are counted where they are judged."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from game_state.steps import Dealt, Played
from rami.game.v1 import event_pb2, rules_pb2
from rami_engine import ActionKind

if TYPE_CHECKING:
    from game_state.events import CommittedStep
    from game_state.room import Room
    from rami_kit.metrics import GameMetrics

TURNS_FOLLOWED: Final = 10_000
"""Rooms whose turn is timed at once; of more, those that were quiet for longest are not."""


_ACTORS: Final = {
    number: name.removeprefix("ACTION_SOURCE_").lower() for name, number in event_pb2.ActionSource.items()
}


@dataclass(slots=True)
class _Turn:
    """The turn that is played in a room, as far as this process has seen it."""

    since_ms: int
    version: int
    """The latest step that was seen: a turn is timed only if every step of it was committed here."""


class StepObserver:
    """A listener of commits that counts them. One per process."""

    def __init__(self, metrics: GameMetrics) -> None:
        self._metrics = metrics
        self._play_commits = metrics.commits.labels("play")
        self._room_commits = metrics.commits.labels("room")
        self._autopilot_turns = metrics.autopilot_turns.labels()
        self._turns: OrderedDict[str, _Turn] = OrderedDict()

    def committed(self, room: Room, committed: CommittedStep) -> None:
        """Count a step, the actions that nobody asked for, the turn that is over, and what ended."""
        actor = None
        turn_begins = False
        for change in committed.step.changes:
            if isinstance(change, Played):
                kind = change.action.kind
                actor = _ACTORS[change.source]
                turn_begins = kind == ActionKind.DISCARD
                if change.source != event_pb2.ACTION_SOURCE_PLAYER:
                    self._metrics.actions.labels(kind.name.lower(), actor, "ok").inc()
            elif isinstance(change, Dealt):
                turn_begins = True
        (self._room_commits if actor is None else self._play_commits).inc()
        self._time_turn(room, committed, actor, begins=turn_begins)
        for told in committed.public_changes:
            if told.HasField("match_ended"):
                reason = rules_pb2.MatchEndReason.Name(told.match_ended.result.reason)
                self._metrics.matches.labels(reason.removeprefix("MATCH_END_REASON_").lower()).inc()
            elif told.seat_changed.cause == event_pb2.SEAT_CHANGE_CAUSE_TIMED_OUT:
                self._autopilot_turns.inc()

    def _time_turn(self, room: Room, committed: CommittedStep, actor: str | None, *, begins: bool) -> None:
        """Follow the turn of a room. `actor` ended it if with this step another begins, or none is played."""
        now_ms = committed.step.time_ms
        turn = self._turns.pop(room.room_id, None)
        if turn is not None and turn.version + 1 != committed.version:
            turn = None
        is_played = committed.step.turn is not None
        if begins or not is_played:
            if turn is not None and actor is not None:
                self._metrics.turn_seconds.labels(actor).observe(max(0, now_ms - turn.since_ms) / 1000)
            turn = _Turn(now_ms, committed.version) if is_played else None
        elif turn is not None:
            turn.version = committed.version
        if turn is not None:
            self._turns[room.room_id] = turn
            if len(self._turns) > TURNS_FOLLOWED:
                self._turns.popitem(last=False)
