"""What the runbook says can be done: blocks marked `run` do what they say, and names in all others exist."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest
import redis

from ai_decision.config import AiSettings
from game_state.config import GameSettings
from matchmaking.config import MatchmakingSettings
from monitoring.dashboards import DASHBOARDS
from monitoring.files import DEPLOY
from rami_cli.edge_settings import EdgeSettings
from rami_kit.settings import describe_settings
from support.deploy_manifests import needs_kubectl, render
from support.deploy_redis_cluster import SCRIPT
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOT = DEPLOY.parent
PAGES = sorted((DEPLOY / "runbook").glob("*.md"))
DOCUMENTS = [*PAGES, *(DEPLOY / folder / "README.md" for folder in (".", "grafana", "k8s"))]
TOOLS = {"kubectl", "redis-cli", "redis-server", "make"}
COMMANDS = {"slowlog get"}
BLOCK = re.compile(r"^( *)```sh( run)?\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
NO_SETTINGS = {"RAMI_VERSION", "RAMI_TOKEN", "RAMI_PROBE_NAME"}
"""Variables that are read by others: Compose, the command line, and the probe."""


class Block(NamedTuple):
    page: str
    runs: bool
    text: str


def blocks() -> list[Block]:
    return [
        Block(page.name, bool(run), "\n".join(line.removeprefix(indent) for line in text.splitlines()))
        for page in PAGES
        for indent, run, text in BLOCK.findall(page.read_text())
    ]


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of what the commands look at, so that what they write is nowhere else."""
    shutil.copytree(DEPLOY, tmp_path / "deploy", ignore=shutil.ignore_patterns("pictures", "__pycache__", ".env"))
    (tmp_path / "build").mkdir()
    for name in ("Makefile", "buf.yaml", "protos", "scripts", "libs", "services", ".venv"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
        os.utime(tmp_path / name, (0, 0))  # older than the environment that runs this test: make builds none
    return tmp_path


@pytest.fixture
def ports(folder: Path) -> Iterator[tuple[int, int]]:
    """Of a store with something in it, and of one that is not there yet."""
    full, empty = free_port(), free_port()
    data = folder / "store"
    data.mkdir()
    command = ["redis-server", "--port", str(full), "--dir", str(data), "--save", "", "--appendonly", "yes"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            with redis.Redis(port=full, retry=redis.retry.Retry(redis.backoff.ConstantBackoff(0.1), 600)) as client:
                client.set("{p0}:room:abc", b"state", px=3_600_000)
                client.xadd("{p0}:room:abc:log", {"s": b"step"}, id="1-0")
            yield full, empty
        finally:
            server.terminate()


def run(block: Block, folder: Path, **environment: str) -> None:
    result = subprocess.run(
        ["/bin/sh", "-euc", block.text],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert result.returncode == 0, f"{block.page}:\n{block.text}\n{result.stdout}{result.stderr}"


@pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in TOOLS), reason=f"the commands need {', '.join(sorted(TOOLS))}"
)
def test_what_can_be_run_does_what_it_says(folder: Path, ports: tuple[int, int]) -> None:
    full, empty = ports
    told = {"STORE": f"redis://127.0.0.1:{full}/0", "RESTORED_PORT": str(empty)}
    runnable = [block for block in blocks() if block.runs]
    assert {block.page for block in runnable} == {"install.md", "upgrade.md", "backup.md", "keys.md"}
    try:
        for block in runnable:
            run(block, folder, **told)
        with redis.Redis(port=empty) as restored:
            assert restored.get("{p0}:room:abc") == b"state"
            assert 0 < restored.pttl("{p0}:room:abc") <= 3_600_000
            assert restored.xlen("{p0}:room:abc:log") == 1
            assert restored.config_get("appendonly") == {"appendonly": "yes"}
    finally:
        for file in (folder / "pid", folder / "restored" / "pid"):
            if file.exists():
                os.kill(int(file.read_text()), signal.SIGTERM)
    secrets = (folder / "deploy" / "docker" / ".env").read_text().splitlines()
    assert [line.partition("=")[0] for line in secrets] == ["RAMI_JWT_SECRET", "RAMI_SERVICE_SECRET"]
    assert len({line.partition("=")[2] for line in secrets}) == 2


def test_links_lead_somewhere() -> None:
    for page in DOCUMENTS:
        for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
            name, _, anchor = target.partition("#")
            linked = (page.parent / name).resolve() if name else page
            assert linked.exists(), f"{page.name}: {target}"
            if anchor:
                assert anchor in anchors(linked), f"{page.name}: {target}"


def test_panels_that_are_looked_at_are_drawn() -> None:
    """What stands in quotes and begins with a capital is the title of a panel."""
    titles = {panel.title for dashboard in DASHBOARDS for panel in dashboard.panels}
    quoted = {
        (page.name, " ".join(words.split()))
        for page in PAGES
        for words in re.findall(r'"([A-Z][a-z][^"]*)"', BLOCK.sub("", page.read_text()))
    }
    assert len(quoted) > 20
    assert {(page, words) for page, words in quoted if words not in titles} == set()


def test_settings_exist() -> None:
    known = {
        row.env for settings in (GameSettings, AiSettings, MatchmakingSettings) for row in describe_settings(settings)
    }
    known |= {f"RAMI_EDGE_{name.upper()}" for name in EdgeSettings.model_fields} | NO_SETTINGS
    for page in DOCUMENTS:
        for name in re.findall(r"\bRAMI_[A-Z_]+[A-Z]\b", page.read_text()):
            assert name in known, f"{page.name}: {name}"


def test_lines_of_logs_that_are_looked_for_are_written() -> None:
    """What stands as `words of a log` is said by the code; dots stand for what differs."""
    source = "\n".join(path.read_text() for folder in ("services", "libs") for path in (ROOT / folder).rglob("*.py"))
    entries = re.split(r"^### ", (DEPLOY / "runbook" / "alerts.md").read_text(), flags=re.MULTILINE)
    quoted = {
        " ".join(words.split())
        for entry in entries
        for looked in re.findall(r"\*\*Look\*\*(.*?)\*\*Do\*\*", entry, re.DOTALL)
        for words in re.findall(r"`([^`]+)`", looked)
    }
    said = {
        words for words in quoted if re.fullmatch(r"[a-z][a-z' .]+ [a-z .]+", words) and not words.startswith("redis")
    }
    assert len(said) >= 8
    for words in said - COMMANDS:
        assert re.search(re.escape(words).replace(r"\.\.\.", "%[ds]"), source), words


def test_targets_and_files_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in DOCUMENTS:
        text = page.read_text()
        for target in re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE):
            assert target in targets, f"{page.name}: make {target}"
        for path in re.findall(r"\b(?:deploy|services|tests|scripts|protos)/[\w./-]*\w", text):
            assert (ROOT / path).exists() or path == "deploy/docker/.env", f"{page.name}: {path}"


@needs_kubectl
def test_resources_that_are_named_exist() -> None:
    manifests, with_redis = render("prod"), render("prod-redis")
    kinds = {"deployment": "Deployment", "hpa": "HorizontalPodAutoscaler", "scaledobject": "ScaledObject"}
    kinds["statefulset"] = "StatefulSet"
    found = 0
    for block in blocks():
        for kind, name in re.findall(r"\b(deployment|hpa|scaledobject|statefulset)[/ ](r[a-z]+-[a-z]+)", block.text):
            assert name in with_redis.names(kinds[kind]), f"{block.page}: {kind} {name}"
            found += 1
    assert found > 10
    needed = {
        name for each in (manifests, with_redis) for workload in each.workloads for name in each.secrets(workload)
    }
    needed |= {"rami-edge-tls"}
    pods = {
        f"redis-cluster-{number}"
        for number in range(with_redis.get("StatefulSet", "redis-cluster")["spec"]["replicas"])
    }
    script = SCRIPT.read_text()
    for block in blocks():
        for pod_name, command in re.findall(r"exec (?:-i )?\"?([\w$-]+)\"? -- /opt/rami/node.sh (\w+)", block.text):
            assert pod_name in {*pods, "redis-cluster-$number"}, block.text
            assert re.search(rf"^  (?:.*[ |])?{command}(?: \\|.*)?\)", script, re.MULTILINE), block.text
    made = set(
        re.findall(r"-n rami create secret (?:generic|tls) (\S+)", (DEPLOY / "runbook" / "install.md").read_text())
    )
    assert made == needed
