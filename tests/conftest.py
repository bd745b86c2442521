"""The store that every test may use: one embedded server a test process, emptied before each test."""

from __future__ import annotations

import asyncio
import faulthandler
import functools
import inspect
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import pytest
import redis
from hypothesis import HealthCheck, settings

from rami_kit.embedded import EmbeddedStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator


# What commands say is asserted in English, whatever the terminal of a developer speaks.
os.environ["LC_ALL"] = "C.UTF-8"


# A machine that stands still for a moment says nothing about the code. The same examples in every run: one that fails
# by chance would fail whoever changed something else.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("steady")


EARLIER: Final = 0.9
"""The part of a test's time limit after which a coroutine is ended from within."""


@pytest.fixture(scope="session")
def embedded_store() -> Iterator[EmbeddedStore]:
    with EmbeddedStore() as store:
        yield store


@pytest.fixture
def store_url(embedded_store: EmbeddedStore) -> str:
    """URL of the shared store, which is empty now. Tests that stop or stall a server start one of their own."""
    with redis.Redis.from_url(embedded_store.url) as client:
        client.flushall()
    return embedded_store.url


FAULTS: Final = Path(__file__).resolve().parent.parent / "build" / "faults"
"""Where test processes that crash say where they were: one file each."""
_open_faults = pytest.StashKey[TextIO]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """A test process that crashes cannot tell its parent anything: it writes into a file."""
    config = session.config
    if hasattr(config, "workerinput"):
        faults = config.stash[_open_faults] = (FAULTS / f"{config.workerinput['workerid']}.txt").open("w")
        faulthandler.enable(faults)
    else:
        FAULTS.mkdir(parents=True, exist_ok=True)
        for left in FAULTS.iterdir():
            left.unlink(missing_ok=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Shows what they wrote."""
    for faults in sorted(FAULTS.iterdir()):
        if said := faults.read_text():
            terminalreporter.section(f"{faults.stem} crashed")
            terminalreporter.write(said)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Those that may take minutes come first: whoever meets them last would keep everybody else waiting."""
    usual = float(config.getini("timeout"))

    def limit(item: pytest.Item) -> float:
        marker = item.get_closest_marker("timeout")
        return float(marker.args[0]) if marker is not None else usual

    items.sort(key=limit, reverse=True)
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            item.obj = _ended_within(limit(item) * EARLIER, item.obj)


def _ended_within(seconds: float, test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """A coroutine test that fails by itself where it would go on for ever: uvloop takes the exception that the plugin
    raises in the handler of its alarm for one of some callback, and the test runs on.
    """

    @functools.wraps(test)
    async def run(*arguments: object, **fixtures: object) -> None:
        async with asyncio.timeout(seconds):
            await test(*arguments, **fixtures)

    return run


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where every tool must be there, a skipped test is a failure."""
    if os.environ.get("RAMI_TESTS_NO_SKIPS") and exitstatus == pytest.ExitCode.OK:
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and reporter.stats.get("skipped"):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
