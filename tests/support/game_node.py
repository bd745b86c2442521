"""The parts of a replica that hold rooms and feeds, without its server: for what no client can bring about."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from game_state import lobby, match
from game_state.changes import RoomChanger
from game_state.config import GameSettings
from game_state.feeds import FeedHub
from game_state.lobby import Person
from game_state.own_rooms import OwnRooms
from game_state.repository import RoomRepository
from game_state.streams import RoomStream, StreamParts
from rami.game.v1 import game_service_pb2 as pb
from rami_engine import DRAW_STOCK, ActionKind, Phase, legal_actions
from rami_kit.app import App
from rami_kit.metrics import GameMetrics
from rami_kit.redis_store import Store
from rami_kit.subscriber import Subscriber
from rami_kit.testing import make_settings
from support.game_cluster import PATIENT
from support.game_tables import TIMES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from game_state.changes import Changed
    from game_state.room import Room


class Node:
    """Repository, changer, subscriber and feeds on one store. `kept_rooms` bounds its memory."""

    def __init__(self, app: App, store: Store, kept_rooms: int = 100) -> None:
        self.app = app
        self.store = store
        self.metrics = GameMetrics(app.metrics.registry)
        self.subscriber = Subscriber(store)
        self.repository = RoomRepository(store, self.metrics, kept_rooms=kept_rooms, lease_ms=TIMES.lease_ms)
        self.changer = RoomChanger(self.repository, TIMES)
        self.hub = FeedHub(self.repository, self.subscriber, self.metrics)
        self.repository.add_listener(self.hub)
        self.own_rooms = OwnRooms(store, self.repository, partitions=1)
        self.repository.add_listener(self.own_rooms)
        self.parts = StreamParts(
            self.repository, self.hub, self.own_rooms, self.metrics, app.draining, heartbeat_seconds=60
        )

    def stream(self, room_id: str, player_id: str, cursor: bytes = b"") -> RoomStream:
        return RoomStream(self.parts, room_id, player_id, cursor, legal_actions=False)

    async def join(self, room_id: str, player_id: str) -> Changed[int]:
        person = Person(player_id, player_id.title())
        return await self.changer.change(room_id, lambda draft: lobby.join(draft, person, None, with_code=True))

    async def act(self, room_id: str) -> Room:
        """A plain action of whoever is to move: draw from the stock, or discard the lowest card."""
        room = await self.repository.get(room_id)
        seat, player = room.turn_seat(), room.current_match()
        assert seat is not None
        if player.phase == Phase.DRAW:
            action = DRAW_STOCK
        else:
            action = next(action for action in legal_actions(player, seat) if action.kind == ActionKind.DISCARD)
        changed = await self.changer.change(
            room_id,
            lambda draft: match.play_for_player(draft, room.seats[seat].player_id, draft.room.version, action),
        )
        return changed.room

    def sample(self, name: str, **labels: str) -> float:
        return self.app.metrics.registry.get_sample_value(name, labels) or 0.0


@asynccontextmanager
async def game_node(store_url: str, *, kept_rooms: int = 100) -> AsyncIterator[Node]:
    """A node, closed at the end."""
    settings = make_settings(GameSettings, store_url, **PATIENT)
    app = App(settings, "game")
    store = await Store.connect(settings, app.metrics)
    node = Node(app, store, kept_rooms)
    try:
        yield node
    finally:
        await node.subscriber.close()
        await store.close()


def heard(message: bytes) -> pb.WatchRoomResponse:
    """A message of a stream, parsed."""
    return pb.WatchRoomResponse.FromString(message)
