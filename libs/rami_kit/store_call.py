"""A call to the store on its way to a server: what is sent, who waits for it, and how it ends.

The nodes and routers of the store hand calls to each other; nobody else sees one.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Protocol

from rami_kit import resp
from rami_kit.errors import RamiError, StoreUnavailable, StoreUncertain

if TYPE_CHECKING:
    import asyncio

    from rami_kit.metrics import StoreMetrics
    from rami_kit.redis_store import Script
    from rami_kit.store_node import StoreNode

ASKING: Final = resp.pack_command((b"ASKING",))
"""Lets the command behind it touch keys that are on their way to the server."""


class Call:
    """One command on its way: what is sent, who waits, and what a lost answer means."""

    __slots__ = (
        "asking",
        "durable",
        "future",
        "hops",
        "name",
        "packed",
        "repeatable",
        "rest",
        "script",
        "since",
        "slot",
    )

    def __init__(
        self,
        future: asyncio.Future[Any],
        name: str,
        packed: bytes,
        *,
        script: Script | None = None,
        rest: tuple[resp.Argument, ...] = (),
        durable: bool = False,
        repeatable: bool = False,
    ) -> None:
        self.future = future
        self.name = name
        self.packed = packed
        self.script = script
        """For the case that the server does not know the script, or has only a part of its keys."""
        self.rest = rest
        """What follows the script in EVAL: number of keys, keys, arguments."""
        self.durable = durable
        self.repeatable = repeatable
        """Whether asking again is harmless, so that a lost answer leaves no doubt behind."""
        self.since = time.monotonic()
        self.slot = -1
        """On a cluster: hash slot of the first key; -1 where there is no key."""
        self.hops = 0
        """On a cluster: how often it was sent to another server."""
        self.asking = False
        """Whether `packed` begins with ASKING, which has a reply of its own."""


class NodeOwner(Protocol):
    """Who has several nodes, or another one when this one fails."""

    def troubled(self) -> None:
        """A connection was lost or refused, or the server says that it takes no writes."""

    def redirect(self, call: Call, word: str, text: str, node: StoreNode) -> bool:
        """Takes over a call that this node's server has answered with MOVED, ASK or TRYAGAIN; False: it ends here."""


def fail(call: Call, error: RamiError, metrics: StoreMetrics) -> None:
    """Ends a call with an error, unless its caller has left, and counts it."""
    metrics.calls.labels(call.name, _outcome(error)).inc()
    if not call.future.done():
        call.future.set_exception(error)


def _outcome(error: RamiError) -> str:
    if isinstance(error, StoreUncertain):
        return "uncertain"
    return "unavailable" if isinstance(error, StoreUnavailable) else "error"


__all__ = ["ASKING", "Call", "NodeOwner", "fail"]
