"""A real Alertmanager with the committed configuration, in a hurry, whose receivers are this test."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
import urllib.request
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import yaml

from monitoring.notifying import alertmanager
from support.ports import free_port
from support.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping
    from pathlib import Path

PROGRAMS = ("prometheus-alertmanager", "alertmanager")
PROGRAM = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
"""Debian's name, and everybody else's."""


@dataclass
class Receivers:
    """What has been told to whom, an alert for each time that it was told."""

    told: list[tuple[str, str]] = field(default_factory=list)

    def names(self, receiver: str) -> list[str]:
        """The alerts that a receiver has been told of while they fired."""
        return [alert for to, alert in self.told if to == receiver]


@dataclass(frozen=True)
class Manager:
    """One that runs, and those it tells."""

    address: str
    """host:port."""
    receivers: Receivers

    def post(self, alerts: Iterable[Mapping[str, str]]) -> None:
        """Tell it of alerts, as Prometheus does: labels with `alertname`."""
        body = json.dumps([{"labels": dict(labels)} for labels in alerts]).encode()
        url = f"http://{self.address}/api/v2/alerts"
        request = urllib.request.Request(url, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert answer.status == 200

    def heard(self, *, inhibited: bool) -> set[str]:
        """The alerts that it has; with or without those that another explains."""
        query = f"silenced=false&inhibited={str(inhibited).lower()}"
        with urllib.request.urlopen(f"http://{self.address}/api/v2/alerts?{query}", timeout=10) as answer:
            return {alert["labels"]["alertname"] for alert in json.load(answer)}

    def comes_to(self, expected: set[str]) -> None:
        """Returns when these are what nothing explains: it takes in what explains others beside answering."""
        pause, heard = threading.Event(), set[str]()
        for _ in range(int(WAIT_SECONDS / 0.05)):
            heard = self.heard(inhibited=False)
            if heard == expected:
                return
            pause.wait(0.05)
        assert heard == expected


@asynccontextmanager
async def running_alertmanager(folder: Path) -> AsyncIterator[Manager]:
    """One that answers; it waits for a second before it tells of a group, not for ten."""
    receivers = Receivers()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told = json.loads(self.rfile.read(int(self.headers["content-length"])))
            firing = [alert["labels"]["alertname"] for alert in told["alerts"] if alert["status"] == "firing"]
            receivers.told += [(self.path.strip("/"), name) for name in firing]
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nobody reads them."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert PROGRAM is not None
    config, log_file = folder / "alertmanager.yml", folder / "alertmanager.log"
    config.write_text(yaml.safe_dump(_hurried(f"http://127.0.0.1:{server.server_port}")))
    address = f"127.0.0.1:{free_port()}"
    command = [PROGRAM, f"--config.file={config}", f"--storage.path={folder / 'alertmanager'}"]
    command += [f"--web.listen-address={address}", "--cluster.listen-address="]
    with log_file.open("w") as log:
        process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log, cwd=folder)
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while not await asyncio.to_thread(_answers, address):
                assert process.returncode is None, log_file.read_text()
                await asyncio.sleep(0.1)
        yield Manager(address, receivers)
    finally:
        process.terminate()
        await process.wait()
        server.shutdown()
        server.server_close()


def _hurried(receiver: str) -> dict[str, Any]:
    config = alertmanager()
    for route in (config["route"], *config["route"]["routes"]):
        route["group_wait"] = "1s"
    config["receivers"] = [
        {"name": each["name"], "webhook_configs": [{"url": f"{receiver}/{each['name']}"}]}
        for each in config["receivers"]
    ]
    return config


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/-/ready", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
