"""A pool: the tickets that accept the same number of seats, the same rules and the same tempo, sorted by skill.

Owns the search for the table of one ticket. Everybody at a table accepts everybody: for tickets on a line
that holds exactly when each accepts the two ends, so the search goes over pairs of ends, and for each pair
over the tickets between them. It looks at the nearest skills first and widens only while it finds nothing,
so its cost follows the tickets near by, not the size of the pool: among many near ones a table is found at
once, and there cannot be many near ones without a table (on one side of a ticket, those who accept it but
not each other stand at distances that at least double).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from matchmaking.tickets import MatchPolicy, PoolKey, Ticket

_FIRST_LOOK: Final = 16
"""How many of the nearest candidates the first look takes; doubled while nothing is found."""
_LARGE_ONES: Final = 8
"""So many parties too large for a place at the table are enough to make a crowd."""

_Place = tuple[float, int, str]


class Candidate(NamedTuple):
    """A ticket as the search sees it."""

    skill: float
    create_ms: int
    ticket_id: str
    width: float
    size: int
    content: bool
    """The table is the largest that the ticket accepts, or it has waited long enough for a smaller one."""
    ticket: Ticket


@dataclass(slots=True)
class Found:
    """What a search has found for a ticket."""

    ready: list[Ticket] | None = None
    """The tightest table that may sit down now; among equals the one of the oldest tickets."""
    held: list[Ticket] | None = None
    """The tightest table within everybody's window that waits for a better one; one that somebody is content
    with, where there is any.
    """
    ready_ms: int | None = None
    """When the first of the tables that are held may sit down."""
    crowded: bool = False
    """Two tables' worth of players who accept each other are there, the ticket among them."""


class Pool:
    """Tickets for one kind of table."""

    __slots__ = ("_all", "_open", "_policy", "key", "players", "seats")

    def __init__(self, key: PoolKey, policy: MatchPolicy) -> None:
        self.key = key
        self.seats = key.seats
        self.players = 0
        """How many people wait in the pool; a party counts each of its members."""
        self._policy = policy
        self._all = _Line()
        self._open = _Line()
        """Those who accept any skill."""

    def __len__(self) -> int:
        return len(self._all.tickets)

    def __iter__(self) -> Iterator[Ticket]:
        return iter(self._all.tickets)

    @property
    def oldest_ms(self) -> int:
        """When the ticket that has waited longest was made. Trusts the caller that there is one."""
        return min(ticket.create_ms for ticket in self)

    def add(self, ticket: Ticket) -> None:
        """Takes a ticket in; it must not be in already."""
        self._all.add(ticket)
        self.players += ticket.size

    def remove(self, ticket: Ticket) -> None:
        """Takes a ticket out; it must be in."""
        self._all.remove(ticket)
        self._open.remove(ticket)
        self.players -= ticket.size

    def open(self, ticket: Ticket) -> None:
        """From now on the ticket accepts any skill; it must be in, and not be told of twice."""
        self._open.add(ticket)

    def around(self, ticket: Ticket) -> list[Ticket]:
        """The next tickets on both sides of one that is in, as far as they are within the widest window; on each side
        no more than would fill a table.
        """
        at = bisect_left(self._all.places, _place(ticket))
        return self._beside(ticket, range(at - 1, -1, -1)) + self._beside(ticket, range(at + 1, len(self)))

    def _beside(self, ticket: Ticket, places: range) -> list[Ticket]:
        found: list[Ticket] = []
        players = 0
        for place in places:
            other = self._all.tickets[place]
            if players >= self.seats or abs(other.skill - ticket.skill) > self._policy.max_width:
                break
            found.append(other)
            players += other.size
        return found

    def may_seat(self, ticket: Ticket) -> bool:
        """Whether there are enough players for a table within the widest window of a ticket. Where there are not, only
        somebody who comes near can make a difference, or who accepts any skill.
        """
        return ticket.size + sum(other.size for other in self.around(ticket)) >= self.seats

    def full_table(self, anchor: Ticket, now_ms: int) -> Found:
        """A full table of people with `anchor` at it, made of tickets that accept each other pairwise."""
        return self._search(anchor, self.seats, now_ms, None)

    def bot_table(
        self, anchor: Ticket, people: int, now_ms: int, suits: Callable[[Ticket], bool]
    ) -> list[Ticket] | None:
        """The tightest group of so many people with `anchor` in it that `suits` accepts; None for none."""
        return self._search(anchor, people, now_ms, suits).ready

    def _search(self, anchor: Ticket, people: int, now_ms: int, suits: Callable[[Ticket], bool] | None) -> Found:
        """See `full_table`, and `bot_table` for a search with bots, where nothing is held back."""
        wanted = people - anchor.size
        if wanted < 0 or self.players < people or (wanted > 0 and not self._anybody_near(anchor, now_ms)):
            return Found()
        me = self._candidate(anchor, now_ms)
        look = _FIRST_LOOK
        while True:
            near, complete = self._near(me, wanted, now_ms, look, suits)
            found = _TableSearch(self._policy, near, me, people, now_ms, bots=suits is not None).run()
            if complete or found.ready is not None or (found.crowded and found.held is not None):
                return found
            look *= 2

    def _anybody_near(self, anchor: Ticket, now_ms: int) -> bool:
        """Whether the nearest tickets are within the anchor's width: most searches end with that."""
        places = self._all.places
        width = self._policy.width(now_ms - anchor.create_ms)
        if math.isinf(width):
            if len(self._open.tickets) > 1:
                return True
            width = self._policy.max_width
        at = bisect_left(places, _place(anchor))
        return (at > 0 and anchor.skill - places[at - 1][0] <= width) or (
            at + 1 < len(places) and places[at + 1][0] - anchor.skill <= width
        )

    def _candidate(self, ticket: Ticket, now_ms: int) -> Candidate:
        waited = now_ms - ticket.create_ms
        content = ticket.player_counts[-1] == self.seats or waited >= self._policy.larger_table_ms
        width = self._policy.width(waited)
        return Candidate(ticket.skill, ticket.create_ms, ticket.ticket_id, width, ticket.size, content, ticket)

    def _near(
        self, me: Candidate, wanted: int, now_ms: int, look: int, suits: Callable[[Ticket], bool] | None
    ) -> tuple[list[Candidate], bool]:
        """Me and up to `look` tickets that accept and are accepted by me, the nearest, sorted by skill; and
        whether those are all. Tickets of more than `wanted` people only help to make a crowd.
        """
        found = [me]
        too_large = 0
        for ticket in self._outwards(me):
            if len(found) > look:
                found.sort()
                return found, False
            if suits is not None and not suits(ticket):
                continue
            candidate = self._candidate(ticket, now_ms)
            if abs(me.skill - candidate.skill) > candidate.width:
                continue
            if ticket.size > wanted:
                if too_large == _LARGE_ONES:
                    continue
                too_large += 1
            found.append(candidate)
        found.sort()
        return found, True

    def _outwards(self, me: Candidate) -> Iterator[Ticket]:
        """The tickets that I accept, the nearest first. Beyond the widest window, those whose windows end there are
        left out: they do not accept me.
        """
        width = min(me.width, self._policy.max_width)
        lowest, highest = me.skill - width, me.skill + width
        at = bisect_left(self._all.places, _place(me.ticket))
        yield from self._all.outwards(me.skill, at - 1, at + 1, lowest=lowest, highest=highest)
        if me.width > width:
            left = bisect_left(self._open.places, (lowest,)) - 1
            right = bisect_left(self._open.places, (highest, math.inf))
            yield from self._open.outwards(me.skill, left, right)


class _Line:
    """Tickets sorted by skill."""

    __slots__ = ("places", "tickets")

    def __init__(self) -> None:
        # In step: where each ticket stands, and the tickets.
        self.places: list[_Place] = []
        self.tickets: list[Ticket] = []

    def add(self, ticket: Ticket) -> None:
        """Takes a ticket in."""
        place = _place(ticket)
        index = bisect_left(self.places, place)
        self.places.insert(index, place)
        self.tickets.insert(index, ticket)

    def remove(self, ticket: Ticket) -> None:
        """Takes a ticket out, if it is in."""
        index = bisect_left(self.places, _place(ticket))
        if index < len(self.tickets) and self.tickets[index] is ticket:
            del self.places[index]
            del self.tickets[index]

    def outwards(
        self, skill: float, left: int, right: int, *, lowest: float = -math.inf, highest: float = math.inf
    ) -> Iterator[Ticket]:
        """Tickets from two indexes outwards, the nearest to a skill first, from the lowest to the highest skill."""
        places, tickets = self.places, self.tickets
        while True:
            more_left = left >= 0 and places[left][0] >= lowest
            more_right = right < len(places) and places[right][0] <= highest
            if more_left and (not more_right or skill - places[left][0] <= places[right][0] - skill):
                yield tickets[left]
                left -= 1
            elif more_right:
                yield tickets[right]
                right += 1
            else:
                return


class _TableSearch:
    """Goes over all tables that some candidates can make with one of them."""

    def __init__(
        self,
        policy: MatchPolicy,
        near: list[Candidate],
        me: Candidate,
        people: int,
        now_ms: int,
        *,
        bots: bool,
    ) -> None:
        """`near`: me and candidates that accept me, sorted by skill."""
        self._policy = policy
        self._near = near
        self._me = me
        self._people = people
        self._now_ms = now_ms
        self._bots = bots
        self._found = Found()
        self._ready_key: tuple[float, list[tuple[int, str]]] | None = None
        self._held_key: tuple[bool, float, list[tuple[int, str]]] | None = None

    def run(self) -> Found:
        """The best of them."""
        near = self._near
        at = bisect_left(near, self._me)
        for low in range(at, -1, -1):
            weakest = near[low]
            for high in range(at, len(near)):
                strongest = near[high]
                spread = strongest.skill - weakest.skill
                if spread > weakest.width:
                    break
                # Once one may sit down, only a tighter one is of interest.
                if spread <= strongest.width and (self._ready_key is None or spread <= self._ready_key[0]):
                    self._between(low, high, spread)
        return self._found

    def _between(self, first: int, last: int, spread: float) -> None:
        """Takes the table with these two candidates as its ends into account."""
        near, me = self._near, self._me
        low, high = near[first].skill, near[last].skill
        if me.width < me.skill - low or me.width < high - me.skill:
            return
        fixed: list[Candidate] = []
        rest: list[Candidate] = []
        people = 0
        for number in range(first, last + 1):
            one = near[number]
            if one.width >= one.skill - low and one.width >= high - one.skill:
                people += one.size
                (fixed if one is me or number in (first, last) else rest).append(one)
        if people < self._people:
            return
        if not self._bots and people >= 2 * self._people:
            self._found.crowded = True
        room = self._people - sum(one.size for one in fixed)
        if room >= 0:
            rest.sort(key=_age_key)
            self._take_fill(fixed, rest, room, spread)

    def _take_fill(self, fixed: list[Candidate], rest: list[Candidate], room: int, spread: float) -> None:
        """Takes the table of those who are fixed and the oldest of the rest who fill it into account; one that
        somebody is content with, where there is any.
        """
        chosen = _fill(rest, room, fixed)
        if chosen is None:
            return
        if self._bots or any(one.content for one in chosen):
            self._consider(chosen, spread, content=True)
            return
        for index, one in enumerate(rest):
            if one.content and one.size <= room:
                others = _fill([*rest[:index], *rest[index + 1 :]], room - one.size, [*fixed, one])
                if others is not None:
                    self._consider(others, spread, content=True)
                    return
        self._consider(chosen, spread, content=False)

    def _consider(self, chosen: list[Candidate], spread: float, *, content: bool) -> None:
        found, keys = self._found, sorted(map(_age_key, chosen))
        ready_ms = self._now_ms if self._bots else self._policy.ready_ms(keys[0][0], spread)
        if content and ready_ms <= self._now_ms:
            if self._ready_key is None or (spread, keys) < self._ready_key:
                self._ready_key = (spread, keys)
                found.ready = [one.ticket for one in chosen]
            return
        if content:
            found.ready_ms = ready_ms if found.ready_ms is None else min(found.ready_ms, ready_ms)
        if self._held_key is None or (not content, spread, keys) < self._held_key:
            self._held_key = (not content, spread, keys)
            found.held = [one.ticket for one in chosen]


def _fill(rest: Sequence[Candidate], room: int, chosen: list[Candidate]) -> list[Candidate] | None:
    """`chosen` with the oldest of `rest` whose sizes fill the room exactly."""
    if room == 0:
        return chosen
    for index, candidate in enumerate(rest):
        if candidate.size <= room:
            result = _fill(rest[index + 1 :], room - candidate.size, [*chosen, candidate])
            if result is not None:
                return result
    return None


def _age_key(one: Candidate) -> tuple[int, str]:
    """Sorts oldest first."""
    return (one.create_ms, one.ticket_id)


def _place(ticket: Ticket) -> _Place:
    return (ticket.skill, ticket.create_ms, ticket.ticket_id)


__all__ = ["Found", "Pool"]
