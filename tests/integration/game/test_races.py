"""The same things asked for twice, and different things at once: on one replica, on two, and many at a time."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest

from rami.game.v1 import event_pb2, room_pb2
from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1 import match_room_service_pb2 as match_pb
from rami_engine import DRAW_DISCARD, DRAW_STOCK, verify_replay
from rami_wire import action_from_proto, action_to_proto, replay_record, view_from_proto
from support.game_cluster import CALL_SECONDS, Refusal, game_cluster, id_of, refusal, request_id, room_options
from support.game_store import StoreView
from support.game_streams import PlayStream, Watch, play_over
from support.game_tables import lively

if TYPE_CHECKING:
    from support.game_bots import FakeBots
    from support.game_cluster import Cluster, Player


# Creating once.


async def test_a_room_is_created_once_for_a_request_on_any_replica(twins: Cluster, store_url: str) -> None:
    request = pb.CreateRoomRequest(request_id=request_id(), options=room_options(3, public=False))
    replicas = [twins.player("ann", number) for number in (0, 1, 0, 1)]
    rooms = await asyncio.gather(*(ann.call(ann.stub.CreateRoom, request) for ann in replicas))

    assert len({room.room.SerializeToString(deterministic=True) for room in rooms}) == 1
    with StoreView(store_url) as store:
        assert len(store.log(rooms[0].room.room_id)) == 1
        assert len(store.room_keys()) == 3, "a room, its log, its join code"


async def test_a_request_id_is_not_used_for_two_rooms(twins: Cluster) -> None:
    ann, elsewhere, bob = twins.player("ann"), twins.player("ann", 1), twins.player("bob")
    request = pb.CreateRoomRequest(request_id=request_id(), options=room_options(3))
    room = (await ann.call(ann.stub.CreateRoom, request)).room
    other = pb.CreateRoomRequest(request_id=request.request_id.upper(), options=room_options(2))
    expected = Refusal("INVALID_ARGUMENT", "REQUEST_ID_REUSED", {})

    assert await refusal(elsewhere.call(elsewhere.stub.CreateRoom, other)) == expected
    theirs = (await bob.call(bob.stub.CreateRoom, request)).room
    assert theirs.room_id != room.room_id, "the id is the caller's own"


async def test_a_matched_room_is_created_once(twins: Cluster) -> None:
    people = [room_pb2.SeatedPlayer(player_id=id_of(name), display_name=name.title()) for name in ("ann", "bob")]
    request = match_pb.CreateMatchRoomRequest(match_id=request_id(), options=room_options(2))
    request.seats.extend(match_pb.MatchSeat(player=person) for person in people)

    async def create(replica: int, wanted: match_pb.CreateMatchRoomRequest) -> str:
        stub, metadata = twins.match_rooms(replica)
        return (await stub.CreateMatchRoom(wanted, timeout=CALL_SECONDS, metadata=metadata)).room_id

    ids = await asyncio.gather(*(create(number % 2, request) for number in range(4)))
    assert len(set(ids)) == 1
    request.seats[1].player.display_name = "Somebody else"
    assert await refusal(create(0, request)) == Refusal("INVALID_ARGUMENT", "REQUEST_ID_REUSED", {})
    room = await twins.player("ann").room(ids[0])
    assert room.options.auto_start
    assert room.host_player_id == ""
    assert [seat.player.display_name for seat in room.seats] == ["Ann", "Bob"]


# Repeating.


async def test_every_mutation_repeated_gives_its_first_answer_and_changes_nothing(twins: Cluster) -> None:
    ann, bob = twins.player("ann"), twins.player("bob")
    elsewhere = {"ann": twins.player("ann", 1), "bob": twins.player("bob", 1)}
    room = await ann.create(room_options(4))
    room_id = room.room_id

    async def twice(player: Player, method: str, request: Any) -> Any:
        first = await player.call(getattr(player.stub, method), request)
        version = (await ann.room(room_id)).version
        other = elsewhere[player.name]
        again = await other.call(getattr(other.stub, method), request)
        assert again == first, method
        assert (await ann.room(room_id)).version == version, method
        return first

    await twice(bob, "JoinRoom", pb.JoinRoomRequest(request_id=request_id(), room_id=room_id, seat=2))
    changes = [pb.BotSeat(seat=1, bot="easy"), pb.BotSeat(seat=3, bot="hard")]
    update = pb.UpdateSeatsRequest(request_id=request_id(), room_id=room_id, changes=changes)
    await twice(ann, "UpdateSeats", update)
    await twice(ann, "SetEntropy", pb.SetEntropyRequest(request_id=request_id(), room_id=room_id, entropy=b"a"))
    started = await twice(ann, "StartMatch", pb.StartMatchRequest(request_id=request_id(), room_id=room_id))
    submit = pb.SubmitActionRequest(
        request_id=request_id(),
        room_id=room_id,
        expected_version=started.version,
        action=action_to_proto(DRAW_STOCK),
        legal_actions=True,
    )
    played = await twice(ann, "SubmitAction", submit)
    assert played.event.changes[0].action_played.HasField("drawn"), "the drawer sees its card again"
    assert played.HasField("legal_actions")
    await twice(bob, "LeaveRoom", pb.LeaveRoomRequest(request_id=request_id(), room_id=room_id))

    reused = pb.LeaveRoomRequest(request_id=submit.request_id, room_id=room_id)
    assert (await refusal(ann.call(ann.stub.LeaveRoom, reused))).reason == "REQUEST_ID_REUSED"
    submit.action.CopyFrom(action_to_proto(DRAW_DISCARD))
    assert (await refusal(ann.call(ann.stub.SubmitAction, submit))).reason == "REQUEST_ID_REUSED"


async def test_v2_the_same_action_at_once_on_two_replicas_is_played_once(twins: Cluster, store_url: str) -> None:
    ann, bob = twins.player("ann"), twins.player("bob")
    room = await ann.create(room_options(2, target=1000))
    room_id = room.room_id
    await bob.join(room_id)
    version = await ann.start(room_id)
    chance = random.Random(1)
    by_seat = {0: "ann", 1: "bob"}
    first: tuple[Player, pb.SubmitActionRequest, pb.SubmitActionResponse] | None = None
    for _ in range(40):
        mover = by_seat[(await ann.room(room_id)).turn.seat]
        legal = (await twins.player(mover).view(room_id)).legal_actions.actions
        action = action_to_proto(lively([action_from_proto(action) for action in legal], chance))
        request = pb.SubmitActionRequest(
            request_id=request_id(), room_id=room_id, expected_version=version, action=action
        )
        callers = [twins.player(mover, replica) for replica in (0, 1)]
        answers = await asyncio.gather(*(caller.call(caller.stub.SubmitAction, request) for caller in callers))
        assert answers[0] == answers[1]
        assert answers[0].event.version == version + 1
        version += 1
        first = first or (callers[0], request, answers[0])
    with StoreView(store_url) as store:
        assert [number for number, _ in store.log(room_id)] == list(range(1, version + 1))
    assert first is not None
    # The first of forty is not among the latest sixteen of its seat: it is not known, and cannot apply.
    caller, request, answer = first
    refused = await refusal(caller.call(caller.stub.SubmitAction, request))
    assert refused == Refusal("ABORTED", "STALE_VERSION", {"current_version": str(version)})
    assert answer.event.version < version


async def test_v3_of_two_actions_for_one_version_one_is_played(twins: Cluster) -> None:
    ann, bob = twins.player("ann"), twins.player("bob")
    players = {0: [ann, twins.player("ann", 1)], 1: [bob, twins.player("bob", 1)]}
    room = await ann.create(room_options(2, target=1000))
    room_id = room.room_id
    await bob.join(room_id)
    version = await ann.start(room_id)
    for _ in range(15):
        turn = (await ann.room(room_id)).turn
        legal = (await players[turn.seat][0].view(room_id)).legal_actions.actions
        wanted = [legal[0], legal[-1]]
        calls = [
            player.submit(room_id, version, action) for player, action in zip(players[turn.seat], wanted, strict=True)
        ]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        accepted = [outcome for outcome in outcomes if isinstance(outcome, pb.SubmitActionResponse)]
        assert [answer.event.version for answer in accepted] == [version + 1]
        lost = next(number for number, outcome in enumerate(outcomes) if outcome is not accepted[0])
        refused = await refusal(players[turn.seat][lost].submit(room_id, version, wanted[lost]))
        assert refused == Refusal("ABORTED", "STALE_VERSION", {"current_version": str(version + 1)})
        version += 1
    assert (await ann.room(room_id)).version == version


async def test_v5_of_many_who_want_the_last_seat_one_gets_it(twins: Cluster) -> None:
    host = twins.player("host")
    room = await host.create(room_options(4), {1: "easy", 2: "hard"})
    crowd = [twins.player(f"player {number}", number % 2) for number in range(20)]
    outcomes = await asyncio.gather(*(player.join(room.room_id) for player in crowd), return_exceptions=True)
    seated = [outcome for outcome in outcomes if isinstance(outcome, pb.JoinRoomResponse)]

    assert [answer.seat for answer in seated] == [3]
    for player, outcome in zip(crowd, outcomes, strict=True):
        if outcome is not seated[0]:
            assert (await refusal(player.join(room.room_id))).reason == "ROOM_FULL"
    assert (await host.room(room.room_id)).version == 2


async def test_v5_the_same_player_joining_at_once_holds_one_seat(twins: Cluster) -> None:
    host = twins.player("host")
    room = await host.create(room_options(4))
    joins = [twins.player("bob", number % 2).join(room.room_id) for number in range(8)]
    answers = await asyncio.gather(*joins)

    assert {answer.seat for answer in answers} == {1}
    assert [seat.player.player_id for seat in (await host.room(room.room_id)).seats] == [host.id, id_of("bob"), "", ""]


async def test_rematches_asked_for_at_once_are_one_room(twins: Cluster) -> None:
    names = ("ann", "bob", "cid")
    players = [twins.player(name, number % 2) for number, name in enumerate(names)]
    room = await players[0].create(room_options(3, target=1))
    for player in players[1:]:
        await player.join(room.room_id)
    await players[0].start(room.room_id)
    for player in players:
        await player.leave(room.room_id)
    answers = await asyncio.gather(*(player.rematch(room.room_id) for player in players))

    assert len({answer.room.room_id for answer in answers}) == 1
    assert [answer.seat for answer in answers] == [0, 1, 2]
    again = await players[0].room(answers[0].room.room_id)
    assert [seat.player.player_id for seat in again.seats] == [player.id for player in players]


async def test_everybody_acting_at_once_through_both_replicas_plays_one_match(twins: Cluster) -> None:
    """Seats that alternate on different replicas, over streams: never a false refusal, one history."""
    ann, bob = twins.player("ann", 0), twins.player("bob", 1)
    room = await ann.create(room_options(2, target=40))
    await bob.join(room.room_id)
    await ann.start(room.room_id)
    async with PlayStream(ann, room.room_id) as first, PlayStream(bob, room.room_id) as second:
        await play_over({0: first, 1: second}, random.Random(9))
    replay = await bob.replay(room.room_id)

    assert verify_replay(replay_record(replay.header, replay.rounds)).winner is not None


async def test_people_who_come_go_and_play_through_two_replicas_all_see_the_same(twins: Cluster) -> None:
    """After any history, what was followed by events is what a fresh look shows, for every viewer on either replica."""
    names = ("ann", "bob", "cid")
    chance = random.Random(12)
    room = await twins.player("ann").create(room_options(4, target=1000, turn_limit=0), {3: "easy"})
    room_id = room.room_id
    for name in names[1:]:
        await twins.player(name, 1).join(room_id)
    watches = [Watch(twins.player(name, replica), room_id) for name in (*names, "eve") for replica in (0, 1)]
    for watch in watches:
        await watch.read()
    await twins.player("ann").start(room_id)

    await asyncio.gather(*(come_go_and_play(twins, room_id, name, chance) for name in names))
    for name in names:
        await twins.player(name).leave(room_id)
    version = (await twins.player("eve").room(room_id)).version
    for watch in watches:
        await watch.until_version(version)
        snapshot = (await watch.player.view(room_id)).snapshot
        for message in (snapshot.room, watch.mirror.room):
            message.ClearField("expire_time")
        assert watch.mirror.room == snapshot.room
        assert watch.mirror.view == view_from_proto(snapshot.view)
        assert watch.versions == list(range(watch.snapshots[0].room.version + 1, version + 1))
        await watch.close()
    replay = await twins.player("eve").replay(room_id)
    verify_replay(replay_record(replay.header, replay.rounds))


async def come_go_and_play(twins: Cluster, room_id: str, name: str, chance: random.Random) -> None:
    """A person who leaves, joins and acts at random, through either replica."""
    for _ in range(25):
        player = twins.player(name, chance.randrange(2))
        kind = chance.random()
        if kind < 0.1:
            await player.leave(room_id)
        elif kind < 0.4:
            await player.join(room_id)
        else:
            legal = (await player.view(room_id)).legal_actions
            if legal.actions:
                action = chance.choice(legal.actions)
                # Meanwhile another may have moved the room on: that refusal is none of this test's business.
                await asyncio.gather(player.submit(room_id, legal.version, action), return_exceptions=True)


# Many at once.


@pytest.mark.parametrize("flush", [False, True], ids=["s1", "s2"])
async def test_s1_s2_many_actions_at_once_with_few_connections(store_url: str, bots: FakeBots, flush: bool) -> None:
    """Also while the store forgets its scripts again and again."""
    async with game_cluster(store_url, ai_address=bots.target, redis_pool_size=4) as cluster:
        players = [cluster.player(f"player {number}") for number in range(60)]
        rooms = [await player.create(room_options(2, target=1000), {1: "easy"}) for player in players]
        versions = [await player.start(room.room_id) for player, room in zip(players, rooms, strict=True)]

        async def act(place: int) -> None:
            player, room_id, version = players[place], rooms[place].room_id, versions[place]
            for _ in range(4):  # two turns, with the bot's turn between them
                legal = (await player.view(room_id)).legal_actions
                while not legal.actions:
                    await asyncio.sleep(0.01)
                    legal = (await player.view(room_id)).legal_actions
                played = await player.submit(room_id, legal.version, legal.actions[-1])
                assert played.event.version == legal.version + 1
                assert played.event.version > version

        async def forget_scripts() -> None:
            with StoreView(store_url) as store:
                while True:
                    store.client.script_flush()
                    await asyncio.sleep(0.02)

        flushing = asyncio.create_task(forget_scripts()) if flush else None
        await asyncio.gather(*(act(place) for place in range(len(players))))
        if flushing is not None:
            flushing.cancel()
        store = cluster.apps[0].store
        assert store is not None
        assert store.open_connections <= 4
        for player, room in zip(players, rooms, strict=True):
            view = (await player.view(room.room_id)).snapshot.view
            on_table = sum(len(meld.cards) for meld in view.melds)
            assert sum(view.hand_sizes) + view.stock_size + len(view.discards) + on_table == 52
            sources = {
                action.source for played in (await player.replay(room.room_id)).rounds for action in played.actions
            }
            assert sources == {event_pb2.ACTION_SOURCE_PLAYER, event_pb2.ACTION_SOURCE_BOT}
        if flush:
            assert cluster.sample("rami_store_script_loads_total") > 1
