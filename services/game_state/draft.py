"""A room on its way to the next version: the copy that is changed, and what the change is told as.

`lobby.py` and `match.py` change drafts. A draft that is thrown away has changed nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from game_state.projection import seat_to_proto
from game_state.room import Status
from game_state.steps import Public, Step
from rami.game.v1 import event_pb2
from rami_kit.tracing import is_tracing, trace_parent

if TYPE_CHECKING:
    from game_state.room import Room
    from game_state.steps import StepChange


@dataclass(frozen=True, slots=True)
class TableTimes:
    """How long things take at every table of the cluster, in milliseconds."""

    bot_pace_ms: int
    """Least time between two actions of a bot in rooms with people that set none themselves."""
    entropy_window_ms: int
    """How long a room that starts by itself waits for the entropy of people."""
    lobby_ttl_ms: int
    """How long a lobby lives without a change."""
    match_ttl_ms: int
    """How long a match lives without a change."""
    over_ttl_ms: int
    """How long a room lives after its match."""
    lease_ms: int
    """How long the replica that committed last has for what comes next, before others take over."""

    def ttl_ms(self, status: Status) -> int:
        """How long a room in a state lives without a change."""
        if status == Status.LOBBY:
            return self.lobby_ttl_ms
        return self.match_ttl_ms if status == Status.IN_MATCH else self.over_ttl_ms


class Draft:
    """The next version of a room in the making."""

    __slots__ = ("changes", "now_ms", "room", "times", "turn_before")

    def __init__(self, room: Room, now_ms: int, times: TableTimes) -> None:
        self.room = room.copy()
        self.now_ms = now_ms
        self.times = times
        self.changes: list[StepChange] = []
        self.turn_before = _turn_key(room, room.turn_seat())

    def note(self, change: event_pb2.Change) -> None:
        """Tell something that hides nothing."""
        self.changes.append(Public(change.SerializeToString()))

    def note_seat(self, number: int, cause: event_pb2.SeatChangeCause.ValueType) -> None:
        """Tell what a seat has become."""
        seat = seat_to_proto(number, self.room.seats[number])
        self.note(event_pb2.Change(seat_changed=event_pb2.SeatChanged(seat=seat, cause=cause)))

    def seal(self, commit_id: bytes) -> Step:
        """Make the draft the next version: sets version, clocks and expiry, and returns the step of it."""
        room = self.room
        room.version += 1
        room.commit_id = commit_id
        turn = room.turn_seat()
        moved = turn is not None and room.is_moved(turn)
        self._set_clocks(turn, moved=moved)
        room.expire_ms = self.now_ms + self.times.ttl_ms(room.status)
        deadline = 0 if turn is None or moved else room.turn_deadline_ms
        return Step(
            commit_id=commit_id,
            time_ms=self.now_ms,
            changes=self.changes,
            turn=turn,
            phase=room.match.phase if room.match is not None else 0,
            deadline_ms=deadline - self.now_ms if deadline else 0,
            trace_parent=trace_parent() if is_tracing() else "",
        )

    def _set_clocks(self, turn: int | None, *, moved: bool) -> None:
        """`turn`: the seat to move; `moved`: by a bot, a stand-in or autopilot."""
        room = self.room
        if turn is None:
            room.turn_deadline_ms = room.bot_ms = 0
            room.autopilot = False
            return
        if _turn_key(room, turn) != self.turn_before:
            room.turn_deadline_ms = 0
        # What does not move the game on moves no clock: nobody holds a table up by coming and going.
        if not moved:
            room.bot_ms = 0
            limit = room.options.turn_limit_ms
            if limit and not room.turn_deadline_ms:
                room.turn_deadline_ms = self.now_ms + limit
            elif limit:
                # Whoever acts at the last moment still has that moment: a step tells no deadline in its past.
                room.turn_deadline_ms = max(room.turn_deadline_ms, self.now_ms + 1)
        elif not room.bot_ms or self._moves_on():
            room.bot_ms = self.now_ms + self._bot_pace_ms()

    def _moves_on(self) -> bool:
        """Whether an action was played or a round dealt."""
        return not all(isinstance(change, Public) for change in self.changes)

    def _bot_pace_ms(self) -> int:
        room = self.room
        if room.options.bot_pace_ms is not None:
            return room.options.bot_pace_ms
        return self.times.bot_pace_ms if any(seat.player_id for seat in room.seats) else 0


def _turn_key(room: Room, turn: int | None) -> tuple[int, int] | None:
    """Names the turn being played, which is that seat's: round and turn number; None while there is none."""
    if turn is None:
        return None
    current = room.current_match().round
    assert current is not None, "who is to move is so in a round"
    return current.number, current.turns
