"""People and bots who play for as long as a test looks, so that every metric has something to tell.

They queue for tables with bots and without, play matches, try what is not allowed, leave the queue, watch, and one of
them falls asleep at a table with a clock.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from google.protobuf.duration_pb2 import Duration

from rami.game.v1 import room_pb2, rules_pb2
from rami_client import Bot, Client, RamiClientError, play_match
from rami_engine import Action, SeatView, parse_action

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from support.cluster import Cluster

PAUSE_SECONDS = 0.1


class FirstLegal(Bot):
    """Plays the first thing that is legal."""

    def choose(self, view: SeatView, legal: tuple[Action, ...]) -> Action:  # noqa: ARG002 - it does not look
        return legal[0]


@asynccontextmanager
async def load(cluster: Cluster) -> AsyncIterator[None]:
    """Lets them play until the context ends; a failure of theirs ends it with that."""
    people = [_queue_with_bots, _queue_for_people, _queue_for_people, _change_minds, _watch_bots, _fall_asleep]
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_for_ever(_way(cluster, number), f"{number}", life)) for number, life in enumerate(people)
        ]
        yield
        for task in tasks:
            task.cancel()


def _way(cluster: Cluster, number: int) -> Cluster:
    """Every second of them comes through the edge, where there is one."""
    if cluster.edge is None or number % 2:
        return cluster
    return replace(cluster, game=cluster.edge, matchmaking=cluster.edge)


async def _for_ever(cluster: Cluster, name: str, life: Callable[[Client], Awaitable[None]]) -> None:
    async with Client.connect(game=cluster.game, matchmaking=cluster.matchmaking) as client:
        await client.sign_in_as_guest(f"guest {name}")
        while True:
            await life(client)
            await asyncio.sleep(PAUSE_SECONDS)


async def _queue_with_bots(client: Client) -> None:
    await _queue_and_play(client, [3], bots=True)


async def _queue_for_people(client: Client) -> None:
    await _queue_and_play(client, [2], bots=False)


async def _queue_and_play(client: Client, counts: list[int], *, bots: bool) -> None:
    rules = [rules_pb2.RuleOptions(target_score=1)]
    ticket = await client.join_queue(player_counts=counts, rules=rules, bots_allowed=bots)
    seat = await client.wait_for_match(ticket.ticket_id)
    async with client.table(seat.room_id) as table:
        await play_match(table, FirstLegal(), pace_seconds=PAUSE_SECONDS)


async def _change_minds(client: Client) -> None:
    ticket = await client.join_queue(player_counts=[4], bots_allowed=False)
    await client.leave_queue(ticket.ticket_id)
    room = await client.create_room(_options(2), bots={1: "hard"})
    await client.start_match(room.room_id)
    with suppress(RamiClientError):  # what it is refused for is counted
        await client.submit_action(room.room_id, parse_action("discard AS"), expected_version=1)
    await client.leave_room(room.room_id)


async def _watch_bots(client: Client) -> None:
    room = await client.create_room(_options(2), bots={0: "easy", 1: "normal"}, observe=True)
    async with client.watch(room.room_id) as watch:
        await client.start_match(room.room_id)
        async for _update in watch:
            if watch.room.status == room_pb2.ROOM_STATUS_OVER:
                return


async def _fall_asleep(client: Client) -> None:
    options = _options(2)
    options.turn_time_limit.CopyFrom(Duration(seconds=1))
    room = await client.create_room(options, bots={1: "easy"})
    async with client.table(room.room_id) as table:
        await client.start_match(room.room_id)
        with suppress(TimeoutError):
            async with asyncio.timeout(4):
                while not table.ended:
                    await table.changed()


def _options(seats: int) -> room_pb2.RoomOptions:
    return room_pb2.RoomOptions(seats=seats, rules=rules_pb2.RuleOptions(target_score=1), spectators_allowed=True)
