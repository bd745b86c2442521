"""One connection for published events, to one server: kept open, asked whether it is still there, made again.

Only a Subscriber uses it, which decides what channel is on which connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import hiredis

from rami_kit import resp
from rami_kit.backoff import Backoff
from rami_kit.slots import slot_of

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_BACKOFF_SECONDS: Final = 0.05
LAST_BACKOFF_SECONDS: Final = 1.0
PING_SECONDS: Final = 5.0
"""A connection that says nothing for this long is asked whether it is still there."""
CHANNELS_A_COMMAND: Final = 500
REFUSED_PAUSE_SECONDS: Final = 0.1
"""Before a server is asked again for channels that it has refused and that nobody else has."""

_log = logging.getLogger(__name__)


class Channel:
    """Everybody here who listens to one channel, whether the store knows, and over which connection."""

    __slots__ = ("callbacks", "confirmed", "line", "name")

    def __init__(self, name: bytes, confirmed: asyncio.Future[None]) -> None:
        self.name = name
        self.callbacks: list[Callable[[bytes | None], None]] = []
        self.confirmed = confirmed
        self.line: Line | None = None


class _Asked(NamedTuple):
    """A command on its way: the channels of one slot that are joined, in the order of their replies, or one left."""

    slot: int
    joined: deque[Channel]
    left: bytes = b""


class LineOwner(Protocol):
    """Who is told what a connection brings; see Subscriber."""

    def connected(self) -> None: ...

    def troubled(self) -> None: ...

    def refused(self, entry: Channel, error: str) -> None: ...

    def heard(self, entry: Channel, message: bytes | None) -> None: ...


class Line:
    """The channels of one server and the connection to it."""

    def __init__(self, address: resp.Address, owner: LineOwner, timeout_seconds: float) -> None:
        self.address = address
        self.channels: dict[bytes, Channel] = {}
        self._owner = owner
        self._timeout = timeout_seconds
        self._connection: resp.RespConnection | None = None
        # Commands whose replies are still to come: a channel may have been left and joined again while the first
        # reply is on its way, and that one says nothing about the second.
        self._awaited: deque[_Asked] = deque()
        self._refused: dict[bytes, Channel] = {}
        self._retry: asyncio.TimerHandle | None = None
        self._lost = asyncio.Event()
        self._heard = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins to connect."""
        self._task = asyncio.create_task(self._keep_connected(), name="store-subscriber")

    async def close(self) -> None:
        """Ends the connection for good."""
        if self._retry is not None:
            self._retry.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def join(self, entries: list[Channel]) -> None:
        """Listens to channels here from now on."""
        for entry in entries:
            entry.line = self
            self.channels[entry.name] = entry
        self._send_subscribe(entries)

    def drop(self, entry: Channel) -> None:
        """Listens to a channel here no longer."""
        entry.line = None
        self.channels.pop(entry.name, None)
        if self._connection is not None:
            self._awaited.append(_Asked(slot_of(entry.name), deque(), entry.name))
            self._connection.write(resp.pack_command((b"SUNSUBSCRIBE", entry.name)))

    async def _keep_connected(self) -> None:
        backoff = Backoff(FIRST_BACKOFF_SECONDS, LAST_BACKOFF_SECONDS)
        while True:
            try:
                connection = await resp.connect(
                    self.address, timeout_seconds=self._timeout, client_name="rami-subscriber"
                )
            except resp.ConnectError as error:
                _log.warning("no connection for published events: %s", error)
                self._owner.troubled()
                await asyncio.sleep(backoff.next())
                continue
            backoff.reset()
            try:
                await self._serve(connection)
            finally:
                self._forget_connection(connection)
            self._owner.troubled()

    async def _serve(self, connection: resp.RespConnection) -> None:
        """Listens on one connection until it is lost."""
        self._lost.clear()
        connection.on_reply = self._on_reply
        connection.on_lost = self._lost.set
        if connection.closed:
            return
        self._connection = connection
        self._owner.connected()
        self._send_subscribe(list(self.channels.values()))
        while True:
            self._heard = False
            if await self._lost_within(PING_SECONDS):
                return
            if not self._heard:
                connection.write(resp.pack_command((b"PING",)))
                if await self._lost_within(self._timeout):
                    return
                if not self._heard:
                    _log.warning("the connection for published events has gone silent")
                    return

    async def _lost_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._lost.wait()
        except TimeoutError:
            return False
        return True

    def _forget_connection(self, connection: resp.RespConnection) -> None:
        self._connection = None
        self._awaited.clear()
        connection.on_reply, connection.on_lost = _ignore_reply, _ignore_loss
        connection.close()

    def _send_subscribe(self, entries: list[Channel]) -> None:
        if self._connection is None:
            return  # the connection sends for everybody who is there when it opens
        by_slot: dict[int, list[Channel]] = {}
        for entry in entries:
            by_slot.setdefault(slot_of(entry.name), []).append(entry)
        # A cluster takes the channels of one slot in a command, and answers it with one error or for each channel.
        for slot, group in by_slot.items():
            for start in range(0, len(group), CHANNELS_A_COMMAND):
                part = group[start : start + CHANNELS_A_COMMAND]
                self._awaited.append(_Asked(slot, deque(part)))
                self._connection.write(resp.pack_command((b"SSUBSCRIBE", *(entry.name for entry in part))))

    def _on_reply(self, reply: resp.Reply) -> None:
        self._heard = True
        if isinstance(reply, hiredis.ReplyError):
            self._on_refusal(str(reply))
            return
        if not isinstance(reply, list) or len(reply) != 3:
            return  # the answer to a PING
        kind, name, payload = reply
        if kind == b"smessage":
            entry = self.channels.get(name)
            if entry is not None:
                self._owner.heard(entry, payload)
        elif kind == b"ssubscribe":
            self._on_joined(name)
        elif kind == b"sunsubscribe":
            self._on_left(name)

    def _on_joined(self, name: bytes) -> None:
        for asked in self._awaited:
            if asked.joined and asked.joined[0].name == name:
                entry = asked.joined.popleft()
                if not asked.joined:
                    self._awaited.remove(asked)
                self._on_confirmed(entry)
                return

    def _on_left(self, name: bytes) -> None:
        for asked in self._awaited:
            if asked.left == name:
                self._awaited.remove(asked)
                return
        if name in self.channels:
            # The server's own word: the slot has moved. It knows where to, and says so when asked again.
            self._send_subscribe([self.channels[name]])

    def _on_confirmed(self, entry: Channel) -> None:
        if entry.line is not self or entry.confirmed.cancelled():
            return  # nobody listens to it here any more
        if entry.confirmed.done():
            # Not the first time: what was published in between is lost.
            self._owner.heard(entry, None)
        else:
            entry.confirmed.set_result(None)

    def _on_refusal(self, error: str) -> None:
        # An error names no channel, but MOVED names the slot: also leaving is refused where the slot has moved.
        word, _, rest = error.partition(" ")
        slot = rest.partition(" ")[0] if word == "MOVED" else ""
        asked = next((one for one in self._awaited if not slot or str(one.slot) == slot), None)
        if asked is None:
            return
        self._awaited.remove(asked)
        refused = [entry for entry in asked.joined if entry.line is self]
        if not refused:
            return
        if word != "MOVED":
            _log.warning("the store refused a subscription: %s", word)
        self._owner.refused(refused[0], error)
        # Those that the error has not moved elsewhere are asked for again: the server may have been in between.
        self._refused.update((entry.name, entry) for entry in refused if entry.line is self)
        if self._refused and self._retry is None:
            self._retry = asyncio.get_running_loop().call_later(REFUSED_PAUSE_SECONDS, self._ask_again)

    def _ask_again(self) -> None:
        self._retry = None
        again = [entry for name, entry in self._refused.items() if self.channels.get(name) is entry]
        self._refused.clear()
        self._send_subscribe(again)


def _ignore_reply(_reply: resp.Reply) -> None:
    """The connection is given up."""


def _ignore_loss() -> None:
    """The connection is given up."""


__all__ = ["Channel", "Line"]
