"""The services broken on purpose, one way at a time, and mended again: what the simulation must notice.

Most breaks of the game service are those of the chaos tests; here are more, and how all of them are undone.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from game_state import repository
from game_state.creation import RoomMaker
from game_state.repository import RoomRepository
from matchmaking import claim_scripts, game_rooms
from matchmaking.claims import ClaimFinisher
from rami.game.v1 import match_room_service_pb2 as messages
from rami.game.v1 import room_pb2
from rami_kit import keys
from rami_kit.redis_store import Script
from sim.plan import Kind
from support import chaos_broken_game as game

if TYPE_CHECKING:
    from collections.abc import Iterator

    from game_state.room import Room
    from matchmaking.claim_records import Claim


def claims_of_anybody() -> None:
    """A table is claimed although its tickets no longer wait."""
    _change("CLAIM", "held = found[1] == WAITING and found[2] == players", "held = true")


def no_take_over() -> None:
    """Claims whose process has died are left alone."""

    async def never(_self: ClaimFinisher) -> None:
        await asyncio.Event().wait()

    game._replace(ClaimFinisher, "resume_forever", never)


def another_room_each_time() -> None:
    """A room that is asked for again is another one."""
    room_id = RoomMaker.room_id

    def fresh(self: RoomMaker, *parts: str) -> str:
        return room_id(self, *parts, os.urandom(8).hex())

    game._replace(RoomMaker, "room_id", fresh)


def another_rematch_each_time() -> None:
    """Everybody who asks for the rematch gets one of their own."""
    room_id = RoomMaker.room_id

    def fresh(self: RoomMaker, *parts: str) -> str:
        return room_id(self, *parts, os.urandom(8).hex()) if parts[0] == "rematch" else room_id(self, *parts)

    game._replace(RoomMaker, "room_id", fresh)


def split_parties() -> None:
    """Of a party only the leader gets a seat."""
    room_request = game_rooms.room_request

    def request(claim: Claim) -> messages.CreateMatchRoomRequest:
        asked, seen = room_request(claim), set()
        for place, seat in enumerate(claim.seats):
            if seat.ticket_id and seat.ticket_id in seen:
                asked.seats[place].CopyFrom(messages.MatchSeat(bot=room_pb2.SeatedBot(bot="easy")))
            seen.add(seat.ticket_id)
        return asked

    game._replace_in(game_rooms, "room_request", request)


def keys_of_two_slots() -> None:
    """What is due in a room is kept with those of another partition: one server does not mind."""
    keys_of = repository._keys_of

    def elsewhere(room_id: str) -> repository._RoomKeys:
        good = keys_of(room_id)
        return good._replace(due=keys.due_key(good.partition + 1))

    game._replace_in(repository, "_keys_of", elsewhere)


def hasty_repeats() -> None:
    """Who asks again is told that it is done, durable or not."""

    async def at_once(_self: RoomRepository, _room: Room) -> bool:
        return True

    game._replace(RoomRepository, "keep", at_once)


def _change(name: str, old: str, new: str) -> None:
    script: Script = getattr(claim_scripts, name)
    lua = script.lua.decode()
    assert lua.count(old) == 1, f"the script no longer has {old!r}"
    game._replace_in(claim_scripts, name, Script(script.name, lua.replace(old, new), finds_keys=script.finds_keys))


_TABLE = (*game.BREAKS, hasty_repeats)
_CLUSTER = (keys_of_two_slots,)
_ROOM = (another_rematch_each_time,)
_QUEUE = (claims_of_anybody, no_take_over, another_room_each_time, split_parties)
_ALL = {each.__name__: each for each in (*_TABLE, *_CLUSTER, *_ROOM, *_QUEUE)}
BREAKS = {
    **dict.fromkeys((each.__name__ for each in (*_TABLE, *_CLUSTER)), Kind.TABLE),
    **dict.fromkeys((each.__name__ for each in _ROOM), Kind.ROOM),
    **dict.fromkeys((each.__name__ for each in _QUEUE), Kind.QUEUE),
}
"""Every break, and the kind of run that it shows in."""


@contextmanager
def broken(name: str) -> Iterator[None]:
    """Within it, the services have this break."""
    undo: list[tuple[object, str, object]] = []

    def replace(owner: object, attribute: str, value: object) -> None:
        undo.append((owner, attribute, vars(owner)[attribute]))
        setattr(owner, attribute, value)

    try:
        with patch.object(game, "_replace", replace), patch.object(game, "_replace_in", replace):
            _ALL[name]()
        yield
    finally:
        for owner, attribute, value in reversed(undo):
            setattr(owner, attribute, value)


__all__ = ["BREAKS", "broken"]
