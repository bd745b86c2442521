"""Port numbers for servers that tests start, stop, and start again where they were."""

from __future__ import annotations

from rami_kit.embedded import claim_port


class _Owner:
    """Whoever has a port."""


_owners: dict[int, _Owner] = {}


def free_port() -> int:
    """A port of the loopback that nothing listens on, and that nobody else gets until it is given back, or the process
    ends.
    """
    owner = _Owner()
    port = claim_port(owner)
    _owners[port] = owner
    return port


def give_back(port: int) -> None:
    """Whoever had the port from `free_port` does not come back to it."""
    del _owners[port]


__all__ = ["free_port", "give_back"]
