"""Puts the table that `rami settings --markdown` prints between its marks in the README."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- settings -->\n", "<!-- /settings -->"


def refresh() -> None:
    """Rewrites the README; raises ValueError when its marks are gone."""
    command = [sys.executable, "-m", "rami_cli", "settings", "--markdown"]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    before, begin, rest = README.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the README has no place for the table of settings")
    README.write_text(f"{before}{BEGIN}{table}\n{END}{after}")


if __name__ == "__main__":
    refresh()
