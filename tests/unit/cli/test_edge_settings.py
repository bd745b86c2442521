from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from rami_cli.edge_config import routes
from rami_cli.edge_files import MAX_FILE_BYTES, FilesError, file_routes
from rami_cli.edge_process import run_edge
from rami_cli.edge_settings import EdgeSettingsError, Endpoint, load_edge_settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("RAMI_"):
            monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"PORT": "70000"}, "RAMI_EDGE_PORT: "),
        ({"GAME_ADDRESSES": "game"}, "RAMI_EDGE_GAME_ADDRESSES: must be host:port"),
        ({"GAME_ADDRESSES": "game:7001,:7002"}, "RAMI_EDGE_GAME_ADDRESSES: must be host:port"),
        ({"MATCHMAKING_ADDRESSES": "a:0"}, "RAMI_EDGE_MATCHMAKING_ADDRESSES: must be host:port"),
        ({"CORS_ORIGINS": "play.example.com"}, "RAMI_EDGE_CORS_ORIGINS: must be * or origins"),
        ({"CORS_ORIGINS": "https://play.example.com/page"}, "RAMI_EDGE_CORS_ORIGINS: must be * or origins"),
        ({"TLS_CERT_FILE": "cert.pem"}, "RAMI_EDGE_TLS_CERT_FILE and RAMI_EDGE_TLS_KEY_FILE go together"),
        ({"UPSTREAM_KEY_FILE": "key.pem"}, "RAMI_EDGE_UPSTREAM_CERT_FILE and RAMI_EDGE_UPSTREAM_KEY_FILE"),
        ({"UPSTREAM_CERT_FILE": "a", "UPSTREAM_KEY_FILE": "b"}, "RAMI_EDGE_UPSTREAM_CERT_FILE needs"),
        ({"ACCESS_LOG": "some"}, "RAMI_EDGE_ACCESS_LOG: "),
    ],
)
def test_wrong_settings_are_named(
    settings: dict[str, str], complaint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(f"RAMI_EDGE_{name}", value)
    with pytest.raises(EdgeSettingsError, match="RAMI_EDGE_") as caught:
        load_edge_settings()
    assert complaint in str(caught.value)
    assert run_edge() == 2
    assert capsys.readouterr().err == f"edge: bad settings: {caught.value}\n"


def test_addresses_and_origins_are_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAMI_EDGE_GAME_ADDRESSES", "game:7001, [fd00::1]:7002,10.0.0.1:1")
    monkeypatch.setenv("RAMI_EDGE_CORS_ORIGINS", "https://a.example, http://localhost:5173")
    settings = load_edge_settings()
    assert settings.game_addresses == (Endpoint("game", 7001), Endpoint("fd00::1", 7002), Endpoint("10.0.0.1", 1))
    assert settings.cors_origins == ("https://a.example", "http://localhost:5173")


def test_files_keep_their_absolute_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAMI_EDGE_TLS_CERT_FILE", "cert.pem")
    monkeypatch.setenv("RAMI_EDGE_TLS_KEY_FILE", "/keys/key.pem")
    monkeypatch.setenv("RAMI_EDGE_STATIC_FOLDER", "dist")
    settings = load_edge_settings().resolved()
    assert settings.tls_cert_file == str(tmp_path / "cert.pem")
    assert settings.tls_key_file == "/keys/key.pem"
    assert settings.static_folder == tmp_path / "dist"
    assert settings.upstream_ca_file is None


def test_streams_are_routed_apart_from_calls_and_nothing_internal_is_routed() -> None:
    found = routes(load_edge_settings())
    clusters = {
        route["match"].get("path") or route["match"]["prefix"]: route["route"]["cluster"]
        for route in found
        if "route" in route
    }
    assert clusters == {
        "/rami.game.v1.GameService/WatchRoom": "game_streams",
        "/rami.game.v1.GameService/Play": "game_streams",
        "/rami.game.v1.GameService/": "game_calls",
        "/rami.game.v1.RuleSheetService/": "game_calls",
        "/grpc.health.v1.Health/Watch": "game_streams",
        "/grpc.health.v1.Health/": "game_calls",
        "/rami.matchmaking.v1.MatchmakingService/WatchTicket": "matchmaking_streams",
        "/rami.matchmaking.v1.MatchmakingService/": "matchmaking_calls",
        "/rami.matchmaking.v1.PlayerService/": "matchmaking_calls",
    }
    assert found[-1] == {"match": {"prefix": "/"}, "direct_response": {"status": 404}}


def test_folders_that_a_proxy_should_not_hold_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAMI_EDGE_STATIC_FOLDER", str(tmp_path / "missing"))
    assert run_edge(print_config=True) == 2
    assert "RAMI_EDGE_STATIC_FOLDER: no such folder" in capsys.readouterr().err
    with (tmp_path / "large.bin").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(FilesError, match=r"large\.bin has more than 8 MiB"):
        file_routes(tmp_path)
    (tmp_path / "large.bin").unlink()
    for number in range(1001):
        (tmp_path / f"{number}.txt").touch()
    with pytest.raises(FilesError, match="more than 1000 files"):
        file_routes(tmp_path)
