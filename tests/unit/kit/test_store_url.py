"""What RAMI_REDIS_URL may say, and that a wrong one is told apart without being repeated."""

from __future__ import annotations

import pytest

from rami_kit.settings import ServiceSettings, SettingsError, load_settings
from rami_kit.store_url import StoreUrl, Topology


def test_one_server() -> None:
    url = StoreUrl.parse("redis://:secret@store:7000/2")
    assert (url.topology, url.service) == (Topology.SINGLE, "")
    assert [(one.host, one.port, one.database) for one in url.addresses] == [("store", 7000, 2)]
    assert StoreUrl.parse("unix:///run/store.sock").topology is Topology.SINGLE


def test_sentinels() -> None:
    url = StoreUrl.parse("redis+sentinel://us%40er:pa%3Ass@one:26000,two,[::1]:26001/my-service/3")
    assert (url.topology, url.service) == (Topology.SENTINEL, "my-service")
    assert [(one.host, one.port) for one in url.addresses] == [("one", 26000), ("two", 26379), ("::1", 26001)]
    assert {(one.username, one.password, one.database, one.tls) for one in url.addresses} == {
        ("us@er", "pa:ss", 3, False)
    }
    assert "pa:ss" not in repr(url)
    assert StoreUrl.parse("rediss+sentinel://one/service").addresses[0].tls


def test_a_cluster() -> None:
    url = StoreUrl.parse("rediss+cluster://:secret@one,two:7001")
    assert url.topology is Topology.CLUSTER
    assert [(one.host, one.port, one.password, one.tls) for one in url.addresses] == [
        ("one", 6379, "secret", True),
        ("two", 7001, "secret", True),
    ]
    assert StoreUrl.parse("redis+cluster://one/").topology is Topology.CLUSTER


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("redis+sentinel://one:26379", "must name the service"),
        ("redis+sentinel://one:26379/", "must name the service"),
        ("redis+sentinel://one/service/x", "database that is no number"),
        ("redis+sentinel:///service", "must name a host"),
        ("redis+sentinel://one,,two/service", "must name a host"),
        ("redis+sentinel://one:port/service", "port that is none"),
        ("redis+sentinel://one:70000/service", "port that is none"),
        ("redis+sentinel://one:0/service", "must name a host"),
        ("redis+sentinel://one,one:26379/service", "twice"),
        ("redis+cluster://", "must name a host"),
        ("redis+cluster://one/1", "no databases"),
        ("redis+cluster://one?timeout=1", "no parameters"),
        ("redis+other://one", "must begin with"),
        ("http://one", "must begin with"),
    ],
)
def test_a_wrong_one_is_refused(url: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=text):
        StoreUrl.parse(url)
    monkeypatch.setenv("RAMI_MODE", "development")
    monkeypatch.setenv("RAMI_REDIS_URL", url.replace("://", "://:hush-hush@"))
    with pytest.raises(SettingsError, match=f"^RAMI_REDIS_URL: .*{text}") as caught:
        load_settings(ServiceSettings)
    assert "hush" not in str(caught.value)
