"""The sheets as the service loads them, once for all tests of this folder."""

from __future__ import annotations

import pytest

from game_state.rule_sheets import RuleSheets
from game_state.rule_sheets.catalog import Translation, load_translations


@pytest.fixture(scope="session")
def sheets() -> RuleSheets:
    return RuleSheets.load()


@pytest.fixture(scope="session")
def translations() -> dict[str, Translation]:
    return load_translations()
