"""One player of the load tool: signs in, queues, sometimes changes its mind, plays, sometimes loses its connection.

It plays through the SDK as any client would, and writes down how long everything took and what went wrong.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rami_bots import find_bot, time_enough
from rami_client import (
    Client,
    RamiClientError,
    RewoundError,
    RpcError,
    StaleVersionError,
    TicketEndedError,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from rami_client import Table

SIGN_IN: Final = "sign in"
QUEUE: Final = "wait for a table"
FIRST_TURN: Final = "wait for a turn"
ACT: Final = "act"
STEPS: Final = (SIGN_IN, QUEUE, FIRST_TURN, ACT)


@dataclass(slots=True)
class LoadRecord:
    """What all players together have seen. Times in seconds, since the start for `at`."""

    began: float = field(default_factory=time.monotonic)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {step: [] for step in STEPS})
    acts_at: list[float] = field(default_factory=list)
    """When each action was answered, beside `seconds[ACT]`."""
    errors: dict[str, int] = field(default_factory=dict)
    """Calls that failed for good, by code and reason."""
    matches: int = 0
    cancels: int = 0
    reconnects: int = 0
    stale: int = 0
    """Actions that came too late for their turn: the table had moved on."""

    @property
    def begun(self) -> bool:
        """Whether anything has come of anything yet."""
        return bool(self.errors) or self.cancels > 0 or any(self.seconds.values())

    def took(self, step: str, since: float) -> None:
        """A step is done."""
        now = time.monotonic()
        self.seconds[step].append(now - since)
        if step == ACT:
            self.acts_at.append(now - self.began)

    def failed(self, error: Exception) -> None:
        """Something failed for good."""
        name = f"{error.code.name} {error.reason}".strip() if isinstance(error, RpcError) else type(error).__name__
        self.errors[name] = self.errors.get(name, 0) + 1


@dataclass(frozen=True, slots=True)
class LoadHabits:
    """How players behave. Shares are of 1."""

    think_seconds: float
    """Mean time before an action."""
    cancel_share: float
    """Of tickets, that are withdrawn again."""
    disconnect_share: float
    """Of turns, in which the connection is lost for a few seconds."""
    player_counts: tuple[int, ...]
    bots_allowed: bool
    pause_seconds: float
    """Mean time between two matches."""


class LoadPlayer:
    """Plays one match after the other until it is cancelled."""

    def __init__(
        self, name: str, connect: Callable[[], Client], habits: LoadHabits, record: LoadRecord, chance: random.Random
    ) -> None:
        self._name = name
        self._connect = connect
        self._habits = habits
        self._record = record
        self._chance = chance

    async def run(self) -> None:
        """Play for ever. What fails is counted, and after a pause begun anew."""
        while True:
            try:
                async with self._connect() as client:
                    await self._sign_in(client)
                    while True:
                        await self._play_once(client)
                        await self._pause(self._habits.pause_seconds)
            except (RamiClientError, OSError) as error:
                self._record.failed(error)
                await self._pause(1.0)

    async def _sign_in(self, client: Client) -> None:
        if client.token is None:
            began = time.monotonic()
            await client.sign_in_as_guest(self._name)
            self._record.took(SIGN_IN, began)

    async def _play_once(self, client: Client) -> None:
        began = time.monotonic()
        ticket = await client.join_queue(
            player_counts=self._habits.player_counts, bots_allowed=self._habits.bots_allowed
        )
        if self._chance.random() < self._habits.cancel_share:
            await self._pause(1.0)
            try:
                await client.leave_queue(ticket.ticket_id)
            except RpcError as error:
                if error.reason != "TICKET_MATCHED":
                    raise
            else:
                self._record.cancels += 1
                return
        try:
            assignment = await client.wait_for_match(ticket.ticket_id)
        except TicketEndedError as error:
            self._record.failed(error)
            return
        self._record.took(QUEUE, began)
        while not await self._sit(client, assignment.room_id):
            self._record.reconnects += 1
            await self._pause(3.0)
        self._record.matches += 1

    async def _sit(self, client: Client, room_id: str) -> bool:
        """Play at the table; False when the connection was lost on purpose."""
        began = time.monotonic()
        async with client.table(room_id) as table:
            first = True
            while await table.wait_for_turn():
                if first:
                    self._record.took(FIRST_TURN, began)
                    first = False
                if self._chance.random() < self._habits.disconnect_share:
                    return False
                await self._pause(self._habits.think_seconds)
                await self._act(table)
        return True

    async def _act(self, table: Table) -> None:
        view, legal, version = table.view, table.legal_actions, table.version
        if view is None or not legal:
            return
        action = find_bot("easy").policy(view, legal, self._chance.getrandbits(64), time_enough)
        began = time.monotonic()
        try:
            await table.act(action, expected_version=version)
        except (StaleVersionError, RewoundError):
            self._record.stale += 1
            return
        self._record.took(ACT, began)

    async def _pause(self, mean_seconds: float) -> None:
        """A pause as people make them: mostly short, now and then long, and never without end."""
        if mean_seconds > 0:
            await asyncio.sleep(min(self._chance.expovariate(1 / mean_seconds), 5 * mean_seconds))


__all__ = ["ACT", "STEPS", "LoadHabits", "LoadPlayer", "LoadRecord"]
