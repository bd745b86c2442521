"""Lists of public rooms, newest first, over all partitions.

Each partition keeps its public rooms of each state in a sorted set by creation time. A page walks the partitions
one after the other, so that its cost does not grow with the rooms there are; within a partition the newest come
first. Rooms that have expired meanwhile are left out, and out of the set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from game_state.projection import room_message
from game_state.room import Status
from rami.game.v1 import game_service_pb2, room_pb2
from rami_kit import keys
from rami_kit.errors import InvalidRequest

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


class RoomLister:
    """Reads pages of public rooms. One per process."""

    def __init__(self, store: Store, repository: RoomRepository, partitions: int) -> None:
        self._store = store
        self._repository = repository
        self._partitions = partitions

    async def page(
        self, status: room_pb2.RoomStatus.ValueType, size: int, page_token: str, player_id: str
    ) -> game_service_pb2.ListRoomsResponse:
        """A page of rooms in a state. Raises InvalidRequest for a state without a list and a foreign token."""
        listing = _LISTINGS.get(status)
        if listing is None:
            raise InvalidRequest("status", "must be LOBBY, IN_MATCH or OVER")
        partition, before = self._parse_token(page_token)
        rooms: list[Room] = []
        while partition < self._partitions and len(rooms) < size:
            tokens = await self._tokens(partition, listing[1], before, size - len(rooms))
            for token, created in tokens:
                room = await self._listed_room(partition, token, listing)
                if room is not None:
                    rooms.append(room)
                before = (created, token)
            if not tokens:
                partition, before = partition + 1, None
        more = partition < self._partitions
        return game_service_pb2.ListRoomsResponse(
            rooms=[room_message(room, player_id) for room in rooms],
            next_page_token=_format_token(partition, before) if more else "",
        )

    async def _listed_room(self, partition: int, token: str, listing: tuple[Status, str]) -> Room | None:
        room = await self._repository.find(keys.format_room_id(partition, token))
        if room is None:
            await self._store.write("ZREM", keys.listing_key(partition, listing[1]), token)
            return None
        return room if room.status == listing[0] and room.options.public else None

    async def _tokens(
        self, partition: int, name: str, before: tuple[int, str] | None, most: int
    ) -> list[tuple[str, int]]:
        """The next tokens of a partition with their creation times; newest first, equals by token."""
        highest = "+inf" if before is None else str(before[0])
        # Rooms of the very millisecond that the last page ended in come again and are passed over.
        reply = await self._store.read(
            "ZREVRANGEBYSCORE", keys.listing_key(partition, name), highest, "-inf", "WITHSCORES", "LIMIT", 0, most + 64
        )
        found = [(token.decode(), int(float(score))) for token, score in zip(reply[::2], reply[1::2], strict=True)]
        if before is not None:
            found = [entry for entry in found if (entry[1], entry[0]) < before]
        return found[:most]

    def _parse_token(self, page_token: str) -> tuple[int, tuple[int, str] | None]:
        if not page_token:
            return 0, None
        partition, _, place = page_token.partition(".")
        created, _, token = place.partition(".")
        numbers = (partition, created or "0")
        if not all(text.isascii() and text.isdigit() and len(text) < 16 for text in numbers):
            raise InvalidRequest("page_token", "must be a token that a page has given")
        return int(partition), (int(created), token) if place else None


def _format_token(partition: int, before: tuple[int, str] | None) -> str:
    return str(partition) if before is None else f"{partition}.{before[0]}.{before[1]}"
