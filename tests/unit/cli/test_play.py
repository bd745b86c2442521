"""Playing at the keyboard: a match is shown to its end, and what ends the table ends the play."""

from __future__ import annotations

import asyncio
import io
import os
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from rami.game.v1 import event_pb2
from rami_cli import play as play_module
from rami_cli.lines import LineReader
from rami_cli.play import _Game
from rami_cli.showing import show_until_over
from rami_client import Client, NotFoundError, RetryPolicy
from support.fake_game import FakeGame
from support.matches import fallback
from support.statuses import status_of
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from rami_cli.play import News
    from rami_client import Update
    from support.fake_room import FakeRoom

RETRY = RetryPolicy(first_backoff_seconds=0.01)


@pytest.fixture
def typed() -> Iterator[LineReader]:
    """A keyboard at which nobody types."""
    read, write = os.pipe()
    try:
        yield LineReader(read)
    finally:
        os.close(read)
        os.close(write)


def play_out(room: FakeRoom) -> None:
    """Plays both seats to the end of the match."""
    while room.match is not None and room.match.winner is None:
        room.play(*fallback(room), event_pb2.ACTION_SOURCE_PLAYER)


def plain_console() -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=80, no_color=True, highlight=False, soft_wrap=True), out


async def test_the_end_is_shown_although_the_table_is_ahead(typed: LineReader, monkeypatch: pytest.MonkeyPatch) -> None:
    console, out = plain_console()
    async with FakeGame() as server:
        room = server.add_room(["ann", "bob"])
        client = Client.connect(game=server.target, token="ann", retry=RETRY)
        async with client, client.table(room.room_id, seat=0) as table:

            async def pump_late(updates: AsyncIterator[Update], news: asyncio.Queue[News]) -> None:
                await eventually(lambda: table.over, "the match is over")
                async for update in updates:
                    news.put_nowait(update)
                    await eventually(news.empty, "the update has been taken")

            monkeypatch.setattr(play_module, "_pump_updates", pump_late)
            await eventually(lambda: bool(room.entropies[0]), "entropy is brought")
            room.start()
            with typed:
                playing = asyncio.create_task(_Game(table, console, typed, plain=True).play())
                await asyncio.sleep(0)  # it listens
                play_out(room)
                assert await playing
    assert out.getvalue().endswith(" the match\n")


async def test_what_ends_the_table_ends_the_play(typed: LineReader) -> None:
    console, _ = plain_console()
    async with FakeGame() as server:
        room = server.add_room(["ann", "bob"])
        client = Client.connect(game=server.target, token="ann", retry=RETRY)
        async with client, client.table(room.room_id, seat=0) as table:
            room.start()
            with typed:
                playing = asyncio.create_task(_Game(table, console, typed, plain=True).play())
                await asyncio.sleep(0)
                server.break_streams(status_of("ROOM_NOT_FOUND"))
                with pytest.raises(NotFoundError):
                    await playing


async def test_a_watcher_who_was_away_at_the_end_is_told_how_it_ended() -> None:
    console, out = plain_console()
    async with FakeGame() as server:
        room = server.add_room(["ann", "bob"])
        room.start()
        client = Client.connect(game=server.target, token="ann", retry=RETRY)
        async with client, client.watch(room.room_id) as watching:
            showing = asyncio.create_task(show_until_over(watching, console, plain=True))
            await asyncio.sleep(0)
            server.break_streams()
            room.rewind(room.version - 1)  # of what it holds nobody knows any more: it gets a snapshot
            room.start()
            play_out(room)
            await showing
    assert " the match\nFinal standings" in out.getvalue()
