"""`rami play`: a person's seat against bots, in the terminal."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from google.protobuf.duration_pb2 import Duration
from rich.text import Text

from rami.game.v1 import room_pb2, rules_pb2
from rami_cli.choosing import ChoiceError, choose, draw_choices
from rami_cli.cluster import Cluster, ClusterOptions
from rami_cli.hints import hint_for
from rami_cli.lines import LineReader
from rami_cli.record import MatchRecord
from rami_cli.running import with_cluster
from rami_cli.screen import HEIGHT, Screen, final_standings, make_console
from rami_cli.texts import current_language, rich_text, text
from rami_client import ActionRefusedError, Client, RewoundError, RpcError, StaleVersionError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from rich.console import Console

    from rami_client import RamiClientError, Table, Update

LEAVING: Final = frozenset({"q", "quit"})
ENTROPY_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class PlayOptions:
    """What to play."""

    seats: int = 3
    level: str = "normal"
    """The bot profile of the others."""
    name: str = "You"
    game: str | None = None
    """gRPC target of a running game service; None starts a cluster."""
    matchmaking: str = ""
    """gRPC target of the matchmaking service of `game`; means nothing without it."""
    target_score: int = 100
    plain: bool = False
    save: Path | None = None
    """A folder for the replay and the receipt of the match."""
    hint: bool = False
    """Whether to show what the strongest bot would do."""


async def run_play(options: PlayOptions) -> None:
    """Plays one match, in a cluster of its own unless a game service is named."""
    console = make_console(plain=options.plain)
    if options.game is not None:
        await _connect_and_play(options.game, options.matchmaking, options, console)
        return
    console.print(text("starting-table"))
    environment = {"RAMI_DRAIN_GRACE_SECONDS": "3"}
    async with Cluster(ClusterOptions(auto_ports=True, environment=environment)) as cluster:
        addresses = cluster.addresses
        work = _connect_and_play(addresses.game, addresses.matchmaking, options, console)
        await with_cluster(cluster, work)


async def _connect_and_play(game: str, matchmaking: str, options: PlayOptions, console: Console) -> None:
    async with Client.connect(game=game, matchmaking=matchmaking, languages=current_language()) as client:
        await client.sign_in_as_guest(options.name)
        room = await client.create_room(
            room_pb2.RoomOptions(
                seats=options.seats,
                rules=rules_pb2.RuleOptions(target_score=options.target_score),
                visibility=room_pb2.VISIBILITY_PRIVATE,
                spectators_allowed=True,  # for `rami watch`; nobody but the player sees the hand
                turn_time_limit=Duration(),  # a person may think
                round_interval=Duration(seconds=2),
            ),
            bots=dict.fromkeys(range(1, options.seats), options.level),
        )
        record = MatchRecord(options.save, room.room_id)
        finished = False
        try:
            async with client.table(room.room_id, seat=0, receipt=record.receipt) as table:
                await _bring_entropy(table)
                await client.start_match(room.room_id)
                finished = await _Game(table, console, plain=options.plain, hints=options.hint).play()
        finally:
            if not finished:  # also when interrupted: nobody is left to wait for
                with suppress(RpcError):
                    await client.leave_room(room.room_id)
        if not finished:
            console.print(f"\n{text('left-table')}")
            return
        assert table.view is not None, "a match that was played has a view"
        console.print(final_standings(table.room, table.view))
        console.print(record.finish(await client.replay(room.room_id)))


async def _bring_entropy(table: Table) -> None:
    """Waits until the table has brought entropy; a match without it is no worse than trusting the service."""
    with suppress(TimeoutError):
        async with asyncio.timeout(ENTROPY_SECONDS):
            while not table.room.seats[0].entropy_set:
                await table.changed()


class _Game:
    """A match on the screen, with somebody at the keyboard."""

    def __init__(self, table: Table, console: Console, *, plain: bool, hints: bool = False) -> None:
        self._table = table
        self._hints = hints
        self._hint = Text()
        self._hint_of = 0
        """The version that the hint is for."""
        self._console = console
        self._redraws = console.is_terminal and not plain
        self._screen = Screen(table.room, table.view)
        self._note = Text()
        self._asked_at = 0
        """The version that the player was last asked at."""

    async def play(self) -> bool:
        """Plays to the end of the match; False when the player has left before."""
        news: asyncio.Queue[Update | str | None] = asyncio.Queue()
        pumps = [
            asyncio.create_task(_pump_updates(self._table.updates(), news)),
            asyncio.create_task(_pump_lines(news)),
        ]
        try:
            await self._find_hint()
            self._show()
            while not self._table.over or not news.empty():
                item = await news.get()
                if item is None or (isinstance(item, str) and item.strip().lower() in LEAVING):
                    return False
                if isinstance(item, str):
                    await self._act(item)
                else:
                    self._take(item)
                # What is shown must be the latest: after an action its update is still on the way here.
                if news.empty() and self._screen.version == self._table.version:
                    await self._find_hint()
                    self._show()
            return True
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    def _take(self, update: Update) -> None:
        for line in self._screen.take(update):
            if not self._redraws:
                self._console.print(line)

    async def _act(self, typed: str) -> None:
        """Plays what was typed, or notes why not."""
        table = self._table
        self._note = Text()
        self._asked_at = 0
        if typed.strip() == "?":
            self._note = rich_text("help")
        elif table.view is None or not table.legal_actions:
            self._note = rich_text("not-your-turn")
        else:
            try:
                await table.act(choose(typed, table.view, table.legal_actions))
            except ChoiceError as error:
                self._note = Text(f"{error}.", style="yellow")
            except (StaleVersionError, RewoundError, ActionRefusedError) as error:
                self._note = rich_text("moved-on", "yellow", error=_reason(error))

    async def _find_hint(self) -> None:
        """Thinks for the player when it is the player's turn, once for each version of the table."""
        version, view, legal = self._table.version, self._table.view, self._table.legal_actions
        if self._hints and legal and view is not None and version != self._hint_of:
            self._hint = await asyncio.to_thread(hint_for, view, legal)
            self._hint_of = version

    def _show(self) -> None:
        """Shows the table, and asks when it is the player's turn."""
        legal = self._table.legal_actions
        below = [self._note] if self._note.plain else []
        if self._note.plain != text("help"):
            below += draw_choices(legal)
            if legal and self._hint_of == self._table.version:
                below.append(self._hint)
        if self._redraws:
            self._console.clear()
            height = HEIGHT - sum(line.plain.count("\n") + 1 for line in below)
            self._console.print(self._screen.draw(height))
        elif self._asked_at == self._table.version:
            return
        elif legal:
            self._console.print(self._screen.draw_table())
        self._asked_at = self._table.version
        for line in below:
            self._console.print(line)
        if legal:
            self._console.print(text("your-move"), end=" ")
        elif self._redraws and not self._table.over:
            self._console.print(text("waiting"), style="dim", end="")


async def _pump_updates(updates: AsyncIterator[Update], news: asyncio.Queue[Update | str | None]) -> None:
    async for update in updates:
        news.put_nowait(update)


async def _pump_lines(news: asyncio.Queue[Update | str | None]) -> None:
    """Hands on what is typed, and None at the end of the input."""
    with LineReader() as typed:
        line: str | None = ""
        while line is not None:
            line = await typed.read()
            news.put_nowait(line)


def _reason(error: RamiClientError) -> str:
    """Why an action was not played, for the player to read."""
    return (error.localized_message if isinstance(error, RpcError) else "") or str(error)
