"""The proxy between one replica of a service and the store: sees every commit and can come between.

A trap is asked about each script that is watched, at first those that commit a step of a room. It can end the
connection before the script reaches the store, after it was sent, or when the reply is about to come back; hold it
for a while; or deliver it late, when the caller has long given up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Protocol

from support.chaos_proxy import Proxy
from support.chaos_resp import FrameSplitter, script_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.chaos_proxy import Link
    from support.chaos_resp import ScriptCall

LATE_REPLY_SECONDS = 30.0

_SUBSCRIBER_NAME = b"rami-subscriber"


class Trap(Protocol):
    """What happens to one commit on its way. Each hook may wait; False ends the connection there and then."""

    late: bool
    """The script is held until the caller has given up, and then delivered."""

    async def before_script(self) -> bool:
        """The script has not been handed on."""

    async def after_script(self) -> bool:
        """The script has been handed on, and nothing has been heard of it."""

    async def before_reply(self) -> bool:
        """The store has carried it out, and the caller does not know."""

    async def before_late_script(self) -> None:
        """The caller has gone, and the script is about to be handed on."""


class _Lane:
    """What a connection has on its way: a place for each reply that is to come, with the trap waiting for it."""

    __slots__ = ("abandoned", "awaited", "heard")

    def __init__(self) -> None:
        self.awaited: deque[Trap | None] = deque()
        self.abandoned = False
        """The caller has gone: replies are for nobody."""
        self.heard = asyncio.Event()


def _commits_to_room(call: ScriptCall) -> bool:
    return call.changes_room


class StoreProxy(Proxy):
    """The store as one replica reaches it."""

    def __init__(self, set_trap: Callable[[ScriptCall], Trap | None]) -> None:
        """`set_trap` is asked about every commit as it comes by."""
        super().__init__()
        self._set_trap = set_trap
        self.watched: Callable[[ScriptCall], bool] = _commits_to_room
        """Which scripts `set_trap` is asked about."""
        self._lanes: dict[Link, _Lane] = {}
        self._subscribers: set[Link] = set()
        self.subscribers_allowed = True
        """Whether connections for published events are let through."""
        self.latency: Callable[[], float] = lambda: 0.0
        """Seconds that whatever comes, from either side, is held before it is handed on."""
        self.delivering = 0
        """How many late scripts are held or on their way."""

    @property
    def has_subscriber(self) -> bool:
        """Whether the replica is connected for published events."""
        return bool(self._subscribers)

    def cut_subscribers(self) -> None:
        """Cut the connections for published events: what is published until they are back is lost."""
        for link in list(self._subscribers):
            link.cut()

    async def upward(self, link: Link) -> None:
        lane = self._lanes[link] = _Lane()
        splitter = FrameSplitter()
        try:
            while data := await link.client_reader.read(1 << 16):
                await self._hold()
                frames = splitter.feed(data)
                for place, frame in enumerate(frames):
                    if not await self._hand_on(link, lane, frame, frames[place:]):
                        return
                await link.server_writer.drain()
        finally:
            link.cut()  # before the lane is gone, so that no reply slips through
            del self._lanes[link]
            self._subscribers.discard(link)

    async def downward(self, link: Link) -> None:
        splitter = FrameSplitter()
        while data := await link.server_reader.read(1 << 16):
            await self._hold()
            for frame in splitter.feed(data):
                lane = self._lanes.get(link)
                if lane is None:
                    return
                trap = lane.awaited.popleft() if lane.awaited else None
                if trap is not None and not await trap.before_reply():
                    return
                if lane.abandoned:
                    lane.heard.set()
                    continue
                link.client_writer.write(frame)
            await link.client_writer.drain()

    async def _hold(self) -> None:
        seconds = self.latency()
        if seconds:
            await asyncio.sleep(seconds)

    async def _hand_on(self, link: Link, lane: _Lane, frame: bytes, rest: list[bytes]) -> bool:
        """Hand a command on to the store; False when the connection is to end."""
        if _SUBSCRIBER_NAME in frame and b"SETNAME" in frame:
            if not self.subscribers_allowed:
                return False
            self._subscribers.add(link)
        call = script_call(frame)
        trap = self._set_trap(call) if call is not None and self.watched(call) else None
        if trap is None:
            lane.awaited.append(None)
            link.server_writer.write(frame)
            return True
        if trap.late:
            await self._deliver_late(link, lane, trap, rest)
            return False
        if not await trap.before_script():
            return False
        lane.awaited.append(trap)
        link.server_writer.write(frame)
        await link.server_writer.drain()
        return await trap.after_script()

    async def _deliver_late(self, link: Link, lane: _Lane, trap: Trap, frames: list[bytes]) -> None:
        """Wait until the caller has gone, then let the store carry everything out all the same."""
        lane.abandoned = True
        self.delivering += 1
        try:
            await self._hold_until_gone(link)
            await trap.before_late_script()
            link.server_writer.write(b"".join(frames))
            await link.server_writer.drain()
            async with asyncio.timeout(LATE_REPLY_SECONDS):
                await lane.heard.wait()
        finally:
            self.delivering -= 1

    @staticmethod
    async def _hold_until_gone(link: Link) -> None:
        try:
            while await link.client_reader.read(1 << 16):
                pass
        except ConnectionError:
            pass  # the caller did not say goodbye
