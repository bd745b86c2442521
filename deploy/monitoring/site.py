"""What is different wherever Rami runs: site.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

_SITE: Final = tomllib.loads((Path(__file__).parent / "site.toml").read_text())

RUNBOOK: Final[str] = _SITE["runbook"]
"""The page that alerts send people to."""
RECEIVERS: Final[dict[str, dict[str, Any]]] = _SITE["receivers"]
"""Alertmanager's receivers by name: pages and tickets."""
