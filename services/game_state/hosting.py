"""How many rooms a player hosts at once: counted in one small set of the store, so that all replicas agree.

A room takes a place in its creator's set before it is created and gives it back when its match ends, when it closes,
or when its host leaves it to another. Whoever is at the limit has the rooms in the set looked at before the answer is
no: a place that nobody gave back, because a process ended at that moment, is found then. So the count is exact where
it matters, and costs one call of a room's life otherwise.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from game_state.room import Status
from game_state.scripts import TAKE_PLACE
from rami_kit import keys
from rami_kit.errors import reasons, refused

if TYPE_CHECKING:
    from game_state.events import CommittedStep
    from game_state.repository import RoomRepository
    from game_state.room import Room
    from rami_kit.redis_store import Store

KEEP_MS: Final = 7 * 24 * 3600 * 1000
"""The set of a player who creates no more rooms is dropped after this time."""
CREATION_MS: Final = 30_000
"""A room that is not there so long after it took its place will not come any more."""
LOOK_AGAIN_SECONDS: Final = 1.0
"""The rooms of a player at the limit are looked at this often at most, however often the player asks."""
LOOKS_KEPT: Final = 1000


class HostedRooms:
    """The places of all players. One per process; hears of every committed step."""

    def __init__(self, store: Store, repository: RoomRepository, *, limit: int, partitions: int) -> None:
        """`limit`: rooms that a player may host at once; 0 for any number."""
        self._store = store
        self._repository = repository
        self._limit = limit
        self._partitions = partitions
        self._looked_at: OrderedDict[str, float] = OrderedDict()

    async def take_place(self, player_id: str, room_id: str) -> None:
        """A place for a room about to be created, or the one that it has. Raises LIMIT_REACHED, StoreUnavailable."""
        if not self._limit:
            return
        others = await self._take(player_id, room_id)
        if others is None:
            return
        if await self._give_back_ended(player_id, others) and await self._take(player_id, room_id) is None:
            return
        # Asking again for a room that is there already changes nothing, whatever became of its place.
        if await self._repository.find(room_id) is None:
            raise refused(
                reasons.ERROR_REASON_LIMIT_REACHED,
                "the player hosts too many rooms that are not over",
                limit="rooms_per_player",
                value=self._limit,
            )

    def give_back(self, player_id: str, room_id: str) -> None:
        """The player hosts the room no longer. Does not wait; what gets lost is found at the limit."""
        if self._limit:
            future = self._store.write("ZREM", self._key(player_id), room_id)
            future.add_done_callback(lambda done: done.cancelled() or done.exception())

    def committed(self, room: Room, _committed: CommittedStep) -> None:
        """A step was committed by this process."""
        if room.host and room.status in {Status.OVER, Status.CLOSED}:
            self.give_back(room.host, room.room_id)

    async def _take(self, player_id: str, room_id: str) -> list[tuple[str, int]] | None:
        """None when the room has its place, else the rooms that have all of them, each with the age of its place."""
        reply = await self._store.run(TAKE_PLACE, [self._key(player_id)], [room_id, self._limit, KEEP_MS], durable=True)
        if reply == 1:
            return None
        return [(reply[place].decode(), int(reply[place + 1])) for place in range(0, len(reply), 2)]

    async def _give_back_ended(self, player_id: str, hosted: list[tuple[str, int]]) -> bool:
        """Give back the places of rooms that are over, or gone, or another's; whether there were any."""
        now = time.monotonic()
        if now - self._looked_at.get(player_id, -LOOK_AGAIN_SECONDS) < LOOK_AGAIN_SECONDS:
            return False
        self._looked_at[player_id] = now
        self._looked_at.move_to_end(player_id)
        if len(self._looked_at) > LOOKS_KEPT:
            self._looked_at.popitem(last=False)
        rooms = await asyncio.gather(*(self._repository.find(room_id) for room_id, _ in hosted))
        ended = [
            room_id
            for (room_id, age_ms), room in zip(hosted, rooms, strict=True)
            if (age_ms > CREATION_MS if room is None else room.status == Status.OVER or room.host != player_id)
        ]
        if ended:
            await self._store.write("ZREM", self._key(player_id), *ended)
        return bool(ended)

    def _key(self, player_id: str) -> str:
        return keys.hosted_key(zlib.crc32(player_id.encode()) % self._partitions, player_id)
