"""The page about capacity is made of the figures that are kept, and new figures are taken whole or not at all."""

from __future__ import annotations

import copy
import importlib.util
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from monitoring.files import DEPLOY

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

SCRIPT = DEPLOY.parent / "scripts" / "capacity.py"


@pytest.fixture(scope="module")
def capacity() -> ModuleType:
    spec = importlib.util.spec_from_file_location("capacity", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DEPLOY / "capacity.json").read_text())
    return found


def test_the_page_is_made_of_what_is_kept(capacity: ModuleType, kept: dict[str, Any]) -> None:
    text = (DEPLOY / "capacity.md").read_text()
    assert capacity.page(text, capacity.tables(kept)) == text, "make docs"
    assert {part: set(names) for part, names in capacity.NEEDED.items()} == {
        part: set(rows) for part, rows in kept.items()
    }


def test_a_dearer_action_asks_for_more_pods(capacity: ModuleType, kept: dict[str, Any]) -> None:
    dearer = copy.deepcopy(kept)
    dearer["calls"]["action over Play"]["ratio"] *= 10
    before, after = capacity.tables(kept), capacity.tables(dearer)
    assert before["slope"] == after["slope"]
    assert before["costs"] != after["costs"]

    def pods(pieces: dict[str, str]) -> int:
        (row,) = [line for line in pieces["million"].splitlines() if line.startswith("| game service, CPU")]
        return int(row.split("|")[3].split()[0])

    assert 5 * pods(before) < pods(after) < 10 * pods(before)


def test_figures_are_taken_from_reports(capacity: ModuleType, kept: dict[str, Any], tmp_path: Path) -> None:
    rows = [
        {"name": name, "median": 1.0, "ratio": 2.0, "ratio_iqr": 0.5, "goal": None, "samples": [1.0]}
        for name in capacity.NEEDED["calls"]
    ]
    (tmp_path / "calls.json").write_text(json.dumps({"part": "calls", "results": rows}))
    (tmp_path / "store.json").write_text(json.dumps({"part": "store", "results": []}))
    taken = capacity.take(tmp_path, kept)
    assert taken["calls"]["GetView"] == {"median": 1.0, "ratio": 2.0, "ratio_iqr": 0.5, "goal": None}
    assert {part: taken[part] for part in taken if part != "calls"} == {
        part: kept[part] for part in kept if part != "calls"
    }
    (tmp_path / "calls.json").write_text(json.dumps({"part": "calls", "results": rows[1:]}))
    with pytest.raises(capacity.FiguresError, match="action over Play"):
        capacity.take(tmp_path, kept)


def test_a_page_without_a_place_is_told(capacity: ModuleType, kept: dict[str, Any]) -> None:
    with pytest.raises(capacity.FiguresError, match="no place for costs"):
        capacity.page("# Capacity\n", capacity.tables(kept))
    assert sys.modules.get("capacity") is None
