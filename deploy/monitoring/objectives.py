"""What is promised to players, and the names that every query leans on: jobs, windows, what counts as a failure."""

from __future__ import annotations

from typing import Final, NamedTuple

JOBS: Final = 'job=~"rami-.+"'
GAME: Final = 'job="rami-game"'
AI: Final = 'job="rami-ai"'
MATCHMAKING: Final = 'job="rami-matchmaking"'
EDGE: Final = 'envoy_http_conn_manager_prefix="edge"'
"""What players call, and not the page for Prometheus."""

STREAMS: Final = 'method=~".+/(Play|Watch.*|DecideMany)"'
NO_STREAMS: Final = 'method!~".+/(Play|Watch.*|DecideMany)"'
"""A stream ends UNAVAILABLE whenever it gets old or its replica drains: that is no failure."""
SERVER_FAULTS: Final = 'code=~"DATA_LOSS|DEADLINE_EXCEEDED|INTERNAL|UNAVAILABLE|UNKNOWN"'
ACTION_FAULTS: Final = 'outcome=~"INTERNAL|PEER_UNAVAILABLE|STORE_UNAVAILABLE"'

ACTION_SECONDS: Final = "0.25"
"""An action that takes longer is slow. A bound of the histogram's buckets."""
DECISION_SECONDS: Final = "1.0"
"""A bot that has not decided after this time keeps people waiting. A bound of the histogram's buckets."""


class Objective(NamedTuple):
    """A promise: the share of events that may go wrong, and the series that records how many do."""

    name: str
    """In names of alerts."""
    target: float
    """Share of events that go well over 30 days."""
    series: str
    """Prefix of the recorded shares of events that went wrong; a window such as 5m follows."""
    said: str
    """What goes wrong, for people."""


ACTION_ERRORS: Final = Objective(
    "ActionErrors", 0.999, "rami:action_failed:ratio_rate", "actions of players fail through no fault of theirs"
)
ACTION_LATENCY: Final = Objective(
    "ActionLatency", 0.99, "rami:action_slow:ratio_rate", f"actions of players take longer than {ACTION_SECONDS} s"
)
BOT_TURNS: Final = Objective(
    "BotTurns", 0.99, "rami:decision_bad:ratio_rate", f"decisions of bots fail or take longer than {DECISION_SECONDS} s"
)
OBJECTIVES: Final = (ACTION_ERRORS, ACTION_LATENCY, BOT_TURNS)

WINDOWS: Final = ("5m", "30m", "1h", "6h")


class Burn(NamedTuple):
    """A speed at which a month's budget of failures is used up, seen over a long and a short window at once.

    The long window says that it matters, the short one that it still goes on.
    """

    name: str
    factor: float
    """So many times faster than the budget allows."""
    long: str
    short: str
    hold: str
    severity: str


BURNS: Final = (
    Burn("Fast", 14.4, "1h", "5m", "1m", "page"),  # 2 % of the month's budget in an hour
    Burn("Slow", 6.0, "6h", "30m", "5m", "ticket"),  # 5 % of it in six hours
)
