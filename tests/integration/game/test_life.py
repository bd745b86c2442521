"""Whole lives of rooms, over real channels: from the lobby through matches to the rematch, with verified replays."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from rami.game.v1 import event_pb2, room_pb2, rules_pb2
from rami.game.v1 import game_service_pb2 as pb
from rami_engine import ActionKind, verify_replay
from rami_wire import action_from_proto, replay_record
from support.game_bots import at_random
from support.game_cluster import Player, refusal, room_options
from support.game_streams import PlayStream, Watch, play_over
from support.game_tables import lively
from support.waiting import eventually

if TYPE_CHECKING:
    from support.game_bots import FakeBots
    from support.game_cluster import Cluster


async def play_out(players: list[Player], room_id: str, seed: int = 1) -> room_pb2.Room:
    """Play a match of people by SubmitAction alone, each choosing from the legal actions of its view."""
    chance = random.Random(seed)
    seats = {seat.player.player_id: seat.seat for seat in (await players[0].room(room_id)).seats}
    by_seat = {seats[player.id]: player for player in players}
    turn = (await players[0].room(room_id)).turn.seat
    legal = (await by_seat[turn].view(room_id)).legal_actions
    while True:
        actions = [action_from_proto(action) for action in legal.actions]
        chosen = legal.actions[actions.index(lively(actions, chance))]
        answer = await by_seat[turn].submit(room_id, legal.version, chosen, legal=True)
        assert answer.event.version == legal.version + 1
        if not answer.event.HasField("turn"):
            return await players[0].room(room_id)
        if answer.HasField("legal_actions"):
            legal = answer.legal_actions
        else:
            turn = answer.event.turn.seat
            legal = (await by_seat[turn].view(room_id)).legal_actions


async def verified(player: Player, room_id: str, page_size: int = 0) -> pb.GetReplayResponse:
    replay = await player.replay(room_id, page_size)
    proven = verify_replay(replay_record(replay.header, replay.rounds))
    assert proven.unchecked_round is None
    assert proven.rounds == len(replay.rounds)
    if replay.header.result.reason != rules_pb2.MATCH_END_REASON_ABANDONED:
        assert proven.winner == replay.header.result.winner_seat
        assert list(proven.scores) == list(replay.header.result.scores)
    return replay


async def test_people_play_a_match_by_submit_action_and_prove_it_fair(game: Cluster) -> None:
    ann, bob, cid = (game.player(name) for name in ("ann", "bob", "cid"))
    room = await ann.create(room_options(3, public=False, target=60))
    assert room.status == room_pb2.ROOM_STATUS_LOBBY
    assert room.host_player_id == ann.id
    assert len(room.commitment) == 32

    assert (await bob.join_with(room.join_code.lower())).seat == 1
    joined = await cid.join_with(f" {room.join_code[:3]}-{room.join_code[3:]}")
    assert joined.seat == 2
    for number, player in enumerate((ann, bob, cid)):
        await player.bring(room.room_id, bytes([number]) * 32)
    await ann.start(room.room_id)
    over = await play_out([ann, bob, cid], room.room_id)

    assert over.status == room_pb2.ROOM_STATUS_OVER
    assert max(over.result.scores) >= 60
    replay = await verified(bob, room.room_id)
    assert replay.header.commitment == room.commitment
    assert list(replay.header.entropies) == [bytes([number]) * 32 for number in range(3)]
    assert all(action.source == event_pb2.ACTION_SOURCE_PLAYER for r in replay.rounds for action in r.actions)


async def test_a_match_over_play_streams_with_watchers_and_a_bot(game: Cluster, bots: FakeBots) -> None:
    bots.choose = at_random(5)
    ann, bob, eve = (game.player(name) for name in ("ann", "bob", "eve"))
    room = await ann.create(room_options(3, target=40), {1: "hard"})
    room_id = room.room_id
    assert (await bob.join(room_id)).seat == 2
    chance = random.Random(7)
    async with Watch(eve, room_id) as spectator, PlayStream(ann, room_id) as first, PlayStream(bob, room_id) as second:
        await ann.start(room_id)
        await play_over({0: first, 2: second}, chance)
        await spectator.until(lambda: spectator.mirror.room.status == room_pb2.ROOM_STATUS_OVER)
        await second.until_version(first.version)

        for stream in (spectator, first, second):
            assert len(stream.snapshots) == 1
            assert stream.versions == list(range(stream.snapshots[0].room.version + 1, first.version + 1))
            assert stream.mirror.room.result == first.mirror.room.result
    replay = await verified(eve, room_id, page_size=1)
    sources = {action.source for played in replay.rounds for action in played.actions}
    assert sources == {event_pb2.ACTION_SOURCE_PLAYER, event_pb2.ACTION_SOURCE_BOT}


@pytest.mark.parametrize("seats", [2, 3, 4])
async def test_bots_play_whole_matches_among_themselves(game: Cluster, bots: FakeBots, seats: int) -> None:
    bots.choose = at_random(seats)
    ann = game.player("ann")
    room = await ann.create(room_options(seats, target=80), dict.fromkeys(range(seats), "normal"), observe=True)
    async with Watch(ann, room.room_id) as watch:
        await ann.start(room.room_id)
        await watch.until(lambda: watch.mirror.room.status == room_pb2.ROOM_STATUS_OVER)
    replay = await verified(ann, room.room_id)

    assert all(action.source == event_pb2.ACTION_SOURCE_BOT for r in replay.rounds for action in r.actions)
    assert game.sample("rami_game_fallbacks_total", cause="illegal") == 0


async def test_a_room_that_starts_by_itself_starts_when_all_entropy_is_there(game: Cluster) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    room = await ann.create(room_options(auto_start=True))
    await bob.join(room.room_id)
    await ann.bring(room.room_id, b"a" * 32)
    begun = await bob.bring(room.room_id, b"b")

    assert begun.status == room_pb2.ROOM_STATUS_IN_MATCH
    assert list(begun.entropies) == [b"a" * 32, b"b"]


async def test_an_abandoned_match_is_proven_as_far_as_it_went(game: Cluster) -> None:
    ann = game.player("ann")
    room = await ann.create(room_options(2), {1: "easy"})
    async with PlayStream(ann, room.room_id) as stream:
        await ann.start(room.room_id)
        await stream.until(lambda: bool(stream.mirror.legal_actions))
        for _ in range(2):
            await stream.act(stream.mirror.legal_actions[-1])
        await stream.until(lambda: stream.mirror.room.turn.seat == 0)
        await ann.leave(room.room_id)
        await stream.until(lambda: stream.mirror.room.status == room_pb2.ROOM_STATUS_OVER)
    replay = await verified(ann, room.room_id)

    assert replay.header.result.reason == rules_pb2.MATCH_END_REASON_ABANDONED
    assert len(replay.rounds[-1].seed) == 32
    assert not replay.rounds[-1].HasField("result")
    assert not replay.header.seats[0].player.stand_in, "ann sat there when the match started"


async def test_a_replay_in_play_holds_no_seed_and_pages_by_rounds(game: Cluster, bots: FakeBots) -> None:
    bots.choose = at_random(3)
    ann = game.player("ann")
    room = await ann.create(room_options(2, target=1000), {1: "easy"})
    chance = random.Random(2)
    async with PlayStream(ann, room.room_id) as stream:
        await ann.start(room.room_id)
        while stream.mirror.view is None or stream.mirror.view.round_number < 4:
            await stream.until(lambda: bool(stream.mirror.legal_actions))
            await stream.act(lively(stream.mirror.legal_actions, chance))
    whole = await ann.replay(room.room_id)
    assert [played.round_number for played in whole.rounds] == [1, 2, 3, 4]
    assert [bool(played.seed) for played in whole.rounds] == [True, True, True, False]
    assert [played.HasField("result") for played in whole.rounds] == [True, True, True, False]
    proven = verify_replay(replay_record(whole.header, whole.rounds))
    assert (proven.rounds, proven.unchecked_round) == (3, 4)
    one_by_one = await ann.replay(room.room_id, page_size=1)
    assert [played.SerializeToString() for played in one_by_one.rounds[:3]] == [
        played.SerializeToString() for played in whole.rounds[:3]
    ]


async def test_a_rematch_is_one_room_with_the_same_seats_bots_and_rules(game: Cluster) -> None:
    ann, bob, eve = (game.player(name) for name in ("ann", "bob", "eve"))
    room = await ann.create(room_options(3, target=1), {1: "hard"})
    await bob.join(room.room_id)
    assert (await refusal(ann.rematch(room.room_id))).reason == "MATCH_NOT_OVER"
    await ann.start(room.room_id)
    async with PlayStream(ann, room.room_id) as first, PlayStream(bob, room.room_id) as second:
        await play_over({0: first, 2: second}, random.Random(1))

        assert (await refusal(eve.rematch(room.room_id))).reason == "NOT_SEATED"
        asked = await bob.rematch(room.room_id)
        await first.until(lambda: bool(first.mirror.room.rematch_room_id))
        assert first.mirror.room.rematch_room_id == asked.room.room_id
    again = await bob.rematch(room.room_id)
    assert (again.room.room_id, again.seat) == (asked.room.room_id, 2)
    assert asked.room.room_id != room.room_id
    assert asked.room.commitment != room.commitment
    assert asked.room.host_player_id == bob.id
    other = await ann.rematch(room.room_id)
    assert (other.room.room_id, other.seat) == (asked.room.room_id, 0)
    assert other.room.seats[1].bot.bot == "hard"
    assert other.room.options.rules == room.options.rules
    await ann.bring(asked.room.room_id, b"a")
    # It starts as the first room did: by its host, who is now the one who asked first.
    assert (await bob.bring(asked.room.room_id, b"b")).status == room_pb2.ROOM_STATUS_LOBBY
    await bob.start(asked.room.room_id)
    assert (await ann.room(asked.room.room_id)).status == room_pb2.ROOM_STATUS_IN_MATCH


async def test_the_rematch_of_a_table_that_starts_by_itself_starts_by_itself(game: Cluster) -> None:
    ann = game.player("ann")
    room = await ann.create(room_options(2, target=1, auto_start=True), {1: "easy"})
    await ann.bring(room.room_id, b"a")
    await ann.leave(room.room_id)
    rematch = await ann.rematch(room.room_id)
    assert rematch.room.options.auto_start
    assert (await ann.bring(rematch.room.room_id, b"b")).status == room_pb2.ROOM_STATUS_IN_MATCH


async def test_a_host_who_only_observes_may_leave(game: Cluster) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    lobby = await ann.create(room_options(2), observe=True)
    await bob.join(lobby.room_id)
    await ann.leave(lobby.room_id)
    assert (await bob.room(lobby.room_id)).host_player_id == bob.id
    deserted = await ann.create(room_options(2), observe=True)
    await ann.leave(deserted.room_id)
    assert (await refusal(ann.room(deserted.room_id))).reason == "ROOM_NOT_FOUND"


async def test_the_bots_that_may_be_seated_are_listed_in_pages(game: Cluster) -> None:
    ann = game.player("ann")
    first = await ann.call(ann.stub.ListBotProfiles, pb.ListBotProfilesRequest(page_size=2))
    rest = await ann.call(
        ann.stub.ListBotProfiles, pb.ListBotProfilesRequest(page_size=2, page_token=first.next_page_token)
    )
    assert [profile.bot for profile in (*first.profiles, *rest.profiles)] == ["easy", "normal", "hard"]
    assert not rest.next_page_token
    foreign = pb.ListBotProfilesRequest(page_token="nobody")
    assert (await refusal(ann.call(ann.stub.ListBotProfiles, foreign))).code == "INVALID_ARGUMENT"


async def test_legal_actions_come_only_to_the_seat_to_move_and_only_if_asked_for(game: Cluster) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    room = await ann.create(room_options(2))
    await bob.join(room.room_id)
    asks, silent = Watch(ann, room.room_id, legal=True), Watch(ann, room.room_id)
    async with asks, silent, Watch(bob, room.room_id, legal=True) as other:
        await ann.start(room.room_id)
        await asks.until(lambda: bool(asks.mirror.legal_actions))
        draw = asks.messages[-1].legal_actions.actions[0]
        answer = await ann.submit(room.room_id, asks.version, draw, legal=True)
        for watch in (asks, silent, other):
            await watch.until_version(answer.event.version)
    assert asks.messages[-1].legal_actions == answer.legal_actions
    assert {action.kind for action in asks.mirror.legal_actions} >= {ActionKind.DISCARD}
    assert not any(message.HasField("legal_actions") for message in (*silent.messages, *other.messages))
    assert (await ann.view(room.room_id)).legal_actions == answer.legal_actions
    assert not (await bob.view(room.room_id)).HasField("legal_actions")


async def test_a_round_interval_holds_people_back_between_rounds(game: Cluster, bots: FakeBots) -> None:
    bots.choose = at_random(1)
    ann = game.player("ann")
    room = await ann.create(room_options(2, round_interval=0.3, target=1000), {0: "easy", 1: "easy"}, observe=True)
    async with Watch(ann, room.room_id) as watch:
        await watch.read()
        await ann.start(room.room_id)
        await watch.until(lambda: watch.mirror.view is not None and watch.mirror.view.round_number == 3)
    ends = [event for event in watch.events if any(change.HasField("round_ended") for change in event.changes)]
    deals = [event for event in watch.events if any(change.HasField("round_started") for change in event.changes)]
    for ended, dealt in zip(ends[:2], deals[1:], strict=True):
        assert dealt.version == ended.version + 1
        assert dealt.time.ToMilliseconds() - ended.time.ToMilliseconds() >= 300
        assert not ended.HasField("turn")


async def test_who_comes_between_two_rounds_or_after_the_match_sees_the_final_hands(
    game: Cluster, bots: FakeBots
) -> None:
    bots.choose = at_random(1)
    ann, eve = game.player("ann"), game.player("eve")
    for target, over in ((1000, False), (1, True)):
        options = room_options(2, round_interval=60, target=target)
        room = await ann.create(options, {0: "easy", 1: "easy"}, observe=True)
        async with Watch(ann, room.room_id) as watch:
            await watch.read()
            await ann.start(room.room_id)
            await watch.until(lambda: watch.mirror.round_ended is not None)
        (told,) = [change for change in watch.events[-1].changes if change.HasField("round_ended")]
        async with Watch(eve, room.room_id) as late:
            followed = (await late.read()).snapshot
        for snapshot in (followed, (await eve.view(room.room_id)).snapshot):
            assert snapshot.round_ended == told.round_ended
            assert len(snapshot.round_ended.hands) == 2
            assert snapshot.HasField("match_ended") == over
            assert snapshot.match_ended.result == snapshot.room.result


async def test_the_last_person_who_leaves_closes_the_lobby_for_everybody(game: Cluster) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    room = await ann.create(room_options(2))
    async with Watch(bob, room.room_id) as watch:
        await watch.read()
        await ann.leave(room.room_id)
        closed = await watch.read()
        assert closed.events[-1].changes[-1].room_closed.reason == event_pb2.ROOM_CLOSE_REASON_DESERTED
        assert await watch.call.read() is not None
        assert (await watch.call.code()).name == "OK"
    assert (await refusal(ann.room(room.room_id))).reason == "ROOM_NOT_FOUND"
    assert (await refusal(bob.join(room.room_id))).reason == "ROOM_NOT_FOUND"
    await eventually(lambda: game.sample("rami_game_watchers", viewer="spectator") == 0, "the watch has ended")
