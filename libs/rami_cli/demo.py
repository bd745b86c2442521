"""`rami demo`: a real match through the real services, shown while it is played and checked when it is over."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rami.game.v1 import rules_pb2
from rami_cli.cluster import Cluster, ClusterError, ClusterOptions
from rami_cli.record import MatchRecord
from rami_cli.running import with_cluster
from rami_cli.screen import final_standings, make_console
from rami_cli.seats import ScriptedPlayer
from rami_cli.showing import show_while
from rami_client import Client, play_match

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

TARGET_SCORE: Final = 60
"""Enough for a few rounds, and soon reached."""
MAX_SECONDS: Final = 90.0
"""A demo that takes longer has failed."""


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What to show."""

    seats: int = 3
    seed: int | None = None
    """Of the choices of the scripted seat; None picks one. No seed decides the cards: the service draws those."""
    plain: bool = False
    """Lines of text even on a terminal."""
    pace_seconds: float = 0.1
    """Least time between two actions."""
    save: Path | None = None
    """A folder for the replay and the receipt."""


async def run_demo(options: DemoOptions) -> None:
    """Plays the demo. Raises ClusterError when it takes too long, and what goes wrong on the way."""
    console = make_console(plain=options.plain)
    seed = options.seed if options.seed is not None else secrets.randbits(32)
    console.print("Starting the store and the three services on free ports …")
    environment = {
        "RAMI_BOT_PACE_SECONDS": str(options.pace_seconds),
        "RAMI_BOT_FILL_WAIT_SECONDS": "0.5",
        "RAMI_ENTROPY_WINDOW_SECONDS": "5",
        "RAMI_DRAIN_GRACE_SECONDS": "3",
    }
    try:
        async with asyncio.timeout(MAX_SECONDS):
            async with Cluster(ClusterOptions(auto_ports=True, environment=environment), tell=console.print) as cluster:
                await _play_in(cluster, console, options, seed)
                console.print("Stopping everything …")
    except TimeoutError:
        raise ClusterError(f"the demo was stopped: it took longer than {MAX_SECONDS:g} s") from None
    console.print("All processes have ended.")


async def _play_in(cluster: Cluster, console: Console, options: DemoOptions, seed: int) -> None:
    addresses = cluster.addresses
    console.print(
        f"Serving: game {addresses.game}, AI {addresses.ai}, matchmaking {addresses.matchmaking}, "
        f"store {addresses.redis}"
    )
    async with Client.connect(game=addresses.game, matchmaking=addresses.matchmaking) as client:
        await with_cluster(cluster, _play(client, console, options, seed))


async def _play(client: Client, console: Console, options: DemoOptions, seed: int) -> None:
    await client.sign_in_as_guest("Demo")
    rules = rules_pb2.RuleOptions(target_score=TARGET_SCORE)
    ticket = await client.join_queue(player_counts=[options.seats], rules=[rules], bots_allowed=True)
    console.print(f"Signed in as a guest and queued for a table of {options.seats}; bots fill it …")
    assignment = await client.wait_for_match(ticket.ticket_id)
    record = MatchRecord(options.save, assignment.room_id)
    async with client.table(assignment.room_id, seat=assignment.seat, receipt=record.receipt) as table:
        console.print(f"Seated in room {table.room_id}, seat {assignment.seat + 1}; scripted with seed {seed}.")
        playing = play_match(table, ScriptedPlayer(seed), pace_seconds=options.pace_seconds)
        await show_while(table, playing, console, plain=options.plain)
        view = table.view
        assert view is not None, "a match that was played has a view"
        console.print()
        console.print(final_standings(table.room, view))
    console.print()
    console.print(record.finish(await client.replay(assignment.room_id)))
