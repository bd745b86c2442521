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
    from collections.abc import AsyncIterator

ADD = Script("add", "return redis.call('INCRBY', KEYS[1], ARGV[1])")
ECHO = Script("echo", "return {KEYS[1], ARGV[1], 7, false}")


@contextlib.asynccontextmanager
async def connected(url: str, **values: Any) -> AsyncIterator[Store]:
    """A store client; `values` are settings."""
    store = await Store.connect(make_settings(ServiceSettings, url, **values), Metrics())
    try:
        yield store
    finally:
        await store.close()


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
