"""A store whose master is watched by sentinels: the one server that they name gets every call.

All sentinels are asked at once, and the answer with the highest configuration epoch counts: one that is cut
off from the others goes on naming a master of the past. They are asked again when the node is in trouble
(connections lost or refused, READONLY), when one of them publishes +switch-master, and every so often.

When the master changes, the old node is closed: what was sent to it and not answered is uncertain, what was
not sent yet goes to the new one. Until the sentinels have decided, calls end as StoreUnavailable.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import hiredis

from rami_kit import resp
from rami_kit.backoff import Backoff
from rami_kit.errors import StoreUnavailable
from rami_kit.store_call import fail
from rami_kit.store_router import Lookout, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rami_kit.metrics import StoreMetrics
    from rami_kit.store_call import Call
    from rami_kit.store_node import StoreNode
    from rami_kit.store_router import NodeMaker
    from rami_kit.store_url import StoreUrl

LOOK_SECONDS: Final = 5.0
"""How often the sentinels are asked when all is well."""
ANSWER_SECONDS: Final = 1.0
"""Longest wait for a sentinel: the others may know enough."""

_log = logging.getLogger(__name__)


class SentinelRouter:
    """Follows the master of one service. All calls go to it."""

    def __init__(self, url: StoreUrl, make_node: NodeMaker, metrics: StoreMetrics, timeout_seconds: float) -> None:
        self._service = url.service
        # They have the master's password, or none.
        self._sentinels = [replace(address, database=0) for address in url.addresses]
        self._master = url.addresses[0]
        self._make_node = make_node
        self._metrics = metrics
        self._answer_seconds = min(timeout_seconds, ANSWER_SECONDS)
        self._node: StoreNode | None = None
        self._listeners: list[Callable[[], None]] = []
        self._lookout = Lookout(self._look, LOOK_SECONDS)
        self._news: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._complaints: dict[resp.Address, str] = {}

    @property
    def nodes(self) -> Sequence[StoreNode]:
        return () if self._node is None else (self._node,)

    @property
    def open_connections(self) -> int:
        return 0 if self._node is None else self._node.open_connections

    async def open(self) -> None:
        await self._look()
        self._lookout.start()
        self._news = asyncio.create_task(self._listen(), name="store-sentinel-news")

    async def close(self) -> None:
        await self._lookout.close()
        if self._news is not None:
            self._news.cancel()
            await asyncio.wait([self._news])
        if self._closing:
            await asyncio.wait(self._closing)
        if self._node is not None:
            await self._node.close()

    def submit(self, call: Call, _key: str | bytes | None) -> None:
        if self._node is None:
            fail(call, StoreUnavailable("no sentinel has named a master yet"), self._metrics)
            self._lookout.wake()
        else:
            self._node.submit(call)

    def address_for(self, _channel: bytes) -> resp.Address | None:
        return None if self._node is None else self._node.address

    def add_listener(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def troubled(self) -> None:
        self._lookout.wake()

    def moved(self, _channel: bytes, _error: str) -> None:
        self._lookout.wake()

    def redirect(self, _call: Call, _word: str, _text: str, _node: StoreNode) -> bool:
        """Such answers come from clusters only."""
        return False

    # Who is master.

    async def _look(self) -> None:
        answers = [
            answer
            for answer in await asyncio.gather(*(self._ask(sentinel) for sentinel in self._sentinels))
            if answer is not None
        ]
        if not answers:
            return
        _, host, port = max(answers)
        address = replace(self._master, host=host, port=port)
        if self._node is None or self._node.address != address:
            self._follow(address)

    async def _ask(self, sentinel: resp.Address) -> tuple[int, str, int] | None:
        """Configuration epoch, host and port of the master, as a sentinel sees it; None when it does not say."""
        commands = (
            ("SENTINEL", "MASTER", self._service),
            ("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._service),
        )
        try:
            state, place = await ask(sentinel, self._answer_seconds, *commands, password_optional=True)
        except resp.ConnectError as error:
            self._complain(sentinel, f"a sentinel does not answer: {error}")
            return None
        if isinstance(state, hiredis.ReplyError) or not isinstance(place, list):
            self._complain(
                sentinel, f"the sentinel {sentinel} names no master of the service in RAMI_REDIS_URL: {state!s:.80}"
            )
            return None
        self._complaints.pop(sentinel, None)
        fields = dict(zip(state[::2], state[1::2], strict=False))
        host, port = place
        return int(fields.get(b"config-epoch", 0)), host.decode(), int(port)

    def _complain(self, address: resp.Address, text: str) -> None:
        if self._complaints.get(address) != text:
            _log.warning(text)
            self._complaints[address] = text

    def _follow(self, address: resp.Address) -> None:
        _log.info("the sentinels name %s as the master", address)
        old, self._node = self._node, self._make_node(address, self)
        if old is not None:
            for call in old.take_pending():
                self._node.submit(call)
            task = asyncio.create_task(old.close(), name="store-old-master")
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        for listener in self._listeners:
            listener()

    async def _listen(self) -> None:
        """Hears of every switch from one sentinel after the other; what it misses, the lookout finds."""
        backoff = Backoff(0.1, 2.0)
        while True:
            for sentinel in self._sentinels:
                try:
                    connection = await resp.connect(
                        sentinel,
                        timeout_seconds=self._answer_seconds,
                        client_name="rami-router",
                        password_optional=True,
                    )
                except resp.ConnectError:
                    continue
                backoff.reset()
                lost = asyncio.Event()
                connection.on_reply = self._on_news
                connection.on_lost = lost.set
                connection.write(resp.pack_command(("SUBSCRIBE", "+switch-master")))
                try:
                    if not connection.closed:
                        await lost.wait()
                finally:
                    connection.close()
                self._lookout.wake()
            await asyncio.sleep(backoff.next())

    def _on_news(self, reply: resp.Reply) -> None:
        if isinstance(reply, list) and reply[0] == b"message" and reply[2].startswith(self._service.encode() + b" "):
            self._lookout.wake()


__all__ = ["SentinelRouter"]
