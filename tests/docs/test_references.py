"""The references in docs are what the contract and the client are now, as `make docs` writes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


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
