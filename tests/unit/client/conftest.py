"""One match for all tests of replays: it takes a moment to play, and nobody changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rami_engine import RuleOptions
from support.matches import played_match

if TYPE_CHECKING:
    from rami.game.v1 import game_service_pb2 as game
    from rami_client import Receipt


@pytest.fixture(scope="session")
def match() -> tuple[game.GetReplayResponse, Receipt]:
    """A replay of several rounds, and the receipt of seat 0."""
    _, replay, receipt = played_match(["ann", "bob", ""], options=RuleOptions(target_score=150), seed=3)
    assert len(replay.rounds) >= 3
    return replay, receipt
