"""Published events of the store, for everybody in this process who watches a room, over one connection a server.

Messages published while a connection is away are lost: the store keeps none. So a callback gets either a
message or None, and None means "there may have been more": whoever watches fills the gap from the log.
Subscribing returns only when the store has confirmed it, so that a log read after it misses nothing.

Channels are sharded ones: on a cluster the master of a channel's slot publishes on it. A channel moves with
its slot, and to the new master after a failover, which its callbacks hear of as None.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, TypeAlias

from rami_kit.errors import StoreUnavailable
from rami_kit.subscriber_line import Channel, Line

if TYPE_CHECKING:
    from collections.abc import Callable

    from rami_kit import resp
    from rami_kit.redis_store import Store

Callback: TypeAlias = "Callable[[bytes | None], None]"

_log = logging.getLogger(__name__)


class Subscriber:
    """The channels that this process listens to, each on the connection to its server.

    Connections are made when first needed. Callbacks run in the event loop, one after the other: they hand over
    and return. One that raises is logged and does not hurt the others.
    """

    def __init__(self, store: Store) -> None:
        self._router = store.router
        self._timeout = store.timeout_seconds
        self._connects = store.metrics.subscriber_connects.labels()
        self._channels: dict[bytes, Channel] = {}
        self._lines: dict[resp.Address, Line] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False
        self._router.add_listener(self._place_all)

    @property
    def channel_count(self) -> int:
        """Channels that somebody listens to."""
        return len(self._channels)

    async def subscribe(self, channel: str, callback: Callback) -> None:
        """Calls `callback` with every message from now on, and with None when some may have been lost.

        Returns when the store has confirmed. Raises StoreUnavailable when it has not within the store's
        timeout; nothing is left behind then, nor when the caller is cancelled.
        """
        name = channel.encode()
        entry = self._channels.get(name)
        if entry is None:
            entry = self._channels[name] = Channel(name, asyncio.get_running_loop().create_future())
            self._place([entry])
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
        """Ends the connections and forgets everybody. Callbacks hear nothing of it."""
        self._closed = True
        for line in list(self._lines.values()):
            self._end(line)
        if self._closing:
            await asyncio.wait(self._closing)
        for entry in self._channels.values():
            entry.confirmed.cancel()
        self._channels.clear()

    def _remove(self, entry: Channel, callback: Callback) -> None:
        if callback in entry.callbacks:
            entry.callbacks.remove(callback)
        if not entry.callbacks and self._channels.get(entry.name) is entry:
            del self._channels[entry.name]
            entry.confirmed.cancel()
            if entry.line is not None:
                entry.line.drop(entry)

    # Where channels are.

    def _place(self, entries: list[Channel]) -> None:
        """Puts channels on the connections to the servers that are now in charge of them."""
        joining: dict[Line, list[Channel]] = {}
        for entry in entries:
            address = self._router.address_for(entry.name)
            if address is None:
                self._router.troubled()  # whoever finds the server will ask for all to be placed
                continue
            line = self._lines.get(address)
            if line is None:
                line = self._lines[address] = Line(address, self, self._timeout)
                line.start()
            if entry.line is not line:
                if entry.line is not None:
                    entry.line.drop(entry)
                joining.setdefault(line, []).append(entry)
        for line, part in joining.items():
            line.join(part)

    def _place_all(self) -> None:
        if self._closed:
            return
        self._place(list(self._channels.values()))
        in_charge = {node.address for node in self._router.nodes}
        for line in list(self._lines.values()):
            if line.address not in in_charge and not line.channels:
                self._end(line)

    def _end(self, line: Line) -> None:
        del self._lines[line.address]
        task = asyncio.create_task(line.close(), name="store-subscriber-end")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    # What the connections tell.

    def connected(self) -> None:
        """A connection was made."""
        self._connects.inc()

    def troubled(self) -> None:
        """A connection could not be made, or was lost."""
        self._router.troubled()

    def refused(self, entry: Channel, error: str) -> None:
        """A server will not have a channel: it may be another's now."""
        self._router.moved(entry.name, error)

    def heard(self, entry: Channel, message: bytes | None) -> None:
        """A message was published on a channel; None: some may have been lost."""
        for callback in tuple(entry.callbacks):
            try:
                callback(message)
            except Exception:  # noqa: BLE001 - somebody else's code; the others still want the message
                _log.exception("a callback for published events failed")


__all__ = ["Callback", "Subscriber"]
