"""The program that plays a seat from this side of the contract, by the rules that the bots have."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from rami_bots import find_bot, time_enough
from rami_client import Bot

if TYPE_CHECKING:
    from rami_engine import Action, SeatView


class ScriptedPlayer(Bot):
    """Plays its seat sensibly: the same for the same views and seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def choose(self, view: SeatView, legal: tuple[Action, ...]) -> Action:
        """One of the legal actions."""
        text = f"{self._seed}/{view.round_number}/{view.turn_number}"
        policy_seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        return find_bot("normal").policy(view, legal, policy_seed, time_enough)
