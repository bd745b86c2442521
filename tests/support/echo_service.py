"""The echo as a service process: `python -m support.echo_service`. What it does depends on what it is told.

Say "slow" answers after half a second, Say "stuck" never. Count ends when the process drains, unless it is told
"stuck"; told "flood" it sends more than a client takes that reads nothing. A closer that never ends comes with
ECHO_STUCK_CLOSER=1, a store is wanted with ECHO_STORE=1.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, ClassVar

from rami_kit.app import App, main
from rami_kit.errors import shutting_down
from rami_kit.settings import ServiceSettings
from support.echo import EchoServicer, StringValue, build_echo

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Settings(ServiceSettings):
    needs_store: ClassVar[bool] = "ECHO_STORE" in os.environ


async def build(app: App) -> None:
    async def say(request: StringValue) -> StringValue:
        if request.value == "slow":
            await asyncio.sleep(0.5)
        if request.value == "stuck":
            await asyncio.Event().wait()
        return request

    flood = StringValue(value="x" * 50_000)

    async def count(request: StringValue) -> AsyncIterator[StringValue | bytes]:
        yield request
        if request.value == "stuck":
            await asyncio.Event().wait()
        while request.value == "flood" and not app.draining.is_set():
            yield flood
        await app.draining.wait()
        raise shutting_down()

    async def stuck() -> None:
        await asyncio.Event().wait()

    servicer = EchoServicer()
    servicer.on_say, servicer.on_count = say, count
    await build_echo(servicer)(app)
    if "ECHO_STUCK_CLOSER" in os.environ:
        app.add_closer(stuck)


if __name__ == "__main__":
    sys.exit(main(Settings, build, "game"))
