"""A service as a process: what it prints, how it ends, and with which exit code."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import urllib.request
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2

from rami_kit.errors import from_rpc_error, reasons
from rami_kit.testing import JWT_SECRET, SERVICE_SECRET, player
from support.echo import SERVICE, EchoStub, text, value_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TESTS = Path(__file__).resolve().parents[2]
WAIT_SECONDS = 60.0
ENVIRONMENT = {
    "RAMI_HOST": "127.0.0.1",
    "RAMI_PORT": "0",
    "RAMI_METRICS_PORT": "0",
    "RAMI_JWT_SECRET": JWT_SECRET,
    "RAMI_SERVICE_SECRET": SERVICE_SECRET,
    "RAMI_DRAIN_GRACE_SECONDS": "60",
    "PYTHONPATH": str(TESTS),
}


async def begin(*arguments: str, **environment: str) -> Process:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("RAMI_")}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "support.echo_service",
        *arguments,
        env=inherited | ENVIRONMENT | environment,
        stdout=PIPE,
        stderr=PIPE,
    )


async def ended(process: Process) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a process that ends by itself."""
    async with asyncio.timeout(WAIT_SECONDS):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


class Running:
    """A process that serves."""

    def __init__(self, process: Process, line: dict[str, Any], channel: grpc.aio.Channel) -> None:
        self.process = process
        self.line = line
        self.stub = EchoStub(channel)
        self._begun = f'rami_grpc_started_total{{method="{SERVICE}/Say"}} 1.0'
        self._watch: Any = channel.unary_stream(
            "/grpc.health.v1.Health/Watch",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )

    def watch_health(self, service: str = "") -> Any:
        return self._watch(health_pb2.HealthCheckRequest(service=service))

    async def page(self) -> str:
        """Its metrics."""
        url = f"http://127.0.0.1:{self.line['metrics_port']}/metrics"
        return await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=WAIT_SECONDS).read().decode())

    async def half_way(self) -> None:
        """Returns when its one call of Say has begun."""
        async with asyncio.timeout(WAIT_SECONDS):
            while self._begun not in await self.page():  # noqa: ASYNC110 - the page of another process has no event
                await asyncio.sleep(0.01)

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(number)


@contextlib.asynccontextmanager
async def running(**environment: str) -> AsyncIterator[Running]:
    process = await begin(**environment)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            line = json.loads(await process.stdout.readline())
        async with grpc.aio.insecure_channel(f"127.0.0.1:{line['port']}") as channel:
            yield Running(process, line, channel)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


def error_of(code: int, err: str) -> str:
    """The one line of stderr that says why a process did not start."""
    assert code in {1, 2}
    assert "Traceback" not in err
    lines = [line for line in err.splitlines() if line.startswith("game: ")]
    assert len(lines) == 1, err
    return lines[0]


async def test_one_line_on_stdout_and_json_on_stderr() -> None:
    async with running(RAMI_MODE="development") as service:
        assert set(service.line) == {"service", "port", "metrics_port"}
        assert service.line["service"] == "game"
        answer = await service.stub.say(text("hi"), timeout=WAIT_SECONDS, metadata=player("ada"))
        assert value_of(answer) == "hi"
        assert f'rami_grpc_handled_total{{code="OK",method="{SERVICE}/Say"}} 1.0' in await service.page()
        service.end()
        code, out, err = await ended(service.process)
        assert (code, out) == (0, "")
        records = [json.loads(line) for line in err.splitlines()]
        assert {record["service"] for record in records} == {"game"}
        assert all(record["time"].endswith("+00:00") and record["level"] for record in records)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_g6_a_drain_says_not_serving_first_and_lets_calls_finish(number: signal.Signals) -> None:
    async with running() as service:
        health = service.watch_health(SERVICE)
        assert (await health.read()).status == health_pb2.HealthCheckResponse.SERVING
        stream = service.stub.count(text("x"), metadata=player("ada"))
        assert value_of(await stream.read()) == "x"  # type: ignore[arg-type]  # a message, not the end
        slow = service.stub.say(text("slow"), timeout=WAIT_SECONDS, metadata=player("ada"))
        await service.half_way()
        service.end(number)
        assert (await health.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stream.read()
        peer = from_rpc_error(caught.value)
        assert (peer.code, peer.reason) == (grpc.StatusCode.UNAVAILABLE, reasons.ERROR_REASON_SHUTTING_DOWN)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await health.read()
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert value_of(await slow) == "slow"
        code, _, err = await ended(service.process)
        assert code == 0
        assert "did not end in time" not in err


async def test_a_drain_ends_in_time_whoever_is_stuck() -> None:
    async with running(RAMI_DRAIN_GRACE_SECONDS="1.5", ECHO_STUCK_CLOSER="1") as service:
        stream = service.stub.count(text("stuck"), metadata=player("ada"))
        assert value_of(await stream.read()) == "stuck"  # type: ignore[arg-type]  # a message, not the end
        stuck = service.stub.say(text("stuck"), timeout=WAIT_SECONDS, metadata=player("ada"))
        await service.half_way()
        service.end()
        for call in (stuck, stream.read()):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        code, _, err = await ended(service.process)
        assert code == 0
        assert "closers did not end in time" in err
        assert "handlers did not end in time" not in err


async def test_a_drain_does_not_wait_for_clients_that_read_nothing() -> None:
    async with running(RAMI_DRAIN_GRACE_SECONDS="600") as service:
        flooded = [service.stub.count(text("flood"), metadata=player("ada")) for _ in range(3)]
        for stream in flooded:
            assert value_of(await stream.read()) == "flood"  # type: ignore[arg-type]  # a message, not the end
        reading = service.stub.count(text("x"), metadata=player("ada"))
        assert value_of(await reading.read()) == "x"  # type: ignore[arg-type]  # a message, not the end
        slow = service.stub.say(text("slow"), timeout=WAIT_SECONDS, metadata=player("ada"))
        await service.half_way()
        await asyncio.sleep(0.2)  # the streams get full
        service.end()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await reading.read()
        assert from_rpc_error(caught.value).reason == reasons.ERROR_REASON_SHUTTING_DOWN
        assert value_of(await slow) == "slow"
        code, _, err = await ended(service.process)
        assert code == 0
        assert "did not end in time" not in err


async def test_a_second_signal_forces_the_end() -> None:
    async with running(RAMI_DRAIN_GRACE_SECONDS="60") as service:
        stream = service.stub.count(text("stuck"), metadata=player("ada"))
        assert value_of(await stream.read()) == "stuck"  # type: ignore[arg-type]  # a message, not the end
        health = service.watch_health()
        await health.read()
        service.end()
        assert (await health.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        service.end()
        code, _, err = await ended(service.process)
        assert code == 1
        assert "forced to end" in err


@pytest.mark.parametrize(("setting", "other"), [("RAMI_PORT", "RAMI_METRICS_PORT"), ("RAMI_METRICS_PORT", "RAMI_PORT")])
async def test_a_taken_port_is_one_clear_line(setting: str, other: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, out, err = await ended(await begin(**{setting: str(port), other: "0"}))
    assert (code, out) == (1, "")
    line = error_of(code, err)
    assert f"127.0.0.1:{port}" in line
    assert setting in line
    assert "in use" in line


async def test_two_processes_never_share_a_port() -> None:
    async with running() as first:
        code, _, err = await ended(await begin(RAMI_PORT=str(first.line["port"])))
        assert code == 1
        assert "in use" in error_of(code, err)


async def test_a_bad_setting_is_one_clear_line() -> None:
    code, out, err = await ended(await begin(RAMI_PORT="many", RAMI_JWT_SECRET="short-secret"))
    assert (code, out) == (2, "")
    line = error_of(code, err)
    assert "RAMI_PORT" in line
    assert "RAMI_JWT_SECRET" in line
    assert "short-secret" not in err


async def test_settings_are_printed_without_secrets() -> None:
    code, out, err = await ended(await begin("--print-settings", RAMI_REDIS_URL="redis://:hidden@localhost"))
    assert code == 0, err
    rows = {row["env"]: row for row in json.loads(out)}
    assert rows["RAMI_HOST"]["value"] == "127.0.0.1"
    assert rows["RAMI_REDIS_URL"]["value"] == rows["RAMI_JWT_SECRET"]["value"] == "(set)"
    assert all(row["description"] and row["type"] for row in rows.values())
    assert JWT_SECRET not in out
    assert "hidden" not in out


async def test_a_store_that_is_away_is_no_crash() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        async with running(ECHO_STORE="1", RAMI_REDIS_URL=f"redis://127.0.0.1:{port}") as service:
            health = service.watch_health()
            assert (await health.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
            service.end()
            code, _, _ = await ended(service.process)
            assert code == 0
