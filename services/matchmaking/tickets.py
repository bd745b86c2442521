"""What the matcher works on: tickets, the tables it makes of them, bots, and the policy that says who
fits whom.

All of it is plain and immutable. Times are milliseconds of the store's clock; skills and widths are
rating points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rami_engine.rules import RuleOptions


@dataclass(frozen=True, slots=True)
class Ticket:
    """A player who waits, with everything that the player accepts. Trusts its maker to have checked the
    ranges.
    """

    ticket_id: str
    player_id: str
    name: str
    player_counts: tuple[int, ...]
    """Numbers of seats, ascending, each 2 to 4, none twice; one or more."""
    rules: tuple[RuleOptions, ...]
    """Rule options in the order of preference, none twice; one or more."""
    bots_allowed: bool
    bot: str
    """The bot profile to fill with; empty for any."""
    skill: float
    """The mean of what the player's skill is taken for, in rating points."""
    create_ms: int
    """When the player queued. A broken match does not change it."""
    not_before_ms: int = 0
    """Until then the ticket rests, because a room for it could not be created."""

    @property
    def age_key(self) -> tuple[int, str]:
        """Sorts tickets oldest first, without ties."""
        return (self.create_ms, self.ticket_id)


@dataclass(frozen=True, slots=True)
class BotProfile:
    """A bot that may fill a seat, and its skill in rating points."""

    bot: str
    skill: float


@dataclass(frozen=True, slots=True)
class Table:
    """Tickets that sit down together, and the bots that fill the seats they leave."""

    seats: int
    rules: RuleOptions
    tickets: tuple[Ticket, ...]
    """Oldest first; one or more."""
    bots: tuple[str, ...]
    """One profile for every seat without a ticket."""

    @property
    def spread(self) -> float:
        """The distance between the best and the worst skill of the players, in rating points."""
        skills = [ticket.skill for ticket in self.tickets]
        return max(skills) - min(skills)


@dataclass(frozen=True, slots=True)
class MatchPolicy:
    """How far apart skills may be, and how long anybody waits for something better.

    A player accepts skills within a width of the own one: `base_width` at first, `width_step` more after
    every `step_ms` of waiting, `max_width` at most. Two players may share a table when each accepts the
    other.
    """

    base_width: float = 100.0
    width_step: float = 50.0
    step_ms: int = 10_000
    max_width: float = 500.0
    larger_table_ms: int = 3_000
    """A table smaller than a player's largest accepted one is made only with somebody who has waited so
    long, or for whom it is the largest.
    """
    bot_fill_ms: int = 8_000
    """Bots fill the table of a player who allows it after so long."""

    def width(self, waited_ms: int) -> float:
        """The width of somebody who has waited so long."""
        return min(self.max_width, self.base_width + self.width_step * max(0, waited_ms // self.step_ms))

    def next_change(self, ticket: Ticket, after_ms: int) -> int | None:
        """The next moment after `after_ms` at which the ticket accepts more than before; None for never."""
        moments = [ticket.not_before_ms]
        if len(ticket.player_counts) > 1:
            moments.append(ticket.create_ms + self.larger_table_ms)
        if ticket.bots_allowed:
            moments.append(ticket.create_ms + self.bot_fill_ms)
        steps = max(0, (after_ms - ticket.create_ms) // self.step_ms)
        if self.width_step > 0 and self.width(steps * self.step_ms) < self.max_width:
            moments.append(ticket.create_ms + (steps + 1) * self.step_ms)
        return min((moment for moment in moments if moment > after_ms), default=None)


def choose_bot(tickets: Sequence[Ticket], bots: Sequence[BotProfile]) -> str | None:
    """The profile that fills a table: the one asked for, else the nearest to the players' mean skill.

    Trusts the caller that no two tickets ask for different ones. None when there is no bot at all.
    """
    for ticket in tickets:
        if ticket.bot:
            return ticket.bot
    mean = sum(ticket.skill for ticket in tickets) / len(tickets)
    nearest = min(bots, key=lambda profile: (abs(profile.skill - mean), profile.bot), default=None)
    return nearest.bot if nearest is not None else None


__all__ = ["BotProfile", "MatchPolicy", "Table", "Ticket", "choose_bot"]
