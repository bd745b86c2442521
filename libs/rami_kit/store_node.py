"""One server of the store: its bounded pool of connections and the batches that travel on them.

All calls of one turn of the event loop are sent together, as one write on one connection, with no transaction
around them: each is atomic by itself, they only share the way. While every connection is busy, calls gather
and make a bigger batch for the next one that is free, so the pool never blocks anybody for ever: a connection
is never held by somebody who waits for another.

    submit -> pending -> (end of the loop's turn, or a connection comes free) -> in flight -> answered
                 |                                                                  |
                 waits too long, or no connection: StoreUnavailable                 no answer: StoreUncertain

Nothing is sent again but what the server says has done nothing: on NOSCRIPT the scripts are loaded and the
calls follow on the same connection; what belongs to another server (MOVED, ASK, TRYAGAIN) is handed to the
owner of the nodes, where there is one. A caller that is cancelled leaves its call in the batch and its answer
unread by anybody; a connection whose answers were not all read is closed, never reused.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Final

import hiredis

from rami_kit import resp
from rami_kit.errors import StoreError, StoreUnavailable, StoreUncertain
from rami_kit.metrics import STORE_FAILURES
from rami_kit.store_call import ASKING, fail

if TYPE_CHECKING:
    from rami_kit.errors import RamiError
    from rami_kit.instruments import Counter, Histogram
    from rami_kit.metrics import StoreMetrics
    from rami_kit.store_call import Call, NodeOwner

MAX_BATCH: Final = 256
"""Most calls of one batch: a burst spreads over connections, no answer waits for thousands of others."""
CONNECT_PAUSE_SECONDS: Final = 0.1
"""After a refused connection, calls fail at once for this long instead of each trying for itself."""

# What the server says when it is the wrong one to ask, or not now. In each case the command did nothing.
_AWAY: Final = frozenset({"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "BUSY", "MISCONF", "NOREPLICAS", "OOM"})
# Of these, the ones after which another connection may lead to another server.
_MOVED_AWAY: Final = frozenset({"READONLY", "MASTERDOWN", "CLUSTERDOWN"})
# The server is not the one, or not the only one, that has the keys. Nothing was done either.
_ELSEWHERE: Final = frozenset({"MOVED", "ASK", "TRYAGAIN"})
# A script that finds keys by itself met one that is being moved to another server, or a cluster that went down
# under it: what it did before that stays done.
_BROKEN_OFF: Final = ("Script attempted to access a non local key", "while the cluster is down")

_log = logging.getLogger(__name__)


class _Lane:
    """A connection of the pool and the batch that is on it."""

    __slots__ = ("awaited", "batch", "connection", "held", "next", "retry", "timer")

    def __init__(self, connection: resp.RespConnection) -> None:
        self.connection = connection
        self.batch: list[Call | None] = []
        """In the order of the replies; None stands for a reply that nobody waits for."""
        self.next = 0
        self.awaited = 0
        """Replies that are still to come, the durability command's included."""
        self.held: list[tuple[Call, resp.Reply]] = []
        """Durable calls that are applied and wait for the durability command."""
        self.retry: list[Call] = []
        """Calls whose script the server did not know."""
        self.timer: asyncio.TimerHandle | None = None


class StoreNode:
    """Sends calls to one server. Everything here runs in the event loop; nothing awaits another's call."""

    def __init__(
        self,
        address: resp.Address,
        *,
        pool_size: int,
        timeout_seconds: float,
        metrics: StoreMetrics,
        client_name: str,
        owner: NodeOwner | None = None,
    ) -> None:
        self.address = address
        self.proven = False
        """Whether this server has been seen to answer and to be as durable as the settings say."""
        self._owner = owner
        self._pool_size = pool_size
        self._timeout = timeout_seconds
        self._client_name = client_name
        self._metrics = metrics
        self._batch_size = metrics.batch_size.labels()
        self._connections = metrics.connections.labels()
        self._loop = asyncio.get_running_loop()
        self._pending: deque[Call] = deque()
        self._idle: list[_Lane] = []
        self._lanes: set[_Lane] = set()
        self._flush_planned = False
        self._opening: asyncio.Task[None] | None = None
        self._refused_until = 0.0
        self._expiry: asyncio.TimerHandle | None = None
        self._closed = False
        self._ok: dict[str, tuple[Histogram, Counter]] = {}
        self.durability_command = b""
        """Sent after a batch with durable calls: its reply is, or begins with, how many disks or replicas have
        all of it. Empty where the answer of the server alone is proof.
        """

    @property
    def open_connections(self) -> int:
        """Connections of the pool, busy or not."""
        return len(self._lanes)

    @property
    def waiting(self) -> int:
        """Calls of which nothing has been sent yet."""
        return len(self._pending)

    def submit(self, call: Call, _key: str | bytes | None = None) -> None:
        """Puts a call into the batch of this turn of the loop; its future gets the reply or a RamiError.

        The key chooses nothing here: there is one server.
        """
        self._pending.append(call)
        if not self._flush_planned:
            self._flush_planned = True
            self._loop.call_soon(self._flush)

    async def close(self) -> None:
        """Closes all connections; calls on their way end as StoreUncertain, others as StoreUnavailable."""
        self._closed = True
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        for lane in list(self._lanes):
            lane.connection.close()
        self._fail_pending("the store's client is closed")

    def drop_connections(self) -> None:
        """Closes the connections that nothing is on; the next calls make new ones."""
        for lane in list(self._idle):
            lane.connection.close()

    def take_pending(self) -> list[Call]:
        """The calls of which nothing has been sent, which are somebody else's from now on."""
        pending = list(self._pending)
        self._pending.clear()
        return pending

    # Pending calls.

    def _flush(self) -> None:
        self._flush_planned = False
        pending = self._pending
        while pending:
            if self._idle:
                batch: list[Call | None] = []
                while pending and len(batch) < MAX_BATCH:
                    call = pending.popleft()
                    if not call.future.done():  # else its caller was cancelled before anything was sent
                        if call.asking:
                            batch.append(None)
                        batch.append(call)
                if batch:
                    self._send(self._idle.pop(), batch)
                continue
            self._wait_for_lane()
            return

    def _wait_for_lane(self) -> None:
        """Keeps the pending calls until a connection comes free, and opens one more where the pool allows."""
        if self._closed:
            self._fail_pending("the store's client is closed")
            return
        if self._opening is None and len(self._lanes) < self._pool_size:
            if time.monotonic() >= self._refused_until:
                # One at a time: while it opens, calls gather for it, and half a dozen are rarely needed.
                self._opening = self._loop.create_task(self._open())
            elif not self._lanes:
                self._fail_pending("the store is away")
                return
        if self._expiry is None:
            self._expiry = self._loop.call_later(self._timeout, self._expire)

    async def _open(self) -> None:
        try:
            connection = await resp.connect(
                self.address, timeout_seconds=self._timeout, client_name=self._client_name, primary=True
            )
        except resp.ConnectError as error:
            _log.warning("the store is away: %s", error)
            self._opening = None
            self._refused_until = time.monotonic() + CONNECT_PAUSE_SECONDS
            self._report_trouble()
            if not self._lanes:
                self._fail_pending("the store is away")
            return
        self._opening = None
        lane = _Lane(connection)
        connection.on_reply = partial(self._on_reply, lane)
        connection.on_lost = lambda: self._on_lost(lane)
        self._lanes.add(lane)
        self._connections.inc()
        if connection.closed:
            self._on_lost(lane)
            return
        self._idle.append(lane)
        self._flush()

    def _expire(self) -> None:
        """Fails the calls that no connection came free for in time; nothing of them has been sent."""
        self._expiry = None
        pending = self._pending
        limit = time.monotonic() - self._timeout
        while pending and (pending[0].since <= limit or pending[0].future.done()):
            self._fail(pending.popleft(), StoreUnavailable("no connection to the store came free in time"))
        if pending:
            delay = max(0.001, pending[0].since - limit)
            self._expiry = self._loop.call_later(delay, self._expire)

    def _fail_pending(self, text: str) -> None:
        while self._pending:
            self._fail(self._pending.popleft(), StoreUnavailable(text))
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    # A batch on its connection.

    def _send(self, lane: _Lane, batch: list[Call | None], prefix: bytes = b"") -> None:
        durability = self.durability_command
        if durability and any(call is not None and call.durable for call in batch):
            lane.awaited = len(batch) + 1
        else:
            durability = b""
            lane.awaited = len(batch)
        lane.batch, lane.next = batch, 0
        lane.timer = self._loop.call_later(self._timeout, self._on_timeout, lane)
        parts = [call.packed for call in batch if call is not None]
        self._batch_size.observe(len(parts))
        lane.connection.write(b"".join((prefix, *parts, durability)))

    def _on_reply(self, lane: _Lane, reply: resp.Reply) -> None:
        if lane.awaited == 0:
            _log.error("the store sent a reply that nobody asked for; the connection is closed")
            lane.connection.close()
            return
        lane.awaited -= 1
        position = lane.next
        lane.next = position + 1
        if position == len(lane.batch):
            self._settle_held(lane, reply)
        else:
            call = lane.batch[position]
            if call is None:
                if isinstance(reply, hiredis.ReplyError):
                    _log.error("the store refused a script: %s", reply)
            elif isinstance(reply, hiredis.ReplyError):
                self._on_error_reply(lane, call, str(reply))
            elif call.durable and self.durability_command:
                lane.held.append((call, reply))
            else:
                self._answer(call, reply)
        if lane.awaited == 0:
            self._finish(lane)

    def _on_error_reply(self, lane: _Lane, call: Call, text: str) -> None:
        word = text.partition(" ")[0]
        if word == "NOSCRIPT" and call.script is not None:
            lane.retry.append(call)
        elif word in _ELSEWHERE:
            if self._owner is None:
                self._fail(call, StoreUnavailable("the store is a cluster: RAMI_REDIS_URL must say redis+cluster://"))
            elif not self._owner.redirect(call, word, text, self):
                self._fail(call, StoreUnavailable(f"the store cannot answer now: {word}"))
        elif word in _AWAY:
            if word in _MOVED_AWAY:
                self._loop.call_soon(self.drop_connections)
                self._report_trouble()
            self._fail(call, StoreUnavailable(f"the store cannot answer now: {word}"))
        elif any(part in text for part in _BROKEN_OFF):
            self._fail(call, StoreUncertain("a part of the store is being moved"))
        else:
            self._fail(call, StoreError(f"{call.name}: {text}"))

    def _settle_held(self, lane: _Lane, reply: resp.Reply) -> None:
        """Ends the durable calls of a batch: the reply counts the disks or replicas that have everything."""
        count = reply[0] if isinstance(reply, list) else reply
        durable = isinstance(count, int) and count >= 1
        for call, answer in lane.held:
            if durable:
                self._answer(call, answer)
            else:
                self._fail(call, StoreUncertain("applied, but not yet durable"))
        lane.held = []

    def _finish(self, lane: _Lane) -> None:
        if lane.timer is not None:
            lane.timer.cancel()
            lane.timer = None
        if lane.retry:
            self._load_and_resend(lane)
            return
        lane.batch = []
        if not lane.connection.closed:
            self._idle.append(lane)
            if self._pending and not self._flush_planned:
                self._flush()

    def _load_and_resend(self, lane: _Lane) -> None:
        """Sends the calls again that met a server without their script. EVAL brings the source along, so that
        a flush in between cannot send them round again; SCRIPT LOAD makes the script stay for the next calls.
        """
        calls, lane.retry = lane.retry, []
        sources = {call.script.lua for call in calls if call.script is not None}
        self._metrics.script_loads.labels().inc(len(sources))
        prefix = b"".join(resp.pack_command((b"SCRIPT", b"LOAD", source)) for source in sources)
        batch: list[Call | None] = [None] * len(sources)
        for call in calls:
            assert call.script is not None  # only scripts come here
            call.packed = resp.pack_command((b"EVAL", call.script.lua, *call.rest))
            if call.asking:
                call.packed = ASKING + call.packed
                batch.append(None)
            batch.append(call)
        self._send(lane, batch, prefix)

    def _on_timeout(self, lane: _Lane) -> None:
        lane.timer = None
        _log.warning("the store did not answer within %g s", self._timeout)
        lane.connection.close()
        # The others lead to the same place: if the way there is broken, each would cost a timeout of its own.
        self.drop_connections()

    def _on_lost(self, lane: _Lane) -> None:
        if lane.timer is not None:
            lane.timer.cancel()
            lane.timer = None
        if lane in self._lanes:
            self._lanes.remove(lane)
            self._connections.dec()
        self._report_trouble()
        if lane in self._idle:
            self._idle.remove(lane)
        unanswered = [call for call in lane.batch[lane.next :] if call is not None]
        lane.batch, lane.awaited = [], 0
        for call, _ in lane.held:
            self._fail(call, StoreUncertain())
        for call in lane.retry:
            self._fail(call, StoreUnavailable())
        for call in unanswered:
            self._fail(call, StoreUnavailable() if call.repeatable else StoreUncertain())
        lane.held, lane.retry = [], []
        if self._pending and not self._flush_planned:
            self._flush_planned = True
            self._loop.call_soon(self._flush)

    # The end of a call.

    def _answer(self, call: Call, reply: resp.Reply) -> None:
        children = self._ok.get(call.name)
        if children is None:
            children = self._ok[call.name] = (
                self._metrics.seconds.labels(call.name),
                self._metrics.calls.labels(call.name, "ok"),
            )
            self._metrics.calls.prepare((call.name,), STORE_FAILURES)
        children[0].observe(time.monotonic() - call.since)
        children[1].inc()
        if not call.future.done():
            call.future.set_result(reply)

    def _fail(self, call: Call, error: RamiError) -> None:
        fail(call, error, self._metrics)

    def _report_trouble(self) -> None:
        if self._owner is not None and not self._closed:
            self._owner.troubled()


__all__ = ["MAX_BATCH", "StoreNode"]
