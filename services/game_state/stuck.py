"""Rooms that cannot be moved on: whoever waits at such a table waits for ever, and only an operator can help.

A room that fails once is taken up again by the sweeper a moment later, here or elsewhere. One that fails again and
again, such as one whose stored state cannot be read, is stuck.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from rami_kit.metrics import GameMetrics

FAILURES: Final = 3
"""A room is stuck after so many failures in a row."""
REMEMBERED_SECONDS: Final = 60.0
"""A room that has not failed here for so long has been moved on by another replica, or is gone."""
ROOMS_FOLLOWED: Final = 10_000


class _Trouble(NamedTuple):
    """What is known of a room that has failed."""

    failures: int
    latest: float


class StuckRooms:
    """Counts the failures of rooms. One per process."""

    def __init__(self, metrics: GameMetrics) -> None:
        self._failed = metrics.drives_failed
        self._failed.prepare(("defect", "store"))
        self._rooms: OrderedDict[str, _Trouble] = OrderedDict()
        metrics.stuck_rooms.read_from(self.count)

    def store_away(self) -> None:
        """A room waits because the store is away, as all of them do: it is not stuck."""
        self._failed.labels("store").inc()

    def failed(self, room_id: str) -> None:
        """A room could not be moved on because of a defect."""
        self._failed.labels("defect").inc()
        before = self._rooms.pop(room_id, None)
        self._rooms[room_id] = _Trouble(before.failures + 1 if before else 1, time.monotonic())
        if len(self._rooms) > ROOMS_FOLLOWED:
            self._rooms.popitem(last=False)

    def moved(self, room_id: str) -> None:
        """A room has been moved on, or needs nothing."""
        self._rooms.pop(room_id, None)

    def count(self) -> int:
        """Rooms that are stuck now."""
        since = time.monotonic() - REMEMBERED_SECONDS
        return sum(room.failures >= FAILURES and room.latest >= since for room in list(self._rooms.values()))


__all__ = ["FAILURES", "StuckRooms"]
