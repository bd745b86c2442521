"""Which moment a driver waits for, and how it is told of nearer ones; no store, no decision service."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from prometheus_client import CollectorRegistry

from game_state.decider import Decision
from game_state.driver import Driver
from game_state.stuck import FAILURES, StuckRooms
from rami_engine import DRAW_STOCK, ActionKind, legal_actions
from rami_kit.errors import StoreUnavailable, reasons, refused
from rami_kit.metrics import GameMetrics
from support.game_tables import TIMES, Table, table_options
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from game_state.draft import Draft
    from game_state.events import CommittedStep
    from game_state.room import Room


class World:
    """One table in the place of repository, changer and decision service, and the driver that drives it."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.memory: Room | None = table.room
        self.asked = 0
        self.finds = 0
        self.gone = False
        """Whether the store has no such room any more."""
        self.failure: Exception | None = None
        self.on_find: Callable[[], None] = lambda: None
        self.handed_over: list[str] = []
        self.registry = CollectorRegistry()
        self.stuck = StuckRooms(GameMetrics(self.registry))
        self.driver = Driver(
            cast("Any", self),
            cast("Any", self),
            cast("Any", self),
            autopilot_bot="easy",
            lease_ms=TIMES.lease_ms,
            stuck=self.stuck,
        )

    # What the driver uses of a repository.

    def now_ms(self) -> int:
        return self.table.now_ms

    def kept(self, _room_id: str) -> Room | None:
        return self.memory

    def forget(self, _room_id: str) -> None:
        self.memory = None

    async def find(self, _room_id: str) -> Room | None:
        self.finds += 1
        found = None if self.gone else self.table.room
        await asyncio.sleep(0)
        self.on_find()
        self.memory = found
        return found

    async def hand_over(self, room_ids: Collection[str]) -> None:
        self.handed_over += room_ids

    # What it uses of a changer and a decider.

    async def change(self, _room_id: str, judge: Callable[[Draft], None]) -> None:
        await asyncio.sleep(0)
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        self.commit(judge)

    async def decide(self, room: Room, seat: int, _bot: str) -> Decision:
        self.asked += 1
        legal = legal_actions(room.current_match(), seat)
        return Decision(DRAW_STOCK if DRAW_STOCK in legal else legal[-1], fallback=False)

    # What tests do.

    def commit(self, judge: Callable[[Draft], None]) -> None:
        """A step of this process: the driver hears of it."""
        steps = len(self.table.log)
        self.table.change(judge)
        self.memory = self.table.room
        for step in self.table.log[steps:]:
            self.driver.committed(self.table.room, step)

    def last_step(self) -> CommittedStep:
        return self.table.log[-1]

    async def idle(self) -> None:
        await eventually(lambda: not self.driver._drives, "the driver has nothing to do")


def bots_turn() -> Table:
    """Ann has played, and a bot is to move at once."""
    table = Table(["ann", "bot:easy"], options=table_options(bot_pace_ms=0))
    table.start()
    table.play_turn("ann")
    return table


async def test_a_bot_plays_its_turn_and_the_driver_is_done() -> None:
    world = World(bots_turn())
    world.driver.committed(world.table.room, world.last_step())
    await world.idle()

    assert world.table.turn == 0
    assert world.asked == 2


async def test_news_that_come_with_the_last_look_are_looked_at() -> None:
    """A read that left before a commit says that nothing is to do; the commit came before its answer."""
    table = Table(["ann", "bot:easy"], options=table_options(bot_pace_ms=0))
    table.start()
    world = World(table)

    def ann_plays() -> None:
        if world.finds != 2:  # the second look is the last one, to confirm that nothing is to do
            return
        for kind in (ActionKind.DRAW_STOCK, ActionKind.DISCARD):
            action = next(action for action in table.legal() if action.kind == kind)
            world.table.play("ann", action)
        world.memory = table.room
        world.driver.committed(table.room, world.last_step())

    world.on_find = ann_plays
    world.driver.attend(table.room.room_id)
    await world.idle()

    assert table.turn == 0
    assert table.round.turns == 2, "the bot has played"


async def test_a_claimed_clock_that_is_about_to_run_out_is_waited_for() -> None:
    table = Table(["ann", "bob"], options=table_options(turn_limit_ms=60_000, bot_pace_ms=0))
    table.start()
    table.wait(60_000 - 20)  # by the reckoning of this process; the store has claimed it already
    world = World(table)
    world.driver.attend(table.room.room_id)
    await asyncio.sleep(0)
    assert not table.autopilot()
    table.wait(20)
    await world.idle()

    assert table.turn == 1, "autopilot has played the turn"


async def test_a_clock_far_away_is_left_to_the_sweeper() -> None:
    table = Table(["ann", "bob"])
    table.start()
    world = World(table)
    world.driver.attend(table.room.room_id)
    await world.idle()

    assert table.room.version == 2
    assert world.finds == 2, "memory was not trusted"


async def test_a_room_that_is_gone_is_nothing_to_drive() -> None:
    world = World(bots_turn())
    world.failure = refused(reasons.ERROR_REASON_ROOM_NOT_FOUND, "gone")
    world.gone = True
    world.driver.committed(world.table.room, world.last_step())
    await world.idle()

    assert world.asked == 1


async def test_a_step_that_came_first_is_looked_at_anew() -> None:
    world = World(bots_turn())
    world.failure = refused(reasons.ERROR_REASON_STALE_VERSION, "another came first")
    world.driver.committed(world.table.room, world.last_step())
    await world.idle()

    assert world.table.turn == 0
    assert world.asked == 3


async def test_what_fails_is_left_to_the_sweeper() -> None:
    for failure in (StoreUnavailable(), ValueError("a defect")):
        world = World(bots_turn())
        world.failure = failure
        world.driver.committed(world.table.room, world.last_step())
        await world.idle()
        assert world.table.turn == 1
        world.driver.attend(world.table.room.room_id)
        await world.idle()
        assert world.table.turn == 0


async def test_a_room_that_fails_again_and_again_is_stuck_until_it_moves() -> None:
    world = World(bots_turn())
    room_id = world.table.room.room_id
    for failures in range(1, FAILURES + 1):
        assert world.stuck.count() == 0
        world.failure = ValueError("a defect")
        world.driver.attend(room_id)
        await world.idle()
        assert world.registry.get_sample_value("rami_game_drives_failed_total", {"cause": "defect"}) == failures
    assert world.stuck.count() == 1
    assert world.registry.get_sample_value("rami_game_stuck_rooms") == 1
    world.driver.attend(room_id)
    await world.idle()
    assert world.table.turn == 0
    assert world.stuck.count() == 0


async def test_a_store_that_is_away_makes_no_room_stuck() -> None:
    world = World(bots_turn())
    for _ in range(FAILURES):
        world.failure = StoreUnavailable()
        world.driver.attend(world.table.room.room_id)
        await world.idle()
    assert world.stuck.count() == 0
    assert world.registry.get_sample_value("rami_game_drives_failed_total", {"cause": "store"}) == FAILURES


async def test_a_driver_that_waits_ends_when_nothing_is_left_to_wait_for() -> None:
    table = Table(["ann", ""], options=table_options(auto_start=True))
    world = World(table)
    world.commit(lambda draft: _sit(draft, "easy"))
    await asyncio.sleep(0)
    assert world.driver._drives, "it waits for entropy"
    world.commit(lambda draft: _sit(draft, ""))
    await world.idle()

    assert not table.room.advance_ms


def _sit(draft: Draft, bot: str) -> None:
    from game_state import lobby

    lobby.update_seats(draft, "ann", {1: bot})


async def test_closing_leaves_no_task() -> None:
    table = Table(["bot:easy", "ann"], options=table_options(bot_pace_ms=30_000))
    table.start()
    world = World(table)
    world.driver.committed(table.room, world.last_step())
    await asyncio.sleep(0)
    await world.driver.close()

    assert not world.driver._drives
    assert world.asked == 0
    assert world.handed_over == [table.room.room_id]
