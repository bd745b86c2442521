"""Who sees what: permissions, and a search for hidden cards and seeds in all that leaves the service."""

from __future__ import annotations

import logging
import random
import re
from typing import TYPE_CHECKING

import grpc.aio
from prometheus_client import generate_latest

from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1 import room_pb2
from rami_engine import RULES_ID, RULES_VERSION
from support.game_bots import at_random
from support.game_cluster import CALL_SECONDS, Refusal, refusal, request_id, room_options
from support.game_secrets import Truth, cards_in
from support.game_store import StoreView
from support.game_streams import Follower, PlayStream, Watch, play_over
from support.waiting import eventually

if TYPE_CHECKING:
    import pytest

    from support.game_bots import FakeBots
    from support.game_cluster import Cluster, Player

DENIED = Refusal("PERMISSION_DENIED", "SPECTATORS_NOT_ALLOWED", {})


async def no_look_for(player: Player, room_id: str) -> None:
    """Every way to look at a room is refused."""
    assert await refusal(player.room(room_id)) == DENIED
    assert await refusal(player.view(room_id)) == DENIED
    assert await refusal(player.replay(room_id)) == DENIED
    assert await Watch(player, room_id).end() == DENIED


async def test_strangers_see_nothing_of_a_private_room_without_spectators(game: Cluster) -> None:
    ann, eve = game.player("ann"), game.player("eve")
    room = await ann.create(room_options(2, public=False, spectators=False), {1: "easy"})
    await no_look_for(eve, room.room_id)
    await ann.start(room.room_id)
    await no_look_for(eve, room.room_id)
    async with PlayStream(eve, room.room_id) as play:
        assert await play.end() == Refusal("PERMISSION_DENIED", "NOT_SEATED", {})
    assert (await ann.room(room.room_id)).room_id == room.room_id


async def test_strangers_look_into_public_lobbies_and_leave_when_the_match_begins(game: Cluster) -> None:
    ann, eve = game.player("ann"), game.player("eve")
    room = await ann.create(room_options(2, spectators=False), {1: "easy"})
    assert (await eve.room(room.room_id)).join_code == ""
    async with Watch(eve, room.room_id) as watch, Watch(ann, room.room_id) as own:
        await watch.read()
        await ann.bring(room.room_id, b"entropy")
        await watch.until_version(2)
        version = await ann.start(room.room_id)
        assert await watch.end() == DENIED
        await own.until_version(version)
    assert watch.version == 2, "nothing of the match was seen"
    await no_look_for(eve, room.room_id)


async def test_who_knows_the_join_code_looks_into_a_private_lobby_and_takes_no_seat(game: Cluster) -> None:
    ann, eve = game.player("ann"), game.player("eve")
    room = await ann.create(room_options(3, public=False, spectators=False), {1: "easy"})
    await ann.bring(room.room_id, b"a secret until the match begins")
    seen = await eve.room_with(room.join_code.lower())
    assert seen.room_id == room.room_id
    assert [seat.WhichOneof("holder") for seat in seen.seats] == ["player", "bot", None]
    assert seen.join_code == "", "it is shown to those who sit there"
    assert not seen.entropies
    assert seen.version == (await ann.room(room.room_id)).version, "looking has changed nothing"
    await no_look_for(eve, room.room_id)

    await ann.call(
        ann.stub.UpdateSeats,
        pb.UpdateSeatsRequest(request_id=request_id(), room_id=room.room_id, changes=[pb.BotSeat(seat=2, bot="easy")]),
    )
    await ann.start(room.room_id)
    assert await refusal(eve.room_with(room.join_code)) == DENIED, "the code is for sitting down"
    assert (await ann.room_with(room.join_code)).status == room_pb2.ROOM_STATUS_IN_MATCH


async def test_who_leaves_a_private_lobby_sees_no_more_of_it(game: Cluster) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    room = await ann.create(room_options(2, public=False, spectators=False))
    await bob.join_with(room.join_code)
    async with Watch(bob, room.room_id) as watch:
        await watch.until_version(2)
        await bob.leave(room.room_id)
        assert await watch.end() == DENIED
    assert watch.version == 3, "the own leaving is the last that is seen"
    await no_look_for(bob, room.room_id)


async def test_a_host_who_observed_and_leaves_sees_no_more_of_a_private_lobby(game: Cluster) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    room = await ann.create(room_options(2, public=False, spectators=False), observe=True)
    await bob.join_with(room.join_code)
    async with Watch(ann, room.room_id) as watch:
        await watch.until_version(2)
        await ann.leave(room.room_id)
        assert await watch.end() == DENIED
    assert watch.version == 3, "the new host is the last that is seen"
    assert (await bob.room(room.room_id)).host_player_id == bob.id
    await no_look_for(ann, room.room_id)


async def test_a_spectator_who_sits_down_sees_with_the_eyes_of_the_seat_from_then_on(game: Cluster) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    room = await ann.create(room_options(2, public=False))
    async with Watch(bob, room.room_id) as watch:
        await watch.read()
        assert watch.mirror.room.join_code == ""
        await bob.join_with(room.join_code)
        await watch.until(lambda: len(watch.snapshots) == 2)
        assert watch.mirror.room.join_code == room.join_code
        version = await ann.start(room.room_id)
        await watch.until_version(version)
        assert len(watch.events[-1].changes[-1].round_started.hand) == 7


async def test_a_host_who_observes_sees_the_room_but_no_hand(game: Cluster) -> None:
    ann = game.player("ann")
    room = await ann.create(room_options(2, public=False, spectators=False), {0: "easy"}, observe=True)
    assert room.join_code
    assert [seat.WhichOneof("holder") for seat in room.seats] == ["bot", None]
    update = pb.UpdateSeatsRequest(
        request_id=request_id(), room_id=room.room_id, changes=[pb.BotSeat(seat=1, bot="hard")]
    )
    await ann.call(ann.stub.UpdateSeats, update)
    await ann.start(room.room_id)
    view = await ann.view(room.room_id)

    assert not view.snapshot.view.HasField("seat")
    assert not view.snapshot.view.hand
    assert not view.HasField("legal_actions")


async def test_public_rooms_are_listed_and_private_ones_are_not(game: Cluster) -> None:
    ann, eve = game.player("ann"), game.player("eve")
    public = await ann.create(room_options(2), {1: "easy"})
    await ann.create(room_options(2, public=False))

    async def listed(status: room_pb2.RoomStatus.ValueType = room_pb2.ROOM_STATUS_UNSPECIFIED) -> list[str]:
        answer = await eve.call(eve.stub.ListRooms, pb.ListRoomsRequest(status=status))
        assert answer.next_page_token == ""
        assert all(not room.join_code for room in answer.rooms)
        return [room.room_id for room in answer.rooms]

    assert await listed() == [public.room_id]
    assert await listed(room_pb2.ROOM_STATUS_IN_MATCH) == []
    await ann.start(public.room_id)
    assert await listed() == []
    assert await listed(room_pb2.ROOM_STATUS_IN_MATCH) == [public.room_id]
    await ann.leave(public.room_id)
    assert await listed(room_pb2.ROOM_STATUS_IN_MATCH) == []
    assert await listed(room_pb2.ROOM_STATUS_OVER) == [public.room_id]


async def test_v1_no_hidden_card_or_seed_leaves_the_service(
    game: Cluster, bots: FakeBots, store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    bots.choose = at_random(11)
    ann, bob, eve = (game.player(name) for name in ("ann", "bob", "eve"))
    room = await ann.create(room_options(4, target=150), {1: "hard", 3: "easy"})
    room_id = room.room_id
    await bob.join(room_id)
    chance = random.Random(4)
    replays: list[tuple[int, pb.GetReplayResponse]] = []
    views: list[tuple[pb.GetViewResponse, int | None]] = []
    refusals: list[bytes] = []
    spectator = Watch(eve, room_id, legal=True)
    seats = {0: PlayStream(ann, room_id), 2: PlayStream(bob, room_id)}
    async with spectator, seats[0], seats[2]:
        await spectator.read()
        await ann.start(room_id)
        while not seats[0].mirror.room.HasField("result"):
            await play_over(seats, chance, actions=8)
            version = (await eve.room(room_id)).version
            replays.append((version, await eve.replay(room_id)))
            views += [(await eve.view(room_id), None), (await ann.view(room_id), 0), (await bob.view(room_id), 2)]
            refusals += [await wrong_discard(player, room_id, card) for player in (ann, bob, eve) for card in (1, 30)]
        await spectator.until_version(seats[0].version)
        await seats[2].until_version(seats[0].version)

    with StoreView(store_url) as store:
        stored = store.room(room_id)
        truth = Truth(stored, store.log(room_id))
    check_streams(truth, [(spectator, None), (seats[0], 0), (seats[2], 2)])
    check_requests(truth, bots)
    for view, viewer in views:
        truth.check_state(view, view.snapshot.room.version, viewer)
    for version, replay in replays:
        truth.check_seeds(replay, version + 10)  # a little later than the room was looked at
    page = generate_latest(game.apps[0].metrics.registry).decode()
    assert "rami_game_actions_total" in page
    for hidden in (room_id, room_id.partition("-")[2], ann.id, bob.id, *(secret.hex() for secret in truth.secrets)):
        assert hidden not in page
    assert not re.search(r'"(?:[2-9TJQKA]|10)[CDHS♣♦♥♠]"|CARD_', page), "no series is about a card"
    for secret in truth.secrets:
        assert all(secret not in status for status in refusals)
        assert secret.hex() not in caplog.text
        assert repr(secret) not in caplog.text
    results = [result for stream in seats.values() for result in stream.results.values()]
    assert results
    for result in results:
        assert {field.name for field, _ in result.ListFields()} <= {"request_id", "version", "error"}
        assert not list(cards_in(result))


def check_streams(truth: Truth, followers: list[tuple[Follower, int | None]]) -> None:
    """Everything that came on these streams, each of a viewer."""
    for follower, viewer in followers:
        first = follower.snapshots[0].room.version
        assert follower.versions == list(range(first + 1, follower.version + 1))
        for event in follower.events:
            truth.check_event(event, viewer)
        for snapshot in follower.snapshots:
            truth.check_state(snapshot, snapshot.room.version, viewer)
        for message in follower.messages:
            if message.HasField("legal_actions"):
                truth.check_state(message.legal_actions, message.legal_actions.version, viewer)


def check_requests(truth: Truth, bots: FakeBots) -> None:
    """Everything that the decision service was sent: cards of the seat's view and no bytes of a seed."""
    assert len(bots.raw) > 5
    for raw, request in zip(bots.raw, bots.requests, strict=True):
        assert all(secret not in raw for secret in (*truth.secrets, *truth.seeds.values()))
        view = request.view
        shown = {*view.hand, *view.discards, *(card for meld in view.melds for card in meld.cards)}
        shown |= {trace.card for trace in view.traces}
        assert {card + 1 for card in cards_in(request)} == shown
        assert {card + 1 for action in request.legal_actions for card in cards_in(action)} <= set(view.hand)
        assert len(view.hand) == view.hand_sizes[view.seat]


async def wrong_discard(player: Player, room_id: str, card: int) -> bytes:
    """The status of an action that is refused, whatever the reason."""
    request = pb.SubmitActionRequest(request_id=request_id(), room_id=room_id)
    request.action.lay_off.meld = 99
    request.action.lay_off.cards.append(card)  # type: ignore[arg-type]  # a number is a card
    try:
        await player.stub.SubmitAction(request, timeout=CALL_SECONDS, metadata=player.metadata)
    except grpc.aio.AioRpcError as error:
        return repr((error.code(), error.details(), error.trailing_metadata())).encode()
    raise AssertionError


async def test_r7_bots_are_asked_with_a_token_of_the_service_and_the_rules_of_the_room(
    game: Cluster, bots: FakeBots
) -> None:
    ann = game.player("ann")
    room = await ann.create(room_options(2), {0: "easy", 1: "hard"}, observe=True)
    await ann.start(room.room_id)
    await eventually(lambda: len(bots.requests) > 6, "bots are asked")
    view = (await ann.view(room.room_id)).snapshot.view

    rules = {(request.view.rules_id, request.view.rules_version) for request in bots.requests}
    rules |= {(room.rules_id, room.rules_version), (view.rules_id, view.rules_version)}
    assert rules == {(RULES_ID, RULES_VERSION)}
    assert {request.bot for request in bots.requests} == {"easy", "hard"}
    assert all(authorization.startswith("Bearer ") for authorization in bots.authorizations)
    assert len({request.policy_seed for request in bots.requests}) == len(bots.requests)
