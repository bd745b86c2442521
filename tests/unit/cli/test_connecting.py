"""Where a cluster is, as it is typed: targets as they stand, URLs as edges."""

from __future__ import annotations

import pytest
import typer

from rami_cli.connecting import Home, connect
from rami_client import Client


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What `Client.connect` was last asked for."""
    seen: dict[str, object] = {}
    monkeypatch.setattr(Client, "connect", seen.update)
    return seen


@pytest.mark.parametrize(
    ("typed", "target", "secure"),
    [
        ("https://play.example.com", "play.example.com:443", True),
        ("https://play.example.com:8443/", "play.example.com:8443", True),
        ("HTTPS://Play.example.com", "play.example.com:443", True),
        ("http://127.0.0.1:7000", "127.0.0.1:7000", False),
        ("http://localhost", "localhost:80", False),
        ("https://[::1]:7000", "[::1]:7000", True),
    ],
)
def test_a_url_is_an_edge_that_serves_everything(
    asked: dict[str, object], typed: str, target: str, secure: bool
) -> None:
    connect(Home(typed, "127.0.0.1:7003"))
    assert (asked["game"], asked["matchmaking"], asked["credentials"] is not None) == (target, None, secure)


@pytest.mark.parametrize("typed", ["127.0.0.1:7001", "dns:///game.example.com:7001", "unix:/run/rami", "game"])
def test_a_target_is_taken_as_it_stands(asked: dict[str, object], typed: str) -> None:
    connect(Home(typed, "127.0.0.1:7003"), token="t", languages="cs")
    assert (asked["game"], asked["matchmaking"], asked["credentials"]) == (typed, "127.0.0.1:7003", None)
    assert (asked["token"], asked["languages"]) == ("t", "cs")


@pytest.mark.parametrize(
    "typed",
    [
        "https://",
        "https://host/table",
        "https://host?room=1",
        "https://host:port",
        "https://me@host",
        "http://host:99999",
    ],
)
def test_what_is_no_address_of_an_edge_is_refused(asked: dict[str, object], typed: str) -> None:
    with pytest.raises(typer.BadParameter):
        connect(Home(typed, ""))
    assert asked == {}
