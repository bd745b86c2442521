"""The life of a service inside one event loop: readiness, background tasks, draining, TLS."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import time
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from rami_kit.access import Access
from rami_kit.app import App
from rami_kit.channels import close_channels, open_channel
from rami_kit.embedded import EmbeddedStore
from rami_kit.settings import ServiceSettings, SettingsError
from rami_kit.testing import channel_to, make_settings, player, running_app
from support.echo import SERVICE, EchoServicer, EchoStub, StringValue, add_echo_to_server, build_echo, text, value_of
from support.ports import free_port
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

TIMEOUT = 60.0
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVICE_UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


class Settings(ServiceSettings):
    needs_store = False


def settings(redis_url: str | None = None, **values: Any) -> Settings:
    return make_settings(Settings, redis_url, **({"redis_timeout_seconds": 30.0} | values))


def watch_health(channel: grpc.aio.Channel, service: str = "") -> Any:
    return channel.unary_stream(
        "/grpc.health.v1.Health/Watch",
        request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
        response_deserializer=health_pb2.HealthCheckResponse.FromString,
    )(health_pb2.HealthCheckRequest(service=service))


async def nothing(_app: App) -> None:
    """A service without servicers."""


# Readiness.


async def test_health_follows_the_store() -> None:
    with EmbeddedStore() as own:
        async with (
            running_app(settings(own.url), build_echo(EchoServicer()), "game") as app,
            channel_to(app) as channel,
        ):
            watches = [watch_health(channel, name) for name in ("", SERVICE)]
            for watch in watches:
                assert (await watch.read()).status == SERVING
            await asyncio.to_thread(own.kill)
            for watch in watches:
                assert (await watch.read()).status == NOT_SERVING
            assert app.metrics.store.up.labels().value == 0
            await asyncio.to_thread(own.start)
            for watch in watches:
                assert (await watch.read()).status == SERVING


async def test_health_follows_every_check() -> None:
    holds = {"one": True, "two": True}

    async def build(app: App) -> None:
        app.add_check("one", lambda: holds["one"])
        app.add_check("two", lambda: holds["two"])

    async with running_app(settings(), build, "game") as app, channel_to(app) as channel:
        watch = watch_health(channel)
        assert (await watch.read()).status == SERVING
        holds["two"] = False
        assert (await watch.read()).status == NOT_SERVING
        holds["one"], holds["two"] = False, True
        await asyncio.sleep(0.5)
        assert not app.health.serving
        holds["one"] = True
        assert (await watch.read()).status == SERVING


async def test_health_knows_services_by_name() -> None:
    async with running_app(settings(), build_echo(EchoServicer()), "game") as app, channel_to(app) as channel:
        assert (await watch_health(channel, "none").read()).status == SERVICE_UNKNOWN
        listed = await channel.unary_unary(
            "/grpc.health.v1.Health/List",
            request_serializer=health_pb2.HealthListRequest.SerializeToString,
            response_deserializer=health_pb2.HealthListResponse.FromString,
        )(health_pb2.HealthListRequest())
        assert {name: entry.status for name, entry in listed.statuses.items()} == {"": SERVING, SERVICE: SERVING}


async def test_reflection_lists_every_service() -> None:
    async with running_app(settings(), build_echo(EchoServicer()), "game") as app, channel_to(app) as channel:
        ask = channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )
        answers = [answer async for answer in ask(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))]
        names = {service.name for service in answers[0].list_services_response.service}
        assert {SERVICE, "grpc.health.v1.Health"} <= names


# What a build may register.


async def test_only_known_services_and_methods_are_registered() -> None:
    app = App(settings(), "game")
    servicer = EchoServicer()
    with pytest.raises(LookupError, match="NoService"):
        app.add_servicer(add_echo_to_server, servicer, "rami.testing.v1.NoService")
    with pytest.raises(LookupError, match="Shout"):
        app.add_servicer(add_echo_to_server, servicer, SERVICE, Access.PLAYER, {"Shout": Access.PUBLIC})


async def test_handlers_of_the_wrong_kind_are_refused() -> None:
    async def coroutine(request: StringValue, _context: Any) -> StringValue:
        return request

    def blocking(request: StringValue, _context: Any) -> StringValue:
        return request

    app = App(settings(), "game")
    for name, handler in (("Count", coroutine), ("Chat", coroutine), ("Say", blocking), ("Say", None)):
        servicer = EchoServicer()
        setattr(servicer, name, handler)
        with pytest.raises(TypeError, match=name):
            app.add_servicer(add_echo_to_server, servicer, SERVICE)


async def test_a_service_without_a_store_has_none() -> None:
    app = App(settings(), "ai")
    assert app.store is None
    with pytest.raises(RuntimeError):
        app.require_store()
    with pytest.raises(RuntimeError):
        _ = app.clock


async def test_the_clock_is_the_stores(store_url: str) -> None:
    async with running_app(settings(store_url), nothing, "game") as app:
        assert abs(app.clock.now() - time.time()) < 1 + app.clock._error


# Background tasks.


async def test_a_crashed_task_is_restarted_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    runs: list[int] = []
    steady = asyncio.Event()

    async def shaky() -> None:
        runs.append(1)
        if len(runs) < 3:
            raise ValueError("the task stumbles")
        steady.set()
        await asyncio.Event().wait()

    async def build(app: App) -> None:
        app.spawn("shaky", shaky)

    async with running_app(settings(), build, "game") as app:
        async with asyncio.timeout(TIMEOUT):
            await steady.wait()
        assert app.metrics.tasks.crashes.labels("shaky").value == 2
        assert caplog.text.count("ValueError: the task stumbles") == 2
    assert len(runs) == 3


async def test_a_task_that_returns_is_over() -> None:
    runs: list[int] = []

    async def once() -> None:
        runs.append(1)

    async with running_app(settings(), nothing, "game") as app:
        await app.spawn("once", once)
        await asyncio.sleep(0.3)
    assert runs == [1]


# Draining.


async def test_a_drain_goes_from_the_outside_in(caplog: pytest.LogCaptureFixture) -> None:
    order: list[str] = []
    servicer = EchoServicer()

    def note(name: str) -> Any:
        async def closer() -> None:
            order.append(name)
            if name == "broken closer":
                raise ValueError("a closer that fails")

        return closer

    async def task() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            order.append("task")

    async def build(app: App) -> None:
        await build_echo(servicer)(app)
        app.spawn("task", task)
        for name in ("closer 1", "broken closer", "closer 3"):
            app.add_closer(note(name))

    async def stubborn(_request: StringValue) -> AsyncIterator[StringValue | bytes]:
        try:
            yield StringValue(value="open")
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.1)
            order.append("handler")

    servicer.on_count = stubborn
    app = App(settings(drain_grace_seconds=20.0), "game")
    await app.start(build)
    async with channel_to(app) as channel:
        call = EchoStub(channel).count(text("x"), metadata=player("ada"))
        await call.read()
        await app.drain()
        await app.drain()
    assert order == ["handler", "task", "closer 3", "broken closer", "closer 1"]
    assert "a closer that fails" in caplog.text
    assert app.interceptor.running == 0


async def test_a_drain_after_a_failed_start_cleans_up(store_url: str) -> None:
    closed: list[str] = []

    async def closer() -> None:
        closed.append("closed")

    async def build(app: App) -> None:
        app.add_closer(closer)
        raise SettingsError("something that only the service knows")

    app = App(settings(store_url), "game")
    with pytest.raises(SettingsError):
        await app.start(build)
    await app.drain()
    assert closed == ["closed"]
    assert app.store is not None
    assert app.store.open_connections == 0


async def test_health_stays_not_serving_while_draining() -> None:
    servicer = EchoServicer()
    release = asyncio.Event()

    async def waiting(request: StringValue) -> StringValue:
        await release.wait()
        return request

    servicer.on_say = waiting
    patient = settings(drain_grace_seconds=60.0)
    async with running_app(patient, build_echo(servicer), "game") as app, channel_to(app) as channel:
        watch = watch_health(channel)
        assert (await watch.read()).status == SERVING
        call = EchoStub(channel).say(text("x"), timeout=TIMEOUT, metadata=player("ada"))
        await eventually(lambda: app.interceptor.running == 2, "the call has begun")
        draining = asyncio.create_task(app.drain())
        assert (await watch.read()).status == NOT_SERVING
        await asyncio.sleep(0.3)  # longer than the readiness interval
        assert not app.health.serving
        assert app.draining.is_set()
        release.set()
        assert value_of(await call) == "x"
        await draining


# TLS.


def certificate(subject: str, issuer: tuple[x509.Certificate, Any] | None = None) -> tuple[x509.Certificate, Any]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, subject)])
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer[0].subject if issuer else name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
    )
    return builder.sign(issuer[1] if issuer else key, hashes.SHA256()), key


def write_pem(folder: Path, name: str, made: tuple[x509.Certificate, Any]) -> tuple[str, str]:
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    cert.write_bytes(made[0].public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        made[1].private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return str(cert), str(key)


async def test_tls_and_client_certificates(tmp_path: Path) -> None:
    authority = certificate("authority")
    ca, _ = write_pem(tmp_path, "ca", authority)
    cert, key = write_pem(tmp_path, "service", certificate("service", authority))
    stranger_cert, stranger_key = write_pem(tmp_path, "stranger", certificate("stranger"))
    served = settings(tls_cert_file=cert, tls_key_file=key, tls_client_ca_file=ca)
    async with running_app(served, build_echo(EchoServicer()), "game") as app:
        target = f"127.0.0.1:{app.port}"
        good = open_channel(target, settings(tls_ca_file=ca, tls_cert_file=cert, tls_key_file=key))
        bad = [
            open_channel(target, settings()),
            open_channel(target, settings(tls_ca_file=ca)),
            open_channel(target, settings(tls_ca_file=ca, tls_cert_file=stranger_cert, tls_key_file=stranger_key)),
            open_channel(target, settings(tls_ca_file=stranger_cert, tls_cert_file=cert, tls_key_file=key)),
        ]
        try:
            assert value_of(await EchoStub(good).say(text("x"), timeout=TIMEOUT, metadata=player("ada"))) == "x"
            for channel in bad:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await EchoStub(channel).say(text("x"), timeout=TIMEOUT, metadata=player("ada"))
                assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        finally:
            await close_channels(good, *bad, grace_seconds=0)


# Channels and connections.


async def test_g7_an_ageing_connection_fails_no_call_and_cuts_no_stream() -> None:
    release = asyncio.Event()

    async def waiting(_request: StringValue) -> AsyncIterator[StringValue | bytes]:
        yield StringValue(value="open")
        await release.wait()
        yield StringValue(value="still open")

    aged = settings(max_connection_age_seconds=1)
    peers: set[str] = set()

    class PeerNoting(EchoServicer):
        async def Say(self, request: StringValue, context: Any) -> StringValue | bytes:  # noqa: N802 - the RPC
            peers.add(context.peer())
            return await super().Say(request, context)

    noting = PeerNoting()
    noting.on_count = waiting
    async with running_app(aged, build_echo(noting), "game") as app, channel_to(app) as channel:
        stub = EchoStub(channel)
        stream = stub.count(text("x"), metadata=player("ada"))
        await stream.read()
        async with asyncio.timeout(TIMEOUT):
            while len(peers) < 3:
                assert value_of(await stub.say(text("x"), timeout=TIMEOUT, metadata=player("ada"))) == "x"
        release.set()
        assert value_of(await stream.read()) == "still open"  # type: ignore[arg-type]  # a message, not the end


async def test_a_channel_finds_a_peer_that_comes_back() -> None:
    first = App(settings(port=free_port()), "game")
    await first.start(build_echo(EchoServicer()))
    channel = open_channel(f"127.0.0.1:{first.port}", first.settings)
    try:
        stub = EchoStub(channel)
        await stub.say(text("x"), timeout=TIMEOUT, metadata=player("ada"))
        await first.drain()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.say(text("x"), timeout=TIMEOUT, metadata=player("ada"))
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        async with running_app(settings(port=first.port), build_echo(EchoServicer()), "game"):
            answer = await stub.say(text("y"), timeout=TIMEOUT, metadata=player("ada"), wait_for_ready=True)
            assert value_of(answer) == "y"
    finally:
        await close_channels(channel)
