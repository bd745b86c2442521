"""Playing a seat with a program: the base class of bots, and the loop that plays a match with one."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from rami_client.errors import ActionRefusedError, BadChoiceError, RewoundError, StaleVersionError
from rami_engine import format_action

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rami.game.v1 import rules_pb2
    from rami_client.table import Table
    from rami_engine import Action, SeatView


class Bot(ABC):
    """Chooses actions for one seat. It sees what the seat sees, and nothing else.

    >>> class First(Bot):
    ...     def choose(self, view, legal):
    ...         return legal[0]
    >>> First().choose(table.view, table.legal_actions) == DRAW_STOCK
    True
    """

    @abstractmethod
    def choose(self, view: SeatView, legal: tuple[Action, ...]) -> Action:
        """One of the legal actions, of which there is at least one. Called in a thread, once at a time."""


async def play_match(
    table: Table,
    bot: Bot,
    *,
    pace_seconds: float = 0.0,
    act: Callable[[Table, Action, int], Awaitable[int]] | None = None,
) -> rules_pb2.MatchResult | None:
    """Plays a seat until its match is over; how it ended, or None when the room went away before.

    Waits `pace_seconds` before each action. When the room moves on while the bot thinks, the bot is asked
    again. `act` stands in for `Table.act`, and gets the table, the action and the version it was chosen on. Raises
    BadChoiceError for a choice that is not legal, and what ended the table.

    >>> result = await play_match(table, bot)
    >>> result.scores[result.winner_seat] == max(result.scores)
    True
    """
    while await table.wait_for_turn():
        if pace_seconds:
            await asyncio.sleep(pace_seconds)
        view, legal, version = table.view, table.legal_actions, table.version
        if view is None or not legal:
            continue  # the turn has passed, for example to autopilot
        # In a thread, so that the stream is read on while a slow bot thinks.
        action = await asyncio.to_thread(bot.choose, view, legal)
        if action not in legal:
            raise BadChoiceError(f"{type(bot).__name__} chose {format_action(action)!r}, which is not legal")
        try:
            if act is None:
                await table.act(action, expected_version=version)
            else:
                await act(table, action, version)
        except (StaleVersionError, RewoundError):
            continue
        except ActionRefusedError:
            if table.version == version:
                raise  # a legal action refused on its own version: the rules of both sides differ
    return table.room.result if table.room.HasField("result") else None
