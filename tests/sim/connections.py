"""A connection to a simulated store, also the transport of the client at its far end; and replies as they are sent."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

import hiredis

from sim.links import Link
from sim.values import CommandError, Status

if TYPE_CHECKING:
    from sim.store import StoreServer
    from sim.world import Handle, Machine

_MORE: Final = object()


class Encoded(bytes):
    """Replies as they go over the wire; none at all while the connection is blocked."""

    __slots__ = ()


class Connection:
    """One connection to the store; also the transport of the client at its far end."""

    def __init__(self, server: StoreServer, machine: Machine, protocol: Any) -> None:
        self.machine = machine
        self.channels: dict[bytes, None] = {}
        self.waiting: deque[list[bytes]] = deque()
        """Commands that the server has not come to yet."""
        self.blocked: Handle | None = None
        """Set while a WAIT of this connection waits; then also what it is answered with in the end."""
        self.blocked_replies: tuple[Any, Any] = (None, None)
        self.written = 0
        """The latest write of this connection, as the server counts them."""
        self.asking = False
        """The next command may touch keys that are on their way to this server."""
        self._server = server
        self._protocol = protocol
        self._reader = hiredis.Reader(notEnoughData=_MORE)
        self._up = Link(server.weather, server.context)
        self._down = Link(server.weather, machine.context)
        self.closed = False

    # The client's side: a transport.

    def write(self, data: bytes) -> None:
        self._up.send(self._arrive, data)

    def abort(self) -> None:
        """The client hangs up: what it has sent still arrives, which is what makes an outcome uncertain."""
        if not self.closed:
            self._down.cut = True
            self._up.send(self._forget)

    close = abort

    # The server's side.

    def reply(self, data: bytes) -> None:
        """Send replies or published messages."""
        self._down.send(self._deliver, data)

    def cut(self) -> None:
        """The connection breaks, for both sides; nothing on its way arrives."""
        if self.closed:
            return
        self._forget()
        self._up.cut = True
        self._down.cut = True
        lost = Link(self._server.weather, self.machine.context)
        lost.send(self._protocol.connection_lost, None)

    def _arrive(self, data: bytes) -> None:
        if self.closed:
            return
        self._reader.feed(data)
        while (command := self._reader.gets()) is not _MORE:
            self.waiting.append(command)
        self._server.serve(self)

    def _deliver(self, data: bytes) -> None:
        self._protocol.data_received(data)

    def _forget(self) -> None:
        self.closed = True
        if self.blocked is not None:
            self.blocked.cancel()
        self._server.forget(self)


def encoded(reply: Any) -> bytes:
    if reply is None:
        return b"$-1\r\n"
    if isinstance(reply, Status):
        return b"+%b\r\n" % reply
    if isinstance(reply, bytes):
        return b"$%d\r\n%b\r\n" % (len(reply), reply)
    if isinstance(reply, int):
        return b":%d\r\n" % reply
    if isinstance(reply, CommandError):
        return b"-%b\r\n" % str(reply).encode()
    return b"*%d\r\n" % len(reply) + b"".join(map(encoded, reply))


__all__ = ["Connection", "Encoded", "encoded"]
