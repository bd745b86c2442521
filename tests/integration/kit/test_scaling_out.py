"""Replicas that are added behind one name: calls reach them as connections age, and no call and no stream is cut."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, ClassVar

import grpc
import grpc.aio
import pytest

from rami_kit.channels import close_channels, open_channel
from rami_kit.errors import from_rpc_error, reasons
from rami_kit.settings import ServiceSettings
from rami_kit.testing import make_settings, player, running_app
from support.echo import EchoServicer, EchoStub, StringValue, build_echo, text, value_of
from support.names import NameServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rami_kit.app import App

WAIT_SECONDS = 60.0


class Settings(ServiceSettings):
    needs_store: ClassVar[bool] = False


class Noting(EchoServicer):
    """Counts what reaches it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = self.streams = 0
        self.on_count = self._stay

    async def Say(self, request: StringValue, _context: Any) -> StringValue | bytes:  # noqa: N802 - the RPC
        self.calls += 1
        return await self.on_say(request)

    async def _stay(self, request: StringValue) -> AsyncIterator[StringValue | bytes]:
        self.streams += 1
        yield request
        await asyncio.Event().wait()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no second loopback address")
async def test_g7_replicas_added_behind_a_name_get_traffic_and_nothing_is_cut() -> None:
    first, second = Noting(), Noting()
    async with AsyncExitStack() as stack:

        async def serve(servicer: Noting, host: str, port: int) -> App:
            settings = make_settings(
                Settings, None, host=host, port=port, max_connection_age_seconds=1, max_stream_seconds=2
            )
            return await stack.enter_async_context(running_app(settings, build_echo(servicer), "game"))

        app = await serve(first, "127.0.0.1", 0)
        names = await stack.enter_async_context(NameServer("127.0.0.1"))
        channel = open_channel(names.target(app.port), app.settings)
        stack.push_async_callback(close_channels, channel, grace_seconds=0)
        stub = EchoStub(channel)
        ends: list[tuple[grpc.StatusCode, object, str]] = []
        enough = asyncio.Event()

        async def keep_watching() -> None:
            while not enough.is_set():
                stream = stub.count(text("x"), metadata=player("ada"))
                try:
                    assert value_of(await stream.read()) == "x"  # type: ignore[arg-type]  # a message, not the end
                    await stream.read()
                except grpc.aio.AioRpcError as error:
                    peer = from_rpc_error(error)
                    ends.append((peer.code, peer.reason, peer.message))

        async with asyncio.timeout(WAIT_SECONDS), asyncio.TaskGroup() as tasks:
            tasks.create_task(keep_watching())
            while first.calls < 20:
                assert value_of(await stub.say(text("x"), timeout=WAIT_SECONDS, metadata=player("ada"))) == "x"
            await serve(second, "127.0.0.2", app.port)
            names.addresses.append("127.0.0.2")
            while not (second.calls and second.streams):
                assert value_of(await stub.say(text("x"), timeout=WAIT_SECONDS, metadata=player("ada"))) == "x"
                await asyncio.sleep(0.02)
            enough.set()
        expected = (grpc.StatusCode.UNAVAILABLE, reasons.ERROR_REASON_SHUTTING_DOWN, "the stream is old: open it again")
        assert ends
        assert set(ends) == {expected}
        assert names.asked > 1
