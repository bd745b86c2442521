"""Rooms outside any store: drafted, sealed and logged as the service does, with a clock that tests turn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from game_state import lobby, match
from game_state.draft import Draft, TableTimes
from game_state.driver import _tick
from game_state.events import CommittedStep
from game_state.lobby import NewRoom, Person, blank_room
from game_state.projection import encode_snapshot
from game_state.room import RoomOptions, Seat
from rami.game.v1 import event_pb2
from rami_engine import (
    Action,
    ActionKind,
    Guards,
    MatchState,
    Phase,
    RoundState,
    RuleOptions,
    legal_actions,
    new_chain,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from game_state.room import Room, Status

ResultT = TypeVar("ResultT")

ROOM_ID = "p0-abcdefgh23456723"
START_MS = 1_700_000_000_000
ROOT = bytes(range(32))
CHAIN = new_chain(ROOT)
TIMES = TableTimes(
    bot_pace_ms=600,
    entropy_window_ms=2_000,
    lobby_ttl_ms=1_800_000,
    match_ttl_ms=86_400_000,
    over_ttl_ms=3_600_000,
    lease_ms=1_000,
)
OPTIONS = RoomOptions(
    rules=RuleOptions(),
    public=False,
    spectators_allowed=False,
    turn_limit_ms=60_000,
    bot_pace_ms=None,
    round_interval_ms=0,
    auto_start=False,
)
EMPTY = ""
"""Stands for an empty seat in the lists that rooms are made from."""


def table_options(**values: object) -> RoomOptions:
    """The usual options but for what is named."""
    return replace(OPTIONS, **values)  # type: ignore[arg-type]  # named fields of any kind


def seat_for(holder: str) -> Seat:
    """A seat for "bot:<profile>", for nobody, or for the player of that id."""
    if holder.startswith("bot:"):
        return Seat(bot=holder.removeprefix("bot:"))
    return Seat(player_id=holder, name=holder.title()) if holder else Seat()


class Table:
    """One room, its steps, and the time. `log[n - 1]` made version n."""

    def __init__(
        self,
        seats: Sequence[str],
        *,
        options: RoomOptions = OPTIONS,
        guards: Guards | None = None,
        host: str | None = None,
        times: TableTimes = TIMES,
        match_id: bytes = b"",
        join_code: str = "",
        root: bytes = ROOT,
    ) -> None:
        """`seats` as in `seat_for`; the host is the first person unless named. A matched room has none."""
        self.now_ms = START_MS
        self.times = times
        self.log: list[CommittedStep] = []
        people = [holder for holder in seats if holder and not holder.startswith("bot:")]
        chain = CHAIN if root == ROOT else new_chain(root)
        self.commitment = chain.seed(0)
        new = NewRoom(
            room_id=ROOM_ID,
            options=options,
            guards=guards or Guards(),
            seats=tuple(seat_for(holder) for holder in seats),
            host="" if match_id else host if host is not None else people[0],
            join_code=join_code,
            chain=chain,
            commitment=self.commitment,
            fingerprint=b"12345678",
            match_id=match_id,
        )
        self.room = blank_room(new, self.now_ms)
        self.change(lobby.create)

    def change(self, judge: Callable[[Draft], ResultT]) -> ResultT:
        """Judge a mutation and commit it, unless it changes nothing."""
        before = self.room
        draft = Draft(before, self.now_ms, self.times)
        result = judge(draft)
        if draft.changes:
            step = draft.seal((before.version + 1).to_bytes(8))
            self.room = draft.room
            self.log.append(CommittedStep(self.room.version, before.commit_id, step))
        return result

    def wait(self, milliseconds: int) -> None:
        """Let time pass; nothing happens by itself."""
        self.now_ms += milliseconds

    @property
    def match(self) -> MatchState:
        return self.room.current_match()

    @property
    def round(self) -> RoundState:
        assert self.match.round is not None
        return self.match.round

    @property
    def turn(self) -> int:
        seat = self.room.turn_seat()
        assert seat is not None
        return seat

    # Methods, for a type checker would take a property that was once asserted to stay as it was.

    def status(self) -> Status:
        return self.room.status

    def phase(self) -> Phase:
        return self.match.phase

    def stand_in(self, seat: int = 0) -> bool:
        return self.room.seats[seat].stand_in

    def autopilot(self) -> bool:
        return self.room.autopilot

    def changes(self) -> list[event_pb2.Change]:
        """What the latest step told everybody, deals and actions aside."""
        return self.log[-1].public_changes

    def causes(self) -> list[tuple[int, str]]:
        """Which seats the latest step changed, and why."""
        return [
            (
                change.seat_changed.seat.seat,
                event_pb2.SeatChangeCause.Name(change.seat_changed.cause).removeprefix("SEAT_CHANGE_CAUSE_"),
            )
            for change in self.changes()
            if change.HasField("seat_changed")
        ]

    # What happens at tables.

    def join(self, player: str, seat: int | None = None, *, with_code: bool = True) -> int:
        return self.change(lambda draft: lobby.join(draft, Person(player, player.title()), seat, with_code=with_code))

    def leave(self, player: str) -> None:
        self.change(lambda draft: lobby.leave(draft, player))

    def bots(self, player: str, changes: dict[int, str]) -> None:
        self.change(lambda draft: lobby.update_seats(draft, player, changes))

    def entropy(self, player: str, entropy: bytes = b"entropy") -> None:
        self.change(lambda draft: lobby.set_entropy(draft, player, entropy))

    def start(self, player: str | None = None) -> None:
        host = self.room.host if player is None else player
        self.change(lambda draft: lobby.start(draft, host))

    def play(self, player: str, action: Action, version: int | None = None) -> None:
        """An action of a person, chosen in the current version unless another is named."""
        expected = self.room.version if version is None else version
        self.change(lambda draft: match.play_for_player(draft, player, expected, action))

    def play_seat(self, action: Action, source: event_pb2.ActionSource.ValueType = event_pb2.ACTION_SOURCE_BOT) -> None:
        """An action of whoever moves the seat whose turn it is."""
        seat = self.turn
        self.change(lambda draft: match.play(draft, seat, action, source))

    def tick(self) -> None:
        """What the clocks make of the time that has passed."""
        self.change(_tick)

    def legal(self) -> tuple[Action, ...]:
        return legal_actions(self.match, self.turn)

    def play_turn(self, player: str | None = None) -> None:
        """A whole turn, of the seat to move: draw from the stock, discard the lowest card."""
        seat, number = self.turn, self.round.number
        draws = self.match.phase == Phase.DRAW
        for wanted in (ActionKind.DRAW_STOCK, ActionKind.DISCARD)[0 if draws else 1 :]:
            action = next(action for action in self.legal() if action.kind == wanted)
            if player is None:
                self.play_seat(action)
            else:
                self.play(player, action)
            if self.room.turn_seat() != seat or self.round.number != number:
                return

    def play_on(self, chance: random.Random, actions: int = 10_000) -> None:
        """So many random legal actions, melds and lay-offs rather than not, as far as the match goes."""
        for _ in range(actions):
            if self.room.turn_seat() is None:
                return
            self.play_seat(lively(self.legal(), chance))


def lively(legal: Sequence[Action], chance: random.Random) -> Action:
    """A legal action: often a meld or lay-off where there is one, else any."""
    laying = [action for action in legal if action.kind in (ActionKind.MELD, ActionKind.LAY_OFF)]
    return chance.choice(laying) if laying and chance.random() < 0.7 else chance.choice(legal)


def snapshot_message(room: Room, player_id: str, now_ms: int) -> event_pb2.Snapshot:
    """The whole room as a player sees it, at a moment of the store's clock."""
    return event_pb2.Snapshot.FromString(encode_snapshot(room, player_id, now_ms))
