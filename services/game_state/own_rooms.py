"""Which rooms a player sits in or hosts: one small set of the store for each player.

A room gets into the sets of its people with the step that seats them, and leaves them when they leave it or it closes.
Those writes come after the commit and nobody waits for them, so one may get lost with its process. A set is therefore
only a hint: every room in it is looked at before it is told of, the start of a match writes the sets of its people once
more, and so does everybody who opens a stream of a room. Reading costs what a player's own rooms cost, however many
others there are.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

from game_state.codec import NewerRoom
from game_state.projection import room_message
from game_state.room import Status
from game_state.scripts import NOTE_OWN_ROOM
from rami.game.v1 import event_pb2, game_service_pb2
from rami_kit import keys
from rami_kit.errors import StoreError
from rami_kit.paging import wrong_page_token

if TYPE_CHECKING:
    from typing import Any

    from game_state.events import CommittedStep
    from game_state.repository import RoomRepository
    from game_state.room import Room
    from rami_kit.redis_store import Store

KEPT: Final = 200
"""Rooms in the set of a player; of more, those that were created first are forgotten."""
KEEP_MS: Final = 30 * 24 * 3600 * 1000
"""The set of a player who is seen nowhere is dropped after this time."""

_SITTING_DOWN: Final = {event_pb2.SEAT_CHANGE_CAUSE_JOINED, event_pb2.SEAT_CHANGE_CAUSE_RETURNED}

_log = logging.getLogger(__name__)


class _Entry(NamedTuple):
    """A room in a set. The greatest comes first."""

    created: int
    """In ms of the store's time."""
    room_id: str


class OwnRooms:
    """The sets of all players. One per process; hears of every committed step."""

    def __init__(self, store: Store, repository: RoomRepository, partitions: int) -> None:
        self._store = store
        self._repository = repository
        self._partitions = partitions

    def committed(self, room: Room, committed: CommittedStep) -> None:
        """A step was committed by this process."""
        if room.status == Status.CLOSED:
            for player_id in sorted(_people(room)):
                self.drop(player_id, room.room_id)
            return
        seated: set[str] = set()
        for change in committed.public_changes:
            if change.HasField("room_created") or change.HasField("match_started"):
                seated |= _people(room)
            elif change.seat_changed.cause in _SITTING_DOWN:
                seated.add(change.seat_changed.seat.player.player_id)
        for player_id in sorted(seated):
            self.note(player_id, room)

    def note(self, player_id: str, room: Room) -> None:
        """The player sits in the room or hosts it. Does not wait."""
        if _belongs(room, player_id):
            _forget(
                self._store.run(NOTE_OWN_ROOM, [self._key(player_id)], [room.room_id, room.create_ms, KEPT, KEEP_MS])
            )

    def drop(self, player_id: str, room_id: str) -> None:
        """The player has left the room, or it is gone. Does not wait."""
        _forget(self._store.write("ZREM", self._key(player_id), room_id))

    async def page(self, player_id: str, size: int, page_token: str) -> game_service_pb2.ListOwnRoomsResponse:
        """A page of a player's rooms, newest first. Raises InvalidRequest for a foreign token, and StoreUnavailable."""
        before = _parse_token(page_token)
        reply = await self._store.read("ZREVRANGE", self._key(player_id), 0, -1, "WITHSCORES")
        entries = [
            _Entry(int(float(score)), room_id.decode()) for room_id, score in zip(reply[::2], reply[1::2], strict=True)
        ]
        rest = [entry for entry in entries if before is None or entry < before]
        rooms: list[Room] = []
        last: _Entry | None = None
        while rest and len(rooms) < size:
            wanted = size - len(rooms)
            looked_at, rest = rest[:wanted], rest[wanted:]
            last = looked_at[-1]
            rooms += filter(None, await asyncio.gather(*(self._own_room(player_id, entry) for entry in looked_at)))
        return game_service_pb2.ListOwnRoomsResponse(
            rooms=[room_message(room, player_id) for room in rooms],
            next_page_token=f"{last.created}.{last.room_id}" if rest and last is not None else "",
        )

    async def _own_room(self, player_id: str, entry: _Entry) -> Room | None:
        try:
            room = await self._repository.find(entry.room_id)
        except (NewerRoom, StoreError) as error:
            # One that this build cannot read must not hide the others.
            _log.warning("a player's room is left out: %s", error)
            return None
        if room is None:
            self.drop(player_id, entry.room_id)
            return None
        return room if _belongs(room, player_id) else None

    def _key(self, player_id: str) -> str:
        return keys.own_rooms_key(zlib.crc32(player_id.encode()) % self._partitions, player_id)


def _people(room: Room) -> set[str]:
    """Everybody who holds a seat in a room, and its host."""
    return {seat.player_id for seat in room.seats if seat.player_id} | ({room.host} if room.host else set())


def _belongs(room: Room, player_id: str) -> bool:
    return room.seat_of(player_id) is not None or room.host == player_id


def _forget(future: asyncio.Future[Any]) -> None:
    """Let a write go its way; what gets lost is written again, as the opening of this file says."""
    future.add_done_callback(lambda done: done.cancelled() or done.exception())


def _parse_token(page_token: str) -> _Entry | None:
    if not page_token:
        return None
    created, _, room_id = page_token.partition(".")
    if not (created.isascii() and created.isdigit() and len(created) < 16) or keys.parse_room_id(room_id) is None:
        raise wrong_page_token()
    return _Entry(int(created), room_id)
