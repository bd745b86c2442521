"""The web package by its own scripts: types, style, unit tests, matches over gRPC and gRPC-Web, and a real browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Protocol

import pytest

WEB = Path(__file__).resolve().parents[2] / "libs" / "rami_web"


class Package(Protocol):
    """What the fixture `web` gives."""

    def run(self, script: str) -> None: ...


@pytest.mark.timeout(600)  # the first one installs and builds
@pytest.mark.parametrize("script", ["check", "lint", "test:unit"])
def test_script(web: Package, script: str) -> None:
    web.run(script)


@pytest.mark.timeout(600)
def test_whole_matches_over_grpc_and_grpc_web(web: Package) -> None:
    web.run("test:e2e")


@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("chromium")
def test_the_table_in_a_browser(web: Package) -> None:
    web.run("test:browser")


def test_the_lock_file_names_no_registry() -> None:
    packages = json.loads((WEB / "package-lock.json").read_text())["packages"]
    assert packages[""]["name"] == "rami-web"
    for name, entry in packages.items():
        assert "resolved" not in entry, name
        assert not name or "integrity" in entry, name
