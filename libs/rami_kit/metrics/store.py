"""The store as the services see it and as its servers report themselves; written by the store's clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rami_kit.instruments import ReadGauge, counter, gauge, histogram
from rami_kit.metrics.buckets import BATCH_SIZES, STORE_SECONDS

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class StoreMetrics:
    """What calls to the store cost and how they end; written by the store's clients."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.seconds = histogram(
            registry,
            "rami_store_seconds",
            "Time from a call to its answer, waiting for a connection included.",
            "command",
            buckets=STORE_SECONDS,
        )
        self.calls = counter(
            registry,
            "rami_store_calls_total",
            "Calls by script or command and outcome: ok, error, unavailable, uncertain.",
            "command",
            "outcome",
        )
        self.batch_size = histogram(
            registry,
            "rami_store_batch_size_calls",
            "Calls sent to the store as one batch.",
            buckets=BATCH_SIZES,
        )
        self.connections = gauge(registry, "rami_store_connections", "Open connections of the pool.")
        self.waiting = ReadGauge(
            registry, "rami_store_waiting_calls", "Calls of which nothing has been sent: no connection is free."
        )
        self.server_memory = gauge(
            registry, "rami_store_server_memory_bytes", "Memory that a server of the store uses.", "server"
        )
        self.server_memory_limit = gauge(
            registry, "rami_store_server_memory_limit_bytes", "Its maxmemory; 0 = none.", "server"
        )
        self.server_clients = gauge(registry, "rami_store_server_clients", "Connections to a server.", "server")
        self.server_commands = gauge(
            registry, "rami_store_server_commands", "Commands a server has done since it began.", "server"
        )
        self.server_evicted = gauge(
            registry,
            "rami_store_server_evicted_keys",
            "Keys a server has thrown away for want of memory since it began: each may be a room.",
            "server",
        )
        self.server_keys = gauge(registry, "rami_store_server_keys", "Keys of a server.", "server")
        self.server_replicas = gauge(
            registry, "rami_store_server_replicas", "Replicas connected to a server.", "server"
        )
        self.server_writes_ok = gauge(
            registry,
            "rami_store_server_persistence_ok_info",
            "1 while the last snapshot and the last write of the log went well, else 0.",
            "server",
        )
        self.up = gauge(registry, "rami_store_up_info", "1 while the store answers, else 0.")
        self.durability = gauge(
            registry,
            "rami_store_durability_info",
            "1 for the RAMI_DURABILITY that the process was started with, 0 for the others.",
            "durability",
        )
        self.script_loads = counter(
            registry, "rami_store_script_loads_total", "Scripts sent because the store did not know them."
        )
        self.subscriber_connects = counter(
            registry, "rami_store_subscriber_connects_total", "Connections made to receive published events."
        )


__all__ = ["StoreMetrics"]
