"""Lists of public rooms, newest first, over all partitions.

Each partition keeps its public rooms of each state in a sorted set by creation time. A page asks every partition, in
one batch, for its newest rooms below the place where the last page ended, and merges what they answer: its cost grows
with the partitions there are, not with the rooms. Rooms that have expired meanwhile are left out, and out of the set.
Filters look at one room after the other, so many for a page: it may then be short, and the next one goes on from there.
"""

from __future__ import annotations

import asyncio
import logging
from heapq import nlargest
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from game_state.codec import NewerRoom
from game_state.projection import may_watch, room_message
from game_state.room import Status
from rami.game.v1 import game_service_pb2, room_pb2
from rami_kit import keys
from rami_kit.errors import InvalidRequest, StoreError
from rami_kit.paging import wrong_page_token

if TYPE_CHECKING:
    from game_state.repository import RoomRepository
    from game_state.room import Room
    from rami_kit.redis_store import Store

_LISTINGS: Final = {
    room_pb2.ROOM_STATUS_UNSPECIFIED: (Status.LOBBY, "lobby"),
    room_pb2.ROOM_STATUS_LOBBY: (Status.LOBBY, "lobby"),
    room_pb2.ROOM_STATUS_IN_MATCH: (Status.IN_MATCH, "in_match"),
    room_pb2.ROOM_STATUS_OVER: (Status.OVER, "over"),
}
LOOKED_AT: Final = 300
"""Rooms that are looked at for one page at most, or as many as it is to hold."""
LOOKED_AT_ONCE: Final = 100
"""So many of them at once where a filter may leave most of them out."""
TIES_READ_AT_ONCE: Final = 64
"""Rooms of the very millisecond in which the last page ended that are read to be passed over, besides a page."""

_log = logging.getLogger(__name__)


class _Entry(NamedTuple):
    """A room in a listing. The greatest comes first."""

    created: int
    """In ms of the store's time."""
    token: str
    partition: int


class RoomFilter(NamedTuple):
    """Which rooms of a listing are asked for; the defaults leave none out."""

    seats: int = 0
    """The number of seats; 0 for any."""
    free_seat: bool = False
    """Only rooms with an empty seat."""
    watchable: bool = False
    """Only rooms whose match the caller may follow."""

    def suits(self, room: Room, player_id: str) -> bool:
        """Whether a room is one of them for a player."""
        return (
            (not self.seats or len(room.seats) == self.seats)
            and (not self.free_seat or any(seat.empty for seat in room.seats))
            and (not self.watchable or may_watch(room, player_id))
        )


NO_FILTER: Final = RoomFilter()


class RoomLister:
    """Reads pages of public rooms. One per process."""

    def __init__(self, store: Store, repository: RoomRepository, partitions: int) -> None:
        self._store = store
        self._repository = repository
        self._partitions = partitions

    async def page(
        self,
        status: room_pb2.RoomStatus.ValueType,
        size: int,
        page_token: str,
        player_id: str,
        wanted: RoomFilter = NO_FILTER,
    ) -> game_service_pb2.ListRoomsResponse:
        """A page of rooms in a state. Raises InvalidRequest for a state without a list and a foreign token."""
        listing = _LISTINGS.get(status)
        if listing is None:
            raise InvalidRequest("status", "must be LOBBY, IN_MATCH or OVER")
        before = _parse_token(page_token)
        rooms: list[Room] = []
        more = True
        looked_at = 0
        while more and len(rooms) < size and looked_at < max(LOOKED_AT, size):
            count = size - len(rooms)
            if wanted != NO_FILTER:
                count = max(count, LOOKED_AT_ONCE)
            # One more than is looked at tells whether this is the last page.
            newest = await self._newest(listing[1], before, count + 1)
            more = len(newest) > count
            looked_at += count
            found = await asyncio.gather(*(self._listed_room(entry, listing) for entry in newest[:count]))
            for entry, room in zip(newest, found, strict=False):
                if len(rooms) == size:
                    more = True
                    break
                before = entry
                if room is not None and wanted.suits(room, player_id):
                    rooms.append(room)
        return game_service_pb2.ListRoomsResponse(
            rooms=[room_message(room, player_id) for room in rooms],
            next_page_token=_format_token(before) if more and before is not None else "",
        )

    async def _listed_room(self, entry: _Entry, listing: tuple[Status, str]) -> Room | None:
        status, name = listing
        try:
            room = await self._repository.find(keys.format_room_id(entry.partition, entry.token))
        except (NewerRoom, StoreError) as error:
            # One that this build cannot read must not hide the others.
            _log.warning("a listed room is left out: %s", error)
            return None
        if room is None:
            await self._store.write("ZREM", keys.listing_key(entry.partition, name), entry.token)
            return None
        return room if room.status == status and room.options.public else None

    async def _newest(self, name: str, before: _Entry | None, most: int) -> list[_Entry]:
        """The newest rooms of a listing below a place, of all partitions."""
        heads = await asyncio.gather(
            *(self._newest_of(partition, name, before, most) for partition in range(self._partitions))
        )
        return nlargest(most, chain.from_iterable(heads))

    async def _newest_of(self, partition: int, name: str, before: _Entry | None, most: int) -> list[_Entry]:
        key = keys.listing_key(partition, name)
        highest = "+inf" if before is None else str(before.created)
        count = most + TIES_READ_AT_ONCE
        found: list[_Entry] = []
        offset = 0
        while True:
            reply = await self._store.read(
                "ZREVRANGEBYSCORE", key, highest, "-inf", "WITHSCORES", "LIMIT", offset, count
            )
            read = [
                _Entry(int(float(score)), token.decode(), partition)
                for token, score in zip(reply[::2], reply[1::2], strict=True)
            ]
            # Rooms of the millisecond that the last page ended in come again.
            found += [entry for entry in read if before is None or entry < before]
            if len(found) >= most or len(read) < count:
                return found[:most]
            offset += count


def _format_token(place: _Entry) -> str:
    return f"{place.created}.{place.token}.{place.partition}"


def _parse_token(page_token: str) -> _Entry | None:
    if not page_token:
        return None
    created, _, rest = page_token.partition(".")
    token, _, partition = rest.partition(".")
    if not all(text.isascii() and text.isdigit() and len(text) < 16 for text in (created, partition)):
        raise wrong_page_token()
    return _Entry(int(created), token, int(partition))
