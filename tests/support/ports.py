"""Port numbers for servers that tests start, stop, and start again where they were."""

from __future__ import annotations

import contextlib
import socket

from rami_kit import embedded

_reserved: dict[int, socket.socket] = {}


def free_port() -> int:
    """A port of the loopback that nothing listens on, and that no other test process gets while this one lives.

    A datagram socket on the same number says that it is taken: until the port is given back, or the process ends.
    """
    while True:
        port = embedded.free_port()
        token = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with contextlib.suppress(OSError):
            token.bind(("127.0.0.1", port))
            _reserved[port] = token
            return port
        token.close()


def give_back(port: int) -> None:
    """Whoever had the port from `free_port` does not come back to it."""
    _reserved.pop(port).close()


__all__ = ["free_port", "give_back"]
