"""What explains other alerts while it lasts. Each has an alert of its own, and then that one alone is told."""

from __future__ import annotations

from typing import Final

from monitoring.objectives import AI, GAME, MATCHMAKING
from monitoring.rules import Cause, Condition

STORE_AWAY: Final = Cause(Condition("min_over_time(rami:store_up:min[10m])", "== 0"), "StoreAway")
"""Rates look back: what happened while the store was away is told for a while after it has come again."""
GAME_DOWN: Final = Cause(Condition(f"max(up{{{GAME}}})", "== 0"), "ServiceDown", "rami-game")
AI_DOWN: Final = Cause(Condition(f"max(up{{{AI}}})", "== 0"), "ServiceDown", "rami-ai")
MATCHMAKING_DOWN: Final = Cause(Condition(f"max(up{{{MATCHMAKING}}})", "== 0"), "ServiceDown", "rami-matchmaking")
