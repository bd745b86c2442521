"""Every way in which a call can end, over a real channel: its status, its details and its count."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import jwt
import pytest
from google.rpc import error_details_pb2, status_pb2

from rami_engine.errors import IllegalAction, MalformedAction, OptionsError
from rami_engine.errors import Reason as RuleReason
from rami_kit.access import Access
from rami_kit.auth import CallerKind, current_caller, player_id
from rami_kit.errors import InvalidRequest, StoreError, StoreUnavailable, reasons, refused, status_of
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
from support.calls import TIMEOUT, StorelessSettings, bench, details, failure
from support.echo import SERVICE, EchoServicer, EchoStub, StringValue, build_echo, text, value_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


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


def refused_to_strangers() -> dict[str, tuple[Any, tuple[str, str, dict[str, str]]]]:
    """Metadata and answer by case; made when asked for, since service tokens live for a minute."""
    return {
        "none": ((), ("UNAUTHENTICATED", "TOKEN_MISSING", {})),
        "scheme": ((("authorization", "Basic x"),), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
        "garbage": (bearer("x"), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
        "alg none": (bearer(UNSIGNED), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
        "wrong key": (bearer(forged_with("k" * 32)), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
        "service key": (bearer(forged_with(SERVICE_SECRET)), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
        "expired": (bearer(player_token("ada", lifetime_seconds=-9)), ("UNAUTHENTICATED", "TOKEN_EXPIRED", {})),
        "service": (service("rami-game"), ("PERMISSION_DENIED", "SCOPE_MISSING", {"scope": "player"})),
        "other audience": (service("rami-ai"), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
    }


@pytest.mark.parametrize("method", ["Say", "Count", "Chat"])
async def test_players_only(method: str) -> None:
    async with bench() as b:
        for case, (metadata, expected) in refused_to_strangers().items():
            error = await failure(b.call(method, metadata))
            assert details(error) == expected, case
            said = f"{error.details()}{error.trailing_metadata()}"
            assert not any(part in said for _, value in metadata for part in value.split(".") if len(part) > 9)
        await b.settled(method, UNAUTHENTICATED=8, PERMISSION_DENIED=1)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (lambda: player("ada"), ("PERMISSION_DENIED", "SCOPE_MISSING", {"scope": "service"})),
        (
            lambda: bearer(player_token("ada", scope="service")),
            ("PERMISSION_DENIED", "SCOPE_MISSING", {"scope": "service"}),
        ),
        (lambda: service("rami-matchmaking"), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
        (lambda: service("bot:third-party"), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
        (lambda: bearer(service_token("rami-game", lifetime_seconds=600)), ("UNAUTHENTICATED", "TOKEN_INVALID", {})),
    ],
    ids=["player", "scope in a player's token", "other audience", "third party", "too long"],
)
async def test_services_only(metadata: Callable[[], Any], expected: tuple[str, str, dict[str, str]]) -> None:
    async with bench(Access.SERVICE) as b:
        error = await failure(b.stub.say(text("x"), timeout=TIMEOUT, metadata=metadata()))
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
    async with running_app(make_settings(StorelessSettings, None), build, "game") as app, channel_to(app) as channel:
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


@pytest.mark.parametrize(("header", "locale"), [("es-MX,en;q=0.5", "es"), ("nn", "nb"), ("de", None), (None, None)])
async def test_errors_speak_the_language_of_their_reader(header: str | None, locale: str | None) -> None:
    metadata = () if header is None else (("accept-language", header),)
    async with bench() as b:
        error = await failure(b.stub.say(text("x"), timeout=TIMEOUT, metadata=metadata))
        status = status_of(error)
        localized = error_details_pb2.LocalizedMessage()
        found = [detail for detail in status.details if detail.Unpack(localized)]
        assert len(found) == (locale is not None)
        assert localized.locale == (locale or "")


async def test_an_unknown_method_is_unimplemented_and_counted_nowhere() -> None:
    async with bench() as b:
        for path in (f"/{SERVICE}/Nothing", "/rami.game.v1.None/Nothing", "/x"):
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = b.channel.unary_unary(path)
            error = await failure(call(b"", timeout=TIMEOUT, metadata=player("ada")))
            assert error.code() is grpc.StatusCode.UNIMPLEMENTED
        samples = [sample for family in b.app.metrics.grpc.started.collect() for sample in family.samples]
        assert {sample.labels["method"].partition("/")[0] for sample in samples} <= {SERVICE}
        assert not any(sample.value for sample in samples)


# Errors of handlers.


RAISED = [
    (InvalidRequest("seats", "2 to 4"), ("INVALID_ARGUMENT", "INVALID_REQUEST", {"field": "seats"})),
    (
        refused(reasons.ERROR_REASON_STALE_VERSION, "old", current_version=7),
        ("ABORTED", "STALE_VERSION", {"current_version": "7"}),
    ),
    (StoreUnavailable(), ("UNAVAILABLE", "STORE_UNAVAILABLE", {})),
    (IllegalAction(RuleReason.NOT_YOUR_TURN), ("FAILED_PRECONDITION", "NOT_YOUR_TURN", {})),
    (MalformedAction("cards", "none"), ("INVALID_ARGUMENT", "INVALID_REQUEST", {"field": "cards"})),
    (OptionsError("target_score", "1 or more"), ("INVALID_ARGUMENT", "INVALID_REQUEST", {"field": "target_score"})),
]
CRASHES = [
    StoreError("ERR script: the seed is 1234"),
    ValueError("the hand is 7H 8H"),
    TimeoutError("the hand is 7H 8H"),
    StopAsyncIteration("the hand is 7H 8H"),
    grpc.aio.AioRpcError(grpc.StatusCode.ABORTED, grpc.aio.Metadata(), grpc.aio.Metadata(), "the hand is 7H 8H"),
]


def raise_everywhere(servicer: EchoServicer, raised: Exception) -> None:
    async def unary(_request: StringValue) -> StringValue:
        raise raised

    async def stream(_requests: object) -> AsyncIterator[StringValue | bytes]:
        yield StringValue(value="first")
        raise raised

    servicer.on_say, servicer.on_count, servicer.on_chat = unary, stream, stream


@pytest.mark.parametrize("method", ["Say", "Count", "Chat"])
async def test_errors_for_the_caller(method: str, caplog: pytest.LogCaptureFixture) -> None:
    async with bench() as b:
        for raised, expected in RAISED:
            raise_everywhere(b.servicer, raised)
            assert details(await failure(b.call(method, player("ada")))) == expected
        await b.settled(method, INVALID_ARGUMENT=3, ABORTED=1, UNAVAILABLE=1, FAILED_PRECONDITION=1)
        assert not caplog.records


@pytest.mark.parametrize("method", ["Say", "Count", "Chat"])
async def test_crashes_are_for_the_log_alone(method: str, caplog: pytest.LogCaptureFixture) -> None:
    async with bench() as b:
        for raised in CRASHES:
            caplog.clear()
            raise_everywhere(b.servicer, raised)
            error = await failure(b.call(method, player("ada")))
            assert details(error) == ("INTERNAL", "INTERNAL", {})
            assert error.details() == "internal error"
            assert "hand" not in repr(error)
            assert "seed" not in repr(error)
            assert [record.levelname for record in caplog.records] == ["ERROR"]
            assert caplog.records[0].exc_info is not None
            assert "the hand is" in caplog.text or "the seed is" in caplog.text
        await b.settled(method, INTERNAL=len(CRASHES))


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
