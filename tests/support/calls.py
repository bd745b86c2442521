"""Calls to a running echo service: how they fail, what their status carries, and what was counted."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest
from google.rpc import status_pb2

from rami_kit.access import Access
from rami_kit.errors import from_rpc_error, reason_name
from rami_kit.settings import ServiceSettings
from rami_kit.testing import channel_to, make_settings, running_app
from support.echo import SERVICE, EchoServicer, EchoStub, build_echo, text
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rami_kit.app import App

TIMEOUT = 60.0
"""Deadline of calls that are to succeed: far above what any takes."""


class StorelessSettings(ServiceSettings):
    needs_store = False


class Bench:
    """A running echo service, its stub, and a look at its metrics."""

    def __init__(self, app: App, servicer: EchoServicer, channel: grpc.aio.Channel) -> None:
        self.app = app
        self.servicer = servicer
        self.channel = channel
        self.stub = EchoStub(channel)

    def call(self, method: str, metadata: Any) -> Any:
        """A call with a small request."""
        if method == "Say":
            return self.stub.say(text("x"), timeout=TIMEOUT, metadata=metadata)
        if method == "Count":
            return self.stub.count(text("x"), metadata=metadata)
        return self.stub.chat(iter([text("x")]), metadata=metadata)

    def sample(self, name: str, **labels: str) -> float:
        return self.app.metrics.registry.get_sample_value(f"rami_grpc_{name}", labels) or 0.0

    def handled(self, method: str) -> dict[str, float]:
        found = {}
        for family in self.app.metrics.grpc.handled.collect():
            for sample in family.samples:
                if sample.labels["method"] == f"{SERVICE}/{method}" and sample.value:
                    found[sample.labels["code"]] = sample.value
        return found

    async def settled(self, method: str, **handled: int) -> None:
        """Waits until nothing is in flight, then compares what was counted."""
        label = f"{SERVICE}/{method}"
        await eventually(lambda: self.app.interceptor.running == 0, "no call is in flight")
        assert self.handled(method) == handled
        total = sum(handled.values())
        assert self.sample("started_total", method=label) == total
        assert self.sample("seconds_count", method=label) == total
        assert self.sample("in_flight", method=label) == 0


@contextlib.asynccontextmanager
async def bench(access: Access = Access.PLAYER, **values: Any) -> AsyncIterator[Bench]:
    servicer = EchoServicer()
    settings = make_settings(StorelessSettings, None, **values)
    async with running_app(settings, build_echo(servicer, access), "game") as app, channel_to(app) as channel:
        yield Bench(app, servicer, channel)


async def failure(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await (_read_all(call) if hasattr(call, "__aiter__") else call)
    return caught.value


async def _read_all(call: Any) -> None:
    async for _ in call:
        pass


def details(error: grpc.aio.AioRpcError) -> tuple[str, str, dict[str, str]]:
    """Code, reason and metadata; checks that the status in the trailers says the same as the call."""
    for key, value in error.trailing_metadata():
        if key == "grpc-status-details-bin":
            assert isinstance(value, bytes)
            status = status_pb2.Status.FromString(value)
            assert status.code == error.code().value[0]
            assert status.message == error.details()
    peer = from_rpc_error(error)
    assert peer.reason is not None
    return peer.code.name, reason_name(peer.reason), peer.metadata
