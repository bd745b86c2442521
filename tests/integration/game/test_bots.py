"""Bots and the decision service: every way in which it fails, its pace, who else it plays for."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise
from typing import TYPE_CHECKING

import grpc
import pytest

from rami.ai.v1 import decision_service_pb2 as ai_pb
from rami.game.v1 import event_pb2, room_pb2
from rami.game.v1 import game_service_pb2 as pb
from rami_engine import DRAW_STOCK, verify_replay
from rami_wire import action_to_proto, replay_record
from support.game_bots import FakeBots, Misbehaviour, at_random, first, illegal, refusing, silent
from support.game_cluster import CALL_SECONDS, NO_BOTS, game_cluster, request_id, room_options
from support.game_streams import PlayStream, Watch, play_over
from support.waiting import eventually

if TYPE_CHECKING:
    from support.game_bots import Choice
    from support.game_cluster import Cluster

FALLBACK = event_pb2.ACTION_SOURCE_FALLBACK


async def sources(cluster: Cluster, room_id: str) -> set[event_pb2.ActionSource.ValueType]:
    replay = await cluster.player("ann").replay(room_id)
    verify_replay(replay_record(replay.header, replay.rounds))
    return {action.source for played in replay.rounds for action in played.actions}


async def bots_only(cluster: Cluster, target: int = 1) -> tuple[room_pb2.Room, Watch]:
    """A match of two bots that somebody watches from its beginning to its end."""
    ann = cluster.player("ann")
    room = await ann.create(room_options(2, target=target), {0: "easy", 1: "hard"}, observe=True)
    watch = Watch(ann, room.room_id)
    async with watch:
        await watch.read()
        await ann.start(room.room_id)
        await watch.until(lambda: watch.mirror.room.HasField("result"))
    return await ann.room(room.room_id), watch


@pytest.mark.parametrize(
    ("choose", "garbage", "cause"),
    [
        (illegal, False, "illegal"),
        (lambda _request: 2**32 - 1, False, "illegal"),
        (silent, False, "deadline_exceeded"),
        (refusing(grpc.StatusCode.RESOURCE_EXHAUSTED), False, "resource_exhausted"),
        (refusing(grpc.StatusCode.FAILED_PRECONDITION), False, "failed_precondition"),
        (refusing(grpc.StatusCode.INTERNAL), False, "internal"),
        (refusing(grpc.StatusCode.CANCELLED), False, "cancelled"),
        (first, True, "malformed"),
    ],
    ids=["illegal", "huge", "silent", "exhausted", "precondition", "internal", "cancelled", "garbage"],
)
async def test_v7_a_decision_service_that_misbehaves_is_made_up_for(
    store_url: str, bots: FakeBots, choose: Choice, garbage: bool, cause: str
) -> None:
    bots.choose, bots.garbage = choose, garbage
    patience = 0.02 if choose is silent else 10.0
    async with game_cluster(
        store_url, ai_address=bots.target, decision_timeout_seconds=patience, decision_patience_seconds=0
    ) as cluster:
        await fall_back_once(cluster, bots, cause)


async def fall_back_once(cluster: Cluster, bots: FakeBots, cause: str) -> None:
    """A person's match in which the bot's first turn goes wrong, and which then reaches its end."""
    ann = cluster.player("ann")
    room = await ann.create(room_options(2, target=1, turn_limit=60), {1: "hard"})
    async with PlayStream(ann, room.room_id) as stream:
        await ann.start(room.room_id)
        await stream.until(lambda: bool(stream.mirror.legal_actions))
        await stream.act(stream.mirror.legal_actions[0])
        await stream.act(stream.mirror.legal_actions[-1])
        await stream.until(lambda: stream.mirror.room.turn.seat == 0 or stream.mirror.room.HasField("result"))
        played = [
            change.action_played
            for event in stream.events
            for change in event.changes
            if change.HasField("action_played") and change.action_played.seat == 1
        ]
        assert [action.action.WhichOneof("kind") for action in played] == ["draw_stock", "discard"]
        assert {action.source for action in played} == {FALLBACK}
        assert stream.versions == list(range(stream.snapshots[0].room.version + 1, stream.version + 1))
        assert cluster.sample("rami_game_fallbacks_total", cause=cause) == 2
        assert cluster.sample("rami_game_bot_decisions_total", level="hard", outcome=cause) == 6
        assert cluster.sample("rami_game_actions_total", kind="draw_stock", actor="fallback", outcome="ok") == 1
        bots.choose, bots.garbage = first, False

        await play_over({0: stream}, random.Random(1))
    assert (await ann.room(room.room_id)).status == room_pb2.ROOM_STATUS_OVER


async def test_v7_a_match_reaches_its_end_without_any_decision_service(store_url: str) -> None:
    async with game_cluster(store_url, ai_address=NO_BOTS, max_turns_per_round=2, max_turns_per_match=2) as cluster:
        room, watch = await bots_only(cluster, target=1000)
        assert room.status == room_pb2.ROOM_STATUS_OVER
        assert await sources(cluster, room.room_id) == {FALLBACK}
        assert cluster.sample("rami_game_fallbacks_total", cause="unavailable") == 4
        assert watch.versions == list(range(2, room.version + 1))


async def test_v7_a_fallback_comes_within_the_time_that_people_have_for_a_turn(store_url: str, bots: FakeBots) -> None:
    """A silent service may take 20 s for a decision here, but a turn has 0.6 s."""
    bots.choose = silent
    async with game_cluster(store_url, ai_address=bots.target, decision_timeout_seconds=20) as cluster:
        ann = cluster.player("ann")
        room = await ann.create(room_options(2, turn_limit=0.6), {0: "easy", 1: "hard"}, observe=True)
        async with Watch(ann, room.room_id) as watch:
            await watch.read()
            await ann.start(room.room_id)
            await watch.until_version(4)
            decisions = cluster.sample("rami_game_bot_decisions_total", level="easy", outcome="deadline_exceeded")
            assert decisions == 2, "each was asked for once, as long as there was time"
        times = [event.time.ToMilliseconds() for event in watch.events]
        assert times[2] - times[0] >= 2 * 190, "and as long as it had"


async def test_a_bad_answer_is_asked_for_again(game: Cluster, bots: FakeBots) -> None:
    answers = iter([99, 0])
    bots.choose = lambda _request: next(answers, 0)
    room, _ = await bots_only(game)

    assert FALLBACK not in await sources(game, room.room_id)
    assert game.sample("rami_game_bot_decisions_total", level="easy", outcome="illegal") == 1
    assert game.sample("rami_game_bot_decisions_total", level="easy", outcome="ok") >= 1


@pytest.mark.parametrize("code", [grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE])
async def test_a_service_that_is_busy_or_away_for_a_moment_is_waited_for(
    store_url: str, bots: FakeBots, code: grpc.StatusCode
) -> None:
    refusals = iter([code] * 6)

    def choose(_request: object) -> int:
        refusal = next(refusals, None)
        if refusal is not None:
            raise Misbehaviour(refusal)
        return 0

    bots.choose = choose
    async with game_cluster(store_url, ai_address=bots.target, decision_patience_seconds=30) as cluster:
        room, _ = await bots_only(cluster)

        assert FALLBACK not in await sources(cluster, room.room_id)
        assert cluster.sample("rami_game_bot_decisions_total", level="easy", outcome=code.name.lower()) >= 5


async def test_a_service_that_stays_away_is_not_waited_for_twice(store_url: str) -> None:
    """So many times the patience is longer than the test waits for the end of the match."""
    turns, patience = 8, 4
    assert 2 * turns * patience > CALL_SECONDS
    async with game_cluster(
        store_url,
        ai_address=NO_BOTS,
        max_turns_per_round=turns,
        max_turns_per_match=turns,
        decision_patience_seconds=patience,
    ) as cluster:
        await bots_only(cluster, target=1000)
        assert cluster.sample("rami_game_fallbacks_total", cause="unavailable") == 2 * turns


async def test_decisions_say_whether_people_wait(game: Cluster, bots: FakeBots) -> None:
    await bots_only(game)
    assert {request.service_class for request in bots.requests} == {ai_pb.SERVICE_CLASS_BOTS_ONLY}
    bots.requests.clear()
    ann = game.player("ann")
    room = await ann.create(room_options(2, bot_pace=0), {0: "easy"})
    await ann.start(room.room_id)
    await eventually(lambda: bool(bots.requests), "the bot is asked")
    assert {request.service_class for request in bots.requests} == {ai_pb.SERVICE_CLASS_PEOPLE}


async def test_bots_think_as_long_as_the_room_says(game: Cluster) -> None:
    ann = game.player("ann")
    room = await ann.create(room_options(2, bot_pace=0.2), {0: "easy", 1: "easy"}, observe=True)
    async with Watch(ann, room.room_id) as watch:
        await watch.read()
        await ann.start(room.room_id)
        await watch.until_version(5)
    times = [event.time.ToMilliseconds() for event in watch.events]

    assert all(later - earlier >= 200 for earlier, later in pairwise(times))


async def test_a_bot_moves_at_once_in_a_match_that_begins_before_its_time(store_url: str, bots: FakeBots) -> None:
    """The room waited for entropy for a whole minute, which came early."""
    async with game_cluster(store_url, ai_address=bots.target, entropy_window_seconds=60) as cluster:
        ann = cluster.player("ann")
        room = await ann.create(room_options(2, auto_start=True), {0: "easy"})
        async with Watch(ann, room.room_id) as watch:
            await watch.read()
            await ann.bring(room.room_id, b"early")
            await watch.until(lambda: watch.mirror.room.turn.seat == 1)
        assert bots.requests
        assert room.seats[1].player.player_id == ann.id


async def test_a_room_waits_for_entropy_no_longer_than_it_must(store_url: str, bots: FakeBots) -> None:
    async with game_cluster(store_url, ai_address=bots.target, entropy_window_seconds=0.3) as cluster:
        ann, bob = cluster.player("ann"), cluster.player("bob")
        room = await ann.create(room_options(2, auto_start=True))
        async with Watch(ann, room.room_id) as watch:
            await watch.read()
            await ann.bring(room.room_id, b"mine")
            await bob.join(room.room_id)  # and now it waits
            await watch.until(lambda: watch.mirror.room.status == room_pb2.ROOM_STATUS_IN_MATCH)
        joined, begun = watch.events[1], watch.events[2]
        assert begun.time.ToMilliseconds() - joined.time.ToMilliseconds() >= 300
        assert list(watch.mirror.room.entropies) == [b"mine", b""]


async def test_a_bot_plays_for_who_left_and_hands_the_seat_back(game: Cluster, bots: FakeBots) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    room = await ann.create(room_options(2, target=1000, bot_pace=0))
    await bob.join(room.room_id)
    await ann.start(room.room_id)
    async with Watch(bob, room.room_id, legal=True) as watch:
        await watch.read()
        await ann.leave(room.room_id)
        await watch.until(lambda: bool(watch.mirror.legal_actions))
        assert watch.stand_in(0)
        assert {request.bot for request in bots.requests} == {"easy"}, "the profile for people who are away"
        assert (await ann.join(room.room_id)).seat == 0
        await bob.submit(room.room_id, watch.version + 1, action_to_proto(DRAW_STOCK))
        legal = (await bob.view(room.room_id)).legal_actions
        await bob.submit(room.room_id, legal.version, legal.actions[-1])
        await watch.until(lambda: watch.mirror.room.turn.seat == 0)
        assert not watch.stand_in(0)
        legal = (await ann.view(room.room_id)).legal_actions
        await ann.submit(room.room_id, legal.version, legal.actions[0])
    assert await sources(game, room.room_id) == {event_pb2.ACTION_SOURCE_PLAYER, event_pb2.ACTION_SOURCE_BOT}


async def test_a_bot_does_not_act_for_who_is_back_before_it_has_decided(game: Cluster, bots: FakeBots) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    room = await ann.create(room_options(2, bot_pace=0))
    await bob.join(room.room_id)
    version = await ann.start(room.room_id)
    asked, answer = asyncio.Event(), asyncio.Event()

    async def slowly(_request: object) -> int:
        asked.set()
        await answer.wait()
        return 0

    bots.choose = slowly
    await ann.leave(room.room_id)
    async with asyncio.timeout(CALL_SECONDS):
        await asked.wait()
    await ann.join(room.room_id)
    answer.set()
    await eventually(
        lambda: game.sample("rami_game_bot_decisions_total", level="easy", outcome="ok") == 1, "the bot has decided"
    )
    played = await ann.submit(room.room_id, version + 2, action_to_proto(DRAW_STOCK))

    assert played.event.version == version + 3
    assert await sources(game, room.room_id) == {event_pb2.ACTION_SOURCE_PLAYER}


async def test_a_decision_counts_although_somebody_else_left_meanwhile(game: Cluster, bots: FakeBots) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    room = await ann.create(room_options(3, bot_pace=0), {0: "hard"})
    await bob.join(room.room_id)
    asked, answer = asyncio.Event(), asyncio.Event()

    async def slowly(_request: object) -> int:
        asked.set()
        await answer.wait()
        return 0

    bots.choose = slowly
    async with Watch(ann, room.room_id) as watch:
        await watch.read()
        version = await ann.start(room.room_id)
        async with asyncio.timeout(CALL_SECONDS):
            await asked.wait()
        for _ in range(2):
            await bob.leave(room.room_id)
            await bob.join(room.room_id)
        answer.set()
        await watch.until_version(version + 5)
        assert watch.events[-1].changes[0].action_played.seat == 0
    assert len([request for request in bots.requests if request.view.phase == 2]) == 1, "it was asked for once"


async def test_a_bot_profile_that_is_configured_can_be_seated(store_url: str, bots: FakeBots) -> None:
    bots.choose = at_random(2)
    async with game_cluster(store_url, ai_address=bots.target, bots="grandmaster") as cluster:
        ann = cluster.player("ann")
        request = pb.CreateRoomRequest(request_id=request_id(), options=room_options(2, target=1), observe=True)
        request.bots.extend(pb.BotSeat(seat=seat, bot="grandmaster") for seat in (0, 1))
        room = (await ann.call(ann.stub.CreateRoom, request)).room
        await ann.start(room.room_id)
        await eventually(lambda: bool(bots.requests), "the bot is asked")
        assert bots.requests[0].bot == "grandmaster"
