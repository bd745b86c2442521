"""The matcher: which of the waiting tickets sit down together, for given tickets and a given time.

Pure and deterministic: the same tickets, times and calls give the same tables. It keeps an index, so that
a run costs what has changed since the last one and not what waits: a new table can only hold a ticket
that has just come in, or has just begun to accept more (a wider window, any skill, a smaller table, bots), or for
which a table was held back until now; so only those are tried, oldest first. A run leaves no table unmade.

For one ticket, full tables of people come first, the largest accepted number of seats first, then the
rules in the ticket's order, always among tickets of its own tempo; of those near by the tightest table
is taken, among equals that of the oldest. A table that is not tight yet for how long its oldest player
has waited is held back (see MatchPolicy), but never when two tables' worth of players who accept each
other are there, and never in favour of a smaller table or of bots. Where bots may fill, as many people
as possible sit down, then at as large a table as possible.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from matchmaking.pools import Pool
from matchmaking.tickets import BotProfile, BotWishes, MatchPolicy, PoolKey, Table, Ticket

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_order: Final = attrgetter("order")


class Matcher:
    """The tickets that wait, and the search for tables among them."""

    def __init__(self, policy: MatchPolicy) -> None:
        self._policy = policy
        self._tickets: dict[str, Ticket] = {}
        self._pools: dict[PoolKey, Pool] = {}
        self._pool_keys: list[PoolKey] = []
        """Those of all pools, in their order: sorting thousands for each look at the queue would hold everybody up."""
        self._pools_of: dict[str, list[Pool]] = {}
        """The pools that a ticket is in, in the order of its wishes; none while it rests until its not_before_ms."""
        self._changed: set[str] = set()
        """Tickets that may be able to sit down now and were not able before."""
        self._alone: set[str] = set()
        """Tickets that had too few players for a table within their widest window when they were tried last: they need
        not be tried again when their windows widen, but when somebody comes.
        """
        self._moments: list[tuple[int, str]] = []
        """A heap of when tickets begin to accept more. `_moment_of` names the valid entry of a ticket."""
        self._moment_of: dict[str, int] = {}
        self._openings: list[tuple[int, str]] = []
        """A heap of when tickets begin to accept any skill; some of them are gone, or open already."""
        self._open: set[str] = set()
        """Tickets that accept any skill."""

    def __len__(self) -> int:
        return len(self._tickets)

    def __contains__(self, ticket_id: str) -> bool:
        return ticket_id in self._tickets

    def __iter__(self) -> Iterator[Ticket]:
        return iter(self._tickets.values())

    def pool_keys(self) -> list[PoolKey]:
        """Every pool with tickets in it, in its order. Tickets that rest are in none."""
        return self._pool_keys.copy()

    def pool(self, key: PoolKey) -> Pool | None:
        """A pool; None where nobody is in it."""
        return self._pools.get(key)

    def add(self, ticket: Ticket) -> None:
        """Takes a ticket in, in place of an older state of the same one."""
        self.remove(ticket.ticket_id)
        self._tickets[ticket.ticket_id] = ticket
        self._changed.add(ticket.ticket_id)
        if (opens_ms := self._policy.opens_ms(ticket)) is not None:
            heapq.heappush(self._openings, (opens_ms, ticket.ticket_id))
        if ticket.not_before_ms == 0:
            self._enter(ticket)

    def remove(self, ticket_id: str) -> Ticket | None:
        """Takes a ticket out; None if it is not in."""
        ticket = self._tickets.pop(ticket_id, None)
        if ticket is None:
            return None
        self._changed.discard(ticket_id)
        self._alone.discard(ticket_id)
        self._moment_of.pop(ticket_id, None)
        self._open.discard(ticket_id)
        for pool in self._pools_of.pop(ticket_id, ()):
            pool.remove(ticket)
            if not pool:
                del self._pools[pool.key]
                del self._pool_keys[bisect_left(self._pool_keys, pool.key.order, key=_order)]
        return ticket

    def next_moment(self) -> int | None:
        """When the next ticket begins to accept more, in ms; None for never. Tables may be left to make
        before.
        """
        while self._moments and self._moment_of.get(self._moments[0][1]) != self._moments[0][0]:
            heapq.heappop(self._moments)
        opening = self._next_opening()
        if self._moments and (opening is None or self._moments[0][0] <= opening):
            return self._moments[0][0]
        return opening

    def _next_opening(self) -> int | None:
        """When the next ticket begins to accept any skill."""
        openings = self._openings
        while openings:
            moment, ticket_id = openings[0]
            ticket = self._tickets.get(ticket_id)
            if ticket is not None and ticket_id not in self._open and self._policy.opens_ms(ticket) == moment:
                return moment
            heapq.heappop(openings)
        return None

    @property
    def unfinished(self) -> bool:
        """Whether a run has stopped at its limit and left tickets untried."""
        return bool(self._changed)

    def run(self, now_ms: int, bots: Sequence[BotProfile] = (), limit: int | None = None) -> list[Table]:
        """Makes tables and takes their tickets out; tries `limit` tickets at most, then leaves the rest to
        the next run.

        Times must not go back from run to run.
        """
        self._wake(now_ms)
        keys = (self._tickets[ticket_id].age_key for ticket_id in self._changed)
        anchors = sorted(keys) if limit is None else heapq.nsmallest(limit, keys)
        tables: list[Table] = []
        wishes = BotWishes(bots)
        for _, ticket_id in anchors:
            ticket = self._tickets.get(ticket_id)
            if ticket is None:
                continue  # seated by an older one in this run
            self._changed.discard(ticket_id)
            table, ready_ms = self._table_for(ticket, now_ms, wishes)
            if table is None:
                self._plan(ticket, now_ms, ready_ms)
                continue
            for member in table.tickets:
                self.remove(member.ticket_id)
            tables.append(table)
        return tables

    def _wake(self, now_ms: int) -> None:
        """Marks the tickets that have begun to accept more."""
        while self._moments and self._moments[0][0] <= now_ms:
            moment, ticket_id = heapq.heappop(self._moments)
            if self._moment_of.get(ticket_id) == moment:
                del self._moment_of[ticket_id]
                self._changed.add(ticket_id)
        while (opening := self._next_opening()) is not None and opening <= now_ms:
            ticket_id = heapq.heappop(self._openings)[1]
            self._open.add(ticket_id)
            self._changed.add(ticket_id)
            for pool in self._pools_of.get(ticket_id, ()):
                pool.open(self._tickets[ticket_id])
        for ticket_id in list(self._changed):
            if ticket_id not in self._pools_of and self._tickets[ticket_id].not_before_ms <= now_ms:
                self._enter(self._tickets[ticket_id])

    def _enter(self, ticket: Ticket) -> None:
        pools = self._pools_of[ticket.ticket_id] = []
        for seats in reversed(ticket.player_counts):
            for rules in ticket.rules:
                key = PoolKey(seats, rules, ticket.tempo)
                pool = self._pools.get(key)
                if pool is None:
                    pool = self._pools[key] = Pool(key, self._policy)
                    insort(self._pool_keys, key, key=_order)
                pool.add(ticket)
                if ticket.ticket_id in self._open:
                    pool.open(ticket)
                pools.append(pool)
                # Whoever is alone has fewer players than a table needs between itself and this ticket: none is missed.
                for other in pool.around(ticket):
                    if other.ticket_id in self._alone:
                        self._alone.discard(other.ticket_id)
                        self._changed.add(other.ticket_id)

    def _plan(self, ticket: Ticket, now_ms: int, ready_ms: int | None) -> None:
        pools = self._pools_of.get(ticket.ticket_id, ())
        alone = not any(pool.may_seat(ticket) for pool in pools)
        if alone:
            self._alone.add(ticket.ticket_id)
        moment = self._policy.next_change(ticket, now_ms, alone=alone)
        if ready_ms is not None:
            moment = ready_ms if moment is None else min(moment, ready_ms)
        if moment is not None:
            self._moment_of[ticket.ticket_id] = moment
            heapq.heappush(self._moments, (moment, ticket.ticket_id))

    def _table_for(self, ticket: Ticket, now_ms: int, wishes: BotWishes) -> tuple[Table | None, int | None]:
        """A table for a ticket; or when the first of those that are held back may be made, if there are any."""
        pools = self._pools_of.get(ticket.ticket_id, ())
        held: tuple[Pool, list[Ticket]] | None = None
        crowded, ready_ms = False, None
        for pool in pools:
            found = pool.full_table(ticket, now_ms)
            if found.ready is not None:
                if held is not None and ready_ms is not None and held[0].seats > pool.seats:
                    return _table(*held), None  # somebody is content with the larger table
                return _table(pool, found.ready), None
            crowded |= found.crowded
            if found.held is not None and (held is None or (ready_ms is None and found.ready_ms is not None)):
                held = (pool, found.held)
            if found.ready_ms is not None:
                ready_ms = found.ready_ms if ready_ms is None else min(ready_ms, found.ready_ms)
        bots = bool(pools) and ticket.bots_allowed and now_ms - ticket.create_ms >= self._policy.bot_fill_ms
        if held is not None and (crowded or bots):
            return _table(*held), None
        return (self._bot_table_for(ticket, now_ms, wishes) if bots else None), ready_ms

    def _bot_table_for(self, ticket: Ticket, now_ms: int, wishes: BotWishes) -> Table | None:
        pools = self._pools_of[ticket.ticket_id]
        profiles = wishes.suited([ticket])
        for people in range(ticket.player_counts[-1] - 1, ticket.size - 1, -1):
            for pool in pools:
                if pool.seats <= people:
                    continue
                for profile in profiles:
                    tickets = pool.bot_table(ticket, people, now_ms, partial(wishes.suits, profile))
                    if tickets is not None:
                        return _table(pool, tickets, wishes.suited(tickets)[0])
        return None


def _table(pool: Pool, tickets: list[Ticket], bot: str = "") -> Table:
    """The table of these tickets; `bot` has the seats that they leave."""
    empty = pool.seats - sum(ticket.size for ticket in tickets)
    oldest_first = tuple(sorted(tickets, key=lambda ticket: ticket.age_key))
    return Table(pool.seats, pool.key.rules, oldest_first, (bot,) * empty, pool.key.tempo)


__all__ = ["Matcher"]
