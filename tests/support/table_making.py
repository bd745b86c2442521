"""The tables that a matcher makes of some tickets at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchmaking.matcher import Matcher

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matchmaking.tickets import BotProfile, MatchPolicy, Table, Ticket


def make_tables(
    tickets: Iterable[Ticket], now_ms: int, policy: MatchPolicy, bots: Sequence[BotProfile] = ()
) -> list[Table]:
    """Every table that can be made, in the order in which the matcher finds them."""
    matcher = Matcher(policy)
    for ticket in tickets:
        matcher.add(ticket)
    return matcher.run(now_ms, bots)
