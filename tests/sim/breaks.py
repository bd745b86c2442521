"""The services broken on purpose, one way at a time, and mended again: what the simulation must notice.

The game service is broken as for the chaos tests; here are breaks of the queue, and how all of them are undone.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from game_state.creation import RoomMaker
from matchmaking import scripts
from matchmaking.claims import ClaimFinisher
from rami_kit.redis_store import Script
from support import chaos_broken_game as game

if TYPE_CHECKING:
    from collections.abc import Iterator


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


def many_tickets() -> None:
    """A player who asks again gets another ticket."""
    _change("CREATE", "local live, state, other = live_ticket(player)", "local live, state, other = false")


def _change(name: str, old: str, new: str) -> None:
    script: Script = getattr(scripts, name)
    lua = script.lua.decode()
    assert lua.count(old) == 1, f"the script no longer has {old!r}"
    game._replace_in(scripts, name, Script(script.name, lua.replace(old, new), finds_keys=script.finds_keys))


_QUEUE = (claims_of_anybody, no_take_over, another_room_each_time, many_tickets)
_ALL = {each.__name__: each for each in (*game.BREAKS, *_QUEUE)}
BREAKS = tuple(each.__name__ for each in game.BREAKS)
QUEUE_BREAKS = tuple(each.__name__ for each in _QUEUE)


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


__all__ = ["BREAKS", "QUEUE_BREAKS", "broken"]
