"""The web package, installed and built once for all test processes: `npm ci`, then `npm run build`.

Both are done again only when what they are made from has changed. Without Node, or without Chromium where a browser
is needed, tests are skipped and say so; CI installs both.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
WEB: Final = ROOT / "libs" / "rami_web"
STAMPS: Final = ROOT / "build" / "web-stamps"
LEAST_NODE: Final = (20, 19)
CHROMIUM: Final = os.environ.get("CHROMIUM", "/usr/bin/chromium")


class Web:
    """The installed package."""

    def run(self, script: str) -> None:
        """Runs one of its scripts; fails with everything that it said."""
        npm("run", "--silent", script)


def npm(*arguments: str) -> None:
    """Runs npm in the package; fails with everything that it said."""
    said = subprocess.run(["npm", *arguments], cwd=WEB, capture_output=True, text=True, check=False, env=environment())
    assert said.returncode == 0, f"npm {' '.join(arguments)} failed:\n{said.stdout}\n{said.stderr}"


def environment() -> dict[str, str]:
    """Settings of a cluster that somebody runs by hand are none of the tests' own; a network may falter."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAMI_")}
    return {**kept, "PATH": search_path(), "NO_COLOR": "1", "CI": "true", "npm_config_fetch_retries": "8"}


def search_path() -> str:
    """Where programs are looked for: Node.js of the system first, which knows its certificates, then the one of the
    development environment.
    """
    return os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])


@pytest.fixture(scope="session")
def web() -> Web:
    _require_node()
    STAMPS.mkdir(parents=True, exist_ok=True)
    package = Web()
    with (STAMPS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another test process may be at it
        if _changed("installed", [WEB / "package.json", WEB / "package-lock.json"], WEB / "node_modules"):
            npm("ci")
            _remember("installed", [WEB / "package.json", WEB / "package-lock.json"])
        if _changed("built", _sources(), WEB / "dist"):
            package.run("build")
            _remember("built", _sources())
    return package


@pytest.fixture(scope="session")
def chromium() -> str:
    if not Path(CHROMIUM).exists():
        pytest.skip(f"no Chromium at {CHROMIUM}: install Debian's package chromium, or set CHROMIUM")
    return CHROMIUM


def _require_node() -> None:
    node = shutil.which("node", path=search_path())
    if node is None or shutil.which("npm", path=search_path()) is None:
        pytest.skip("no Node.js: `make env` brings it")
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(int(part) for part in said.strip().removeprefix("v").split(".")[:2]) < LEAST_NODE:
        pytest.skip(f"Node.js is too old: {said.strip()}, and {'.'.join(map(str, LEAST_NODE))} is needed")


def _sources() -> list[Path]:
    """What a build is made from."""
    folders = [WEB / "src", WEB / "public", WEB / "scripts", ROOT / "protos"]
    inside = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    ours = [path for path in inside if WEB / "src" / "gen" not in path.parents]
    return [*ours, WEB / "index.html", WEB / "vite.config.ts", WEB / "package-lock.json", WEB / "tsconfig.json"]


def _fingerprint(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(ROOT)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _changed(name: str, files: list[Path], result: Path) -> bool:
    stamp = STAMPS / name
    return not result.exists() or not stamp.exists() or stamp.read_text() != _fingerprint(files)


def _remember(name: str, files: list[Path]) -> None:
    (STAMPS / name).write_text(_fingerprint(files))
