"""A pool: the tickets that accept the same number of seats and the same rules, sorted by skill.

Owns the search for the partners of one ticket. The search looks at the nearest skills first and widens
only while it finds nothing, so its cost follows the tickets near by, not the size of the pool: among many
near ones a table is found at once, and there cannot be many near ones without a table (on one side of a
ticket, those who accept it but not each other stand at distances that at least double).
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matchmaking.tickets import MatchPolicy, Ticket
    from rami_engine.rules import RuleOptions

_FIRST_LOOK: Final = 16
"""How many of the nearest candidates the first look takes; doubled while nothing is found."""

_Place = tuple[float, int, str]


class Candidate(NamedTuple):
    """A ticket as the search sees it: sorts oldest first."""

    create_ms: int
    ticket_id: str
    skill: float
    width: float
    content: bool
    """The table is the largest that the ticket accepts, or it has waited long enough for a smaller one."""
    ticket: Ticket

    def accepts(self, other: Candidate, *, bots: bool) -> bool:
        """Whether the two may share a table; with `bots`, also whether the same bot may fill it."""
        distance = abs(self.skill - other.skill)
        if distance > self.width or distance > other.width:
            return False
        if not bots:
            return True
        mine, its = self.ticket.bot, other.ticket.bot
        return not mine or not its or mine == its


class Pool:
    """Tickets for one number of seats and one set of rules."""

    __slots__ = ("_places", "_policy", "_tickets", "rules", "seats")

    def __init__(self, seats: int, rules: RuleOptions, policy: MatchPolicy) -> None:
        self.seats = seats
        self.rules = rules
        self._policy = policy
        # Two lists in step: where each ticket stands, and the tickets.
        self._places: list[_Place] = []
        self._tickets: list[Ticket] = []

    def __len__(self) -> int:
        return len(self._tickets)

    def __iter__(self) -> Iterator[Ticket]:
        return iter(self._tickets)

    @property
    def oldest_ms(self) -> int:
        """When the ticket that has waited longest was made. Trusts the caller that there is one."""
        return min(ticket.create_ms for ticket in self._tickets)

    def add(self, ticket: Ticket) -> None:
        """Takes a ticket in; it must not be in already."""
        place = _place(ticket)
        index = bisect_left(self._places, place)
        self._places.insert(index, place)
        self._tickets.insert(index, ticket)

    def remove(self, ticket: Ticket) -> None:
        """Takes a ticket out; it must be in."""
        index = bisect_left(self._places, _place(ticket))
        del self._places[index]
        del self._tickets[index]

    def partners(self, anchor: Ticket, players: int, now_ms: int, *, bots: bool) -> list[Ticket] | None:
        """The oldest tickets near `anchor` that make a table of `players` people with it; None if there
        are none.

        Everybody in the answer and the anchor accept each other pairwise. With `bots` the table is to be
        filled with bots: only tickets that allow them, and agree on the profile, take part; without, it
        is a full table of people, and somebody at it must be content with its size.
        """
        places = self._places
        if len(places) < players:
            return None
        if players > 1:
            # Most searches end here: nobody is near enough.
            width = self._policy.width(now_ms - anchor.create_ms)
            at = bisect_left(places, _place(anchor))
            if (at == 0 or anchor.skill - places[at - 1][0] > width) and (
                at + 1 == len(places) or places[at + 1][0] - anchor.skill > width
            ):
                return None
        me = self._candidate(anchor, now_ms)
        needs_content = not bots and not me.content
        look = _FIRST_LOOK
        while True:
            found, complete = self._near(me, now_ms, look, bots=bots)
            if len(found) >= players - 1:
                found.sort()
                chosen = _choose(found, [me], players, needs_content=needs_content, bots=bots)
                if chosen is not None:
                    return [candidate.ticket for candidate in chosen[1:]]
            if complete:
                return None
            look *= 2

    def _candidate(self, ticket: Ticket, now_ms: int) -> Candidate:
        waited = now_ms - ticket.create_ms
        content = ticket.player_counts[-1] == self.seats or waited >= self._policy.larger_table_ms
        width = self._policy.width(waited)
        return Candidate(ticket.create_ms, ticket.ticket_id, ticket.skill, width, content, ticket)

    def _near(self, me: Candidate, now_ms: int, look: int, *, bots: bool) -> tuple[list[Candidate], bool]:
        """Up to `look` tickets that accept and are accepted by `me`, nearest first; and whether those are
        all.
        """
        places, tickets = self._places, self._tickets
        place = bisect_left(places, _place(me.ticket))
        left, right = place - 1, place + 1
        lowest, highest = me.skill - me.width, me.skill + me.width
        found: list[Candidate] = []
        while True:
            more_left = left >= 0 and places[left][0] >= lowest
            more_right = right < len(places) and places[right][0] <= highest
            if not more_left and not more_right:
                return found, True
            if len(found) == look:
                return found, False
            if more_left and (not more_right or me.skill - places[left][0] <= places[right][0] - me.skill):
                ticket = tickets[left]
                left -= 1
            else:
                ticket = tickets[right]
                right += 1
            if bots and not ticket.bots_allowed:
                continue
            candidate = self._candidate(ticket, now_ms)
            if me.accepts(candidate, bots=bots):
                found.append(candidate)


def _choose(
    found: list[Candidate], chosen: list[Candidate], players: int, *, needs_content: bool, bots: bool
) -> list[Candidate] | None:
    """Depth-first search for `players` candidates who accept each other pairwise, oldest first."""
    if len(chosen) == players:
        return chosen if not needs_content or any(candidate.content for candidate in chosen) else None
    for index, candidate in enumerate(found):
        # The anchor, chosen[0], has accepted everybody in `found` already.
        if all(candidate.accepts(other, bots=bots) for other in chosen[1:]):
            rest = found[index + 1 :]
            result = _choose(rest, [*chosen, candidate], players, needs_content=needs_content, bots=bots)
            if result is not None:
                return result
    return None


def _place(ticket: Ticket) -> _Place:
    return (ticket.skill, ticket.create_ms, ticket.ticket_id)


__all__ = ["Pool"]
