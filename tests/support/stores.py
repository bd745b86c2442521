"""A connected store, and a look at it from the other side."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import redis

from rami_kit.metrics import Metrics
from rami_kit.redis_store import Script, Store
from rami_kit.settings import ServiceSettings
from rami_kit.testing import make_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

ADD = Script("add", "return redis.call('INCRBY', KEYS[1], ARGV[1])")
ECHO = Script("echo", "return {KEYS[1], ARGV[1], 7, false}")


@contextlib.asynccontextmanager
async def connected(url: str, **values: Any) -> AsyncIterator[Store]:
    """A store client, which is patient unless `values`, which are settings, say otherwise."""
    settings = make_settings(ServiceSettings, url, **({"redis_timeout_seconds": 30.0} | values))
    store = await Store.connect(settings, Metrics())
    try:
        yield store
    finally:
        await store.close()


@contextlib.contextmanager
def hurried(store: Store, seconds: float) -> Iterator[None]:
    """Calls that are made within wait no longer than this for the store, and all others as long as the settings say:
    what is to succeed does so on any machine, and what is to time out does so soon.
    """
    parts: list[Any] = [part for part in (store.router, *store.router.nodes) if hasattr(part, "_timeout")]
    usual = [part._timeout for part in parts]
    try:
        for part in parts:
            part._timeout = seconds
        yield
    finally:
        for part, timeout in zip(parts, usual, strict=True):
            part._timeout = timeout


@contextlib.contextmanager
def hurried_promise(store: Store, seconds: float) -> Iterator[None]:
    """Steps that are taken within are given no longer than this to become durable."""
    usual = store._wait_ms
    nodes = store.router.nodes
    try:
        store._wait_ms = round(seconds * 1000)
        for node in nodes:
            node.durability_command = store._durability_command()
        yield
    finally:
        store._wait_ms = usual
        for node in nodes:
            node.durability_command = store._durability_command()


def outcomes(store: Store, command: str) -> dict[str, float]:
    """How many calls of a command or script ended how; what never happened is left out."""
    found = {}
    for family in store.metrics.calls.collect():
        for sample in family.samples:
            if sample.labels["command"] == command and sample.value:
                found[sample.labels["outcome"]] = sample.value
    return found


def admin(url: str) -> redis.Redis:
    """A client of its own, for what an operator does."""
    return redis.Redis.from_url(url)
