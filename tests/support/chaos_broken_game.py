"""The game service, broken on purpose in one way that its argument names: what the chaos tests must notice.

    python chaos_broken_game.py no_version_check

Nothing of the service is changed but in this process. A break that no longer fits the service ends the start.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from game_state import feeds, repository, requests, scripts, streams
from game_state.config import GameSettings
from game_state.repository import RoomRepository
from game_state.service import build
from game_state.steps import Played
from rami_kit.app import main
from rami_kit.errors import StoreUncertain
from rami_kit.redis_store import Script

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from game_state.draft import Draft
    from game_state.events import CommittedStep
    from game_state.feeds import Feed, History
    from game_state.room import Room
    from game_state.steps import Step

_COMPARE = "redis.call('GETRANGE', KEYS[1], 0, 15) ~= ARGV[1]"
_APPEND = "redis.call('XADD', KEYS[2]"
_DUE = "redis.call('ZADD', KEYS[3], ARGV[6], ARGV[7])"


def no_version_check() -> None:
    """A step is committed onto whatever is there."""
    # The log refuses a second step of one version by itself: that is not to help here.
    _change_commit((_COMPARE, "false"), (_APPEND, _APPEND.replace("call", "pcall")))


def no_commit_id() -> None:
    """Only the number of the version is compared, not which step made it."""
    _change_commit((_COMPARE, "redis.call('GETRANGE', KEYS[1], 0, 7) ~= string.sub(ARGV[1], 1, 8)"))


def no_due() -> None:
    """Nothing says when a room must be looked after."""
    _change_commit((_DUE, ""))


def no_dedupe() -> None:
    """Nobody remembers what was accepted."""
    _replace(requests.RequestMemory, "find", lambda _self, _key: None)


def no_catch_up() -> None:
    """What the channel did not bring is not looked for, and gaps are not seen."""

    def take(self: Feed, committed: CommittedStep) -> None:
        if committed.version > self.version:
            self._deliver(committed)

    _replace(feeds.Feed, "take", take)
    _replace(feeds.Feed, "fill", lambda _self: None)
    _replace(streams.RoomStream, "_follows", lambda _self, _last_seen, _steps: True)


def blind_retry() -> None:
    """A commit whose answer is lost is sent again, onto whatever the room has become."""
    commit = RoomRepository.commit

    async def commit_again(self: RoomRepository, before: Room, draft: Draft) -> CommittedStep:
        try:
            return await commit(self, before, draft)
        except StoreUncertain:
            room = await self.find(before.room_id)
            assert room is not None
            draft.room.version = room.version
            return await commit(self, room, draft)

    _replace(RoomRepository, "commit", commit_again)


def early_answer() -> None:
    """An action is acknowledged when its step leaves, not when the store has it."""
    run_commit = RoomRepository._run_commit
    left: set[asyncio.Future[object]] = set()

    def forget(commit: asyncio.Future[object]) -> None:
        left.discard(commit)
        commit.exception()

    async def answer(self: RoomRepository, before: Room, room: Room, step: Step) -> object:
        commit = asyncio.ensure_future(run_commit(self, before, room, step))
        if not any(isinstance(change, Played) for change in step.changes):
            return await commit
        left.add(commit)
        commit.add_done_callback(forget)
        return 1

    _replace(RoomRepository, "_run_commit", answer)


def silent_rewind() -> None:
    """Nobody is told that what was held is no longer true."""
    _replace_in(streams, "steps_after", _claiming_to_know(feeds.steps_after))


def unconfirmed_refusals() -> None:
    """Refusals are said of a room in memory, which may be out of date."""
    get_for_change = RoomRepository.get_for_change

    async def get_confirmed(self: RoomRepository, room_id: str) -> tuple[Room, bool]:
        room, _ = await get_for_change(self, room_id)
        return room, True

    _replace(RoomRepository, "get_for_change", get_confirmed)


BREAKS = (
    no_version_check,
    no_commit_id,
    no_due,
    no_dedupe,
    no_catch_up,
    blind_retry,
    early_answer,
    silent_rewind,
    unconfirmed_refusals,
)


def _claiming_to_know(
    steps_after: Callable[[RoomRepository, str, int, bytes], Awaitable[History]],
) -> Callable[[RoomRepository, str, int, bytes], Awaitable[History]]:
    async def look(rooms: RoomRepository, room_id: str, version: int, commit_id: bytes) -> History:
        return (await steps_after(rooms, room_id, version, commit_id))._replace(known=True)

    return look


def _change_commit(*changed: tuple[str, str]) -> None:
    lua = scripts.COMMIT.lua.decode()
    for old, new in changed:
        assert lua.count(old) == 1, f"the commit script no longer has {old!r}"
        lua = lua.replace(old, new)
    _replace_in(repository, "COMMIT", Script("commit", lua))


def _replace(owner: type, name: str, value: object) -> None:
    assert name in vars(owner), f"{owner.__name__} no longer has {name}"
    setattr(owner, name, value)


def _replace_in(module: object, name: str, value: object) -> None:
    assert hasattr(module, name), f"no {name} is left to replace"
    setattr(module, name, value)


def start(name: str) -> int:
    """Break the service and run it; its exit code."""
    next(each for each in BREAKS if each.__name__ == name)()
    return main(GameSettings, build, "game", argv=[])


if __name__ == "__main__":
    sys.exit(start(sys.argv[1]))
