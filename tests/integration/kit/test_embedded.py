"""The embedded store: it starts, stops, dies and leaves nothing behind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
import redis

from rami_kit.embedded import EmbeddedStore

if TYPE_CHECKING:
    from pathlib import Path


def test_it_answers_and_leaves_nothing_behind() -> None:
    with EmbeddedStore() as store:
        assert store.running
        with redis.Redis.from_url(store.url) as client:
            assert client.info("server")["process_id"] == store.pid
        pid, directory = store.pid, store.directory
    assert not directory.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_it_keeps_its_port_and_with_append_only_its_data() -> None:
    with EmbeddedStore(append_only=True) as store:
        url, pid = store.url, store.pid
        with redis.Redis.from_url(url) as client:
            client.set("kept", 1)
        store.kill()
        assert not store.running
        store.start()
        assert (store.url, store.running) == (url, True)
        assert store.pid != pid
        with redis.Redis.from_url(url) as client:
            assert client.get("kept") == b"1"
        store.restart()
        with redis.Redis.from_url(url) as client:
            assert client.get("kept") == b"1"


def test_a_directory_of_the_callers_is_kept(tmp_path: Path) -> None:
    with EmbeddedStore(directory=tmp_path, append_only=True) as store, redis.Redis.from_url(store.url) as client:
        client.set("kept", 1)
    assert tmp_path.exists()
    with EmbeddedStore(directory=tmp_path, append_only=True) as store, redis.Redis.from_url(store.url) as client:
        assert client.get("kept") == b"1"


def test_it_has_no_address_before_it_runs() -> None:
    store = EmbeddedStore()
    try:
        with pytest.raises(RuntimeError, match="not been started"):
            _ = store.url
        store.stop()
        store.kill()
    finally:
        store.close()
