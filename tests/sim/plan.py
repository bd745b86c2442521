"""The schedule of a run: who plays what, and which faults strike when. All of it follows from the seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

COMMITS: Final = ("commit",)
QUEUE_SCRIPTS: Final = ("create_ticket", "claim_table", "assign_table", "return_table", "cancel_ticket", "take_claims")


class Kind(StrEnum):
    """What is played."""

    TABLE = "table"
    QUEUE = "queue"


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
}


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
    """Of a table: seats that people hold. Of a queue: players who want a table."""
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
        who = f"{self.people} people, {self.seats} seats, {self.spectators} watching"
        match = f"{self.rounds} rounds of {self.turns} turns"
        head = f"seed {self.seed}: {self.kind}, durability {self.durability}, {who}, {match}"
        return "\n  ".join([head, *map(str, self.faults)])


def plan_for(seed: int) -> Plan:
    """The schedule of a seed."""
    chance = random.Random(f"plan-{seed}")
    kind = Kind.QUEUE if chance.random() < 0.2 else Kind.TABLE
    durability = chance.choice(("memory", "memory", "replica", "fsync"))
    seats = chance.choice((2, 2, 2, 3, 4))
    people = min(seats, chance.choice((1, 2, 2, 2, 3)))
    games, hosts, players = ["game-0", "game-1"], ["game-0", "game-1"], [f"p{number}" for number in range(people)]
    if kind is Kind.QUEUE:
        people = chance.choice((2, 3, 4, 5))
        hosts = [*games, "queue-0", "queue-1"]
        players = [f"p{number}" for number in range(people)]
    deeds = _TABLE_DEEDS if kind is Kind.TABLE else _QUEUE_DEEDS
    count = chance.choice((1, 1, 2, 2, 3, 4))
    faults = []
    for deed in chance.choices(list(deeds), weights=list(deeds.values()), k=count):
        victim = chance.choice(players if deed in (Deed.SECOND_DEVICE, Deed.AWAY, Deed.REPEAT) else hosts)
        scripts: tuple[str, ...] = ()
        if deed is Deed.TRAP:
            scripts = COMMITS if victim in games else (chance.choice(QUEUE_SCRIPTS),)
        faults.append(
            Fault(
                at=chance.random() * chance.choice((0.3, 1.0, 1.5)),
                deed=deed,
                seconds=chance.choice((0.05, 0.2, 0.5, 1.0)) * (0.5 + chance.random()),
                victim=victim,
                scripts=scripts,
                countdown=chance.randrange(6) if scripts == COMMITS else chance.randrange(2),
                after=chance.random() < 0.6,
                crash=chance.random() < 0.35,
                share=chance.choice((0.1, 0.3, 0.6)),
            )
        )
    return Plan(
        seed=seed,
        kind=kind,
        durability=durability,
        seats=seats if kind is Kind.TABLE else 2,
        people=people,
        spectators=chance.choice((0, 0, 1)) if kind is Kind.TABLE else 0,
        turns=chance.choice((4, 6, 8)),
        rounds=chance.choice((1, 1, 2, 3)),
        target=chance.choice((10, 25, 50)),
        turn_limit=chance.choice((0.5, 1.0, 2.0)),
        bot_pace=chance.choice((0.0, 0.02, 0.1)),
        think=chance.choice((0.002, 0.01, 0.05)),
        by_calls=chance.choice((0.0, 0.5, 1.0)),
        faults=tuple(sorted(faults, key=lambda fault: fault.at)),
    )


__all__ = ["Deed", "Fault", "Kind", "Plan", "plan_for"]
