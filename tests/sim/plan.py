"""The schedule of a run: who plays what, and which faults strike when. All of it follows from the seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_GAMES: Final = ("game-0", "game-1")
COMMITS: Final = ("commit",)
QUEUE_SCRIPTS: Final = (
    *("create_ticket", "confirm_ticket", "claim_table", "assign_table", "return_table", "cancel_ticket", "take_claims"),
)


class Kind(StrEnum):
    """What is played."""

    TABLE = "table"
    """People and bots who sit down before anything goes wrong."""
    ROOM = "room"
    """From the empty room through the changes of its seats to the rematch."""
    QUEUE = "queue"
    """Players and parties who want tables."""


class Deed(StrEnum):
    """What may happen."""

    CRASH = "crash"
    SILENT_CRASH = "silent crash"
    DRAIN = "drain"
    CUT_STORE = "cut store"
    CUT_LISTENERS = "cut listeners"
    PAUSE_STORE = "pause store"
    STORE_AWAY = "store away"
    FAIL_OVER = "fail over"
    REPLICA_LAGS = "replica lags"
    FORGET_SCRIPTS = "forget scripts"
    TRAP = "trap"
    LOSSY_CALLS = "lossy calls"
    SLOW_NETWORK = "slow network"
    CUT_CALLS = "cut calls"
    BAD_AI = "bad ai"
    SECOND_DEVICE = "second device"
    AWAY = "away"
    REPEAT = "repeat"
    STEP_OUT = "step out"
    MOVE_SLOT = "move slot"


_TABLE_DEEDS: Final = {
    Deed.CRASH: 3,
    Deed.SILENT_CRASH: 1,
    Deed.DRAIN: 1,
    Deed.CUT_STORE: 3,
    Deed.CUT_LISTENERS: 4,
    Deed.PAUSE_STORE: 2,
    Deed.STORE_AWAY: 1,
    Deed.FAIL_OVER: 5,
    Deed.REPLICA_LAGS: 1,
    Deed.FORGET_SCRIPTS: 1,
    Deed.TRAP: 7,
    Deed.LOSSY_CALLS: 4,
    Deed.SLOW_NETWORK: 3,
    Deed.CUT_CALLS: 3,
    Deed.BAD_AI: 2,
    Deed.SECOND_DEVICE: 1,
    Deed.AWAY: 2,
    Deed.REPEAT: 3,
    Deed.STEP_OUT: 2,
}
_QUEUE_DEEDS: Final = {
    Deed.CRASH: 5,
    Deed.SILENT_CRASH: 1,
    Deed.DRAIN: 1,
    Deed.CUT_STORE: 3,
    Deed.CUT_LISTENERS: 2,
    Deed.PAUSE_STORE: 2,
    Deed.STORE_AWAY: 1,
    Deed.FAIL_OVER: 3,
    Deed.TRAP: 10,
    Deed.LOSSY_CALLS: 5,
    Deed.SLOW_NETWORK: 3,
    Deed.CUT_CALLS: 2,
    Deed.REPEAT: 2,
}
_OF_PLAYERS: Final = frozenset({Deed.SECOND_DEVICE, Deed.AWAY, Deed.REPEAT, Deed.STEP_OUT})
_MOVES: Final = 6
"""The weight of moving slots, where there are several masters."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that happens."""

    at: float
    """Seconds after the beginning of the play."""
    deed: Deed
    seconds: float
    """How long it lasts, where it lasts."""
    victim: str
    """Name of a host; of a player for what befalls players."""
    scripts: tuple[str, ...] = ()
    countdown: int = 0
    after: bool = False
    crash: bool = False
    """Of a trap: the host crashes as well."""
    share: float = 0.0
    place: int = 0
    """Which of several: slots, or masters of the store."""

    def __str__(self) -> str:
        trap = f" {'after' if self.after else 'before'} {self.scripts[0]} no. {self.countdown}" if self.scripts else ""
        crash = " and crash" if self.crash and self.scripts else ""
        return f"{self.at:.2f}s {self.deed}{trap}{crash} {self.victim} for {self.seconds:.2f}s"


@dataclass(frozen=True, slots=True)
class Plan:
    """One run."""

    seed: int
    kind: Kind
    durability: str
    seats: int
    people: int
    """Of a table or room: seats that people hold. Of a queue: players who want a table."""
    parties: int
    """Of a queue: pairs of them who only sit down together."""
    masters: int
    """Servers that share the store."""
    spectators: int
    turns: int
    """Turns after which a round ends."""
    rounds: int
    """About as many rounds of that many turns end the match."""
    target: int
    """Score that ends the match earlier."""
    turn_limit: float
    """Seconds; 0 for none."""
    bot_pace: float
    think: float
    by_calls: float
    """Share of the players who act by unary calls."""
    faults: tuple[Fault, ...] = field(default=())

    def __str__(self) -> str:
        parties = f" ({self.parties} parties)" if self.parties else ""
        who = f"{self.people} people{parties}, {self.seats} seats, {self.spectators} watching"
        match = f"{self.rounds} rounds of {self.turns} turns"
        store = f"durability {self.durability}, {self.masters} masters"
        head = f"seed {self.seed}: {self.kind}, {store}, {who}, {match}"
        return "\n  ".join([head, *map(str, self.faults)])


def plan_for(seed: int) -> Plan:
    """The schedule of a seed."""
    chance = random.Random(f"plan-{seed}")
    kind = chance.choices((Kind.TABLE, Kind.ROOM, Kind.QUEUE), weights=(13, 4, 3))[0]
    people = chance.choice((1, 2, 2, 2, 3) if kind is Kind.TABLE else (2, 2, 3))
    seats = max(people, chance.choice((2, 2, 2, 3, 4)))
    parties = 0
    if kind is Kind.QUEUE:
        people, seats = chance.choice((2, 3, 4)), 2
        if chance.random() < 0.5:
            parties, seats = chance.randint(1, people // 2), 3
    masters = 3 if chance.random() < 0.12 else 1
    long = chance.random() < 0.1
    return Plan(
        seed=seed,
        kind=kind,
        durability=chance.choice(("memory", "memory", "replica", "fsync")),
        seats=seats,
        people=people,
        parties=parties,
        masters=masters,
        spectators=0 if kind is Kind.QUEUE else chance.choice((0, 0, 1)),
        turns=chance.choice((4, 6, 8) if long else (2, 3, 4)),
        rounds=chance.choice((2, 3) if long else (1, 1, 2)) if kind is Kind.TABLE else 1,
        target=chance.choice((10, 25, 50)),
        turn_limit=chance.choice((0.5, 1.0, 2.0)),
        bot_pace=chance.choice((0.0, 0.02, 0.1)),
        think=chance.choice((0.005, 0.02, 0.05)),
        by_calls=chance.choice((0.0, 0.5, 1.0)),
        faults=tuple(sorted(_faults(chance, kind, people, masters), key=lambda fault: fault.at)),
    )


def _faults(chance: random.Random, kind: Kind, people: int, masters: int) -> Iterator[Fault]:
    hosts, players = list(_GAMES), [f"p{number}" for number in range(people)]
    if kind is Kind.QUEUE:
        hosts += ["queue-0", "queue-1"]
    deeds = dict(_QUEUE_DEEDS if kind is Kind.QUEUE else _TABLE_DEEDS)
    if masters > 1:
        deeds[Deed.MOVE_SLOT] = _MOVES
    for deed in chance.choices(list(deeds), weights=list(deeds.values()), k=chance.choice((1, 1, 2, 2, 3, 4))):
        victim = chance.choice(players if deed in _OF_PLAYERS else hosts)
        scripts: tuple[str, ...] = ()
        if deed is Deed.TRAP:
            scripts = COMMITS if victim in _GAMES else (chance.choice(QUEUE_SCRIPTS),)
        yield Fault(
            at=chance.random() * chance.choice((0.2, 0.5, 1.0)),
            deed=deed,
            seconds=chance.choice((0.05, 0.2, 0.5, 1.0)) * (0.5 + chance.random()),
            victim=victim,
            scripts=scripts,
            countdown=chance.randrange(6) if scripts == COMMITS else chance.randrange(2),
            after=chance.random() < 0.6,
            crash=chance.random() < 0.35,
            share=chance.choice((0.1, 0.3, 0.6)),
            place=chance.randrange(60),
        )


__all__ = ["Deed", "Fault", "Kind", "Plan", "plan_for"]
