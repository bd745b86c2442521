"""Calls that end from outside: the client leaves, a deadline passes, a token ends, a stream gets old."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2

from rami_kit import interceptor
from rami_kit.testing import bearer, player, player_token
from support.calls import TIMEOUT, bench, details, failure
from support.echo import SERVICE, StringValue, text, value_of
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def test_a_cancelled_unary_call_is_counted_after_its_cleanup() -> None:
    async with bench() as b:
        begun, cleaning, cleaned = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def slow(_request: StringValue) -> StringValue:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                cleaning.set()
                await cleaned.wait()
            raise AssertionError

        b.servicer.on_say = slow
        call = b.stub.say(text("x"), timeout=TIMEOUT, metadata=player("ada"))
        await begun.wait()
        call.cancel()
        await cleaning.wait()
        assert b.sample("in_flight", method=f"{SERVICE}/Say") == 1
        cleaned.set()
        await b.settled("Say", CANCELLED=1)


async def test_a_passed_deadline_is_counted_as_what_the_client_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    # However much later than its client the service has begun to count the time.
    monkeypatch.setattr(interceptor, "DEADLINE_SLACK_SECONDS", 1.9)
    async with bench() as b:

        async def slow(_request: StringValue) -> StringValue:
            await asyncio.Event().wait()
            raise AssertionError

        # There is a connection before the time of the call begins to run.
        await b.stub.say(text("x"), timeout=TIMEOUT, metadata=player("ada"))
        b.servicer.on_say = slow
        error = await failure(b.stub.say(text("x"), timeout=2.0, metadata=player("ada")))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await b.settled("Say", OK=1, DEADLINE_EXCEEDED=1)


@pytest.mark.parametrize("method", ["Count", "Chat"])
async def test_a_cancelled_stream_is_counted_once_after_its_cleanup(method: str) -> None:
    async with bench() as b:
        cleaning, cleaned = asyncio.Event(), asyncio.Event()

        async def endless(_requests: object) -> AsyncIterator[StringValue | bytes]:
            try:
                yield StringValue(value="first")
                await asyncio.Event().wait()
            finally:
                cleaning.set()
                await cleaned.wait()

        b.servicer.on_count, b.servicer.on_chat = endless, endless

        async def quiet() -> AsyncIterator[bytes]:
            await asyncio.Event().wait()
            yield b""

        call = (
            b.stub.count(text("x"), metadata=player("ada"))
            if method == "Count"
            else b.stub.chat(quiet(), metadata=player("ada"))
        )
        assert value_of(await call.read()) == "first"  # type: ignore[arg-type]  # a message, not the end
        call.cancel()
        await cleaning.wait()
        assert b.sample("in_flight", method=f"{SERVICE}/{method}") == 1
        cleaned.set()
        await b.settled(method, CANCELLED=1)


async def test_a_stream_that_is_writing_when_its_client_leaves_is_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    async with bench() as b:

        async def flood(_request: StringValue) -> AsyncIterator[StringValue | bytes]:
            while True:
                yield StringValue(value="x" * 10_000)

        b.servicer.on_count = flood
        for _ in range(20):
            call = b.stub.count(text("x"), metadata=player("ada"))
            await call.read()
            call.cancel()
        await b.settled("Count", CANCELLED=20)
        assert not caplog.records


async def test_an_error_after_the_client_has_left_is_no_crash(caplog: pytest.LogCaptureFixture) -> None:
    async with bench() as b:
        begun = asyncio.Event()

        async def confused(_request: StringValue) -> StringValue:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise ValueError("a handler that takes the cancellation for something else") from None
            raise AssertionError

        b.servicer.on_say = confused
        call = b.stub.say(text("x"), timeout=TIMEOUT, metadata=player("ada"))
        await begun.wait()
        call.cancel()
        await b.settled("Say", CANCELLED=1)
        assert [record.levelname for record in caplog.records] == ["WARNING"]


class Later:
    """The time as a stream sees it whose token was good when it came, and has little left by then."""

    perf_counter = staticmethod(time.perf_counter)

    @staticmethod
    def time() -> float:
        return time.time() + 3600 - 0.5


async def test_a_stream_ends_with_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interceptor, "time", Later)
    async with bench() as b:
        cleaned = asyncio.Event()

        async def endless(_requests: object) -> AsyncIterator[StringValue | bytes]:
            try:
                yield StringValue(value="first")
                await asyncio.Event().wait()
            finally:
                cleaned.set()

        b.servicer.on_count = endless
        error = await failure(b.stub.count(text("x"), metadata=bearer(player_token("ada", lifetime_seconds=3600))))
        assert details(error) == ("UNAUTHENTICATED", "TOKEN_EXPIRED", {})
        assert cleaned.is_set()
        await b.settled("Count", UNAUTHENTICATED=1)


async def test_a_stream_of_requests_ends_with_its_token_even_while_it_waits_for_the_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interceptor, "time", Later)
    async with bench() as b:

        async def quiet() -> AsyncIterator[bytes]:
            yield text("one")
            await asyncio.Event().wait()

        error = await failure(b.stub.chat(quiet(), metadata=bearer(player_token("ada", lifetime_seconds=3600))))
        assert details(error) == ("UNAUTHENTICATED", "TOKEN_EXPIRED", {})


async def test_an_old_stream_is_sent_away_to_come_again() -> None:
    async with bench(max_stream_seconds=0.3) as b:

        async def endless(_requests: object) -> AsyncIterator[StringValue | bytes]:
            while True:
                yield StringValue(value="more")
                await asyncio.sleep(0.01)

        b.servicer.on_count = endless
        error = await failure(b.stub.count(text("x"), metadata=player("ada")))
        assert details(error) == ("UNAVAILABLE", "SHUTTING_DOWN", {})
        await b.settled("Count", UNAVAILABLE=1)


async def test_a_timeout_of_the_handlers_own_is_not_taken_for_the_token() -> None:
    async with bench() as b:

        async def own(_request: StringValue) -> AsyncIterator[StringValue | bytes]:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
            yield b""

        b.servicer.on_count = own
        assert details(await failure(b.stub.count(text("x"), metadata=player("ada"))))[1] == "INTERNAL"


async def test_health_and_reflection_need_neither_token_nor_deadline() -> None:
    async with bench() as b:
        check = b.channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        assert (await check(health_pb2.HealthCheckRequest())).status == health_pb2.HealthCheckResponse.SERVING
        error = await failure(check(health_pb2.HealthCheckRequest(service="none")))
        assert error.code() is grpc.StatusCode.NOT_FOUND
        await eventually(lambda: b.app.interceptor.running == 0, "no call is in flight")
        label = "grpc.health.v1.Health/Check"
        assert b.sample("handled_total", method=label, code="NOT_FOUND") == 1
        assert b.sample("handled_total", method=label, code="OK") == 1


async def test_a_burst_of_calls_is_served() -> None:
    async with bench() as b:
        calls = [b.stub.say(text(str(n)), timeout=TIMEOUT, metadata=player("ada")) for n in range(600)]
        answers = [value_of(await call) for call in calls]
        assert answers == [str(n) for n in range(600)]
        await b.settled("Say", OK=600)


async def test_hundreds_of_streams_open_at_once_and_leave_nothing() -> None:
    async with bench() as b:
        release = asyncio.Event()

        async def waiting(_request: StringValue) -> AsyncIterator[StringValue | bytes]:
            yield StringValue(value="open")
            await release.wait()

        b.servicer.on_count = waiting
        calls = [b.stub.count(text("x"), metadata=player("ada")) for _ in range(500)]
        for call in calls:
            assert value_of(await call.read()) == "open"  # type: ignore[arg-type]  # a message, not the end
        assert b.app.interceptor.running == 500
        for call in calls[:250]:
            call.cancel()
        await eventually(lambda: b.app.interceptor.running == 250, "the cancelled streams have ended")
        release.set()
        for call in calls[250:]:
            assert await call.read() is grpc.aio.EOF
        await b.settled("Count", OK=250, CANCELLED=250)
