"""Watching a room without playing in it, over a `WatchRoom` stream that is kept open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rami.game.v1 import game_service_pb2 as game
from rami_client.follow import Follower

if TYPE_CHECKING:
    from rami.game.v1.game_service_pb2_grpc import GameServiceAsyncStub
    from rami_client.calls import Calls, Stream
    from rami_client.state import RoomMirror


class Watch(Follower):
    """A watcher of a room. Made by `Client.watch`; use it as an async context manager.

    Who holds a seat in the room sees its hand; everybody else sees what a spectator may.
    """

    def __init__(self, stub: GameServiceAsyncStub, calls: Calls, room_id: str, mirror: RoomMirror) -> None:
        super().__init__(calls, room_id, mirror)
        self._stub = stub

    def _open(self) -> Stream:
        request = game.WatchRoomRequest(room_id=self.room_id, cursor=self._mirror.cursor)
        return self._stub.WatchRoom(request, metadata=self._calls.metadata(self.room_id))
