"""`rami watch`: the matches that may be watched, and one of them to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rami.game.v1 import room_pb2
from rami_cli.lines import LineReader
from rami_cli.room_list import Answer, choose_room
from rami_cli.screen import make_console
from rami_cli.showing import show_until_over
from rami_cli.texts import text

if TYPE_CHECKING:
    from rich.console import Console

    from rami_client import Client

MOST: Final = 100
"""How many matches are asked for; of more the newest."""


async def run_watch(client: Client, room_id: str | None, *, plain: bool) -> None:
    """Watches a room until its match is over; without one, the player chooses. Raises RpcError."""
    console = make_console(plain=plain)
    if room_id is None:
        room_id = await _choose(client, console)
        if room_id is None:
            return
    async with client.watch(room_id) as watching:
        console.print(text("watching", room=room_id))
        await show_until_over(watching, console, plain=plain)


async def _choose(client: Client, console: Console) -> str | None:
    """The room that is chosen from the list, which Enter brings up to date; None for none."""
    with LineReader() as typed:
        while True:
            rooms = await client.list_rooms(room_pb2.ROOM_STATUS_IN_MATCH, limit=MOST, watchable=True)
            console.print(text("matches-to-watch") if rooms else text("no-matches-to-watch"))
            chosen = await choose_room(rooms, "choose-match", console, typed)
            if isinstance(chosen, room_pb2.Room):
                return chosen.room_id
            if chosen is Answer.LEAVE:
                return None
