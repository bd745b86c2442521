"""Chaos tests run on uvloop, as the services do. The long part runs only when it is asked for by its marker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import uvloop

from support.chaos_processes import Nursery

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator, Mapping

LONG = "chaos_long"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{LONG}: hundreds of kills; runs with -m {LONG}, else is left out")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if LONG in config.getoption("markexpr"):
        return
    left_out = [item for item in items if item.get_closest_marker(LONG) is not None]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery
