"""A store that is a cluster: every call goes to the master of the hash slot of its first key.

The table of slots comes from the nodes themselves: the masters known so far and the ones that RAMI_REDIS_URL
names are all asked at once, and the answer with the highest epoch counts; of several, the one that most nodes
give, since a master that has just come back still thinks itself in charge for a moment. It is read again when a
node is in trouble, when one says MOVED, and every so often.

    MOVED       the slot is another's: the table is put right and the call sent there
    ASK         the slot is on its way, and these keys have gone: the call alone is sent there, behind ASKING
    TRYAGAIN    some of the keys have gone: the call is sent again a little later, and so is one that was told to
                ASK but finds keys by itself, which may still be here
    CLUSTERDOWN StoreUnavailable

In each case the server has done nothing, so that a call is never applied twice; for how long it may be sent
about is bounded by the store's timeout. A master that is no longer in charge keeps its connections until
everything that was sent to it must have been answered.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import hiredis

from rami_kit import resp
from rami_kit.errors import StoreUnavailable
from rami_kit.slots import SLOT_COUNT, parse_redirection, parse_slots, slot_of
from rami_kit.store_call import ASKING, fail
from rami_kit.store_router import Lookout, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rami_kit.metrics import StoreMetrics
    from rami_kit.store_call import Call
    from rami_kit.store_node import StoreNode
    from rami_kit.store_router import NodeMaker
    from rami_kit.store_url import StoreUrl

LOOK_SECONDS: Final = 10.0
"""How often the table of slots is read when all is well."""
ANSWER_SECONDS: Final = 1.0
"""Longest wait for a node's table: the others may know enough."""
RETRY_SECONDS: Final = 0.03
"""Pause before a call is sent again where keys are on their way, or nodes disagree."""
HOPS_AT_ONCE: Final = 2
"""Redirections that are followed without a pause: one to the new master, one to where a slot goes."""

_log = logging.getLogger(__name__)


class _Table(NamedTuple):
    """What a node says of the cluster."""

    epoch: int
    covered: int
    ranges: tuple[tuple[int, int, str, int], ...]


class ClusterRouter:
    """Routes calls by slot, and follows slots and masters as they move."""

    def __init__(self, url: StoreUrl, make_node: NodeMaker, metrics: StoreMetrics, timeout_seconds: float) -> None:
        self._seeds = url.addresses
        self._make_node = make_node
        self._metrics = metrics
        self._timeout = timeout_seconds
        self._answer_seconds = min(timeout_seconds, ANSWER_SECONDS)
        self._loop = asyncio.get_running_loop()
        self._owners: list[StoreNode | None] = [None] * SLOT_COUNT
        self._masters: list[StoreNode] = []
        self._nodes: dict[tuple[str, int], StoreNode] = {}
        """All nodes with connections: the masters, and what calls have been redirected to."""
        self._retiring: dict[tuple[str, int], asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._listeners: list[Callable[[], None]] = []
        self._lookout = Lookout(self._look, LOOK_SECONDS)
        self._complaints: dict[resp.Address, str] = {}

    @property
    def nodes(self) -> Sequence[StoreNode]:
        return self._masters

    @property
    def open_connections(self) -> int:
        return sum(node.open_connections for node in self._nodes.values())

    async def open(self) -> None:
        await self._look()
        self._lookout.start()

    async def close(self) -> None:
        await self._lookout.close()
        for timer in self._retiring.values():
            timer.cancel()
        if self._closing:
            await asyncio.wait(self._closing)
        await asyncio.gather(*(node.close() for node in self._nodes.values()))

    def submit(self, call: Call, key: str | bytes | None) -> None:
        if key is not None:
            call.slot = slot_of(key)
        self._route(call)

    def address_for(self, channel: bytes) -> resp.Address | None:
        node = self._owners[slot_of(channel)]
        return None if node is None else node.address

    def add_listener(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def troubled(self) -> None:
        self._lookout.wake()

    def moved(self, channel: bytes, error: str) -> None:
        self._lookout.wake()
        if error.startswith("MOVED "):
            asked = self._owners[slot_of(channel)]
            self._move(error, asked.address.host if asked is not None else "")
            self._tell_listeners()

    def redirect(self, call: Call, word: str, text: str, node: StoreNode) -> bool:
        """See NodeOwner. The call has done nothing; it ends here when it has been sent about for too long."""
        if call.asking:
            call.asking = False
            call.packed = call.packed.removeprefix(ASKING)
        call.hops += 1
        if time.monotonic() - call.since >= self._timeout:
            return False
        if word == "TRYAGAIN" or (word == "ASK" and call.script is not None and call.script.finds_keys):
            self._loop.call_later(RETRY_SECONDS, self._route, call)
            return True
        if word == "MOVED":
            self._lookout.wake()
            target = self._move(text, node.address.host)
            if call.hops > HOPS_AT_ONCE:
                self._loop.call_later(RETRY_SECONDS, self._route, call)
                return True
        else:
            _, host, port = parse_redirection(text, node.address.host)
            target = self._node(host, port)
            call.asking = True
            call.packed = ASKING + call.packed
        target.submit(call)
        return True

    def _route(self, call: Call) -> None:
        any_master = self._masters[0] if self._masters else None
        node = any_master if call.slot < 0 else self._owners[call.slot]
        if node is None:
            fail(call, StoreUnavailable("no node of the cluster is known to be in charge"), self._metrics)
            self._lookout.wake()
        else:
            node.submit(call)

    # Who is in charge.

    def _move(self, text: str, asked_host: str) -> StoreNode:
        slot, host, port = parse_redirection(text, asked_host)
        target = self._node(host, port)
        self._owners[slot] = target
        return target

    async def _look(self) -> None:
        known = dict.fromkeys([*(node.address for node in self._masters), *self._seeds])
        tables = [
            table
            for table in await asyncio.gather(*(self._ask(address) for address in known))
            if table is not None and table.ranges
        ]
        if tables:
            votes = Counter(tables)
            self._apply(max(tables, key=lambda table: (table.epoch, table.covered, votes[table], table)))

    async def _ask(self, address: resp.Address) -> _Table | None:
        try:
            info, slots = await ask(address, self._answer_seconds, ("CLUSTER", "INFO"), ("CLUSTER", "SLOTS"))
        except resp.ConnectError as error:
            self._complain(address, f"a node of the cluster does not answer: {error}")
            return None
        if isinstance(info, hiredis.ReplyError) or isinstance(slots, hiredis.ReplyError):
            self._complain(address, f"{address} does not answer as a node of a cluster: {info!s:.80}")
            return None
        self._complaints.pop(address, None)
        rows = dict(line.split(":", 1) for line in info.decode().split("\r\n") if ":" in line)
        ranges = parse_slots(slots, address.host)
        covered = sum(last - first + 1 for first, last, _, _ in ranges)
        return _Table(int(rows.get("cluster_current_epoch", 0)), covered, tuple(ranges))

    def _complain(self, address: resp.Address, text: str) -> None:
        if self._complaints.get(address) != text:
            _log.warning(text)
            self._complaints[address] = text

    def _apply(self, table: _Table) -> None:
        owners: list[StoreNode | None] = [None] * SLOT_COUNT
        masters: dict[tuple[str, int], StoreNode] = {}
        for first, last, host, port in table.ranges:
            node = masters[host, port] = self._node(host, port)
            owners[first : last + 1] = [node] * (last - first + 1)
        changed = owners != self._owners
        self._owners = owners
        if list(masters.values()) != self._masters:
            ordered = [masters[place] for place in sorted(masters)]
            if ordered != self._masters:
                _log.info("the masters of the cluster are %s", ", ".join(str(node.address) for node in ordered))
                self._masters = ordered
        for place in sorted(self._nodes.keys() - masters.keys() - self._retiring.keys()):
            # Whatever was sent there is answered, or has timed out, by then.
            self._retiring[place] = self._loop.call_later(2 * self._timeout, self._retire, place)
        if changed:
            self._tell_listeners()

    def _node(self, host: str, port: int) -> StoreNode:
        place = (host, port)
        timer = self._retiring.pop(place, None)
        if timer is not None:
            timer.cancel()
        node = self._nodes.get(place)
        if node is None:
            address = replace(self._seeds[0], host=host, port=port)
            node = self._nodes[place] = self._make_node(address, self)
        return node

    def _retire(self, place: tuple[str, int]) -> None:
        del self._retiring[place]
        task = asyncio.create_task(self._nodes.pop(place).close(), name="store-old-master")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _tell_listeners(self) -> None:
        for listener in self._listeners:
            listener()


__all__ = ["ClusterRouter"]
