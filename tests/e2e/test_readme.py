"""What the README shows works as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from support.cluster import Cluster

README = Path(__file__).parents[2] / "README.md"


def code_block(name: str) -> str:
    """The Python code behind a marker of the README."""
    found = re.search(rf"<!-- {name} -->\n```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


async def test_the_first_match_is_played_to_its_end(cluster: Cluster) -> None:
    module: dict[str, Any] = {"__name__": "readme"}
    exec(compile(code_block("first-match"), str(README), "exec"), module)
    scores = await module["first_match"](cluster.game, cluster.matchmaking)
    assert len(scores) in (2, 3)
    assert max(scores) >= 100


def test_the_first_match_takes_about_thirty_lines() -> None:
    function = code_block("first-match").partition("async def first_match")[2].partition("if __name__")[0]
    assert len(function.strip().splitlines()) <= 30


def test_the_table_of_settings_is_the_one_the_command_prints() -> None:
    command = [sys.executable, "-m", "rami_cli", "settings", "--markdown"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    shown = README.read_text().partition("<!-- settings -->")[2].partition("<!-- /settings -->")[0].strip()
    assert shown == printed
