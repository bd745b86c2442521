"""What a match is set up with: the rules' name and version, options, guards, and figures by player count.

Source: the rule sheet, sections "Set-up" and "The match".

| option           | default | range   | meaning                                              |
| ---------------- | ------- | ------- | ---------------------------------------------------- |
| `target_score`   | 100     | 1..1000 | the winner of a round with so many points wins       |
| `ace_high`       | False   |         | an ace in hand counts 11 points and not 1            |
| `discard_to_win` | False   |         | the last card of a hand must be discarded, not laid  |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rami_engine.cards import DECK_SIZE
from rami_engine.errors import OptionsError

RULES_ID: Final = "cardverse.rami"
RULES_VERSION: Final = "1.1.0"
MIN_PLAYERS: Final = 2
MAX_PLAYERS: Final = 4
MIN_TARGET_SCORE: Final = 1
MAX_TARGET_SCORE: Final = 1000

_HAND_SIZES: Final = {2: 7, 3: 10, 4: 10}


@dataclass(frozen=True, slots=True)
class RuleOptions:
    """The options of a match, fixed when its room is created. Raises OptionsError for a target outside
    1..1000.
    """

    target_score: int = 100
    ace_high: bool = False
    discard_to_win: bool = False

    def __post_init__(self) -> None:
        if not MIN_TARGET_SCORE <= self.target_score <= MAX_TARGET_SCORE:
            raise OptionsError("target_score", f"must be within {MIN_TARGET_SCORE}..{MAX_TARGET_SCORE}")


@dataclass(frozen=True, slots=True)
class Guards:
    """Limits that end a round or a match nobody ends, in completed turns of all seats together.

    Raises OptionsError for a limit below 1.
    """

    max_turns_per_round: int = 400
    max_turns_per_match: int = 10_000

    def __post_init__(self) -> None:
        if self.max_turns_per_round < 1:
            raise OptionsError("max_turns_per_round", "must be 1 or more")
        if self.max_turns_per_match < 1:
            raise OptionsError("max_turns_per_match", "must be 1 or more")


def hand_size(players: int) -> int:
    """Cards dealt to each seat. Raises OptionsError for a player count outside 2..4."""
    size = _HAND_SIZES.get(players)
    if size is None:
        raise OptionsError("players", f"must be within {MIN_PLAYERS}..{MAX_PLAYERS}")
    return size


def starting_stock(players: int) -> int:
    """Cards in the stock after the deal. Raises OptionsError for a player count outside 2..4."""
    return DECK_SIZE - players * hand_size(players) - 1


def starting_seat(round_number: int, players: int) -> int:
    """The seat that plays first in a round; rounds count from 1."""
    return (round_number - 1) % players
