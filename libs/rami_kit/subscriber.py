"""Published events of the store, for everybody in this process who watches a room, over one connection.

Messages published while the connection is away are lost: the store keeps none. So a callback gets either a
message or None, and None means "there may have been more": whoever watches fills the gap from the log.
Subscribing returns only when the store has confirmed it, so that a log read after it misses nothing.

On a cluster there would be one connection a node and SSUBSCRIBE in the channel's slot, behind the same
methods: channels carry their partition's hash tag for that.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Final, TypeAlias

from rami_kit import resp
from rami_kit.backoff import Backoff
from rami_kit.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from rami_kit.redis_store import Store

FIRST_BACKOFF_SECONDS: Final = 0.05
LAST_BACKOFF_SECONDS: Final = 1.0
PING_SECONDS: Final = 5.0
"""A connection that says nothing for this long is asked whether it is still there."""
CHANNELS_A_COMMAND: Final = 500

Callback: TypeAlias = "Callable[[bytes | None], None]"

_log = logging.getLogger(__name__)


class _Channel:
    """Everybody here who listens to one channel, and whether the store knows."""

    __slots__ = ("callbacks", "confirmed", "name")

    def __init__(self, name: bytes, confirmed: asyncio.Future[None]) -> None:
        self.name = name
        self.callbacks: list[Callback] = []
        self.confirmed = confirmed


class Subscriber:
    """One connection for published events, made when first needed and kept until `close`.

    Callbacks run in the event loop, one after the other: they hand over and return. One that raises is logged
    and does not hurt the others.
    """

    def __init__(self, store: Store) -> None:
        self._address = store.address
        self._timeout = store.timeout_seconds
        self._connects = store.metrics.subscriber_connects.labels()
        self._channels: dict[bytes, _Channel] = {}
        self._connection: resp.RespConnection | None = None
        # Which channel each SSUBSCRIBE reply still to come belongs to: a channel may have been left and joined
        # again while the first reply is on its way, and that one says nothing about the second.
        self._awaited: deque[_Channel] = deque()
        self._lost = asyncio.Event()
        self._heard = False
        self._task: asyncio.Task[None] | None = None

    @property
    def channel_count(self) -> int:
        """Channels that somebody listens to."""
        return len(self._channels)

    async def subscribe(self, channel: str, callback: Callback) -> None:
        """Calls `callback` with every message from now on, and with None when some may have been lost.

        Returns when the store has confirmed. Raises StoreUnavailable when it has not within the store's
        timeout; nothing is left behind then, nor when the caller is cancelled.
        """
        if self._task is None:
            self._task = asyncio.create_task(self._keep_connected(), name="store-subscriber")
        name = channel.encode()
        entry = self._channels.get(name)
        if entry is None:
            entry = _Channel(name, asyncio.get_running_loop().create_future())
            self._channels[name] = entry
            self._send_subscribe([entry])
        entry.callbacks.append(callback)
        try:
            # Shielded: others may wait for the same confirmation. No wait_for: before Python 3.12 it loses a
            # cancellation that comes together with the result, and a watch would go on that nobody wants.
            async with asyncio.timeout(self._timeout):
                await asyncio.shield(entry.confirmed)
        except TimeoutError:
            self._remove(entry, callback)
            raise StoreUnavailable("the store has not confirmed the subscription in time") from None
        except BaseException:
            self._remove(entry, callback)
            raise

    async def unsubscribe(self, channel: str, callback: Callback) -> None:
        """Ends what `subscribe` began with the same arguments; does nothing for an unknown callback."""
        entry = self._channels.get(channel.encode())
        if entry is not None and callback in entry.callbacks:
            self._remove(entry, callback)

    async def close(self) -> None:
        """Ends the connection and forgets everybody. Callbacks hear nothing of it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None
        for entry in self._channels.values():
            entry.confirmed.cancel()
        self._channels.clear()

    def _remove(self, entry: _Channel, callback: Callback) -> None:
        if callback in entry.callbacks:
            entry.callbacks.remove(callback)
        if not entry.callbacks and self._channels.get(entry.name) is entry:
            del self._channels[entry.name]
            entry.confirmed.cancel()
            if self._connection is not None:
                self._connection.write(resp.pack_command((b"SUNSUBSCRIBE", entry.name)))

    # The connection.

    async def _keep_connected(self) -> None:
        backoff = Backoff(FIRST_BACKOFF_SECONDS, LAST_BACKOFF_SECONDS)
        while True:
            try:
                connection = await resp.connect(
                    self._address, timeout_seconds=self._timeout, client_name="rami-subscriber"
                )
            except resp.ConnectError as error:
                _log.warning("no connection for published events: %s", error)
                await asyncio.sleep(backoff.next())
                continue
            backoff.reset()
            try:
                await self._serve(connection)
            finally:
                self._forget_connection(connection)

    async def _serve(self, connection: resp.RespConnection) -> None:
        """Listens on one connection until it is lost."""
        self._lost.clear()
        connection.on_reply = self._on_reply
        connection.on_lost = self._lost.set
        if connection.closed:
            return
        self._connection = connection
        self._connects.inc()
        self._send_subscribe(list(self._channels.values()))
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

    def _send_subscribe(self, entries: list[_Channel]) -> None:
        if self._connection is None:
            return  # the connection sends for everybody who is there when it opens
        for start in range(0, len(entries), CHANNELS_A_COMMAND):
            part = entries[start : start + CHANNELS_A_COMMAND]
            self._awaited.extend(part)
            self._connection.write(resp.pack_command((b"SSUBSCRIBE", *(entry.name for entry in part))))

    def _on_reply(self, reply: resp.Reply) -> None:
        self._heard = True
        if not isinstance(reply, list) or len(reply) != 3:
            return  # the answer to a PING
        kind, name, payload = reply
        if kind == b"smessage":
            entry = self._channels.get(name)
            if entry is not None:
                self._call(entry, payload)
        elif kind == b"ssubscribe" and self._awaited:
            entry = self._awaited.popleft()
            if entry.confirmed.done():
                # Not the first time: what was published in between is lost.
                self._call(entry, None)
            else:
                entry.confirmed.set_result(None)

    @staticmethod
    def _call(entry: _Channel, message: bytes | None) -> None:
        for callback in tuple(entry.callbacks):
            try:
                callback(message)
            except Exception:  # noqa: BLE001 - somebody else's code; the others still want the message
                _log.exception("a callback for published events failed")


def _ignore_reply(_reply: resp.Reply) -> None:
    """The connection is given up."""


def _ignore_loss() -> None:
    """The connection is given up."""


__all__ = ["Callback", "Subscriber"]
