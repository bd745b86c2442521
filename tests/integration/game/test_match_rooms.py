"""Rooms of matched tables: what matchmaking asks for, how they start, and what they leave for ratings."""

from __future__ import annotations

import random
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from rami.game.v1 import match_room_service_pb2 as pb
from rami.game.v1 import room_pb2, rules_pb2
from rami.store.v1 import finished_pb2
from rami_kit.testing import service
from support.game_cluster import CALL_SECONDS, Refusal, game_cluster, id_of, refusal, request_id, room_options
from support.game_store import StoreView
from support.game_streams import PlayStream, Watch, play_over

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.game_bots import FakeBots
    from support.game_cluster import Cluster


def person(name: str) -> pb.MatchSeat:
    return pb.MatchSeat(player=room_pb2.SeatedPlayer(player_id=id_of(name), display_name=name.title()))


def bot(profile: str = "easy") -> pb.MatchSeat:
    return pb.MatchSeat(bot=room_pb2.SeatedBot(bot=profile))


def wanted(*seats: pb.MatchSeat, target: int = 1) -> pb.CreateMatchRoomRequest:
    options = room_options(len(seats), public=False, spectators=False, target=target)
    return pb.CreateMatchRoomRequest(match_id=request_id(), options=options, seats=seats)


async def create(game: Cluster, request: pb.CreateMatchRoomRequest) -> str:
    stub, metadata = game.match_rooms()
    return (await stub.CreateMatchRoom(request, timeout=CALL_SECONDS, metadata=metadata)).room_id


async def test_a_matched_table_starts_by_itself_and_ends_in_the_stream_of_finished_matches(
    store_url: str, bots: FakeBots
) -> None:
    async with game_cluster(store_url, ai_address=bots.target, entropy_window_seconds=30) as game:
        ann, bob = game.player("ann"), game.player("bob")
        request = wanted(person("ann"), bot(), person("bob"))
        room_id = await create(game, request)
        room = await ann.room(room_id)
        assert room.status == room_pb2.ROOM_STATUS_LOBBY
        assert room.join_code == ""
        assert room.commitment
        assert (await refusal(game.player("eve").join(room_id))).reason == "JOIN_CODE_REQUIRED"
        async with PlayStream(ann, room_id) as first, PlayStream(bob, room_id) as second:
            await first.read()
            await ann.bring(room_id, b"a" * 32)
            await bob.bring(room_id, b"b" * 32)
            await play_over({0: first, 2: second}, random.Random(1))
            result = first.mirror.room.result
        await ann.leave(room_id)
        await ann.join(room_id)
        with StoreView(store_url) as store:
            entries: Any = store.client.xrange("{p0}:finished")
        assert len(entries) == 1
        ended = finished_pb2.FinishedMatch.FromString(entries[0][1][b"m"])
        assert ended.room_id == room_id
        assert ended.match_id == uuid.UUID(request.match_id).bytes
        assert ended.winner_plus_one == result.winner_seat + 1
        assert [seat.player_id for seat in ended.seats] == [id_of("ann"), "", id_of("bob")]
        assert ended.seats[1].bot == "easy"
        assert [seat.score for seat in ended.seats] == list(result.scores)


async def test_a_matched_table_starts_without_those_who_bring_no_entropy(store_url: str, bots: FakeBots) -> None:
    async with game_cluster(store_url, ai_address=bots.target, entropy_window_seconds=60) as game:
        bob = game.player("bob")
        room_id = await create(game, wanted(person("ann"), person("bob"), target=1000))
        async with Watch(bob, room_id) as watch:
            await watch.read()
            await bob.bring(room_id, b"b")
            with StoreView(store_url) as store:
                store.hasten(room_id, advance_ms=store.now_ms())
            await watch.until(lambda: watch.mirror.room.status == room_pb2.ROOM_STATUS_IN_MATCH)
            assert list(watch.mirror.room.entropies) == [b"", b"b"]


async def test_a_matched_table_is_never_short_handed(store_url: str, bots: FakeBots) -> None:
    async with game_cluster(store_url, ai_address=bots.target, entropy_window_seconds=30) as game:
        ann, bob = game.player("ann"), game.player("bob")
        room_id = await create(game, wanted(person("ann"), person("bob"), target=1000))
        async with Watch(ann, room_id) as watch:
            await watch.read()
            await bob.leave(room_id)
            await ann.bring(room_id, b"a")
            await watch.until(lambda: watch.mirror.room.status == room_pb2.ROOM_STATUS_IN_MATCH)
            assert watch.stand_in(1)
            assert watch.mirror.room.seats[1].player.player_id == bob.id
            assert (await bob.join(room_id)).seat == 1
            await ann.leave(room_id)
            await bob.leave(room_id)
            await watch.until(lambda: watch.mirror.room.HasField("result"))
            assert watch.mirror.room.result.reason == rules_pb2.MATCH_END_REASON_ABANDONED


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda r: setattr(r, "match_id", "1"), "match_id"),
        (lambda r: setattr(r.options, "seats", 5), "options.seats"),
        (lambda r: setattr(r.options, "seats", 3), "seats"),
        (lambda r: r.seats.pop(), "seats"),
        (lambda r: r.seats[1].CopyFrom(person("ann")), "seats"),
        (lambda r: r.seats[1].CopyFrom(pb.MatchSeat()), "seats.holder"),
        (lambda r: r.seats[1].CopyFrom(bot("")), "seats.holder"),
        (lambda r: r.seats[0].CopyFrom(bot()) or r.seats[1].CopyFrom(bot()), "seats"),
        (lambda r: setattr(r.seats[0].player, "display_name", ""), "seats.player.display_name"),
        (lambda r: setattr(r.seats[0].player, "display_name", "x" * 33), "seats.player.display_name"),
        (lambda r: setattr(r.seats[0].player, "player_id", ""), "seats.player.player_id"),
        (lambda r: setattr(r.seats[0].player, "player_id", "x" * 65), "seats.player.player_id"),
    ],
)
async def test_tables_that_cannot_be(game: Cluster, change: Callable[[Any], None], field: str) -> None:
    request = wanted(person("ann"), person("bob"))
    change(request)

    assert await refusal(create(game, request)) == Refusal("INVALID_ARGUMENT", "INVALID_REQUEST", {"field": field})


async def test_tables_with_bots_that_nobody_knows(game: Cluster) -> None:
    expected = Refusal("NOT_FOUND", "BOT_NOT_FOUND", {"bot": "expert"})

    assert await refusal(create(game, wanted(person("ann"), bot("expert")))) == expected


async def test_only_services_make_tables(game: Cluster) -> None:
    stub, _ = game.match_rooms()
    request = wanted(person("ann"), person("bob"))
    for metadata, expected in (
        (game.player("ann").metadata, ("PERMISSION_DENIED", "SCOPE_MISSING")),
        ((), ("UNAUTHENTICATED", "TOKEN_MISSING")),
        (service("rami-ai"), ("UNAUTHENTICATED", "TOKEN_INVALID")),
    ):
        call = stub.CreateMatchRoom(request, timeout=CALL_SECONDS, metadata=metadata)
        assert (await refusal(call))[:2] == expected
