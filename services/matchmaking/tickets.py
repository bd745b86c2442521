"""What the matcher works on: tickets, the tables it makes of them, bots, and the policy that says who
fits whom.

All of it is plain and immutable. Times are milliseconds of the store's clock; skills and widths are
rating points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rami_engine.rules import RuleOptions


MAX_TURN_LIMIT_MS: Final = 24 * 3600 * 1000
MAX_ROUND_INTERVAL_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Tempo:
    """How fast a table plays: the defaults and bounds are those of rooms. Raises ValueError beyond the bounds."""

    turn_limit_ms: int = 60_000
    """How long a person may take for a turn; 0 for no limit."""
    round_interval_ms: int = 0
    """How long the next round is held back after a round."""

    def __post_init__(self) -> None:
        if not (0 <= self.turn_limit_ms <= MAX_TURN_LIMIT_MS and 0 <= self.round_interval_ms <= MAX_ROUND_INTERVAL_MS):
            raise ValueError("a tempo that no room has")


DEFAULT_TEMPO: Final = Tempo()


class PoolKey(NamedTuple):
    """What those who wait in one pool agree on."""

    seats: int
    rules: RuleOptions
    tempo: Tempo = DEFAULT_TEMPO

    @property
    def order(self) -> tuple[int, int, bool, bool, int, int]:
        """Sorts pools for players, and is another for each: by seats, then by rules, then by tempo."""
        rules, tempo = self.rules, self.tempo
        pace = (tempo.turn_limit_ms, tempo.round_interval_ms)
        return self.seats, rules.target_score, rules.ace_high, rules.discard_to_win, *pace

    @property
    def name(self) -> str:
        """A short name for keys, such as "4:100" or "2:50ad"; at another tempo with its times in ms: "2:50t0r4000"."""
        rules, tempo = self.rules, self.tempo
        pace = "" if tempo == DEFAULT_TEMPO else f"t{tempo.turn_limit_ms}r{tempo.round_interval_ms}"
        return f"{self.seats}:{rules.target_score}{'a' * rules.ace_high}{'d' * rules.discard_to_win}{pace}"


@dataclass(frozen=True, slots=True)
class Member:
    """A player of a party."""

    player_id: str
    name: str
    skill: float
    """The mean of what the player's skill is taken for, in rating points."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A player or a party that waits, with everything that it accepts. Trusts its maker to have checked the
    ranges.
    """

    ticket_id: str
    player_id: str
    """Who made the ticket: the leader of a party."""
    name: str
    player_counts: tuple[int, ...]
    """Numbers of seats, ascending, each 2 to 4 and not below the size, none twice; one or more."""
    rules: tuple[RuleOptions, ...]
    """Rule options in the order of preference, none twice; one or more."""
    bots_allowed: bool
    bot: str
    """The bot profile to fill with; empty for any."""
    skill: float
    """The mean of what the player's skill is taken for, in rating points; the mean of the members of a party."""
    create_ms: int
    """When the player queued, or the party was complete. A broken match does not change it."""
    not_before_ms: int = 0
    """Until then the ticket rests, because a room for it could not be created."""
    weakest_bot: str = ""
    """The weakest bot profile accepted; empty for any."""
    party: tuple[Member, ...] = ()
    """Everybody the ticket seats, the leader first; empty for a player alone."""
    tempo: Tempo = DEFAULT_TEMPO

    @property
    def size(self) -> int:
        """How many seats the ticket needs."""
        return len(self.party) or 1

    @property
    def members(self) -> tuple[Member, ...]:
        """Everybody the ticket seats, the leader first."""
        return self.party or (Member(self.player_id, self.name, self.skill),)

    @property
    def age_key(self) -> tuple[int, str]:
        """Sorts tickets oldest first, without ties."""
        return (self.create_ms, self.ticket_id)


@dataclass(frozen=True, slots=True)
class BotProfile:
    """A bot that may fill a seat, and its skill in rating points."""

    bot: str
    skill: float
    start: float | None = None
    """The rating that it started with; None for its present skill."""

    @property
    def level(self) -> float:
        """Orders the profiles from weak to strong, and stays as it is whatever they win and lose."""
        return self.skill if self.start is None else self.start


@dataclass(frozen=True, slots=True)
class Table:
    """Tickets that sit down together, and the bots that fill the seats they leave."""

    seats: int
    rules: RuleOptions
    tickets: tuple[Ticket, ...]
    """Oldest first; one or more."""
    bots: tuple[str, ...]
    """One profile for every seat without a player."""
    tempo: Tempo = DEFAULT_TEMPO

    @property
    def spread(self) -> float:
        """The distance between the best and the worst skill of the players, in rating points."""
        skills = [member.skill for ticket in self.tickets for member in ticket.members]
        return max(skills) - min(skills)


@dataclass(frozen=True, slots=True)
class MatchPolicy:
    """How far apart skills may be, and how long anybody waits for something better.

    A player accepts skills within a width of the own one: `base_width` at first, `width_step` more after
    every `step_ms` of waiting, `max_width` at most, and after `open_ms` any skill. Two tickets may share a
    table when each accepts the other.
    """

    base_width: float = 100.0
    width_step: float = 50.0
    step_ms: int = 10_000
    max_width: float = 500.0
    open_ms: int = 120_000
    """Who has waited so long accepts everybody who has as well, and is held back no longer; 0 for never. So nobody
    waits longer than that once enough others do, however rare the skill.
    """
    larger_table_ms: int = 3_000
    """A table smaller than a player's largest accepted one is made only with somebody who has waited so
    long, or for whom it is the largest.
    """
    bot_fill_ms: int = 8_000
    """Bots fill the table of a player who allows it after so long."""
    spread_per_second: float = 0.0
    """A table is held back until its spread is within so many points for every second that the oldest
    ticket at it has waited, unless two tables' worth of players are there; 0 holds nothing back.
    """

    def width(self, waited_ms: int) -> float:
        """The width of somebody who has waited so long."""
        if self.open_ms and waited_ms >= self.open_ms:
            return math.inf
        return min(self.max_width, self.base_width + self.width_step * max(0, waited_ms // self.step_ms))

    def opens_ms(self, ticket: Ticket) -> int | None:
        """When a ticket begins to accept any skill; None for never."""
        return ticket.create_ms + self.open_ms if self.open_ms else None

    def ready_ms(self, oldest_ms: int, spread: float) -> int:
        """When a table whose oldest ticket is from `oldest_ms` is tight enough for how long that has waited."""
        if self.spread_per_second <= 0:
            return oldest_ms
        held_ms = math.ceil(spread * 1000 / self.spread_per_second)
        return oldest_ms + (min(held_ms, self.open_ms) if self.open_ms else held_ms)

    def next_change(self, ticket: Ticket, after_ms: int, *, alone: bool = False) -> int | None:
        """The next moment after `after_ms` at which the ticket accepts more than before, but for its opening; None
        for never. `alone`: too few are within the widest window, so that its width does not matter.
        """
        moments = [ticket.not_before_ms]
        if len(ticket.player_counts) > 1:
            moments.append(ticket.create_ms + self.larger_table_ms)
        if ticket.bots_allowed:
            moments.append(ticket.create_ms + self.bot_fill_ms)
        steps = max(0, (after_ms - ticket.create_ms) // self.step_ms)
        if not alone and self.width_step > 0 and self.width(steps * self.step_ms) < self.max_width:
            moments.append(ticket.create_ms + (steps + 1) * self.step_ms)
        return min((moment for moment in moments if moment > after_ms), default=None)


@dataclass(frozen=True, slots=True)
class TicketTimes:
    """How long things last, in ms."""

    idle_ms: int = 30_000
    """A ticket expires when it has not been read for so long."""
    keep_ms: int = 300_000
    """How long a ticket that is over, and what has changed in the queue, can be read."""
    lease_ms: int = 5_000
    """How long a claim is left to the process that made it."""
    confirm_ms: int = 60_000
    """How long the members of a party have to confirm."""


class BotWishes:
    """Which bot profiles suit whom."""

    def __init__(self, bots: Sequence[BotProfile]) -> None:
        self._bots = bots
        self._levels = {profile.bot: profile.level for profile in bots}

    def suited(self, tickets: Sequence[Ticket]) -> list[str]:
        """The profiles that suit everybody at a table, the nearest to the players' mean skill first."""
        mean = sum(ticket.skill * ticket.size for ticket in tickets) / sum(ticket.size for ticket in tickets)
        suited = [profile for profile in self._bots if all(self.suits(profile.bot, ticket) for ticket in tickets)]
        suited.sort(key=lambda profile: (abs(profile.skill - mean), profile.bot))
        return [profile.bot for profile in suited]

    def suits(self, bot: str, ticket: Ticket) -> bool:
        """Whether a ticket accepts a profile at its table. A wish for one that there is no more is none."""
        if not ticket.bots_allowed:
            return False
        if ticket.bot in self._levels:
            return ticket.bot == bot
        return self._levels[bot] >= self._levels.get(ticket.weakest_bot, -math.inf)


__all__ = [
    "DEFAULT_TEMPO",
    "MAX_ROUND_INTERVAL_MS",
    "MAX_TURN_LIMIT_MS",
    "BotProfile",
    "BotWishes",
    "MatchPolicy",
    "Member",
    "PoolKey",
    "Table",
    "Tempo",
    "Ticket",
    "TicketTimes",
]
