"""What keeps a service from starting: one line that names the setting, and exit code 2."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from rami_kit.app import App, main
from rami_kit.settings import ServiceSettings, SettingsError
from rami_kit.testing import JWT_SECRET, SERVICE_SECRET

if TYPE_CHECKING:
    from collections.abc import Iterator


class Storeless(ServiceSettings):
    needs_store = False


async def nothing(_app: App) -> None:
    """A service without servicers."""


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ServiceSettings.model_fields:
        monkeypatch.delenv(f"RAMI_{name.upper()}", raising=False)
    monkeypatch.setenv("RAMI_HOST", "127.0.0.1")
    monkeypatch.setenv("RAMI_JWT_SECRET", JWT_SECRET)
    monkeypatch.setenv("RAMI_SERVICE_SECRET", SERVICE_SECRET)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.parametrize(
    ("environment", "names"),
    [
        ({"RAMI_PORT": "many"}, "RAMI_PORT"),
        ({"RAMI_JWT_SECRET": "short-secret"}, "RAMI_JWT_SECRET"),
        ({"RAMI_JWT_SECRET": ""}, "RAMI_JWT_SECRET"),
        ({"RAMI_JWT_JWKS_FILE": "/nowhere.json"}, "RAMI_JWT_JWKS_FILE"),
        ({"RAMI_TLS_CERT_FILE": "/nowhere", "RAMI_TLS_KEY_FILE": "/nowhere"}, "RAMI_TLS_CERT_FILE"),
        ({"RAMI_REDIS_URL": "nonsense"}, "RAMI_REDIS_URL"),
    ],
    ids=str,
)
def test_a_bad_setting_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    environment: dict[str, str],
    names: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main(Storeless, nothing, "game", []) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("game: bad settings: ")
    assert err.count("\n") == 1
    assert names in err
    assert "short-secret" not in err
    assert "nonsense" not in err


def test_a_store_that_is_wanted_and_not_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ServiceSettings, nothing, "game", []) == 2
    assert "RAMI_REDIS_URL" in capsys.readouterr().err


def test_a_store_that_cannot_keep_the_promise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], store_url: str
) -> None:
    monkeypatch.setenv("RAMI_REDIS_URL", store_url)
    monkeypatch.setenv("RAMI_DURABILITY", "fsync")
    assert main(ServiceSettings, nothing, "game", []) == 2
    assert "RAMI_DURABILITY" in capsys.readouterr().err


def test_an_address_that_is_not_ours(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for host in ("192.0.2.1", "no.such.host.invalid"):
        monkeypatch.setenv("RAMI_HOST", host)
        assert main(Storeless, nothing, "game", []) == 1
        line = capsys.readouterr().err.splitlines()[-1]
        assert line.startswith(f"game: cannot listen on {host}:0 (RAMI_HOST, RAMI_PORT): ")


def test_a_service_may_refuse_what_only_it_knows(capsys: pytest.CaptureFixture[str]) -> None:
    async def build(_app: App) -> None:
        raise SettingsError("RAMI_GAME_ADDRESS: names this very service")

    assert main(Storeless, build, "game", []) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "game: bad settings: RAMI_GAME_ADDRESS: names this very service"
