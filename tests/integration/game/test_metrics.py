"""What is counted, and that no name of anybody or anything is in a label."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from support.game_bots import at_random
from support.game_cluster import refusal, room_options
from support.game_streams import PlayStream, Watch, play_over
from support.waiting import eventually

if TYPE_CHECKING:
    from rami.game.v1 import room_pb2
    from support.game_bots import FakeBots
    from support.game_cluster import Cluster


def total(game: Cluster, name: str, **wanted: str) -> float:
    """The sum of the samples of a metric with these labels."""
    return sum(
        sample.value
        for family in game.apps[0].metrics.registry.collect()
        for sample in family.samples
        if sample.name == name and wanted.items() <= sample.labels.items()
    )


def series(game: Cluster) -> set[tuple[str, tuple[tuple[str, str], ...]]]:
    return {
        (sample.name, tuple(sorted(sample.labels.items())))
        for family in game.apps[0].metrics.registry.collect()
        for sample in family.samples
    }


async def played(game: Cluster, seed: int) -> tuple[room_pb2.Room, PlayStream]:
    ann = game.player(f"ann {seed}")
    await eventually(lambda: total(game, "rami_game_watchers") == 0, "nobody watches yet, or any more")
    room = await ann.create(room_options(2, target=1), {1: "hard"})
    stream = PlayStream(ann, room.room_id)
    async with stream, Watch(game.player("eve"), room.room_id) as watch:
        await stream.read()
        await watch.read()
        assert game.sample("rami_game_watchers", viewer="seat") == 1
        assert game.sample("rami_game_watchers", viewer="spectator") == 1
        await ann.start(room.room_id)
        await stream.until(lambda: bool(stream.mirror.legal_actions))
        await refusal(ann.submit(room.room_id, 1, stream.messages[-1].legal_actions.actions[0]))
        await play_over({0: stream}, random.Random(seed))
        await watch.until_version(stream.version)
    return room, stream


async def test_a_match_is_counted_once_and_no_label_names_anybody(game: Cluster, bots: FakeBots) -> None:
    bots.choose = at_random(1)
    room, stream = await played(game, 1)
    actions = [
        change.action_played for event in stream.events for change in event.changes if change.HasField("action_played")
    ]
    by_bot = sum(action.seat == 1 for action in actions)

    assert total(game, "rami_game_actions_total", outcome="ok") == len(actions)
    assert total(game, "rami_game_actions_total", outcome="ok", actor="bot") == by_bot
    assert total(game, "rami_game_actions_total", outcome="STALE_VERSION", actor="player") == 1
    assert total(game, "rami_game_action_seconds_count") == len(actions) - by_bot, "accepted actions of people"
    assert total(game, "rami_game_bot_decisions_total", level="hard", outcome="ok") == by_bot
    assert total(game, "rami_game_commits_total", kind="play") == len(actions)
    assert total(game, "rami_game_commits_total", kind="room") == 2
    assert total(game, "rami_game_matches_total", reason="target_score") == 1
    assert total(game, "rami_game_event_delivery_seconds_count") >= len(actions)
    assert total(game, "rami_game_rooms", state="over") == 1
    discards = sum(action.action.HasField("discard") for action in actions)
    turns = discards + (not actions[-1].action.HasField("discard"))
    assert total(game, "rami_game_turn_seconds_count") == turns
    await eventually(lambda: total(game, "rami_game_watchers") == 0, "nobody watches any more")

    names = {room.room_id, room.room_id.partition("-")[2], room.commitment.hex(), "ann", "eve"}
    names |= {seat.player.player_id for seat in room.seats if seat.player.player_id}
    values = {value for _, labels in series(game) for _, value in labels}
    assert not {value for value in values for name in names if name in value}


async def test_g10_more_rooms_make_no_more_series(game: Cluster, bots: FakeBots) -> None:
    bots.choose = at_random(1)
    await played(game, 1)
    await played(game, 2)
    before = series(game)
    for seed in range(3, 6):
        await played(game, seed)
    new = {(name, labels) for name, labels in series(game) - before if name.startswith("rami_game")}
    # Another kind of action or refusal may come for the first time; no series belongs to a room.
    assert {name for name, _ in new} <= {"rami_game_actions_total"}
