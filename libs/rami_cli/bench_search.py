"""Hard decisions, one after the other, as fast as one process can: the yardstick of the AI service's workers.

    python -m rami_cli.bench_search SECONDS

Says in one line how many it made in a second, and waits to be ended.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from itertools import cycle
from typing import Final

from rami_bots import find_bot, time_enough
from rami_engine import (
    FULL_DECK,
    Guards,
    MatchState,
    Phase,
    RuleOptions,
    apply,
    cards_of,
    legal_actions,
    new_match,
    seat_view,
    start_round,
)

POSITIONS: Final = 32


def positions(count: int = POSITIONS) -> list[MatchState]:
    """Matches of two some turns on, the same every time."""
    chance = random.Random("positions")  # noqa: S311 - a load, not a secret
    found: list[MatchState] = []
    while len(found) < count:
        match = new_match(2, RuleOptions(), Guards())
        deck = list(cards_of(FULL_DECK))
        chance.shuffle(deck)
        start_round(match, bytes(deck))
        for _ in range(10 + len(found) % 8):
            if match.round is None or match.phase not in (Phase.DRAW, Phase.PLAY):
                break
            legal = legal_actions(match, match.round.turn)
            apply(match, match.round.turn, legal[-1 - int(chance.random() * min(3, len(legal)))])
        if match.round is not None and match.phase in (Phase.DRAW, Phase.PLAY):
            found.append(match)
    return found


def rate(seconds: float) -> float:
    """Hard decisions a second by the clock, over positions that come again and again."""
    turns = []
    for match in positions():
        assert match.round is not None
        turns.append((seat_view(match, match.round.turn), legal_actions(match, match.round.turn)))
    policy = find_bot("hard").policy
    done, began = 0, time.monotonic()
    for seed, (view, legal) in enumerate(cycle(turns)):
        if time.monotonic() - began >= seconds:
            break
        policy(view, legal, seed % POSITIONS, time_enough)
        done += 1
    return done / (time.monotonic() - began)


def main() -> int:
    """The process."""
    print(json.dumps({"service": "search", "rate": rate(float(sys.argv[1]))}), flush=True)
    signal.pause()
    return 0


__all__ = ["positions", "rate"]

if __name__ == "__main__":
    sys.exit(main())
