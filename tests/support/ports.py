"""Port numbers for servers that tests start, stop, and start again where they were."""

from __future__ import annotations

import contextlib
import socket

from rami_kit import embedded

_reserved: list[socket.socket] = []


def free_port() -> int:
    """A port of the loopback that nothing listens on, and that no other test process gets while this one lives.

    A datagram socket on the same number, which is open until the process ends, says that it is taken.
    """
    while True:
        port = embedded.free_port()
        token = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with contextlib.suppress(OSError):
            token.bind(("127.0.0.1", port))
            _reserved.append(token)
            return port
        token.close()


__all__ = ["free_port"]
