"""`rami demo`: a real match through the real services, shown while it is played and checked when it is over.

With `--chaos` every process is killed once while the match is played, the store included, and in the end the replay
must hold every action that was acknowledged. A match that is over before all are killed is followed by another.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rami.game.v1 import rules_pb2
from rami_cli.acknowledged import AskedActions
from rami_cli.chaos import Board, Chaos, fates_table
from rami_cli.cluster import Cluster, ClusterError, ClusterOptions
from rami_cli.record import MatchRecord
from rami_cli.running import EXPECTED_ERRORS, with_cluster
from rami_cli.screen import final_standings, make_console
from rami_cli.seats import ScriptedPlayer
from rami_cli.showing import show_while
from rami_client import Client, RetryPolicy, play_match

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from rich.console import Console

    from rami_client import Table
    from rami_engine import Action

TARGET_SCORE: Final = 60
"""Enough for a few rounds, and soon reached."""
PATIENT: Final = RetryPolicy(attempts=40, first_backoff_seconds=0.05, max_backoff_seconds=0.5)
"""For a cluster in which processes die: soon there again, and long not discouraged."""
MAX_SECONDS: Final = 90.0
"""A demo that takes longer has failed."""
MAX_CHAOS_SECONDS: Final = 150.0
"""One in which every process has to start twice."""


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
    chaos: bool = False
    """Kill every process once while the match is played."""


async def run_demo(options: DemoOptions) -> None:
    """Plays the demo. Raises ClusterError when it takes too long, LostMoveError when the replay lacks what was
    acknowledged, and what goes wrong on the way.
    """
    if options.chaos and os.environ.get("RAMI_REDIS_URL"):
        raise ClusterError("--chaos kills the store, too, and kills no store but its own: unset RAMI_REDIS_URL")
    console = make_console(plain=options.plain)
    seed = options.seed if options.seed is not None else secrets.randbits(32)
    console.print("Starting the store and the three services on free ports …")
    environment = {
        "RAMI_BOT_PACE_SECONDS": str(options.pace_seconds),
        "RAMI_BOT_FILL_WAIT_SECONDS": "0.5",
        "RAMI_ENTROPY_WINDOW_SECONDS": "5",
        "RAMI_DRAIN_GRACE_SECONDS": "3",
    }
    if options.chaos:
        environment["RAMI_DURABILITY"] = "fsync"
        console.print("Every action is acknowledged when it is on the disk: RAMI_DURABILITY=fsync.")
    limit = MAX_CHAOS_SECONDS if options.chaos else MAX_SECONDS
    try:
        async with asyncio.timeout(limit):
            async with Cluster(ClusterOptions(auto_ports=True, environment=environment), tell=console.print) as cluster:
                await _play_in(cluster, console, options, seed)
                console.print("Stopping everything …")
    except TimeoutError:
        raise ClusterError(f"the demo was stopped: it took longer than {limit:g} s") from None
    console.print("All processes have ended.")


async def _play_in(cluster: Cluster, console: Console, options: DemoOptions, seed: int) -> None:
    addresses = cluster.addresses
    console.print(
        f"Serving: game {addresses.game}, AI {addresses.ai}, matchmaking {addresses.matchmaking}, "
        f"store {addresses.redis}"
    )
    retry = PATIENT if options.chaos else RetryPolicy()
    async with Client.connect(game=addresses.game, matchmaking=addresses.matchmaking, retry=retry) as client:
        await client.sign_in_as_guest("Demo")
        chaos = Chaos(cluster, seed, console.print) if options.chaos else None
        await with_cluster(cluster, _play(client, console, options, seed, chaos))
        while chaos is not None and not chaos.done:
            console.print("\nThe match was over before every process was killed: another one.")
            await with_cluster(cluster, _play(client, console, options, seed, chaos))


async def _play(client: Client, console: Console, options: DemoOptions, seed: int, chaos: Chaos | None) -> None:
    rules = rules_pb2.RuleOptions(target_score=TARGET_SCORE)
    ticket = await client.join_queue(player_counts=[options.seats], rules=[rules], bots_allowed=True)
    console.print(f"Signed in as a guest and queued for a table of {options.seats}; bots fill it …")
    assignment = await client.wait_for_match(ticket.ticket_id)
    record = MatchRecord(options.save, assignment.room_id)
    journal = AskedActions(options.save / f"{assignment.room_id}.asked.jsonl" if options.save is not None else None)

    async def act(table: Table, action: Action, version: int) -> int:
        return await journal.play(table, action, version)

    async with client.table(assignment.room_id, seat=assignment.seat, receipt=record.receipt) as table:
        console.print(f"Seated in room {table.room_id}, seat {assignment.seat + 1}; scripted with seed {seed}.")
        playing = play_match(table, ScriptedPlayer(seed), pace_seconds=options.pace_seconds, act=act)
        if chaos is None:
            await show_while(table, playing, console, plain=options.plain)
        else:
            board = Board(chaos.fates, journal, table)
            await show_while(table, _among(playing, chaos.strike(table)), console, plain=options.plain, board=board)
        view = table.view
        assert view is not None, "a match that was played has a view"
        console.print()
        console.print(final_standings(table.room, view))
        sent_again = table.sent_again
    replay = await client.replay(assignment.room_id)
    console.print()
    if chaos is not None:
        console.print(fates_table(chaos.fates))
        console.print()
        found = journal.compare(replay, assignment.seat)
        console.print(
            f"This seat asked for {found.asked} actions: {found.acknowledged} were acknowledged, and {sent_again} had "
            "to be sent again.\nEvery acknowledged action is in the replay, once and as it was asked for: 0 lost, "
            f"{found.unacknowledged} applied without an acknowledgement."
        )
    console.print(record.finish(replay))


async def _among(playing: Coroutine[Any, Any, object], killing: Coroutine[Any, Any, None]) -> None:
    """Plays while somebody kills; over when both are. Raises what either raises."""
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(playing, name="play")
            tasks.create_task(killing, name="kill")
    except* EXPECTED_ERRORS as errors:
        raise errors.exceptions[0] from None
