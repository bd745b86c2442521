"""Published events over a real server: nothing unheard of, nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING

import pytest
import redis

from rami_kit.embedded import EmbeddedStore
from rami_kit.errors import StoreUnavailable
from rami_kit.metrics import Metrics
from rami_kit.redis_store import Store
from rami_kit.settings import ServiceSettings
from rami_kit.subscriber import Subscriber
from rami_kit.testing import make_settings
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


class Listener:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[bytes | None] = []

    def has_heard(self, *messages: bytes | None) -> bool:
        return self.heard == list(messages)

    def __call__(self, message: bytes | None) -> None:
        self.heard.append(message)


@contextlib.asynccontextmanager
async def listening(url: str) -> AsyncIterator[tuple[Subscriber, Store]]:
    settings = make_settings(ServiceSettings, url, redis_timeout_seconds=30.0)
    store = await Store.connect(settings, Metrics())
    subscriber = Subscriber(store)
    try:
        yield subscriber, store
    finally:
        await subscriber.close()
        await store.close()


@pytest.fixture
def client(store_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(store_url) as connection:
        yield connection


def kill_subscribers(client: redis.Redis) -> int:
    return int(client.client_kill_filter(_type="pubsub"))


async def test_messages_reach_every_callback_of_their_channel_in_order(store_url: str, client: redis.Redis) -> None:
    async with listening(store_url) as (subscriber, store):
        one, two, other = Listener(), Listener(), Listener()
        await subscriber.subscribe("{p0}:a", one)
        await subscriber.subscribe("{p0}:a", two)
        await subscriber.subscribe("{p0}:b", other)
        for number in range(100):
            client.spublish("{p0}:a", number)
        client.spublish("{p0}:b", b"\x00\xff")
        await eventually(lambda: len(two.heard) == 100 and bool(other.heard), "everything has arrived")
        assert one.heard == two.heard == [str(number).encode() for number in range(100)]
        assert other.heard == [b"\x00\xff"]
        assert store.metrics.subscriber_connects.labels().value == 1


async def test_subscribe_returns_only_when_the_store_knows(store_url: str, client: redis.Redis) -> None:
    async with listening(store_url) as (subscriber, _):
        for number in range(50):
            listener = Listener()
            await subscriber.subscribe(f"c{number}", listener)
            assert client.spublish(f"c{number}", "x") == 1


async def test_nothing_is_left_after_unsubscribe(store_url: str, client: redis.Redis) -> None:
    async with listening(store_url) as (subscriber, _):
        listeners = [Listener() for _ in range(300)]
        await asyncio.gather(*(subscriber.subscribe(f"c{n % 100}", one) for n, one in enumerate(listeners)))
        assert subscriber.channel_count == 100
        assert len(client.pubsub_shardchannels()) == 100
        for number, one in enumerate(listeners):
            await subscriber.unsubscribe(f"c{number % 100}", one)
            await subscriber.unsubscribe(f"c{number % 100}", one)
        assert subscriber.channel_count == 0
        await eventually(lambda: client.pubsub_shardchannels() == [], "the store has no subscription left")
        client.spublish("c1", "x")
        await asyncio.sleep(0.05)
        assert not any(one.heard for one in listeners)


async def test_one_of_two_callbacks_may_leave(store_url: str, client: redis.Redis) -> None:
    async with listening(store_url) as (subscriber, _):
        stays, leaves = Listener(), Listener()
        await subscriber.subscribe("c", stays)
        await subscriber.subscribe("c", leaves)
        await subscriber.unsubscribe("c", leaves)
        client.spublish("c", "x")
        await eventually(lambda: stays.heard == [b"x"], "the other one hears")
        assert leaves.heard == []


async def test_s3_a_killed_connection_tells_everybody_to_look(store_url: str, client: redis.Redis) -> None:
    async with listening(store_url) as (subscriber, store):
        listeners = {f"c{n}": Listener() for n in range(20)}
        for name, listener in listeners.items():
            await subscriber.subscribe(name, listener)
        told = 0

        def all_are_told() -> bool:
            return all(one.heard.count(None) == told for one in listeners.values())

        for told in range(1, 4):  # noqa: B007 - the condition looks at it
            assert kill_subscribers(client) == 1
            client.spublish("c0", "lost")
            await eventually(all_are_told, "everybody has been told")
        client.spublish("c7", "after")
        await eventually(lambda: listeners["c7"].heard[-1] == b"after", "messages flow again")
        assert store.metrics.subscriber_connects.labels().value == 4
        assert b"lost" not in listeners["c0"].heard


async def test_leaving_and_joining_again_misses_nothing(store_url: str, client: redis.Redis) -> None:
    async with listening(store_url) as (subscriber, _):
        await subscriber.subscribe("other", Listener())
        for _ in range(50):
            first, second = Listener(), Listener()
            task = asyncio.create_task(subscriber.subscribe("c", first))
            await asyncio.sleep(0)
            await subscriber.unsubscribe("c", first)
            await subscriber.subscribe("c", second)
            assert client.spublish("c", "x") == 1
            await eventually(partial(second.has_heard, b"x"), "it hears")
            await asyncio.wait([task])
            await subscriber.unsubscribe("c", second)


async def test_a_cancelled_subscribe_leaves_nothing(store_url: str, client: redis.Redis) -> None:
    async with listening(store_url) as (subscriber, _):
        for turns in range(10):
            listener = Listener()
            task = asyncio.create_task(subscriber.subscribe("c", listener))
            for _ in range(turns):
                await asyncio.sleep(0)
            done = task.done()
            task.cancel()
            await asyncio.wait([task])
            # A cancellation is never lost, not even beside the confirmation.
            assert task.cancelled() or done
            if done:
                await subscriber.unsubscribe("c", listener)
            assert subscriber.channel_count == 0
        stays, leaves = Listener(), Listener()
        both = [asyncio.create_task(subscriber.subscribe("d", one)) for one in (stays, leaves)]
        await asyncio.sleep(0)
        both[1].cancel()
        await asyncio.wait(both)
        assert both[0].exception() is None
        await eventually(lambda: client.pubsub_shardchannels() == [b"d"], "only the one that stays is left")


async def test_a_callback_that_raises_hurts_nobody(
    store_url: str, client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_message: bytes | None) -> None:
        raise RuntimeError("broken callback")

    async with listening(store_url) as (subscriber, _):
        listener = Listener()
        await subscriber.subscribe("c", broken)
        await subscriber.subscribe("c", listener)
        client.spublish("c", "1")
        client.spublish("c", "2")
        await eventually(lambda: listener.heard == [b"1", b"2"], "the other one hears everything")
        assert "broken callback" in caplog.text


async def test_a_callback_may_leave_while_it_is_called(store_url: str, client: redis.Redis) -> None:
    async with listening(store_url) as (subscriber, _):
        heard: list[bytes | None] = []
        left: list[asyncio.Task[None]] = []

        def once(message: bytes | None) -> None:
            heard.append(message)
            left.append(asyncio.create_task(subscriber.unsubscribe("c", once)))

        listener = Listener()
        await subscriber.subscribe("c", once)
        await subscriber.subscribe("c", listener)
        client.spublish("c", "1")
        await eventually(lambda: bool(left) and left[0].done(), "it has left")
        client.spublish("c", "2")
        await eventually(lambda: listener.heard == [b"1", b"2"], "the other one hears everything")
        assert heard == [b"1"]


async def test_a_store_that_is_away_refuses_and_is_joined_when_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedStore() as own:
        async with listening(own.url) as (subscriber, store):
            known = Listener()
            await subscriber.subscribe("c", known)
            await asyncio.to_thread(own.kill)
            late = Listener()
            with monkeypatch.context() as hurry:
                hurry.setattr(subscriber, "_timeout", 0.5)
                with pytest.raises(StoreUnavailable):
                    await subscriber.subscribe("d", late)
            assert subscriber.channel_count == 1
            await asyncio.to_thread(own.start)
            await eventually(lambda: known.heard == [None], "the one that was there is told")
            await eventually(lambda: store.healthy, "the store is healthy again")
            await subscriber.subscribe("d", late)
            with redis.Redis.from_url(own.url) as client:
                client.spublish("c", "x")
                client.spublish("d", "y")
            await eventually(lambda: known.heard[-1] == b"x" and late.heard == [b"y"], "both hear")


async def test_a_connection_that_goes_silent_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("rami_kit.subscriber_line.PING_SECONDS", 0.2)
    with EmbeddedStore() as own:
        async with listening(own.url) as (subscriber, store):
            listener = Listener()
            await subscriber.subscribe("c", listener)
            (line,) = subscriber._lines.values()
            line._timeout = 0.5
            own.pause()
            try:
                await eventually(lambda: "has gone silent" in caplog.text, "it is given up")
            finally:
                own.resume()
            await eventually(lambda: None in listener.heard, "it is told that something may be missing")
            assert store.metrics.subscriber_connects.labels().value >= 2


async def test_a_quiet_connection_stays(monkeypatch: pytest.MonkeyPatch, store_url: str) -> None:
    monkeypatch.setattr("rami_kit.subscriber_line.PING_SECONDS", 0.05)
    async with listening(store_url) as (subscriber, store):
        listener = Listener()
        await subscriber.subscribe("c", listener)
        await asyncio.sleep(0.5)
        assert store.metrics.subscriber_connects.labels().value == 1
        assert listener.heard == []


async def test_closing_leaves_no_connection(store_url: str, client: redis.Redis) -> None:
    async with listening(store_url) as (subscriber, _):
        await subscriber.subscribe("c", Listener())
    await eventually(lambda: len(client.client_list()) == 1, "only the test's connection is left")
