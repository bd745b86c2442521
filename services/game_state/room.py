"""A room in memory: seats, options, match, clocks. Plain state; `table.py` changes it, `codec.py` stores it.

A `Room` holds every hidden card and the seeds of the match. It is never sent anywhere: `projection.py` makes
what a viewer may see. Times are milliseconds of the store's clock; 0 stands for "never".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from rami_engine import Phase

if TYPE_CHECKING:
    from game_state.requests import RequestMemory
    from rami_engine import Guards, MatchState, RuleOptions, SeedChain

_IN_PLAY: Final = (Phase.DRAW, Phase.PLAY)
MISSED_TURNS_LIMIT: Final = 2
"""After so many turns in a row that the clock ran out on, a bot stands in for the person."""


class Status(IntEnum):
    """Where a room stands; the numbers are those of rami.game.v1.RoomStatus."""

    LOBBY = 1
    IN_MATCH = 2
    OVER = 3
    CLOSED = 4


@dataclass(frozen=True, slots=True)
class RoomOptions:
    """What a room plays and how, every default filled in."""

    rules: RuleOptions
    public: bool
    spectators_allowed: bool
    turn_limit_ms: int
    """0 for no limit."""
    bot_pace_ms: int | None
    """None: the default of the room's company."""
    round_interval_ms: int
    auto_start: bool


@dataclass(frozen=True, slots=True)
class Seat:
    """A seat: empty, a person's, or a bot's. Never changed, but replaced by another, so that rooms can share it."""

    player_id: str = ""
    """Empty for none."""
    name: str = ""
    bot: str = ""
    """The profile of the bot that holds the seat; empty for none."""
    missed: int = 0
    """Turns in a row that the clock ran out on."""
    entropy: bytes = b""
    left: bool = False
    """The person has left; a bot stands in until it is back."""

    @property
    def empty(self) -> bool:
        """Nobody holds the seat."""
        return not self.player_id and not self.bot

    @property
    def stand_in(self) -> bool:
        """A bot plays for the person of the seat."""
        return bool(self.player_id) and (self.left or self.missed >= MISSED_TURNS_LIMIT)


@dataclass(slots=True, repr=False)
class Room:
    """A room at one version. Built by `table.new_room` and `codec.decode_room`; changed on copies only."""

    room_id: str
    version: int
    commit_id: bytes
    """8 random bytes of the step that made this version."""
    status: Status
    options: RoomOptions
    guards: Guards
    seats: list[Seat]
    host: str
    """The player id of the host; empty in matched rooms."""
    join_code: str
    chain: SeedChain
    """Shared with other versions of the room: whoever asks for the seed of a round to come replaces it first."""
    commitment: bytes
    create_ms: int
    create_fingerprint: bytes
    expire_ms: int
    requests: RequestMemory
    match_id: bytes = b""
    """16 bytes in matched rooms, else empty."""
    match: MatchState | None = None
    start_ms: int = 0
    turn_deadline_ms: int = 0
    """When the clock that a person has for this turn runs out; also while a bot acts in the person's stead, for when
    the person is back before the turn is over. What counts now is `deadline_ms()`."""
    bot_ms: int = 0
    """When the bot to move may act."""
    advance_ms: int = 0
    """When the next round is dealt, or a room that starts by itself does so at the latest."""
    autopilot: bool = False
    """The rest of this turn is autopilot's."""
    abandoned: bool = False
    rematch_room_id: str = ""
    encoded_head: tuple[tuple[object, ...], bytes] | None = field(default=None, compare=False)
    """The part of the stored form that most steps leave as it is, behind what it was made from; `codec.py` looks after
    it."""

    def __repr__(self) -> str:
        return f"<Room {self.room_id} version={self.version} status={self.status.name}>"

    def copy(self) -> Room:
        """An independent room, to be changed into the next version."""
        # Spelled out, since every step of every room comes through here: a generic copy takes ten times as long.
        return Room(
            self.room_id,
            self.version,
            self.commit_id,
            self.status,
            self.options,
            self.guards,
            self.seats.copy(),
            self.host,
            self.join_code,
            self.chain,
            self.commitment,
            self.create_ms,
            self.create_fingerprint,
            self.expire_ms,
            self.requests.copy(),
            self.match_id,
            self.match.copy() if self.match is not None else None,
            self.start_ms,
            self.turn_deadline_ms,
            self.bot_ms,
            self.advance_ms,
            self.autopilot,
            self.abandoned,
            self.rematch_room_id,
            self.encoded_head,
        )

    def seat_of(self, player_id: str) -> int | None:
        """The seat of a player, also while a bot stands in; None for anybody else."""
        for number, seat in enumerate(self.seats):
            if seat.player_id == player_id:
                return number
        return None

    def current_match(self) -> MatchState:
        """The match. Trusts its caller that there is one."""
        assert self.match is not None, "no match in a room that plays"
        return self.match

    def turn_seat(self) -> int | None:
        """The seat to move; None while no action is possible."""
        match = self.match
        if match is None or match.phase not in _IN_PLAY or self.status != Status.IN_MATCH:
            return None
        assert match.round is not None
        return match.round.turn

    def acting_bot(self) -> int | None:
        """The seat to move when a bot, a stand-in or autopilot moves it; None otherwise."""
        turn = self.turn_seat()
        return turn if turn is not None and self.is_moved(turn) else None

    def is_moved(self, turn: int) -> bool:
        """Whether the seat to move is moved by a bot, a stand-in or autopilot."""
        seat = self.seats[turn]
        return bool(seat.bot) or self.autopilot or ((seat.left or seat.missed > 0) and seat.stand_in)

    def deadline_ms(self) -> int:
        """When the person to move runs out of time; 0 without a limit, and while nobody or a bot moves."""
        turn = self.turn_seat()
        return 0 if turn is None or self.is_moved(turn) else self.turn_deadline_ms

    def people(self) -> list[Seat]:
        """The seats of people who have not left."""
        return [seat for seat in self.seats if seat.player_id and not seat.left]

    def due_ms(self, lease_ms: int) -> int:
        """When the sweeper of any replica must look after the room.

        A bot's move and an advance belong to the replica that committed last until the lease has run out.
        """
        due = self.expire_ms
        # Without a limit nobody has a deadline, and nobody need find out whose turn it is.
        deadline = self.deadline_ms() if self.turn_deadline_ms else 0
        if deadline:
            due = min(due, deadline)
        if self.bot_ms:
            due = min(due, self.bot_ms + lease_ms)
        if self.advance_ms:
            due = min(due, self.advance_ms + lease_ms)
        return due
