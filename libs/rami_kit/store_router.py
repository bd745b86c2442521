"""Which server of the store a call goes to: the one interface of all topologies, and the simplest of them.

A router owns the StoreNodes, one for each server that takes writes. It learns of a change from the servers
themselves, tells its listeners, and never repeats a call that may have done something.

    OneServer        here           always the same node
    SentinelRouter   sentinel.py    the one master that the sentinels name
    ClusterRouter    cluster.py     the master of the slot of the call's first key
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final, Protocol

from rami_kit import resp

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from rami_kit.store_call import Call, NodeOwner
    from rami_kit.store_node import StoreNode

LOOK_PAUSE_SECONDS: Final = 0.2
"""Least time from the end of one look at the servers to the next, however often somebody asks for it."""

_log = logging.getLogger(__name__)


class Router(Protocol):
    """Where calls go, and where published events come from."""

    @property
    def nodes(self) -> Sequence[StoreNode]:
        """The servers in charge now, in a steady order; none while nobody has said which."""

    @property
    def open_connections(self) -> int:
        """Connections of all pools, those to servers no longer in charge included."""

    async def open(self) -> None:
        """Finds the servers, if they can be found, and keeps looking after them from then on."""

    async def close(self) -> None:
        """Closes every connection; calls on their way end as StoreUncertain, others as StoreUnavailable."""

    def submit(self, call: Call, key: str | bytes | None) -> None:
        """Sends a call to the server of its first key; None goes to any."""

    def address_for(self, channel: bytes) -> resp.Address | None:
        """The server that publishes on a channel; None while it is not known."""

    def add_listener(self, listener: Callable[[], None]) -> None:
        """`listener` is called in the event loop whenever `address_for` may have changed."""

    def troubled(self) -> None:
        """Somebody could not use a server: find out whether another has taken its place."""

    def moved(self, channel: bytes, error: str) -> None:
        """A server has refused a channel with this error, which may name the one to ask."""


class OneServer:
    """The router of a store that is one server."""

    def __init__(self, node: StoreNode) -> None:
        self._node = node
        self.nodes: Sequence[StoreNode] = (node,)
        # No call goes through a frame that decides nothing.
        self.submit: Callable[[Call, str | bytes | None], None] = node.submit

    @property
    def open_connections(self) -> int:
        return self._node.open_connections

    async def open(self) -> None:
        """Nothing is to be found out: connections are opened as calls need them."""

    async def close(self) -> None:
        await self._node.close()

    def address_for(self, _channel: bytes) -> resp.Address:
        return self._node.address

    def add_listener(self, listener: Callable[[], None]) -> None:
        """Nothing ever changes."""

    def troubled(self) -> None:
        """There is no other server."""

    def moved(self, channel: bytes, error: str) -> None:
        """There is no other server."""


class NodeMaker(Protocol):
    """Makes the node of a server with the settings of the store."""

    def __call__(self, address: resp.Address, owner: NodeOwner | None) -> StoreNode: ...


class Lookout:
    """Looks at the servers when asked to, and every so often without being asked."""

    def __init__(self, look: Callable[[], Awaitable[None]], seconds: float) -> None:
        """`look` is awaited by one task alone, so it never runs twice at once."""
        self._look = look
        self._seconds = seconds
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="store-lookout")

    def wake(self) -> None:
        """Asks for a look; many askers get one."""
        self._wanted.set()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    await self._wanted.wait()
            self._wanted.clear()
            try:
                await self._look()
            except Exception:  # noqa: BLE001 - logged whole; without a lookout no change would ever be seen again
                _log.exception("looking at the servers of the store failed")
            await asyncio.sleep(LOOK_PAUSE_SECONDS)


async def ask(
    address: resp.Address,
    timeout_seconds: float,
    *commands: tuple[resp.Argument, ...],
    password_optional: bool = False,
) -> list[resp.Reply]:
    """Replies to commands, errors among them, over a connection for them alone.

    Raises ConnectError when they do not come in time.
    """
    try:
        async with asyncio.timeout(timeout_seconds):
            connection = await resp.connect(
                address,
                timeout_seconds=timeout_seconds,
                client_name="rami-router",
                password_optional=password_optional,
            )
            try:
                return await resp.exchange(connection, *commands)
            finally:
                connection.close()
    except TimeoutError:
        raise resp.ConnectError(f"no answer from {address} within {timeout_seconds:g} s") from None


__all__ = ["Lookout", "NodeMaker", "OneServer", "Router", "ask"]
