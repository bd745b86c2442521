"""The one way to change a room: judge a draft, commit it, and go again when another step came first.

A mutation that a player repeats (same request id, same payload) gets the first answer. Within a process the
changes of one room take turns, so that they do not make each other fail; between processes the commit
decides.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from game_state.draft import Draft, TableTimes
from game_state.repository import CommitConflict, room_not_found
from game_state.requests import request_id_reused
from rami_engine import RulesError
from rami_kit.errors import RamiError, StoreUnavailable
from rami_kit.logs import set_log_room
from rami_kit.tracing import in_span

if TYPE_CHECKING:
    from collections.abc import Callable

    from game_state.events import CommittedStep
    from game_state.repository import RoomRepository
    from game_state.requests import RequestKey
    from game_state.room import Room

ResultT = TypeVar("ResultT")

MAX_ATTEMPTS: Final = 16
"""A change that loses so many races in a row is sent back to its caller."""


class Changed(NamedTuple, Generic[ResultT]):
    """What became of a mutation."""

    room: Room
    """The room at the version that the mutation made; a later one for a repeat."""
    version: int
    """The version that the mutation made, now or the first time; the current one if it changed nothing."""
    result: ResultT | None
    """What the judge returned; None for a repeat."""
    step: CommittedStep | None
    """The committed step; None for a repeat, and where nothing changed."""
    repeat: bool


class RoomChanger:
    """Applies mutations to rooms. One per process."""

    def __init__(self, repository: RoomRepository, times: TableTimes) -> None:
        self._repository = repository
        self._times = times
        self._changing: dict[str, deque[asyncio.Future[None]] | None] = {}
        """The rooms that are being changed, and who waits for each to be free: most often nobody."""

    async def change(
        self, room_id: str, judge: Callable[[Draft], ResultT], key: RequestKey | None = None
    ) -> Changed[ResultT]:
        """Apply a mutation: `judge` changes the draft or raises. A draft without changes is not committed.

        Raises what `judge` raises, judged on the confirmed current room; ROOM_NOT_FOUND; REQUEST_ID_REUSED
        for a key whose request id came with another payload; StoreUnavailable.
        """
        set_log_room(room_id)
        if room_id in self._changing:
            await self._wait_for_turn(room_id)
        else:
            self._changing[room_id] = None
        try:
            return await self._change(room_id, judge, key)
        finally:
            self._end_turn(room_id)

    async def _wait_for_turn(self, room_id: str) -> None:
        """Returns when it is this change's turn, first come, first served."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._changing[room_id]
        if waiting is None:
            waiting = self._changing[room_id] = deque()
        waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._end_turn(room_id)  # it came together with the cancellation
            raise

    def _end_turn(self, room_id: str) -> None:
        waiting = self._changing[room_id]
        while waiting:
            turn = waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        del self._changing[room_id]

    async def _change(
        self, room_id: str, judge: Callable[[Draft], ResultT], key: RequestKey | None
    ) -> Changed[ResultT]:
        repository = self._repository
        room, confirmed = await repository.get_for_change(room_id)
        for _ in range(MAX_ATTEMPTS):
            draft = Draft(room, repository.now_ms(), self._times)
            try:
                repeat, result = _judge(draft, judge, key)
            except (RamiError, RulesError):
                if confirmed:
                    raise
                repeat, result = None, None
                draft.changes.clear()
            if not draft.changes:
                # A refusal, a repeat, or nothing to do: said only of the room as the store has it now.
                # A caller who asked for a change is told that it is done, perhaps by a step that is not durable yet.
                if confirmed and (key is None or await repository.keep(room)):
                    return Changed(room, repeat or room.version, result, None, repeat is not None)
                room, confirmed = await repository.get(room_id), True
                continue
            try:
                step = await in_span(repository.commit(room, draft), "commit", room=room_id)
            except CommitConflict as conflict:
                if conflict.current is None:
                    raise room_not_found(room_id) from None
                room, confirmed = conflict.current, True
            else:
                return Changed(draft.room, step.version, result, step, repeat=False)
        raise StoreUnavailable("the room changes too fast")


def _judge(
    draft: Draft, judge: Callable[[Draft], ResultT], key: RequestKey | None
) -> tuple[int | None, ResultT | None]:
    """The version that the same mutation made before, or else what the judge returns; either is None."""
    if key is None:
        return None, judge(draft)
    repeat = find_repeat(draft.room, key)
    if repeat is not None:
        return repeat, None
    result = judge(draft)
    if draft.changes:
        room = draft.room
        room.requests.remember(key, room.version + 1)
        if room.requests.crowded:
            room.requests.forget_absent((room.host, *(seat.player_id for seat in room.seats)))
    return None, result


def find_repeat(room: Room, key: RequestKey) -> int | None:
    """The version that the same mutation made before; None for a new one. Raises REQUEST_ID_REUSED."""
    found = room.requests.find(key)
    if found is None:
        return None
    if not found.same_payload:
        raise request_id_reused()
    return found.version
