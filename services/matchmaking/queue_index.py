"""The queue in this process's memory, kept in step with the store.

The index follows the stream of changes, so a look at the queue costs what has changed, not what waits. It
counts: when the stream says that there have been more changes than it has seen (trimmed, expired or lost
with the store), it surveys the whole queue, and reads only the tickets it does not know. The store alone
decides what becomes of a ticket; an index that is late only proposes tables that the store turns down.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from matchmaking.records import MEMBER_FIELDS, WAITING, UnreadableRecord, decode_ticket
from matchmaking.ticket_store import CHANGES_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matchmaking.matcher import Matcher
    from matchmaking.ticket_store import QueueChange, TicketStore
    from matchmaking.tickets import Ticket
    from rami_kit.instruments import Counter

TAKEN_SECONDS: Final = 2.0
"""What becomes of a taken ticket is told within a pass or two; after so long the claim may be lost with the store."""
SURVEY_SECONDS: Final = 60.0
"""The queue is surveyed so often even when nothing seems to be missing."""
LOOK_UPS_AT_ONCE: Final = 250
"""As many as changes: nobody is served while they are taken in."""

_log = logging.getLogger(__name__)


class _Taken(NamedTuple):
    """A ticket that the matcher has given out, and when, by time.monotonic()."""

    ticket: Ticket
    at: float


class QueueIndex:
    """Owns what is in the matcher. Tickets that are being claimed are out of it and remembered as taken."""

    def __init__(self, store: TicketStore, matcher: Matcher, unreadable: Counter) -> None:
        self.matcher = matcher
        self._store = store
        self._unreadable = unreadable
        self._taken: dict[str, _Taken] = {}
        self._left_out: set[str] = set()
        """Tickets that wait and cannot be read."""
        self._live = 0
        self._last_id = b"0-0"
        self._ever = 0
        self._lock = asyncio.Lock()
        self._survey_at = 0.0
        self._read_at = 0.0
        # What is older than this may have expired with the stream itself.
        self._stale_seconds = store.times.keep_ms / 2000

    @property
    def forming(self) -> int:
        """Parties that wait for members, at the last look: the tickets of the store that are not in the queue."""
        return max(0, self._live - len(self.matcher) - len(self._taken) - len(self._left_out))

    async def refresh(self) -> None:
        """Brings the index up to what the store holds at this moment. Raises what the store raises."""
        async with self._lock:
            now = time.monotonic()
            if now >= self._survey_at or now - self._read_at > self._stale_seconds:
                await self._survey()
            elif not await self._follow():
                _log.info("changes of the queue have been missed: looking at all of it")
                await self._survey()
            elif self._is_overdue(now):
                _log.info("nothing is heard of tickets that were taken: looking at all of the queue")
                await self._survey()
            self._read_at = now

    def take(self, tickets: Iterable[Ticket]) -> None:
        """Remembers tickets that the matcher has given out."""
        now = time.monotonic()
        for ticket in tickets:
            self._taken.pop(ticket.ticket_id, None)  # whoever was taken longest ago comes first
            self._taken[ticket.ticket_id] = _Taken(ticket, now)

    def put_back(self, tickets: Iterable[Ticket]) -> None:
        """Gives taken tickets back to the matcher, unless the store has told something newer of them."""
        for ticket in tickets:
            if self._taken.pop(ticket.ticket_id, None) is not None:
                self.matcher.add(ticket)

    def forget(self, tickets: Iterable[Ticket]) -> None:
        """Takes tickets for unknown whose state is not certain; the next refresh looks them up."""
        for ticket in tickets:
            self._taken.pop(ticket.ticket_id, None)
        self._survey_at = 0.0

    async def _follow(self) -> bool:
        """Applies what the stream tells; False when there is a gap in it."""
        while True:
            answer = await self._store.follow(self._last_id)
            self._live = answer.live
            if answer.ever < 0:
                # No stream: nothing has happened for long, or it is lost. The next one counts from 0.
                known, self._last_id, self._ever = self._ever > 0, b"0-0", 0
                return not known
            for change in answer.changes:
                self._apply(change)
            self._last_id = answer.last_id
            self._ever += len(answer.changes)
            if len(answer.changes) < CHANGES_AT_ONCE:
                return self._ever == answer.ever

    def _is_overdue(self, now: float) -> bool:
        """Whether a ticket has been taken for longer than it takes to hear of it."""
        oldest = next(iter(self._taken.values()), None)
        return oldest is not None and now - oldest.at > TAKEN_SECONDS

    async def _survey(self) -> None:
        while self._is_overdue(time.monotonic()):
            del self._taken[next(iter(self._taken))]
        survey = await self._store.survey()
        self._last_id, self._ever = survey.last_id, survey.ever
        self._live = len(survey.ticket_ids)
        self._left_out.clear()
        waiting = set(survey.ticket_ids)
        for ticket_id in [ticket.ticket_id for ticket in self.matcher if ticket.ticket_id not in waiting]:
            self.matcher.remove(ticket_id)
        for ticket_id in [one for one in self._taken if one not in waiting]:
            del self._taken[ticket_id]
        unknown = [one for one in survey.ticket_ids if one not in self.matcher and one not in self._taken]
        for start in range(0, len(unknown), LOOK_UPS_AT_ONCE):
            ids = unknown[start : start + LOOK_UPS_AT_ONCE]
            for ticket_id, state in zip(ids, await self._store.look_up(ids), strict=True):
                if state is None or (state.state == WAITING and state.ticket is None):
                    self._leave_out(ticket_id)
                elif state.state == WAITING and state.ticket is not None:
                    self.matcher.add(state.ticket)
        self._survey_at = time.monotonic() + SURVEY_SECONDS

    def _apply(self, change: QueueChange) -> None:
        self._taken.pop(change.ticket_id, None)
        self._left_out.discard(change.ticket_id)
        if change.entry is None:
            self.matcher.remove(change.ticket_id)
            return
        try:
            create_ms, not_before_ms = int(change.entry[b"t"]), int(change.entry[b"b"])
            members = [change.entry[name] for name in MEMBER_FIELDS if name in change.entry]
            ticket = decode_ticket(change.ticket_id, change.entry[b"d"], create_ms, not_before_ms, members)
        except (UnreadableRecord, KeyError, ValueError):
            self._leave_out(change.ticket_id)
        else:
            self.matcher.add(ticket)

    def _leave_out(self, ticket_id: str) -> None:
        self._left_out.add(ticket_id)
        self._unreadable.inc()
        _log.warning("a ticket in the queue cannot be read: it is left out until it expires")


__all__ = ["QueueIndex"]
