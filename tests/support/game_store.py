"""The store seen from outside the service: what is kept of a room, and rooms put there by a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

import redis

from game_state.codec import decode_room, encode_room, room_header
from rami_kit import keys

if TYPE_CHECKING:
    from game_state.room import Room
    from support.game_tables import Table

PERPETUAL = frozenset({"due", "finished", "list:lobby", "list:in_match", "list:over"})
"""Keys of a partition that live for ever, without its tag: a room only leaves entries there."""


class StoreView:
    """Looks at a store. Use it as a context manager."""

    def __init__(self, url: str) -> None:
        self.client = redis.Redis.from_url(url)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def place(self, room_id: str) -> tuple[int, str]:
        place = keys.parse_room_id(room_id)
        assert place is not None
        return place

    def stored(self, room_id: str) -> bytes | None:
        """The stored value of a room, header included."""
        return cast("bytes | None", self.client.get(keys.room_key(*self.place(room_id))))

    def room(self, room_id: str) -> Room:
        stored = self.stored(room_id)
        assert stored is not None
        return decode_room(room_id, stored)

    def log(self, room_id: str) -> list[tuple[int, bytes]]:
        """The versions and encoded steps of a room's log."""
        entries = cast("list[Any]", self.client.xrange(keys.log_key(*self.place(room_id))))
        return [(int(entry.partition(b"-")[0]), fields[b"s"]) for entry, fields in entries]

    def all_keys(self) -> set[str]:
        return {key.decode() for key in cast("list[bytes]", self.client.keys("*"))}

    def room_keys(self) -> set[str]:
        """Every key that belongs to single rooms; not those of players, who have several."""
        names = {key: key.partition("}:")[2] for key in self.all_keys()}
        return {key for key, name in names.items() if name not in PERPETUAL and not name.startswith(("host:", "own:"))}

    def entries(self, room_id: str) -> set[str]:
        """The perpetual sets of its partition that name a room."""
        partition, token = self.place(room_id)
        sets = {keys.due_key(partition), *(keys.listing_key(partition, n) for n in ("lobby", "in_match", "over"))}
        return {name for name in sets if self.client.zscore(name, token) is not None}

    def channels(self) -> list[bytes]:
        """Channels that somebody listens to."""
        return cast("list[bytes]", self.client.pubsub_shardchannels())

    def plant(self, table: Table) -> Room:
        """Put a room of a test into the store, with its log, as if the service had made it."""
        room = table.room
        partition, token = self.place(room.room_id)
        self.client.set(keys.room_key(partition, token), room_header(room) + encode_room(room), px=3_600_000)
        self.client.delete(keys.log_key(partition, token))
        for step in table.log:
            self.client.xadd(keys.log_key(partition, token), {b"s": step.step.to_bytes()}, id=f"{step.version}-0")
        self.client.zadd(keys.due_key(partition), {token: room.due_ms(1_000)})
        return room

    def replace(self, room: Room) -> None:
        """Change a stored room in place, at the same version and commit id."""
        self.client.set(keys.room_key(*self.place(room.room_id)), room_header(room) + encode_room(room), px=3_600_000)

    def hasten(self, room_id: str, **moments: int) -> None:
        """Set clocks of a stored room, by their names and in ms of the store's time, in place of waiting for them.

        Replicas that hold the room in memory learn of it as of everything that is due: from the sweeper that claims it.
        Raises redis.WatchError when the room moves on meanwhile, and nothing is done.
        """
        partition, token = self.place(room_id)
        name = keys.room_key(partition, token)
        together: Any = self.client.pipeline()
        with together:
            together.watch(name)
            room = decode_room(room_id, together.get(name))
            for clock, moment_ms in moments.items():
                assert getattr(room, clock), f"{clock} does not run"
                setattr(room, clock, moment_ms)
            together.multi()
            together.set(name, room_header(room) + encode_room(room), keepttl=True)
            together.zadd(keys.due_key(partition), {token: room.due_ms(0)})
            together.execute()

    def now_ms(self) -> int:
        seconds, micros = self.client.time()
        return seconds * 1000 + micros // 1000
