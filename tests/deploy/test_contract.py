"""The contract does not break those who have the last release: `make breaking` passes, and would not otherwise."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BUF = Path(sys.executable).with_name("buf")
RELEASED = sorted((ROOT / "protos" / "released").glob("*.binpb"))


def breaking(folder: Path) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [BUF, "breaking", "protos", "--exclude-imports", "--against", RELEASED[-1]]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=250, check=False)


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    """A copy of the contract, to do things to."""
    shutil.copytree(ROOT / "protos", tmp_path / "protos")
    shutil.copy(ROOT / "buf.yaml", tmp_path)
    export: list[str | Path] = [
        sys.executable,
        ROOT / "scripts" / "generate.py",
        "--export-common",
        tmp_path / "build" / "protos",
    ]
    subprocess.run(export, check=True)
    return tmp_path


def test_there_is_a_release_to_compare_with() -> None:
    assert RELEASED
    assert all(re.fullmatch(r"\d+\.\d+\.\d+\.binpb", path.name) for path in RELEASED)


def test_the_contract_breaks_nobody(contract: Path) -> None:
    result = breaking(contract)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("rami/game/v1/room.proto", "string room_id = 1;", "string id = 1;", "changed name"),
        ("rami/store/v1/room_state.proto", "string join_code = 2;", "bytes join_code = 2;", "changed type"),
        ("rami/ai/v1/decision_service.proto", "rpc ListBots", "rpc ListAllBots", "deleted"),
    ],
)
def test_what_would_break_somebody_is_found(contract: Path, file: str, old: str, new: str, complaint: str) -> None:
    path = contract / "protos" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    result = breaking(contract)
    assert result.returncode != 0
    assert complaint in result.stdout


def test_a_field_more_breaks_nobody(contract: Path) -> None:
    path = contract / "protos" / "rami" / "game" / "v1" / "room.proto"
    text = path.read_text()
    path.write_text(
        text.replace("string room_id = 1;", "string room_id = 1;\n  // Said newly.\n  string news = 9000;", 1)
    )
    assert breaking(contract).returncode == 0
