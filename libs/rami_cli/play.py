"""`rami play`: a person's seat in the terminal, against bots or with people."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from rich.text import Text

from rami.game.v1 import room_pb2
from rami_cli.choosing import ChoiceError, choose, draw_choices
from rami_cli.cluster import Cluster, ClusterOptions
from rami_cli.connecting import Home, connect
from rami_cli.guests import Guest, GuestBook, sign_in_as
from rami_cli.hints import hint_for
from rami_cli.lines import LineReader
from rami_cli.record import MatchRecord
from rami_cli.room_list import LEAVING, Answer, choose_room, others_are_people
from rami_cli.running import with_cluster
from rami_cli.screen import HEIGHT, Screen, final_standings, make_console
from rami_cli.texts import current_language, rich_text, text
from rami_cli.ways import Pace, Seat, back_to, by_code, from_queue, own_table, running_rooms
from rami_client import (
    ActionRefusedError,
    Client,
    RamiClientError,
    RetryPolicy,
    RewoundError,
    RpcError,
    StaleVersionError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from rich.console import Console

    from rami_client import Table, Update

    News = Update | RamiClientError | str | None
    """What happened at the table, why nothing more will, what was typed, and that nothing more will be."""

ENTROPY_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 10.0
"""How long a cluster at which a match was left has to answer, before the player goes on without it."""


@dataclass(frozen=True, slots=True)
class PlayOptions:
    """What to play."""

    seats: int = 3
    level: str = "normal"
    """The bot profile of the others, at a table of one's own."""
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
    pace: Pace | None = None
    """With whoever is in the queue at this pace; None does not queue."""
    code: str | None = None
    """At the table of this join code."""
    token: str | None = field(default=None, repr=False)
    """The bearer token of a player of the running cluster; None plays as a guest."""


async def run_play(options: PlayOptions) -> None:
    """Plays one match: in the cluster that is named, or goes on where one was left, or in a cluster of its own."""
    with LineReader() as typed:
        player = _Player(options, make_console(plain=options.plain), typed, GuestBook.of_user())
        if options.game is not None:
            await player.play_at(Home(options.game, options.matchmaking))
        elif not await player.went_on():
            await player.play_alone()


class _Player:
    """Somebody at the keyboard, on the way to a seat."""

    def __init__(self, options: PlayOptions, console: Console, typed: LineReader, book: GuestBook) -> None:
        self._options = options
        self._console = console
        self._typed = typed
        self._book = book

    async def play_alone(self) -> None:
        """Plays in a cluster of its own, which nobody finds again."""
        self._console.print(text("starting-table"))
        environment = {"RAMI_DRAIN_GRACE_SECONDS": "3"}
        async with Cluster(ClusterOptions(auto_ports=True, environment=environment)) as cluster:
            await with_cluster(cluster, self._play_in(Home(cluster.addresses.game, cluster.addresses.matchmaking)))

    async def _play_in(self, home: Home) -> None:
        async with self._connect(home) as client:
            await client.sign_in_as_guest(self._options.name)
            await self._sit(client, await self._own_table(client), None, lasting=False)

    async def play_at(self, home: Home) -> None:
        """Plays in a running cluster: as the player of the token, or the guest of that name who was there before."""
        async with self._connect(home) as client:
            guest: Guest | None = None
            if self._options.token is not None:
                await client.sign_in(self._options.token)
            else:
                guest = await sign_in_as(client, self._book, home, self._options.name)
            seat = await self._find_seat(client)
            if seat is None:
                self._console.print(text("left-table"))
                return
            await self._sit(client, seat, guest)

    async def went_on(self) -> bool:
        """Offers to go on with the match that was left last, if it still goes on; False for another match instead."""
        guest = self._book.left_behind()
        if guest is None:
            return False
        patience = RetryPolicy(attempts=1)
        try:
            async with self._connect(guest.home, deadline_seconds=ANSWER_SECONDS, retry=patience) as client:
                guest = await sign_in_as(client, self._book, guest.home, guest.name)
                rooms = await running_rooms(client)
        except RpcError:
            self._console.print(rich_text("left-no-answer", "dim", address=guest.game))
            return False
        if not rooms:
            self._book.keep(replace(guest, room=""))
            return False
        chosen = await self._offer(rooms, client.player_id)
        if isinstance(chosen, room_pb2.Room):
            async with self._connect(guest.home) as client:
                guest = await sign_in_as(client, self._book, guest.home, guest.name)
                await self._sit(client, await back_to(client, chosen.room_id), guest)
        return chosen is not Answer.NONE_OF_THEM

    def _connect(self, home: Home, *, deadline_seconds: float = 10.0, retry: RetryPolicy | None = None) -> Client:
        return connect(home, deadline_seconds=deadline_seconds, retry=retry, languages=current_language())

    async def _offer(self, rooms: list[room_pb2.Room], player_id: str) -> room_pb2.Room | Answer:
        self._console.print(text("match-goes-on"))
        return await choose_room(rooms, "choose-to-go-on", self._console, self._typed, player_id)

    async def _find_seat(self, client: Client) -> Seat | None:
        """The seat that the options ask for, or one that is still held; None when the player would rather have none."""
        options = self._options
        if options.code:
            return await by_code(client, self._console, self._typed, options.code)
        rooms = await running_rooms(client)
        if rooms:
            chosen = await self._offer(rooms, client.player_id)
            if chosen is Answer.LEAVE:
                return None
            if isinstance(chosen, room_pb2.Room):
                return await back_to(client, chosen.room_id)
        if options.pace is None:
            return await self._own_table(client)
        return await from_queue(
            client,
            self._console,
            self._typed,
            seats=options.seats,
            target_score=options.target_score,
            pace=options.pace,
        )

    async def _own_table(self, client: Client) -> Seat:
        options = self._options
        return await own_table(client, seats=options.seats, level=options.level, target_score=options.target_score)

    async def _sit(self, client: Client, seat: Seat, guest: Guest | None, *, lasting: bool = True) -> None:
        """Plays at a seat. In a `lasting` cluster a match may be left and found again: by a guest who is kept."""
        record = MatchRecord(self._options.save, seat.room_id)
        if guest is not None:
            guest = self._book.keep(replace(guest, room=seat.room_id))
        table = client.table(seat.room_id, seat=seat.seat, receipt=record.receipt)
        finished, interrupted = False, True
        try:
            async with table:
                if seat.starts:
                    await _bring_entropy(table)
                    await client.start_match(seat.room_id)
                options = self._options
                game = _Game(table, self._console, self._typed, plain=options.plain, hints=options.hint)
                finished = await game.play()
                interrupted = game.hung_up
        finally:
            if not finished:
                stays = await self._leave(client, table.room, seat.room_id, may_wait=lasting and interrupted)
                if lasting and stays:
                    self._console.print(text("goes-on-later"))
                elif guest is not None:
                    self._book.keep(replace(guest, room=""))
        if not finished:
            return
        if guest is not None:
            self._book.keep(replace(guest, room=""))
        if table.view is None:  # the table was closed before its match
            self._console.print(text("room-gone"))
            return
        self._console.print(final_standings(table.room, table.view))
        self._console.print(record.finish(await client.replay(seat.room_id)))

    async def _leave(self, client: Client, room: room_pb2.Room, room_id: str, *, may_wait: bool) -> bool:
        """Leaves a seat in the middle of things, such that nobody waits for who has gone; whether it can be taken back.

        A bot plays on where people sit. A match against bots alone ends, unless it `may_wait` for its player. `room` is
        empty when it was never seen.
        """
        with_people = others_are_people(room, client.player_id)
        in_match = room.status == room_pb2.ROOM_STATUS_IN_MATCH
        waits = may_wait and not with_people and (in_match or not room.room_id)
        self._console.print()
        if not waits:
            with suppress(RpcError):
                await client.leave_room(room_id)
            self._console.print(text("left-table"))
        return waits or (with_people and in_match)


async def _bring_entropy(table: Table) -> None:
    """Waits until the table has brought entropy; a match without it is no worse than trusting the service."""
    with suppress(TimeoutError):
        async with asyncio.timeout(ENTROPY_SECONDS):
            while not table.room.seats[0].entropy_set:
                await table.changed()


class _Game:
    """A match on the screen, with somebody at the keyboard."""

    def __init__(self, table: Table, console: Console, typed: LineReader, *, plain: bool, hints: bool = False) -> None:
        self._table = table
        self._typed = typed
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
        self.hung_up = False
        """Whether the keyboard went away, as that of a window that is closed: nobody has decided to leave."""

    async def play(self) -> bool:
        """Plays to the end of the match; False when the player has left before. Raises what ended the table."""
        news: asyncio.Queue[News] = asyncio.Queue()
        pumps = [
            asyncio.create_task(_pump_updates(self._table.updates(), news)),
            asyncio.create_task(_pump_lines(self._typed, news)),
        ]
        try:
            if not self._redraws and self._table.view is not None and not self._table.legal_actions:
                self._console.print(self._screen.draw_table())  # where a match stands that goes on
            await self._find_hint()
            self._show()
            # The table may be ahead of what has been told of it: the end is shown, too.
            while not self._table.over or not news.empty() or self._screen.version != self._table.version:
                item = await news.get()
                if isinstance(item, RamiClientError):
                    raise item
                self.hung_up = item is None
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


async def _pump_updates(updates: AsyncIterator[Update], news: asyncio.Queue[News]) -> None:
    """Hands on what happens, and what ends it."""
    try:
        async for update in updates:
            news.put_nowait(update)
    except RamiClientError as error:
        news.put_nowait(error)


async def _pump_lines(typed: LineReader, news: asyncio.Queue[News]) -> None:
    """Hands on what is typed, and None at the end of the input."""
    line: str | None = ""
    while line is not None:
        line = await typed.read()
        news.put_nowait(line)


def _reason(error: RamiClientError) -> str:
    """Why an action was not played, for the player to read."""
    return (error.localized_message if isinstance(error, RpcError) else "") or str(error)
