"""Who moves bots and clocks: the replica that committed last, or any other when that one is late.

After each commit of this process the driver looks whether a bot is to move, or a round to be dealt, and does it at
its time. The same moment, plus a lease, stands in the store's `due` set: the sweeper of any replica claims what
has not happened by then, and clocks (turn limits, expiry) always. Two drivers at once do no harm, since the commit
lets only one of them through.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from game_state import lobby, match
from game_state.room import Status
from game_state.scripts import CLAIM_DUE
from rami.game.v1 import event_pb2
from rami_kit import keys
from rami_kit.errors import RamiError, StoreUnavailable, reasons
from rami_kit.logs import set_log_room

if TYPE_CHECKING:
    from game_state.changes import RoomChanger
    from game_state.decider import Decider
    from game_state.draft import Draft
    from game_state.events import CommittedStep
    from game_state.repository import RoomRepository
    from game_state.room import Room
    from game_state.stuck import StuckRooms
    from rami_engine import Phase
    from rami_kit.metrics import GameMetrics
    from rami_kit.redis_store import Store

CLAIMED_AT_ONCE: Final = 64
"""Rooms claimed by one call of the sweeper."""

_PASSED_ON: Final = frozenset({reasons.ERROR_REASON_STALE_VERSION, reasons.ERROR_REASON_ROOM_NOT_FOUND})

_log = logging.getLogger(__name__)


class Driver:
    """Moves the bots and clocks of the rooms that this process touched last. One per process."""

    def __init__(
        self,
        repository: RoomRepository,
        changer: RoomChanger,
        decider: Decider,
        *,
        autopilot_bot: str,
        lease_ms: int,
        stuck: StuckRooms,
    ) -> None:
        """`lease_ms`: how much of a claimed room's near future this process looks after."""
        self._repository = repository
        self._changer = changer
        self._decider = decider
        self._autopilot_bot = autopilot_bot
        self._lease_ms = lease_ms
        self._stuck = stuck
        self._drives: dict[str, _Drive] = {}

    def committed(self, room: Room, _committed: CommittedStep) -> None:
        """A step was committed here: what comes next in the room is this process's to do."""
        if room.bot_ms or room.advance_ms or room.room_id in self._drives:
            self._drive(room.room_id)

    def attend(self, room_id: str) -> None:
        """Something is due in a room that this process has claimed: others may know more of it than memory does."""
        self._repository.forget(room_id)
        self._drive(room_id)

    async def close(self) -> None:
        """Hand everything over: what is not done here is due at once, for any other replica to claim."""
        drives = dict(self._drives)
        for drive in drives.values():
            drive.task.cancel()
        await asyncio.gather(*(drive.task for drive in drives.values()), return_exceptions=True)
        try:
            await self._repository.hand_over(drives)
        except StoreUnavailable:
            _log.info("the store is away: what is due in %d rooms waits for the lease", len(drives))

    def _drive(self, room_id: str) -> None:
        drive = self._drives.get(room_id)
        if drive is not None:
            drive.news.set()
            return
        news = asyncio.Event()
        task = asyncio.create_task(self._run(room_id, news), name="drive-room")
        self._drives[room_id] = _Drive(task, news)

    async def _run(self, room_id: str, news: asyncio.Event) -> None:
        set_log_room(room_id)
        try:
            # News that came while the last look was taken asks for another.
            while await self._do_next(room_id, news) or news.is_set():
                pass
            self._stuck.moved(room_id)
        except StoreUnavailable:
            self._stuck.store_away()
            _log.info("the store is away: what is due in a room waits for the sweeper")
        except Exception:  # noqa: BLE001 - logged whole; other rooms must not suffer, and the sweeper tries again
            self._stuck.failed(room_id)
            _log.exception("driving a room failed: it waits for the sweeper")
        finally:
            # No await lies between the last look at the news and this: a later commit starts a task of its own.
            self._drives.pop(room_id, None)

    async def _do_next(self, room_id: str, news: asyncio.Event) -> bool:
        """Do what is next in a room, at its time; False when nothing is, or the room is gone."""
        news.clear()
        room = self._repository.kept(room_id) or await self._repository.find(room_id)
        if room is None:
            return False
        now_ms = self._repository.now_ms()
        moment = self._next_ms(room, now_ms)
        if not moment:
            # Nothing to do as far as memory knows; the store may know better.
            current = await self._repository.find(room_id)
            return current is not None and bool(self._next_ms(current, now_ms))
        if moment > now_ms:
            # Whatever happens in the room meanwhile may bring something nearer.
            with suppress(TimeoutError):
                async with asyncio.timeout((moment - now_ms) / 1000):
                    await news.wait()
            return True
        try:
            if moment == room.bot_ms:
                await self._move_bot(room)
            else:
                await self._changer.change(room_id, _tick)
        except RamiError as error:
            if error.reason not in _PASSED_ON:
                raise
            self._repository.forget(room_id)
        return True

    def _next_ms(self, room: Room, now_ms: int) -> int:
        """When something is to be done in a room; 0 for never. Clocks count when they are near: they are claimed,
        by the store's own time, a moment before or after this process sees them run out.
        """
        near_ms = now_ms + self._lease_ms
        # Without a limit nobody has a deadline, and nobody need find out whose turn it is.
        deadline = room.deadline_ms() if room.turn_deadline_ms else 0
        clocks = [moment for moment in (room.expire_ms, deadline) if 0 < moment <= near_ms]
        return min([*clocks, *filter(None, (room.bot_ms, room.advance_ms))], default=0)

    async def _move_bot(self, room: Room) -> None:
        """Play the action of the bot, stand-in or autopilot that is to move, unless the game has moved on by then."""
        seat = room.acting_bot()
        assert seat is not None, "a bot's time is set only when one is to move"
        holder = room.seats[seat]
        decision = await self._decider.decide(room, seat, holder.bot or self._autopilot_bot)
        if decision.fallback:
            source = event_pb2.ACTION_SOURCE_FALLBACK
        elif holder.bot or holder.stand_in:
            source = event_pb2.ACTION_SOURCE_BOT
        else:
            source = event_pb2.ACTION_SOURCE_AUTOPILOT

        def judge(draft: Draft) -> None:
            now = draft.room
            if now.commit_id != room.commit_id and (now.acting_bot() != seat or _position(now) != _position(room)):
                match.require_version(now, room.version)
            match.play(draft, seat, decision.action, source)

        await self._changer.change(room.room_id, judge)


class _Drive(NamedTuple):
    """A room that is driven, and how its task is told that the room has changed."""

    task: asyncio.Task[None]
    news: asyncio.Event


class Sweeper:
    """Claims what is due and late in every partition, for ever. One per process, run as a background task."""

    def __init__(
        self, store: Store, driver: Driver, metrics: GameMetrics, *, partitions: int, lease_ms: int, seconds: float
    ) -> None:
        self._store = store
        self._driver = driver
        self._late = metrics.due_seconds.labels()
        self._partitions = partitions
        self._lease_ms = lease_ms
        self._seconds = seconds

    async def run(self) -> None:
        """Look every so often, for ever. A store that is away is waited for."""
        while True:
            try:
                await asyncio.gather(*(self._sweep(partition) for partition in range(self._partitions)))
            except StoreUnavailable:
                _log.debug("the store is away: nothing can be claimed")
            await asyncio.sleep(self._seconds)

    async def _sweep(self, partition: int) -> None:
        prefix = keys.room_key(partition, "")
        while True:
            claimed = await self._store.run(
                CLAIM_DUE, [keys.due_key(partition)], [self._lease_ms, CLAIMED_AT_ONCE, prefix]
            )
            for token, late_ms in zip(claimed[::2], claimed[1::2], strict=True):
                self._late.observe(late_ms / 1000)
                self._driver.attend(keys.format_room_id(partition, token.decode()))
            if len(claimed) < 2 * CLAIMED_AT_ONCE:
                return


def _position(room: Room) -> tuple[int, int, Phase, int]:
    """Where the game stands: the same while only seats change hands."""
    match = room.current_match()
    current = match.round
    assert current is not None, "a bot is to move in a round"
    return current.number, current.turns, match.phase, current.hands[current.turn]


def _tick(draft: Draft) -> None:
    """What time does to a room: expiry, a turn that has run out, the next deal, a start."""
    room = draft.room
    if draft.now_ms >= room.expire_ms:
        if room.status == Status.IN_MATCH:
            match.abandon(draft)
        else:
            lobby.close(draft, event_pb2.ROOM_CLOSE_REASON_EXPIRED)
    elif not match.run_out(draft):
        match.advance(draft)
