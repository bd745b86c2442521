"""The Prometheus page of a process, on a port of its own."""

from __future__ import annotations

import socket
from http.server import ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

from prometheus_client import MetricsHandler

if TYPE_CHECKING:
    from rami_kit.metrics import Metrics


class _Ipv6Server(ThreadingHTTPServer):
    address_family = socket.AF_INET6


class MetricsServer:
    """The Prometheus page, served by a thread of its own so a busy event loop shows its numbers too."""

    def __init__(self, metrics: Metrics, host: str, port: int) -> None:
        """Listens at once. Raises OSError for a port that is taken."""
        server_class = _Ipv6Server if ":" in host else ThreadingHTTPServer
        self._server = server_class((host, port), MetricsHandler.factory(metrics.registry))
        self._server.daemon_threads = True
        self.port: int = self._server.server_port
        # The interval bounds how long `close` takes.
        self._thread = Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stops listening and ends the thread; blocks for as long as one page takes."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def start_metrics_server(metrics: Metrics, *, host: str = "127.0.0.1", port: int = 0) -> MetricsServer:
    """Serves the page; port 0 picks a free one, `port` of the result is the actual one."""
    return MetricsServer(metrics, host, port)


__all__ = ["MetricsServer", "start_metrics_server"]
