"""Showing a room while something happens in it: one live screen on a terminal, else a line for each thing."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from rich.console import Group
from rich.live import Live

from rami.game.v1 import event_pb2, room_pb2
from rami_cli.drawing import draw_change
from rami_cli.screen import HEIGHT, Screen, final_standings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from rich.console import Console, RenderableType

    from rami_client import Table, Update, Watch

CATCH_UP_SECONDS: Final = 30.0
"""How long the end of a match may take to be shown after it was played."""
BOARD_SECONDS: Final = 0.2
"""How often a board below the table is drawn anew."""


class Board(Protocol):
    """Something to be shown below the table, which changes by itself."""

    @property
    def lines(self) -> int:
        """How many lines it takes."""

    def __rich__(self) -> RenderableType: ...


async def show_until_over(room: Table | Watch, console: Console, *, plain: bool) -> None:
    """Shows a room until its match is over, or the room is gone, and then how it ended."""
    screen = Screen(room.room, room.view)
    told = not room.over and await _show(room.updates(), screen, console, plain=plain)
    if not told:  # nothing more will happen: what is there is all there is to see
        console.print(screen.draw_table())
        ended = _how_it_ended(room.room)
        console.print(draw_change(ended, screen.names))
    if room.view is not None:
        console.print(final_standings(room.room, room.view))


async def show_while(
    table: Table,
    playing: Coroutine[Any, Any, object],
    console: Console,
    *,
    plain: bool,
    board: Board | None = None,
) -> None:
    """Shows a table while somebody plays at it, to the end of the match. Raises what the playing raises.

    On a terminal `board` is shown below the table.
    """
    # The listener first: nothing may happen between the screen's room and its first update.
    showing = _show(table.updates(), Screen(table.room, table.view), console, plain=plain, board=board)
    shower, player = asyncio.create_task(showing), asyncio.create_task(playing)
    try:
        await player
        async with asyncio.timeout(CATCH_UP_SECONDS):
            await shower
    finally:
        for task in (player, shower):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _show(
    updates: AsyncIterator[Update], screen: Screen, console: Console, *, plain: bool, board: Board | None = None
) -> bool:
    """Shows updates to the end of the match; whether that was told, and not only what came of it."""
    if plain or not console.is_terminal:
        async for update in updates:
            for line in screen.take(update):
                console.print(line)
            if _is_over(update):
                return not update.snapshot
        return True

    def picture() -> RenderableType:
        return screen.draw() if board is None else Group(screen.draw(HEIGHT - board.lines), board)

    with Live(picture(), console=console, auto_refresh=False) as live:
        ticking = asyncio.create_task(_tick(live, picture)) if board is not None else None
        try:
            async for update in updates:
                screen.take(update)
                live.update(picture(), refresh=True)
                if _is_over(update):
                    return not update.snapshot
        finally:
            if ticking is not None:
                ticking.cancel()
    return True


async def _tick(live: Live, picture: Callable[[], RenderableType]) -> None:
    """Draws anew every so often, for what changes without an update."""
    while True:
        await asyncio.sleep(BOARD_SECONDS)
        live.update(picture(), refresh=True)


def _how_it_ended(room: room_pb2.Room) -> event_pb2.Change:
    if room.HasField("result"):
        return event_pb2.Change(match_ended=event_pb2.MatchEnded(result=room.result))
    return event_pb2.Change(room_closed=event_pb2.RoomClosed())


def _is_over(update: Update) -> bool:
    return update.room.status in (room_pb2.ROOM_STATUS_OVER, room_pb2.ROOM_STATUS_CLOSED)
