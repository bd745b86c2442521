"""The references in docs are what the contract and the client are now, as `make docs` writes them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest

import rami_engine
from rami.ai.v1 import decision_service_pb2
from rami.errors.v1 import error_reason_pb2
from rami.game.v1 import game_service_pb2, match_room_service_pb2, room_pb2, rule_sheet_service_pb2
from rami.matchmaking.v1 import matchmaking_service_pb2, player_service_pb2

ROOT = Path(__file__).parents[2]
CONTRACT = ROOT / "docs" / "contract.md"
SERVICES = (
    game_service_pb2,
    match_room_service_pb2,
    rule_sheet_service_pb2,
    matchmaking_service_pb2,
    player_service_pb2,
    decision_service_pb2,
)
FOREIGN = {"RAMI_BOT_KEY", "RAMI_TOKEN", "XDG_STATE_HOME"}
"""What the pages name that is no part of the contract and no setting of a service."""


@pytest.mark.parametrize(
    ("script", "page"),
    [("contract_reference.py", "contract.md"), ("client_reference.py", "python-client.txt")],
)
def test_a_reference_is_fresh(script: str, page: str) -> None:
    command = [sys.executable, str(ROOT / "scripts" / script), "--print"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert made == (ROOT / "docs" / page).read_text(), f"make docs: docs/{page} is not what {script} makes"


def test_everything_in_the_contract_has_a_comment() -> None:
    rows = [line for line in (ROOT / "docs" / "contract.md").read_text().splitlines() if line.startswith("| `")]
    assert len(rows) > 400
    assert [row for row in rows if row.endswith("|  |")] == []


def test_the_contract_has_every_service_message_and_value() -> None:
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", CONTRACT.read_text(), flags=re.MULTILINE | re.DOTALL))
    for module in (*SERVICES, room_pb2, error_reason_pb2):
        described = module.DESCRIPTOR
        named = [
            *((service.name, [method.name for method in service.methods]) for service in _all(described, "services")),
            *((kind.name, [field.name for field in kind.fields]) for kind in _all(described, "message_types")),
            *((kind.name, [value.name for value in kind.values]) for kind in _all(described, "enum_types")),
        ]
        assert named
        for name, parts in named:
            assert re.findall(r"^\| `(\w+)` \|", sections[name], flags=re.MULTILINE) == parts, name


def test_what_the_pages_name_exists() -> None:
    known = CONTRACT.read_text() + (ROOT / "README.md").read_text() + " ".join(code.name for code in grpc.StatusCode)
    for page in (ROOT / "docs").glob("*.md"):
        names = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", page.read_text())) - FOREIGN
        unknown = {name for name in names if name not in known and not hasattr(rami_engine, name)}
        assert unknown == set(), page.name


def _all(described: Any, kind: str) -> list[Any]:
    return list(getattr(described, f"{kind}_by_name").values())
