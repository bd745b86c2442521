"""The Dockerfile: what it says is done in a clean folder, and what comes out starts every service and knows if it
is well.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rami_kit.embedded import EmbeddedStore
from support.deploy_dockerfile import Builder, read_dockerfile

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parent.parent.parent
DOCKER = ROOT / "deploy" / "docker"
BUILD, RUN = read_dockerfile(DOCKER / "Dockerfile")
SERVICES = ("ai_decision", "game_state", "matchmaking")
PIN = re.compile(r"^(\S+==\S+)", re.MULTILINE)


def test_the_dockerfile_passes_its_linter() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    result = subprocess.run([hadolint, DOCKER / "Dockerfile"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_the_image_runs_as_nobody_and_can_be_read_only() -> None:
    assert RUN.name == "run"
    user, group = RUN.all("USER")[-1].split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert RUN.environment()["PYTHONDONTWRITEBYTECODE"] == "1"
    assert RUN.all("WORKDIR")[-1] == "/tmp"
    words = [word for word, _ in RUN.instructions]
    assert words.index("USER") > max(place for place, word in enumerate(words) if word in {"COPY", "RUN"})
    assert [line for line in RUN.all("COPY") if not line.startswith("--from=build /opt/rami ")] == []
    assert RUN.exec_form("ENTRYPOINT") == ["python", "-m"]
    assert RUN.exec_form("HEALTHCHECK") == ["python", "-m", "rami_kit.probe"]


def test_packages_of_the_image_are_those_that_are_tested() -> None:
    tested = set(PIN.findall((ROOT / "requirements.lock").read_text()))
    for name in ("requirements.lock", "build-requirements.lock"):
        pins = PIN.findall((DOCKER / name).read_text())
        assert pins
        assert set(pins) <= tested, "make lock"


@pytest.mark.timeout(600)
def test_the_wheel_that_the_build_stage_makes_starts_every_service(tmp_path: Path) -> None:
    Builder(tmp_path, ROOT).run(BUILD)
    installed = tmp_path / "opt" / "rami"
    packages = {
        path.name.partition("-")[0].lower() for path in installed.glob("lib/python3*/site-packages/*.dist-info")
    }
    assert "rami" in packages
    assert not packages & {"pip", "setuptools", "wheel", "hatchling", "pytest", "mypy", "ruff", "grpcio_tools"}
    shutil.rmtree(tmp_path / "src")
    empty = tmp_path / "empty"
    empty.mkdir()
    with EmbeddedStore() as store:
        environment = {"RAMI_MODE": "development", "RAMI_REDIS_URL": store.url, "RAMI_HOST": "127.0.0.1"}
        environment |= {"RAMI_PORT": "0", "RAMI_METRICS_PORT": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        environment["PATH"] = f"{installed / 'bin'}:/usr/bin:/bin"
        for service in SERVICES:
            start_and_ask(service, environment, empty)
    assert list(empty.iterdir()) == [], "services write nothing to where they are started"


def start_and_ask(service: str, environment: Mapping[str, str], folder: Path) -> None:
    """Starts a service as the image does, asks as its health check does, and ends it as an engine does."""
    command = [*RUN.exec_form("ENTRYPOINT"), service]
    process = subprocess.Popen(
        command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        told = {**environment, "RAMI_PORT": str(json.loads(line)["port"])}
        complaints = []
        for _ in range(retries()):
            probe = subprocess.run(
                RUN.exec_form("HEALTHCHECK"),
                env=told,
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            if probe.returncode == 0:
                break
            complaints.append(probe.stderr)
        assert len(complaints) < retries(), complaints
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=100)
    assert process.returncode == 0


def retries() -> int:
    """How many times in a row the health check must fail until the engine takes a container for ill."""
    found = re.search(r"--retries=(\d+)", RUN.all("HEALTHCHECK")[-1])
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize(
    ("arguments", "port", "code", "text"),
    [
        ([], None, 2, "set RAMI_PORT"),
        ([], "seven", 2, "set RAMI_PORT"),
        (["127.0.0.1:1"], None, 1, "UNAVAILABLE"),
        (["a", "b"], "1", 2, "give HOST:PORT"),
    ],
)
def test_a_probe_says_why_it_fails(arguments: list[str], port: str | None, code: int, text: str) -> None:
    environment = os.environ | ({"RAMI_PORT": port} if port is not None else {})
    result = subprocess.run(
        [sys.executable, "-m", "rami_kit.probe", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (result.returncode, result.stdout) == (code, "")
    assert text in result.stderr
