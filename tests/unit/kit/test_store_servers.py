from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from rami_kit.metrics import Metrics, StoreMetrics
from rami_kit.redis_store import Store
from rami_kit.settings import Durability, ServiceSettings
from rami_kit.store_servers import ServerReports
from rami_kit.testing import make_settings

INFO = {
    "used_memory": "2048",
    "maxmemory": "4096",
    "connected_clients": "7",
    "total_commands_processed": "99",
    "evicted_keys": "3",
    "connected_slaves": "1",
    "rdb_last_bgsave_status": "ok",
    "aof_last_write_status": "ok",
    "db0": "keys=5,expires=5,avg_ttl=0",
    "db1": "keys=2,expires=0,avg_ttl=0",
}


def shown(registry: CollectorRegistry, name: str) -> float | None:
    return registry.get_sample_value(f"rami_store_server_{name}", {"server": "a:1"})


def test_a_report_is_shown_by_server() -> None:
    registry = CollectorRegistry()
    reports = ServerReports(StoreMetrics(registry))
    reports.show("a:1", INFO)
    assert shown(registry, "memory_bytes") == 2048
    assert shown(registry, "memory_limit_bytes") == 4096
    assert shown(registry, "clients") == 7
    assert shown(registry, "commands") == 99
    assert shown(registry, "evicted_keys") == 3
    assert shown(registry, "replicas") == 1
    assert shown(registry, "keys") == 7
    assert shown(registry, "persistence_ok_info") == 1
    reports.show("a:1", INFO | {"aof_last_write_status": "err"})
    assert shown(registry, "persistence_ok_info") == 0


def test_a_server_that_says_little_shows_zeros() -> None:
    registry = CollectorRegistry()
    ServerReports(StoreMetrics(registry)).show("a:1", {})
    assert shown(registry, "memory_bytes") == 0
    assert shown(registry, "persistence_ok_info") == 1, "it has no persistence that could have failed"


@pytest.mark.parametrize("durability", list(Durability))
async def test_what_a_process_waits_for_is_shown_from_the_start(durability: Durability) -> None:
    metrics = Metrics()
    store = Store(make_settings(ServiceSettings, "redis://127.0.0.1:1", durability=durability), metrics)
    try:
        values = {
            each: metrics.registry.get_sample_value("rami_store_durability_info", {"durability": each})
            for each in ("memory", "fsync", "replica")
        }
        assert values == dict.fromkeys(values, 0) | {durability.value: 1}
    finally:
        await store.close()


def test_a_server_is_asked_now_and_then_and_forgotten_when_it_is_no_longer_in_charge() -> None:
    registry = CollectorRegistry()
    reports = ServerReports(StoreMetrics(registry))
    assert reports.is_due("a:1")
    assert not reports.is_due("a:1")
    assert reports.is_due("b:2")
    reports.show("a:1", INFO)
    reports.keep({"b:2"})
    assert shown(registry, "memory_bytes") is None
    assert reports.is_due("a:1")
