from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ai_decision.config import AiSettings
from game_state.config import GameSettings
from matchmaking.config import MatchmakingSettings
from rami_cli.edge_settings import EdgeSettings
from rami_kit.resp import Address
from rami_kit.settings import (
    DEVELOPMENT_JWT_SECRET,
    DEVELOPMENT_SERVICE_SECRET,
    ServiceSettings,
    SettingsError,
    describe_settings,
    load_settings,
    settings_values,
)

SECRET_A = "a" * 32
SECRET_B = "b" * 32


class Storeless(ServiceSettings):
    needs_store = False


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ServiceSettings.model_fields:
        monkeypatch.delenv(f"RAMI_{name.upper()}", raising=False)


def load(monkeypatch: pytest.MonkeyPatch, cls: type[ServiceSettings], **values: str) -> ServiceSettings:
    for name, value in values.items():
        monkeypatch.setenv(f"RAMI_{name.upper()}", value)
    return load_settings(cls)


def complaint(monkeypatch: pytest.MonkeyPatch, cls: type[ServiceSettings], **values: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(monkeypatch, cls, **values)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_production_needs_secrets_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "RAMI_JWT_SECRET" in complaint(monkeypatch, Storeless)
    assert "RAMI_SERVICE_SECRET" in complaint(monkeypatch, Storeless, jwt_secret=SECRET_A)
    assert load(monkeypatch, Storeless, jwt_secret=SECRET_A, service_secret=SECRET_B).mode == "production"


@pytest.mark.parametrize(
    "secrets",
    [
        {"jwt_secret": DEVELOPMENT_JWT_SECRET, "service_secret": SECRET_B},
        {"jwt_secret": SECRET_A, "service_secret": DEVELOPMENT_SERVICE_SECRET},
        {"jwt_secret": DEVELOPMENT_SERVICE_SECRET, "service_secret": SECRET_B},
    ],
)
def test_production_refuses_the_built_in_secrets(monkeypatch: pytest.MonkeyPatch, secrets: dict[str, str]) -> None:
    assert "built-in" in complaint(monkeypatch, Storeless, **secrets)


def test_development_has_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(monkeypatch, Storeless, mode="development")
    assert settings.uses_built_in_secret
    assert settings.jwt_secret is not None
    own = load(monkeypatch, Storeless, mode="development", jwt_secret=SECRET_A, service_secret=SECRET_B)
    assert not own.uses_built_in_secret


def test_a_key_file_needs_no_secret_even_in_development(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(monkeypatch, Storeless, mode="development", jwt_jwks_file="/keys.json")
    assert settings.jwt_secret is None


def test_players_and_services_have_different_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "differ" in complaint(monkeypatch, Storeless, jwt_secret=SECRET_A, service_secret=SECRET_A)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"port": "70000"}, "RAMI_PORT"),
        ({"port": "secret-words"}, "RAMI_PORT"),
        ({"mode": "secret-words"}, "RAMI_MODE"),
        ({"jwt_secret": "secret-words"}, "RAMI_JWT_SECRET"),
        ({"service_secret": "secret-words"}, "RAMI_SERVICE_SECRET"),
        ({"redis_url": "secret-words"}, "RAMI_REDIS_URL"),
        ({"redis_url": "redis://:secret-words@host:port"}, "RAMI_REDIS_URL"),
        ({"redis_url": "redis://h/0?timeout=secret-words"}, "RAMI_REDIS_URL"),
        ({"durability": "secret-words"}, "RAMI_DURABILITY"),
        ({"partitions": "0"}, "RAMI_PARTITIONS"),
        ({"partitions": "1025"}, "RAMI_PARTITIONS"),
        ({"redis_pool_size": "0"}, "RAMI_REDIS_POOL_SIZE"),
        ({"redis_timeout_seconds": "0"}, "RAMI_REDIS_TIMEOUT_SECONDS"),
        ({"jwt_issuer": "rami"}, "RAMI_JWT_ISSUER"),
        ({"tls_cert_file": "/c"}, "RAMI_TLS_CERT_FILE"),
        ({"tls_client_ca_file": "/c"}, "RAMI_TLS_CLIENT_CA_FILE"),
        ({"log_level": "secret-words"}, "RAMI_LOG_LEVEL"),
        ({"trusted_proxies": "10.0.0.0/8,secret-words"}, "RAMI_TRUSTED_PROXIES"),
        ({"trusted_proxies": "10.0.0.1/8"}, "RAMI_TRUSTED_PROXIES"),
        ({"rate_per_player": "-1"}, "RAMI_RATE_PER_PLAYER"),
        ({"rate_per_player": "nan"}, "RAMI_RATE_PER_PLAYER"),
        ({"rate_per_address_burst": "0"}, "RAMI_RATE_PER_ADDRESS_BURST"),
        ({"max_deadline_seconds": "0"}, "RAMI_MAX_DEADLINE_SECONDS"),
    ],
    ids=str,
)
def test_a_bad_value_is_named_and_never_repeated(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, str], expected: str
) -> None:
    good = {"jwt_secret": SECRET_A, "service_secret": SECRET_B}
    text = complaint(monkeypatch, Storeless, **(good | values))
    assert expected in text
    assert "secret-words" not in text


def test_trusted_proxies_are_addresses_and_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(monkeypatch, Storeless, mode="development", trusted_proxies="10.0.0.7, fd00::/8")
    assert [str(network) for network in settings.trusted_networks] == ["10.0.0.7/32", "fd00::/8"]
    assert load(monkeypatch, Storeless, mode="development", trusted_proxies="").trusted_networks == ()


def test_every_bad_value_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = complaint(monkeypatch, Storeless, port="x", partitions="x")
    assert "RAMI_PORT" in text
    assert "RAMI_PARTITIONS" in text


def test_a_service_with_state_needs_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "RAMI_REDIS_URL" in complaint(monkeypatch, ServiceSettings, mode="development")
    load(monkeypatch, ServiceSettings, mode="development", redis_url="redis://localhost")


def test_settings_do_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(monkeypatch, Storeless, mode="development")
    with pytest.raises(ValueError, match="frozen"):
        settings.port = 1


def test_values_and_repr_show_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(
        monkeypatch,
        Storeless,
        jwt_secret=SECRET_A,
        service_secret=SECRET_B,
        redis_url="redis://:hidden-password@localhost/3",
    )
    shown = json.dumps(settings_values(settings)) + repr(settings) + str(settings)
    for secret in (SECRET_A, SECRET_B, "hidden-password"):
        assert secret not in shown
    assert settings_values(settings)["RAMI_JWT_SECRET"] == "(set)"


def test_every_setting_is_described_and_no_secret_shown() -> None:
    rows = describe_settings(ServiceSettings)
    assert len(rows) == len(ServiceSettings.model_fields)
    assert all(row.description and row.env.startswith("RAMI_") and row.type for row in rows)
    by_env = {row.env: row for row in rows}
    assert by_env["RAMI_JWT_SECRET"].type == "secret"
    assert by_env["RAMI_MODE"].type == "production or development"
    assert by_env["RAMI_REDIS_POOL_SIZE"] == ("RAMI_REDIS_POOL_SIZE", "int", "20", by_env["RAMI_REDIS_POOL_SIZE"][3])
    assert DEVELOPMENT_JWT_SECRET not in str(rows)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://localhost", Address("localhost")),
        ("redis://h:6380/2", Address("h", 6380, database=2)),
        ("redis://:p%40ss@h", Address("h", password="p@ss")),
        ("rediss://u:p@h:1/0", Address("h", 1, username="u", password="p", tls=True)),
        ("redis://[::1]:6379", Address("::1")),
        ("unix:///run/store.sock", Address(path="/run/store.sock")),
        ("unix://:pw@/run/s?db=3", Address(path="/run/s", password="pw", database=3)),
    ],
)
def test_store_addresses(url: str, expected: Address) -> None:
    assert Address.parse(url) == expected
    assert "pw" not in repr(Address.parse(url))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "h",
        "http://h",
        "redis://",
        "redis://h/x",
        "redis://h/-1",
        "redis://h:99999",
        "unix://",
        "unix:///s?db=x",
        "unix:///s?a=b",
    ],
)
def test_wrong_store_addresses(url: str) -> None:
    with pytest.raises(ValueError, match=r"^(must|is|names)"):
        Address.parse(url)


def test_a_subclass_adds_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(Storeless):
        port: int = 7001
        guests_allowed: bool = False

    settings: Any = load(monkeypatch, Own, mode="development", guests_allowed="true")
    assert (settings.port, settings.guests_allowed) == (7001, True)
    assert "RAMI_GUESTS_ALLOWED" in {row.env for row in describe_settings(Own)}


def test_every_setting_is_read_by_something() -> None:
    root = Path(__file__).parents[3]
    sources = [path.read_text() for folder in ("libs", "services") for path in (root / folder).glob("*/*.py")]
    read = {name for source in sources for name in re.findall(r"\.([a-z0-9_]+)\b", source)}
    for settings in (GameSettings, AiSettings, MatchmakingSettings, EdgeSettings):
        assert settings.model_fields.keys() <= read, settings.__name__
