"""Who in this process waits for news of a ticket.

One subscription brings the ids of all tickets that their watchers have to look at; here each finds its watchers. A
watcher registers before it reads the ticket, so a change is either in what it reads or wakes it afterwards. When
messages may have been lost everybody looks again.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rami_kit.instruments import Gauge


class TicketWatchers:
    """The watchers of all tickets in this process."""

    def __init__(self, gauge: Gauge) -> None:
        """`gauge` follows how many watchers there are."""
        self._gauge = gauge
        self._events: dict[str, dict[asyncio.Event, str]] = {}
        """Of each ticket its watchers' events, with the players who watch."""

    def count(self, ticket_id: str, player_id: str) -> int:
        """How often a player watches a ticket here."""
        return list(self._events.get(ticket_id, {}).values()).count(player_id)

    @contextmanager
    def watching(self, ticket_id: str, player_id: str) -> Iterator[asyncio.Event]:
        """An event that is set with every change of the ticket, for as long as the context lasts."""
        event = asyncio.Event()
        events = self._events.setdefault(ticket_id, {})
        events[event] = player_id
        self._gauge.inc()
        try:
            yield event
        finally:
            self._gauge.dec()
            del events[event]
            if not events and self._events.get(ticket_id) is events:
                del self._events[ticket_id]

    def on_message(self, message: bytes | None) -> None:
        """Takes a published ticket id; None when some may have been lost."""
        if message is None:
            self.wake_all()
        else:
            for event in self._events.get(message.decode("ascii", "replace"), ()):
                event.set()

    def wake_all(self) -> None:
        """Makes every watcher look again."""
        for events in self._events.values():
            for event in events:
                event.set()


__all__ = ["TicketWatchers"]
