"""Every way in which a call can end, over a real channel: its status, its details and its count."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import jwt
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2

from rami_engine.errors import IllegalAction, MalformedAction
from rami_engine.errors import Reason as RuleReason
from rami_kit.access import Access
from rami_kit.auth import CallerKind, current_caller, player_id
from rami_kit.errors import InvalidRequest, StoreError, StoreUnavailable, from_rpc_error, reason_name, reasons, refused
from rami_kit.settings import ServiceSettings
from rami_kit.testing import (
    SERVICE_SECRET,
    bearer,
    channel_to,
    make_settings,
    player,
    player_token,
    running_app,
    service,
    service_token,
)
from support.echo import SERVICE, EchoServicer, EchoStub, StringValue, build_echo, text, value_of
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rami_kit.app import App

TIMEOUT = 10.0


class Settings(ServiceSettings):
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
    settings = make_settings(Settings, None, **values)
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


# What arrives.


async def test_messages_and_encoded_bytes_go_out() -> None:
    async with bench() as b:
        assert value_of(await b.stub.say(text("hi"), timeout=TIMEOUT, metadata=player("ada"))) == "hi"

        async def encoded(request: StringValue) -> bytes:
            return text(request.value * 2)

        b.servicer.on_say = encoded
        assert value_of(await b.stub.say(text("hi"), timeout=TIMEOUT, metadata=player("ada"))) == "hihi"
        counted = [value_of(raw) async for raw in b.stub.count(text("n"), metadata=player("ada"))]
        assert counted == ["n0", "n1", "n2"]

        async def words() -> AsyncIterator[bytes]:
            yield text("a")
            yield text("b")

        said = [value_of(raw) async for raw in b.stub.chat(words(), metadata=player("ada"))]
        assert said == ["a", "b"]
        await b.settled("Say", OK=2)
        await b.settled("Count", OK=1)
        await b.settled("Chat", OK=1)


async def test_handlers_know_their_caller_and_only_theirs() -> None:
    async with bench() as b:
        seen: dict[str, str] = {}
        both = asyncio.Barrier(2)

        async def who(request: StringValue) -> StringValue:
            await both.wait()
            caller = current_caller()
            assert caller.kind is CallerKind.PLAYER
            seen[request.value] = caller.player_id
            return StringValue(value=caller.name)

        async def who_streams(_request: StringValue) -> AsyncIterator[StringValue | bytes]:
            yield StringValue(value=current_caller().name)

        b.servicer.on_say, b.servicer.on_count = who, who_streams
        calls = [b.stub.say(text(p), timeout=TIMEOUT, metadata=player(p, name=p.title())) for p in ("ada", "bob")]
        assert [value_of(await call) for call in calls] == ["Ada", "Bob"]
        assert seen == {p: player_id("rami", p) for p in ("ada", "bob")}
        assert [value_of(raw) async for raw in b.stub.count(text(""), metadata=player("c", name="C"))] == ["C"]


# Refusals before a handler runs.


def forged_with(key: str) -> str:
    return jwt.encode({"iss": "rami", "sub": "ada", "exp": time.time() + 99}, key, algorithm="HS256")


UNSIGNED = ".".join([*jwt.encode({"iss": "rami", "sub": "ada", "exp": 9e9}, "", algorithm="none").split(".")[:2], ""])


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ((), ("UNAUTHENTICATED", "TOKEN_MISSING", {})),
        ((("authorization", "Basic x"),), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
        (bearer("x"), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
        (bearer(UNSIGNED), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
        (bearer(forged_with("k" * 32)), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
        (bearer(forged_with(SERVICE_SECRET)), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
        (bearer(player_token("ada", lifetime_seconds=-9)), ("UNAUTHENTICATED", "TOKEN_EXPIRED", {})),
        (service("rami-game"), ("PERMISSION_DENIED", "SCOPE_MISSING", {"scope": "player"})),
        (service("rami-ai"), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
    ],
    ids=["none", "scheme", "garbage", "alg none", "wrong key", "service key", "expired", "service", "other audience"],
)
@pytest.mark.parametrize("method", ["Say", "Count", "Chat"])
async def test_players_only(method: str, metadata: Any, expected: tuple[str, str, dict[str, str]]) -> None:
    async with bench() as b:
        call = b.call(method, metadata)
        error = await failure(call)
        assert details(error) == expected
        said = f"{error.details()}{error.trailing_metadata()}"
        assert not any(part in said for _, value in metadata for part in value.split(".") if len(part) > 9)
        await b.settled(method, **{expected[0]: 1})


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (player("ada"), ("PERMISSION_DENIED", "SCOPE_MISSING", {"scope": "service"})),
        (bearer(player_token("ada", scope="service")), ("PERMISSION_DENIED", "SCOPE_MISSING", {"scope": "service"})),
        (service("rami-matchmaking"), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
        (service("bot:third-party"), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
        (bearer(service_token("rami-game", lifetime_seconds=600)), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
    ],
    ids=["player", "scope in a player's token", "other audience", "third party", "too long"],
)
async def test_services_only(metadata: Any, expected: tuple[str, str, dict[str, str]]) -> None:
    async with bench(Access.SERVICE) as b:
        error = await failure(b.stub.say(text("x"), timeout=TIMEOUT, metadata=metadata))
        assert details(error) == expected
        good = service("rami-game", subject="rami-ai")
        assert value_of(await b.stub.say(text("x"), timeout=TIMEOUT, metadata=good)) == "x"
        await b.settled("Say", OK=1, **{expected[0]: 1})


async def test_public_methods_look_at_no_token() -> None:
    async with bench(Access.PUBLIC) as b:
        for metadata in ((), bearer("garbage"), player("ada")):
            assert value_of(await b.stub.say(text("x"), timeout=TIMEOUT, metadata=metadata)) == "x"

        async def who(_request: StringValue) -> StringValue:
            with pytest.raises(LookupError):
                current_caller()
            return StringValue(value="nobody")

        b.servicer.on_say = who
        assert value_of(await b.stub.say(text("x"), timeout=TIMEOUT, metadata=player("ada"))) == "nobody"


async def test_overrides_go_by_method() -> None:
    servicer = EchoServicer()
    build = build_echo(servicer, Access.PLAYER, {"Say": Access.PUBLIC})
    async with running_app(make_settings(Settings, None), build, "game") as app, channel_to(app) as channel:
        stub = EchoStub(channel)
        assert value_of(await stub.say(text("x"), timeout=TIMEOUT)) == "x"
        assert details(await failure(stub.count(text("x"))))[1] == "TOKEN_MISSING"


async def test_malformed_bytes() -> None:
    async with bench() as b:
        for call in (
            b.stub.say(b"\xff\xff", timeout=TIMEOUT, metadata=player("ada")),
            b.stub.count(b"\xff\xff", metadata=player("ada")),
            b.stub.chat(iter([text("fine"), b"\xff\xff"]), metadata=player("ada")),
        ):
            assert details(await failure(call)) == ("INVALID_ARGUMENT", "MALFORMED_MESSAGE", {})
        for method in ("Say", "Count", "Chat"):
            await b.settled(method, INVALID_ARGUMENT=1)


async def test_too_large_messages() -> None:
    async with bench(max_message_bytes=2000) as b:
        fits = "x" * 1990
        assert value_of(await b.stub.say(text(fits), timeout=TIMEOUT, metadata=player("ada"))) == fits
        for size in (2000, 100_000):
            error = await failure(b.stub.say(text("x" * size), timeout=TIMEOUT, metadata=player("ada")))
            assert details(error) == ("RESOURCE_EXHAUSTED", "MESSAGE_TOO_LARGE", {"limit_bytes": "2000"})
        error = await failure(b.stub.chat(iter([text("x" * 3000)]), metadata=player("ada")))
        assert details(error) == ("RESOURCE_EXHAUSTED", "MESSAGE_TOO_LARGE", {"limit_bytes": "2000"})


async def test_a_unary_call_needs_a_deadline_and_a_stream_does_not() -> None:
    async with bench() as b:
        error = await failure(b.stub.say(text("x"), metadata=player("ada")))
        assert details(error) == ("INVALID_ARGUMENT", "DEADLINE_REQUIRED", {"max_seconds": "60"})
        assert [raw async for raw in b.stub.count(text("x"), metadata=player("ada"))]


async def test_identity_comes_before_everything_else() -> None:
    async with bench(max_message_bytes=2000) as b:
        for raw in (b"\xff\xff", text("x" * 3000)):
            assert details(await failure(b.stub.say(raw)))[1] == "TOKEN_MISSING"


async def test_an_unknown_method_is_unimplemented_and_counted_nowhere() -> None:
    async with bench() as b:
        for path in (f"/{SERVICE}/Nothing", "/rami.game.v1.None/Nothing", "/x"):
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = b.channel.unary_unary(path)
            error = await failure(call(b"", timeout=TIMEOUT, metadata=player("ada")))
            assert error.code() is grpc.StatusCode.UNIMPLEMENTED
        assert not [s for family in b.app.metrics.grpc.started.collect() for s in family.samples]


# Errors of handlers.


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (InvalidRequest("seats", "2 to 4"), ("INVALID_ARGUMENT", "INVALID_REQUEST", {"field": "seats"})),
        (
            refused(reasons.ERROR_REASON_STALE_VERSION, "old", current_version=7),
            ("ABORTED", "STALE_VERSION", {"current_version": "7"}),
        ),
        (StoreUnavailable(), ("UNAVAILABLE", "STORE_UNAVAILABLE", {})),
        (IllegalAction(RuleReason.NOT_YOUR_TURN), ("FAILED_PRECONDITION", "NOT_YOUR_TURN", {})),
        (MalformedAction("cards", "none"), ("INVALID_ARGUMENT", "INVALID_REQUEST", {"field": "cards"})),
        (StoreError("ERR script: the seed is 1234"), ("INTERNAL", "INTERNAL", {})),
        (ValueError("the hand is 7H 8H"), ("INTERNAL", "INTERNAL", {})),
        (TimeoutError("the hand is 7H 8H"), ("INTERNAL", "INTERNAL", {})),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
@pytest.mark.parametrize("method", ["Say", "Count", "Chat"])
async def test_what_a_handler_raises(
    method: str,
    raised: Exception,
    expected: tuple[str, str, dict[str, str]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with bench() as b:

        async def unary(_request: StringValue) -> StringValue:
            raise raised

        async def stream(_requests: object) -> AsyncIterator[StringValue | bytes]:
            yield StringValue(value="first")
            raise raised

        b.servicer.on_say, b.servicer.on_count, b.servicer.on_chat = unary, stream, stream
        call = b.call(method, player("ada"))
        error = await failure(call)
        assert details(error) == expected
        await b.settled(method, **{expected[0]: 1})
        if expected[0] == "INTERNAL":
            assert error.details() == "internal error"
            assert str(raised) not in f"{error!r}"
            # The log has what the caller must not see.
            assert caplog.records[-1].exc_info is not None
            assert str(raised) in caplog.text
        else:
            assert not caplog.records


async def test_details_of_a_refusal_carry_retry_and_violations() -> None:
    async with bench() as b:

        async def away(_request: StringValue) -> StringValue:
            raise StoreUnavailable(retry_after_seconds=1.5)

        b.servicer.on_say = away
        error = await failure(b.stub.say(text("x"), timeout=TIMEOUT, metadata=player("ada")))
        raw = dict(error.trailing_metadata())["grpc-status-details-bin"]
        assert isinstance(raw, bytes)
        retry = error_details_pb2.RetryInfo()
        assert any(detail.Unpack(retry) for detail in status_pb2.Status.FromString(raw).details)
        assert retry.retry_delay.ToMilliseconds() == 1500


# Calls that end from outside.


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


async def test_a_passed_deadline_is_counted_as_what_the_client_saw() -> None:
    async with bench() as b:

        async def slow(_request: StringValue) -> StringValue:
            await asyncio.Event().wait()
            raise AssertionError

        b.servicer.on_say = slow
        error = await failure(b.stub.say(text("x"), timeout=0.2, metadata=player("ada")))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await b.settled("Say", DEADLINE_EXCEEDED=1)


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


async def test_a_stream_ends_with_its_token() -> None:
    async with bench() as b:
        cleaned = asyncio.Event()

        async def endless(_requests: object) -> AsyncIterator[StringValue | bytes]:
            try:
                yield StringValue(value="first")
                await asyncio.Event().wait()
            finally:
                cleaned.set()

        b.servicer.on_count = endless
        metadata = bearer(player_token("ada", lifetime_seconds=0.7))
        call = b.stub.count(text("x"), metadata=metadata)
        error = await failure(call)
        assert details(error) == ("UNAUTHENTICATED", "TOKEN_EXPIRED", {})
        assert cleaned.is_set()
        await b.settled("Count", UNAUTHENTICATED=1)


async def test_a_stream_of_requests_ends_with_its_token_even_while_it_waits_for_the_client() -> None:
    async with bench() as b:

        async def quiet() -> AsyncIterator[bytes]:
            yield text("one")
            await asyncio.Event().wait()

        metadata = bearer(player_token("ada", lifetime_seconds=0.7))
        error = await failure(b.stub.chat(quiet(), metadata=metadata))
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
        calls = [b.stub.say(text(str(n)), timeout=30, metadata=player("ada")) for n in range(600)]
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
