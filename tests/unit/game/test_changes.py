"""Changes of one room take turns within a process, and nobody who is cancelled keeps the turn."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import pytest

from game_state.changes import RoomChanger
from game_state.repository import room_not_found
from rami_kit.errors import RamiError
from support.game_tables import TIMES

if TYPE_CHECKING:
    from game_state.changes import Changed
    from game_state.draft import Draft
    from game_state.repository import RoomRepository


class NoRooms:
    """A store without rooms that answers when it is let."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.may_answer = asyncio.Event()

    async def get_for_change(self, room_id: str) -> None:
        self.asked.append(room_id)
        await self.may_answer.wait()
        raise room_not_found(room_id)


def nothing(_: Draft) -> None:
    """A change that changes nothing."""


async def started(changer: RoomChanger, *rooms: str) -> list[asyncio.Task[Changed[None]]]:
    tasks = [asyncio.create_task(changer.change(room, nothing)) for room in rooms]
    await asyncio.sleep(0)
    return tasks


@pytest.mark.parametrize("cancelled", [(), (1,), (1, 2), (0,), (0, 1), (0, 1, 2, 3)])
async def test_turns_come_one_after_the_other_and_go_on_past_who_has_left(cancelled: tuple[int, ...]) -> None:
    rooms = NoRooms()
    changer = RoomChanger(cast("RoomRepository", rooms), TIMES)
    tasks = await started(changer, "a", "a", "a", "a", "b")
    assert rooms.asked == ["a", "b"]
    for number in cancelled:
        tasks[number].cancel()
    rooms.may_answer.set()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    for number, error in enumerate(ended):
        assert isinstance(error, asyncio.CancelledError if number in cancelled else RamiError)
    assert not changer._changing


async def test_a_turn_that_comes_together_with_a_cancellation_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    rooms = NoRooms()
    changer = RoomChanger(cast("RoomRepository", rooms), TIMES)
    first, second, third = await started(changer, "a", "a", "a")
    end_turn = changer._end_turn

    def end_and_cancel(room_id: str) -> None:
        end_turn(room_id)
        second.cancel()

    monkeypatch.setattr(changer, "_end_turn", end_and_cancel)
    rooms.may_answer.set()
    ended = await asyncio.gather(first, second, third, return_exceptions=True)
    assert [type(error) for error in ended] == [RamiError, asyncio.CancelledError, RamiError]
    assert rooms.asked == ["a", "a"], "the one that was cancelled has not begun"
    assert not changer._changing
