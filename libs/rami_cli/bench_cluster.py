"""A cluster of three embedded masters as one process with three children, for the part `scaling`.

    python -m rami_cli.bench_cluster DIRECTORY

Says in one line where it is when every slot is served, and ends with SIGTERM.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import redis

from rami_kit.embedded import EmbeddedStore, free_port
from rami_kit.slots import SLOT_COUNT

MASTERS: Final = 3
JOIN_SECONDS: Final = 30.0


def main() -> int:
    """The process."""
    directory = Path(sys.argv[1])
    with ExitStack() as stack:
        stores = [stack.enter_context(_master(directory / str(number))) for number in range(MASTERS)]
        clients: list[Any] = [redis.Redis(port=store.port) for store in stores]
        _join(clients, [store.port for store in stores])
        url = "redis+cluster://" + ",".join(f"127.0.0.1:{store.port}" for store in stores)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        print(json.dumps({"service": "cluster", "url": url}), flush=True)
        signal.sigwait([signal.SIGTERM])
    return 0


def _master(directory: Path) -> EmbeddedStore:
    directory.mkdir()
    options = {"cluster-enabled": "yes", "cluster-port": str(free_port()), "appendonly": "yes"}
    return EmbeddedStore(directory=directory, port=free_port(), options=options)


def _join(clients: list[Any], ports: list[int]) -> None:
    """Hands out the slots and introduces everybody. Raises TimeoutError when the cluster does not come about."""
    bounds = [SLOT_COUNT * number // MASTERS for number in range(MASTERS + 1)]
    for number, client in enumerate(clients):
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", bounds[number], bounds[number + 1] - 1)
        bus = clients[0].config_get("cluster-port")["cluster-port"]
        client.execute_command("CLUSTER", "MEET", "127.0.0.1", ports[0], bus)
    give_up_at = time.monotonic() + JOIN_SECONDS
    while not all(_whole(client) for client in clients):
        if time.monotonic() > give_up_at:
            raise TimeoutError("the cluster does not come about")
        time.sleep(0.05)


def _whole(client: Any) -> bool:
    info: bytes = client.execute_command("CLUSTER", "INFO")
    return b"cluster_state:ok" in info and b"cluster_known_nodes:%d" % MASTERS in info


if __name__ == "__main__":
    sys.exit(main())
