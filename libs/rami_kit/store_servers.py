"""What the servers of the store say of themselves, shown as metrics: memory, clients, evictions, persistence.

A store that is run by somebody else is rarely scraped, and what ends a card room on a Redis is known to its servers
alone: a memory limit that throws keys away, or a disk that is full. Every process asks; they all show the same.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rami_kit.instruments import Family, Gauge
    from rami_kit.metrics import StoreMetrics

REPORT_SECONDS: Final = 10.0
"""How often each server is asked."""


class ServerReports:
    """Shows the latest report of every server, and none of a server that is not in charge any more."""

    def __init__(self, metrics: StoreMetrics) -> None:
        self._fields: Mapping[str, Family[Gauge]] = {
            "used_memory": metrics.server_memory,
            "maxmemory": metrics.server_memory_limit,
            "connected_clients": metrics.server_clients,
            "total_commands_processed": metrics.server_commands,
            "evicted_keys": metrics.server_evicted,
            "connected_slaves": metrics.server_replicas,
        }
        self._keys = metrics.server_keys
        self._writes_ok = metrics.server_writes_ok
        self._asked_at: dict[str, float] = {}

    def is_due(self, server: str) -> bool:
        """Whether to ask a server again; if so, the next time is `REPORT_SECONDS` from now."""
        now = time.monotonic()
        if now - self._asked_at.get(server, now - REPORT_SECONDS) < REPORT_SECONDS:
            return False
        self._asked_at[server] = now
        return True

    def show(self, server: str, info: Mapping[str, str]) -> None:
        """Takes over the fields of a server's INFO. Fields that it does not have are shown as 0."""
        for field, family in self._fields.items():
            family.labels(server).set(float(info.get(field, "0")))
        databases = (value for name, value in info.items() if name.startswith("db") and name[2:].isdigit())
        self._keys.labels(server).set(sum(_keys(text) for text in databases))
        states = [info.get(field, "ok") for field in ("rdb_last_bgsave_status", "aof_last_write_status")]
        self._writes_ok.labels(server).set(states == ["ok", "ok"])

    def keep(self, servers: set[str]) -> None:
        """Forgets the servers that are not among these."""
        for server in self._asked_at.keys() - servers:
            del self._asked_at[server]
            for family in (*self._fields.values(), self._keys, self._writes_ok):
                family.drop(server)


def _keys(text: str) -> float:
    """The number of keys of a database, from a text such as "keys=4,expires=2,avg_ttl=0"."""
    numbers = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    return float(numbers.get("keys", "0"))


__all__ = ["REPORT_SECONDS", "ServerReports"]
