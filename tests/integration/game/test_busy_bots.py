"""A decision service that cannot keep up: people go first, tables of bots wait, and no fallback is needed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from integration.ai.serving import serving
from rami.game.v1 import event_pb2, room_pb2
from support.game_cluster import game_cluster, room_options
from support.game_streams import PlayStream, Watch, play_over
from support.waiting import eventually

if TYPE_CHECKING:
    from support.game_cluster import Cluster

BUSY_TABLES = 5
"""More than one worker and two who queue for it can serve."""


async def bots_only(cluster: Cluster, number: int) -> str:
    host = cluster.player(f"host{number}")
    room = await host.create(room_options(2, target=1000), {0: "hard", 1: "hard"}, observe=True)
    await host.start(room.room_id)
    return room.room_id


async def test_people_keep_their_bots_while_tables_of_bots_wait(store_url: str) -> None:
    async with (
        serving(workers=1, queue_limit=2) as ai,
        game_cluster(store_url, ai_address=f"127.0.0.1:{ai.app.port}", decision_timeout_seconds=50) as cluster,
    ):
        rooms = [await bots_only(cluster, number) for number in range(BUSY_TABLES)]
        await eventually(
            lambda: cluster.sample("rami_game_bot_decisions_total", level="hard", outcome="resource_exhausted") > 0,
            "more is asked than can be decided",
        )
        ann = cluster.player("ann")
        room = await ann.create(room_options(2, target=1, turn_limit=60), {1: "hard"})
        async with PlayStream(ann, room.room_id) as stream:
            await ann.start(room.room_id)
            await play_over({0: stream}, random.Random(2))
            played = [change.action_played for event in stream.events for change in event.changes]
        assert (await ann.room(room.room_id)).status == room_pb2.ROOM_STATUS_OVER
        sources = {action.source for action in played if action.seat == 1 and action.HasField("action")}
        assert sources == {event_pb2.ACTION_SOURCE_BOT}
        assert cluster.sample("rami_game_fallbacks_total", cause="resource_exhausted") == 0

        for number, room_id in enumerate(rooms):  # nothing starves: each of them goes on
            host = cluster.player(f"host{number}")
            version = (await host.room(room_id)).version
            async with Watch(host, room_id) as watch:
                await watch.until_version(version + 2)
