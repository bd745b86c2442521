"""Where calls go through the edge: what is public, which replica, what services are told, and what a browser may."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import ssl
import sys
from typing import TYPE_CHECKING

import grpc
import grpc.aio
import pytest

from rami.ai.v1 import decision_service_pb2, decision_service_pb2_grpc
from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1 import game_service_pb2_grpc, match_room_service_pb2, match_room_service_pb2_grpc
from rami.matchmaking.v1 import player_service_pb2, player_service_pb2_grpc
from support.commands import names_in
from support.edge_process import Edge, FakeService, edge_environment, fake_services, running_edge
from support.grpc_web import call, request
from support.self_signed import self_signed
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "Bearer a-token-that-must-not-be-logged"
WATCH_ROOM = "/rami.game.v1.GameService/WatchRoom"
GET_PLAYER = "/rami.matchmaking.v1.PlayerService/GetPlayer"
LIST_ROOMS = "/rami.game.v1.GameService/ListRooms"


def raw(channel: grpc.aio.Channel, path: str) -> grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]:
    """A method that no contract names."""
    return channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)


async def test_only_what_players_may_call_is_reached_and_nothing_secret_is_logged() -> None:
    async with fake_services() as services, running_edge(services, ACCESS_LOG="all") as edge:
        async with grpc.aio.insecure_channel(edge.target) as channel:
            metadata = (("authorization", TOKEN), ("x-forwarded-for", "9.9.9.9, 8.8.8.8"))
            game, player = (
                game_service_pb2_grpc.GameServiceStub(channel),
                player_service_pb2_grpc.PlayerServiceStub(channel),
            )
            await game.ListRooms(pb.ListRoomsRequest(), timeout=30, metadata=metadata)
            await player.GetPlayer(player_service_pb2.GetPlayerRequest(), timeout=30)
            assert [path for path, _ in services[0].calls] == [
                LIST_ROOMS,
                "/rami.matchmaking.v1.PlayerService/GetPlayer",
            ]
            told = services[0].calls[0][1]
            assert told["authorization"] == TOKEN
            assert told["x-forwarded-for"] == "127.0.0.1", "what a client writes there is not passed on"

            rooms = match_room_service_pb2_grpc.MatchRoomServiceStub(channel)
            bots = decision_service_pb2_grpc.DecisionServiceStub(channel)
            for hidden in (
                rooms.CreateMatchRoom(match_room_service_pb2.CreateMatchRoomRequest(), timeout=30),
                bots.ListBots(decision_service_pb2.ListBotsRequest(), timeout=30),
                raw(channel, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")(b"", timeout=30),
                raw(channel, "/rami.game.v1.GameService%2fListRooms")(b"", timeout=30),
            ):
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await hidden
                assert caught.value.code() in (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.INTERNAL)
            assert len(services[0].calls) == 2
        assert await edge.end(signal.SIGTERM) == 0
    assert TOKEN.removeprefix("Bearer ") not in edge.log
    logged = [json.loads(line) for line in edge.log.splitlines() if line.startswith("{")]
    assert [entry["path"] for entry in logged][:2] == [path for path, _ in services[0].calls]
    assert {entry["address"] for entry in logged} == {"127.0.0.1"}


async def test_the_calls_of_a_room_go_to_one_replica_until_it_is_not_well() -> None:
    async with (
        fake_services(2) as services,
        running_edge(services) as edge,
        grpc.aio.insecure_channel(edge.target) as channel,
    ):
        first, second = services
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        for _ in range(3):
            for number in range(32):
                await stub.GetRoom(pb.GetRoomRequest(), timeout=30, metadata=(("rami-room-id", f"p0-{number}"),))
                stream = stub.WatchRoom(pb.WatchRoomRequest(), metadata=(("rami-room-id", f"p0-{number}"),))
                await stream.read()
                stream.cancel()
        assert not first.rooms() & second.rooms()
        assert min(len(first.rooms()), len(second.rooms())) > 4
        before = len(first.calls), len(second.calls)
        for _ in range(64):
            await stub.ListRooms(pb.ListRoomsRequest(), timeout=30)
        assert min(len(first.calls) - before[0], len(second.calls) - before[1]) > 8, "without a room they are spread"

        kept = set(second.rooms())
        moving = sorted(first.rooms())
        first.health.set_serving(False)

        async def moved() -> bool:
            await stub.GetRoom(pb.GetRoomRequest(), timeout=30, metadata=(("rami-room-id", moving[0]),))
            return moving[0] in second.rooms()

        async with asyncio.timeout(30):
            while not await moved():  # noqa: ASYNC110 - only a further call tells
                await asyncio.sleep(0.05)
        calls = len(first.calls)
        for room in (*moving, *kept):
            await stub.GetRoom(pb.GetRoomRequest(), timeout=30, metadata=(("rami-room-id", room),))
        assert len(first.calls) == calls
        assert second.rooms() >= kept | set(moving)

        # One that goes without a word costs no call: a connection that fails has brought nothing to anybody.
        first.health.set_serving(True)
        async with asyncio.timeout(30):
            while len(first.calls) == calls:
                await stub.GetRoom(pb.GetRoomRequest(), timeout=30, metadata=(("rami-room-id", moving[0]),))
                await asyncio.sleep(0.05)
        await second.stop()
        for room in (*moving, *kept):
            await stub.GetRoom(pb.GetRoomRequest(), timeout=30, metadata=(("rami-room-id", room),))
        assert first.rooms() >= kept | set(moving)


async def test_pages_of_allowed_origins_may_call_and_read_how_it_went() -> None:
    asked = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,x-grpc-web,rami-room-id",
    }
    async with fake_services() as services, running_edge(services, CORS_ORIGINS="https://play.example.com") as edge:
        async with request(
            edge.target, "OPTIONS", WATCH_ROOM, {"origin": "https://play.example.com", **asked}
        ) as allowed:
            assert allowed.status == 200
            assert allowed.headers["access-control-allow-origin"] == "https://play.example.com"
            assert "POST" in allowed.headers["access-control-allow-methods"]
            names = allowed.headers["access-control-allow-headers"].split(",")
            assert {"authorization", "content-type", "x-grpc-web", "rami-room-id", "grpc-timeout"} <= set(names)
        async with request(
            edge.target, "OPTIONS", WATCH_ROOM, {"origin": "https://evil.example.com", **asked}
        ) as not_allowed:
            assert "access-control-allow-origin" not in not_allowed.headers
        async with call(
            edge.target, LIST_ROOMS, pb.ListRoomsRequest(), origin="https://play.example.com", grpc_timeout="9S"
        ) as answer:
            assert answer.headers["access-control-allow-origin"] == "https://play.example.com"
            exposed = answer.headers["access-control-expose-headers"].split(",")
            assert {"grpc-status", "grpc-message", "grpc-status-details-bin"} <= set(exposed)
            assert await answer.message() == b""
            assert await answer.message() is None
            assert answer.trailers["grpc-status"] == "0"


async def test_files_are_served_beside_calls_and_nothing_else_is(tmp_path: Path) -> None:
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<h1>Rami</h1>")
    (folder / "assets" / "a b.js").write_text("let a = 1" * 10_000)
    (folder / ".hidden").write_text("secret")
    (tmp_path / "outside.txt").write_text("secret")
    async with fake_services() as services, running_edge(services, STATIC_FOLDER=str(folder)) as edge:
        expected = {
            "/": (200, "text/html; charset=utf-8"),
            "/index.html": (200, "text/html; charset=utf-8"),
            "/assets/a%20b.js": (200, "text/javascript; charset=utf-8"),
            "/.hidden": (404, None),
            "/../outside.txt": (404, None),
            "/assets/../../outside.txt": (404, None),
            "/%2e%2e/outside.txt": (404, None),
            "/assets": (404, None),
        }
        for path, (status, kind) in expected.items():
            async with request(edge.target, "GET", path, {}) as response:
                assert (response.status, response.headers.get("content-type")) == (status, kind), path
        async with request(edge.target, "POST", "/index.html", {}) as response:
            assert response.status == 404
        async with request(edge.target, "GET", "/healthz", {}) as response:
            assert response.status == 200
        async with grpc.aio.insecure_channel(edge.target) as channel:
            await game_service_pb2_grpc.GameServiceStub(channel).ListRooms(pb.ListRoomsRequest(), timeout=30)
        async with request(edge.metrics, "GET", "/metrics", {}) as response:
            assert response.status == 200
        for path in ("/config_dump", "/quitquitquit", "/stats"):
            async with request(edge.metrics, "POST", path, {}) as response:
                assert response.status == 404


async def test_tls_is_spoken_where_there_is_a_certificate(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path, "localhost")
    settings = {"TLS_CERT_FILE": str(certificate), "TLS_KEY_FILE": str(key)}
    async with fake_services() as services, running_edge(services, **settings) as edge:
        credentials = grpc.ssl_channel_credentials(certificate.read_bytes())
        options = [("grpc.ssl_target_name_override", "localhost")]
        async with grpc.aio.secure_channel(edge.target, credentials, options=options) as channel:
            await game_service_pb2_grpc.GameServiceStub(channel).ListRooms(pb.ListRoomsRequest(), timeout=30)
        host, _, port = edge.target.partition(":")
        context = ssl.create_default_context(cafile=str(certificate))
        context.set_alpn_protocols(["h2", "http/1.1"])
        _, writer = await asyncio.open_connection(host, int(port), ssl=context, server_hostname="localhost")
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2"
        writer.close()


async def test_draining_lets_open_calls_finish_and_a_second_signal_does_not_wait() -> None:
    async with fake_services() as services, running_edge(services, DRAIN_SECONDS="60") as edge:
        code = await _ended_while_a_call_waits(edge, services[0], finish=True)
        assert code == 0
    async with fake_services() as services, running_edge(services, DRAIN_SECONDS="60") as edge:
        code = await _ended_while_a_call_waits(edge, services[0], finish=False)
        assert code == 0


async def _ended_while_a_call_waits(edge: Edge, service: FakeService, *, finish: bool) -> int:
    """The exit code of an edge that is told to end while a call is open; told again unless the call may finish."""
    async with grpc.aio.insecure_channel(edge.target) as channel:
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        service.gate.clear()
        waiting = asyncio.ensure_future(stub.ListRooms(pb.ListRoomsRequest(), timeout=60))
        await eventually(lambda: service.waiting == 1, "the call has come")
        edge.process.send_signal(signal.SIGTERM)
        # Draining has begun once nobody is let in any more.
        async with asyncio.timeout(30):
            while await _health(edge) == 200:  # noqa: ASYNC110 - only a further request tells
                await asyncio.sleep(0.02)
        assert not waiting.done()
        if finish:
            service.gate.set()
            await waiting
            return await edge.end()
        code = await edge.end(signal.SIGTERM)
        with pytest.raises(grpc.aio.AioRpcError):
            await waiting
        return code


async def _health(edge: Edge) -> int:
    try:
        async with request(edge.target, "GET", "/healthz", {}) as response:
            return response.status
    except (OSError, IndexError):
        return 0  # it does not listen any more


@pytest.mark.parametrize("fault", ["certificate", "port"])
async def test_an_envoy_that_cannot_start_ends_the_edge_with_its_words(tmp_path: Path, fault: str) -> None:
    service = FakeService()
    service.address = "127.0.0.1:1"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        if fault == "certificate":
            wrong = {name: str(tmp_path / "missing.pem") for name in ("TLS_CERT_FILE", "TLS_KEY_FILE")}
        else:
            wrong = {"PORT": str(taken.getsockname()[1])}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "rami_cli.edge_process"),
            env={**edge_environment([service], **wrong), "TMPDIR": str(tmp_path)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate()
    assert (process.returncode, output) == (1, b"")
    assert {"certificate": "missing.pem", "port": "Address already in use"}[fault] in errors.decode()
    assert "Envoy ended with exit code 1 before it was ready" in errors.decode()
    assert names_in(tmp_path) == []
