"""The whole cluster behind certificates: services that show theirs to each other, and strangers who have none."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import grpc.aio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import ai_decision.service
import game_state.service
import matchmaking.service
from ai_decision.config import AiSettings
from game_state.config import GameSettings
from matchmaking.config import MatchmakingSettings
from rami.game.v1 import game_service_pb2 as pb
from rami_kit import probe
from rami_kit.testing import make_settings, running_app
from support.game_cluster import Player, room_options
from support.game_streams import PlayStream, Watch
from support.queueing import QUICK, Client
from support.queueing import Player as Queuer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from rami_kit.app import App

SOON = dt.timedelta(hours=1)


class Authority:
    """A test CA in a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = self._signed(self._name, self._key.public_key(), authority=True)
        self.file = self._write(f"{name}.pem", self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str) -> Files:
        """A certificate and key for a service, or a client, at loopback."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._signed(subject, key.public_key(), authority=False)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return Files(
            self._write(f"{name}.pem", certificate.public_bytes(serialization.Encoding.PEM)),
            self._write(f"{name}.key", private),
        )

    def _signed(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, authority: bool) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - SOON)
            .not_valid_after(now + SOON)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if not authority:
            address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
            builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def _write(self, name: str, content: bytes) -> Path:
        path = self._folder / name
        path.write_bytes(content)
        return path


class Files(NamedTuple):
    """A certificate and its key."""

    certificate: Path
    key: Path


@asynccontextmanager
async def secured(
    store_url: str, authority: Authority, *names: str, mutual: bool = True
) -> AsyncIterator[dict[str, App]]:
    """The services of these names, all by default, each with a certificate of its own."""
    async with AsyncExitStack() as stack:
        apps: dict[str, App] = {}
        for name, build, kind, url in (
            ("ai", ai_decision.service.build, AiSettings, None),
            ("game", game_state.service.build, GameSettings, store_url),
            ("matchmaking", matchmaking.service.build, MatchmakingSettings, store_url),
        ):
            if names and name not in names:
                continue
            files = authority.issue(name)
            values: dict[str, Any] = dict(QUICK) if name == "matchmaking" else {}
            values |= {f"{callee}_address": f"127.0.0.1:{app.port}" for callee, app in apps.items()}
            values |= {"tls_cert_file": str(files.certificate), "tls_key_file": str(files.key)}
            values["tls_ca_file"] = str(authority.file)
            if mutual:
                values["tls_client_ca_file"] = str(authority.file)
            settings = make_settings(kind, url, **({"redis_timeout_seconds": 30.0} | values))
            apps[name] = await stack.enter_async_context(running_app(settings, build, name))
        yield apps


@asynccontextmanager
async def connected(app: App, trusted: Authority | None, own: Files | None = None) -> AsyncIterator[grpc.aio.Channel]:
    """A client that trusts an authority, without one speaks plain text, and shows a certificate if it has one."""
    target = f"127.0.0.1:{app.port}"
    if trusted is None:
        channel = grpc.aio.insecure_channel(target)
    else:
        key, chain = (own.key.read_bytes(), own.certificate.read_bytes()) if own else (None, None)
        credentials = grpc.ssl_channel_credentials(trusted.file.read_bytes(), key, chain)
        channel = grpc.aio.secure_channel(target, credentials)
    async with channel:
        yield channel


async def list_rooms(channel: grpc.aio.Channel) -> grpc.StatusCode:
    """How a call of a player with a good token ends."""
    ann = Player("ann", channel)
    try:
        await ann.call(ann.stub.ListRooms, pb.ListRoomsRequest())
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "rami-test-ca")


async def test_a_cluster_plays_over_mutual_tls(store_url: str, authority: Authority) -> None:
    own = authority.issue("a-client")
    async with (
        secured(store_url, authority) as apps,
        connected(apps["game"], authority, own) as tables,
        connected(apps["matchmaking"], authority, own) as lobby,
    ):
        # Matchmaking calls game for the room, and game calls AI for the bot that fills it.
        ticket = await Queuer("ann").play(Client(lobby), (2,), bots_allowed=True)
        room_id = ticket.assignment.room_id
        assert room_id
        ann = Player("ann", tables)
        await ann.bring(room_id, b"entropy")
        async with PlayStream(ann, room_id) as play:
            await play.until(lambda: bool(play.mirror.room.commitment) and play.mirror.room.HasField("turn"))

        both = await ann.create(room_options(2, target=50), {0: "easy", 1: "hard"}, observe=True)
        async with Watch(ann, both.room_id) as watch:
            await ann.start(both.room_id)
            await watch.until(lambda: watch.version > both.version + 20)
        decisions = [
            sample
            for family in apps["ai"].metrics.registry.collect()
            for sample in family.samples
            if sample.name == "rami_ai_decisions_total" and sample.labels["outcome"] == "ok"
        ]
        assert sum(sample.value for sample in decisions) >= 10, "bots were asked, and answered"


async def test_strangers_without_the_right_certificate_do_not_even_connect(
    store_url: str, authority: Authority, tmp_path: Path
) -> None:
    (tmp_path / "foreign").mkdir()
    foreign = Authority(tmp_path / "foreign", "another-ca")
    async with secured(store_url, authority, "game", "matchmaking") as apps:
        for app in apps.values():
            async with connected(app, authority) as channel:
                assert await list_rooms(channel) is grpc.StatusCode.UNAVAILABLE, "no certificate"
            async with connected(app, authority, foreign.issue("stranger")) as channel:
                assert await list_rooms(channel) is grpc.StatusCode.UNAVAILABLE, "somebody else's certificate"
            async with connected(app, foreign, authority.issue("client")) as channel:
                assert await list_rooms(channel) is grpc.StatusCode.UNAVAILABLE, "a service nobody vouches for"
            async with connected(app, None) as channel:
                assert await list_rooms(channel) is grpc.StatusCode.UNAVAILABLE, "plain text"
        async with connected(apps["game"], authority, authority.issue("friend")) as channel:
            assert await list_rooms(channel) is grpc.StatusCode.OK
        assert all(app.interceptor.running == 0 for app in apps.values())


async def test_with_tls_alone_clients_need_no_certificate(store_url: str, authority: Authority) -> None:
    async with secured(store_url, authority, "game", mutual=False) as apps:
        async with connected(apps["game"], authority) as channel:
            assert await list_rooms(channel) is grpc.StatusCode.OK
        async with connected(apps["game"], None) as channel:
            assert await list_rooms(channel) is grpc.StatusCode.UNAVAILABLE


async def test_a_probe_asks_as_the_services_do(
    store_url: str, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "TIMEOUT_SECONDS", 60.0)
    own = authority.issue("probe")
    async with secured(store_url, authority, "game") as apps:
        told = {"RAMI_PORT": str(apps["game"].port), "RAMI_TLS_CA_FILE": str(authority.file)}
        shown = told | {"RAMI_TLS_CERT_FILE": str(own.certificate), "RAMI_TLS_KEY_FILE": str(own.key)}
        assert await asyncio.to_thread(probe.main, [], shown) == probe.SERVING
        assert await asyncio.to_thread(probe.main, [], told) == probe.NOT_SERVING, "no certificate"
        other = shown | {"RAMI_PROBE_NAME": "somebody.else"}
        assert await asyncio.to_thread(probe.main, [], other) == probe.NOT_SERVING, "a certificate for another name"
        assert await asyncio.to_thread(probe.main, [], {"RAMI_PORT": told["RAMI_PORT"]}) == probe.NOT_SERVING
        gone = shown | {"RAMI_TLS_CA_FILE": str(tmp_path / "none.pem")}
        assert await asyncio.to_thread(probe.main, [], gone) == probe.BAD_USAGE
