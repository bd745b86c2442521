"""These tests run on uvloop, as the services do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import uvloop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop}
