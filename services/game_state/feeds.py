"""Feeds: one for each room that somebody watches here, which hands every step to all local watchers.

Steps come from the commits of this process and, for those of other replicas, from one subscription of the room's
channel. A step is taken only if it follows the one before (version and commit id), so nothing is skipped or
doubled; a gap is filled from the log, and a history that does not connect makes every watcher start from a
snapshot. A watcher that reads slowly loses its queue and gets a snapshot instead.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from game_state.events import CommittedStep
from game_state.play_notices import ANNOUNCEMENT, QUESTION, decode_notice
from game_state.repository import (
    STEP_MESSAGE,
    decode_step_message,
    room_channel,
    room_not_found,
    step_of_message,
)
from rami_kit.errors import RamiError, StoreUnavailable

if TYPE_CHECKING:
    from game_state.play_notices import PlayNotice
    from game_state.repository import RoomRepository
    from game_state.room import Room
    from game_state.watcher import Watcher
    from rami_kit.metrics import GameMetrics
    from rami_kit.subscriber import Subscriber

FILL_LIMIT: Final = 256
"""A gap of more steps is not filled from the log but bridged by a snapshot."""

RECENT_COMMITS: Final = 32
"""Versions of a room whose commit ids a feed remembers, to notice that the store has lost some."""
FILL_PAUSE_SECONDS: Final = 0.25
"""Before the log is asked again after the store was away."""
MAX_VERSION: Final = 1 << 63
"""No room comes near it; a cursor is whatever a client sends."""

_log = logging.getLogger(__name__)


class Feed:
    """The steps of one room, for the watchers of this process."""

    def __init__(self, hub: FeedHub, room_id: str) -> None:
        self.room_id = room_id
        self.channel = room_channel(room_id)
        self.watchers: set[Watcher] = set()
        self.version = 0
        """The step handed on last; 0 until the feed has started."""
        self._recent: deque[bytes] = deque(maxlen=RECENT_COMMITS)
        """The commit ids of the latest versions, that of `version` last."""
        self._hub = hub
        self._heard_early = False
        self._held: list[bytes] = []
        """Steps of others that came by the channel while this process commits one."""
        self._passed_over = b""
        """The commit id of the latest own step that came by the channel before its committer knew of it."""
        self._gap = False
        self._filling: asyncio.Task[None] | None = None

    @property
    def commit_id(self) -> bytes:
        """The commit id of the step handed on last; empty until the feed has started."""
        return self._recent[-1] if self._recent else b""

    def start_at(self, room: Room) -> None:
        """Follow from a version on, which was read after the subscription."""
        self._move_to(room)
        if self._heard_early:
            self.fill()

    def on_message(self, message: bytes | None) -> None:
        """A message of the room's channel, or None when some may be lost."""
        if not self.version:
            self._heard_early = True
        elif message is None:
            self.fill()
            for watcher in self.watchers:
                watcher.doubt()
                watcher.wake()
        elif message.startswith(STEP_MESSAGE):
            self._hear_step(message)
        elif message.startswith((ANNOUNCEMENT, QUESTION)):
            self._hear_play(decode_notice(message), asked=message.startswith(QUESTION))

    def _hear_step(self, message: bytes) -> None:
        version, commit_id = step_of_message(message)
        if version <= self.version:
            self._compare(version, commit_id)
            return
        commit = self._hub.repository.commit_in_flight(self.room_id)
        if commit is None:
            self.take(decode_step_message(message))
        elif commit.commit_id == commit_id:
            # The committer hands its step on itself, decoded and with the room it made.
            self._passed_over = commit_id
        else:
            if not self._held:
                commit.answer.add_done_callback(self._release_held)
            self._held.append(message)

    def _release_held(self, _commit: asyncio.Future[object]) -> None:
        held, self._held = self._held, []
        if self.watchers:
            for message in held:
                self._hear_step(message)

    def miss(self, commit_id: bytes) -> None:
        """Look for a commit of this process that will never hear what became of it, if the channel has told of it."""
        if commit_id == self._passed_over:
            self.fill()

    def _hear_play(self, notice: PlayNotice, *, asked: bool) -> None:
        newer = [own for watcher in self.watchers if (own := watcher.hear_play(notice)) is not None]
        if asked and newer:
            self._hub.answer(self.room_id, max(newer))

    def take(self, committed: CommittedStep) -> None:
        """Hand a step on if it is the next one; otherwise find out what is missing."""
        if committed.version <= self.version:
            self._compare(committed.version, committed.commit_id)
        elif committed.version != self.version + 1 or committed.previous_commit != self.commit_id:
            self.fill()
        else:
            self._deliver(committed)

    def _compare(self, version: int, commit_id: bytes) -> None:
        """A step that was handed on already; or another past, after the store lost some of this one."""
        back = self.version - version
        if back < len(self._recent) and commit_id != self._recent[-1 - back]:
            self.fill()

    def fill(self) -> None:
        """Fetch what is missing from the store, in the background and once at a time."""
        self._gap = True
        if self._filling is None or self._filling.done():
            self._filling = asyncio.create_task(self._fill(), name="feed-fill")

    def stop(self) -> None:
        """Nobody watches any more."""
        if self._filling is not None:
            self._filling.cancel()

    def _move_to(self, room: Room) -> None:
        self.version = room.version
        self._recent.clear()
        self._recent.append(room.commit_id)

    def _deliver(self, committed: CommittedStep) -> None:
        self.version = committed.version
        self._recent.append(committed.commit_id)
        for watcher in self.watchers:
            if not watcher.push(committed):
                self._hub.metrics.watcher_drops.labels().inc()

    async def _fill(self) -> None:
        """Look into the log until nothing is missing: what comes while it is read may show another gap."""
        while self._gap:
            self._gap = False
            try:
                await self._take_log()
            except RamiError as error:
                _log.warning("a gap in a room's events stays for now: %s", error)
                self._gap = True
                await asyncio.sleep(FILL_PAUSE_SECONDS)

    async def _take_log(self) -> None:
        """Take what the log has after the last step; start afresh where the histories do not connect."""
        history = await steps_after(self._hub.repository, self.room_id, self.version, self.commit_id)
        if history.steps is not None:
            for committed in history.steps:
                # Meanwhile some may have come by the channel: `take` passes them over.
                self.take(committed)
            return
        room = await self._hub.repository.find(self.room_id)
        if room is not None:
            self._move_to(room)
        for watcher in self.watchers:
            watcher.lose_track()


class FeedHub:
    """All feeds of this process, made when the first watcher of a room comes and ended with the last."""

    def __init__(self, repository: RoomRepository, subscriber: Subscriber, metrics: GameMetrics) -> None:
        self.repository = repository
        self.metrics = metrics
        self._subscriber = subscriber
        self._feeds: dict[str, Feed] = {}
        self._starts: dict[str, asyncio.Task[None]] = {}
        self._answers: set[asyncio.Task[None]] = set()
        repository.on_uncertain(self._miss)

    def __len__(self) -> int:
        """Rooms that are watched here."""
        return len(self._feeds)

    def committed(self, room: Room, committed: CommittedStep) -> None:
        """A step was committed by this process: its watchers hear of it before the channel tells."""
        feed = self._feeds.get(room.room_id)
        if feed is not None and feed.version:
            feed.take(committed)

    def _miss(self, room_id: str, commit_id: bytes) -> None:
        feed = self._feeds.get(room_id)
        if feed is not None:
            feed.miss(commit_id)

    def wake_all(self) -> None:
        """Let every stream look around, for instance because the process drains."""
        for feed in self._feeds.values():
            for watcher in feed.watchers:
                watcher.alarm()

    def answer(self, room_id: str, notice: PlayNotice) -> None:
        """Tell whoever asked that a seat has a newer Play stream, which is here."""
        answering = asyncio.create_task(self._answer(room_id, notice), name="answer-who-plays")
        self._answers.add(answering)
        answering.add_done_callback(self._answers.discard)

    async def _answer(self, room_id: str, notice: PlayNotice) -> None:
        try:
            await self.repository.repeat_play(room_id, notice)
        except StoreUnavailable:
            # The store has lost its listeners as well: when they are back, each of them asks.
            _log.info("the store is away: who asked for the newest stream of a seat asks again")

    async def open(self, room_id: str, watcher: Watcher) -> Feed:
        """Add a watcher: from the returned feed's version on, every step is queued for it.

        Raises NOT_FOUND ROOM_NOT_FOUND and StoreUnavailable; nothing is left behind then.
        """
        feed = self._feeds.get(room_id)
        if feed is None:
            feed = self._feeds[room_id] = Feed(self, room_id)
            # A task of its own, so that nobody who waits for it hangs on who came first.
            self._starts[room_id] = asyncio.create_task(self._start(feed), name="feed-start")
        feed.watchers.add(watcher)
        start = self._starts.get(room_id)
        if start is not None:
            try:
                await asyncio.shield(start)
            except BaseException:
                await self.close(feed, watcher)
                raise
        return feed

    async def close(self, feed: Feed, watcher: Watcher) -> None:
        """Remove a watcher, and the feed with the last one."""
        watcher.stop()
        feed.watchers.discard(watcher)
        if feed.watchers or self._feeds.get(feed.room_id) is not feed:
            return
        del self._feeds[feed.room_id]
        start = self._starts.pop(feed.room_id, None)
        if start is not None:
            start.cancel()
        feed.stop()
        await self._subscriber.unsubscribe(feed.channel, feed.on_message)

    async def _start(self, feed: Feed) -> None:
        # Subscribed first and read afterwards: no step can fall in between.
        await self._subscriber.subscribe(feed.channel, feed.on_message)
        room = await self.repository.find(feed.room_id)
        if room is None:
            raise room_not_found(feed.room_id)
        feed.start_at(room)
        del self._starts[feed.room_id]


class History(NamedTuple):
    """What the log has after a place in the history."""

    known: bool
    """The place is in the history of the room as it is now."""
    steps: list[CommittedStep] | None
    """What came after it; None where the place is unknown or too long ago."""


async def steps_after(repository: RoomRepository, room_id: str, version: int, commit_id: bytes) -> History:
    """The steps after a version, if that version has the commit id in the room's log."""
    if not 0 < version < MAX_VERSION:
        return History(known=False, steps=None)
    log = await repository.log(room_id, version, version + FILL_LIMIT, FILL_LIMIT + 1)
    if not log or log[0][0] != version or log[0][1].commit_id != commit_id:
        return History(known=False, steps=None)
    if len(log) > FILL_LIMIT:
        return History(known=True, steps=None)
    pairs = pairwise(log)
    return History(
        known=True,
        steps=[CommittedStep(number, before.commit_id, step) for (_, before), (number, step) in pairs],
    )
