"""Every bad input of the contract: the code and reason it gets, and that the room is as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest

from rami.cards.v1 import card_pb2
from rami.game.v1 import action_pb2, room_pb2, rules_pb2
from rami.game.v1 import game_service_pb2 as pb
from rami_engine import DRAW_DISCARD, DRAW_STOCK, RuleOptions, cards_of, discard_action, meld_action
from rami_kit.testing import bearer, player_token, service
from rami_wire import action_to_proto
from support.game_cluster import (
    CALL_SECONDS,
    Player,
    Refusal,
    duration,
    game_cluster,
    id_of,
    refusal,
    request_id,
    room_options,
)
from support.game_store import StoreView
from support.game_streams import PlayStream, Watch, end_of, reason_of
from support.game_tables import Table, table_options
from unit.engine.positions import position

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.game_cluster import Cluster

UNKNOWN = "p0-aaaaaaaaaaaaaaaa"
MUTATIONS: dict[str, Callable[[str, str], Any]] = {
    "JoinRoom": lambda key, room: pb.JoinRoomRequest(request_id=key, room_id=room),
    "LeaveRoom": lambda key, room: pb.LeaveRoomRequest(request_id=key, room_id=room),
    "UpdateSeats": lambda key, room: pb.UpdateSeatsRequest(
        request_id=key, room_id=room, changes=[pb.BotSeat(seat=1, bot="easy")]
    ),
    "SetEntropy": lambda key, room: pb.SetEntropyRequest(request_id=key, room_id=room, entropy=b"e"),
    "StartMatch": lambda key, room: pb.StartMatchRequest(request_id=key, room_id=room),
    "SubmitAction": lambda key, room: pb.SubmitActionRequest(
        request_id=key, room_id=room, action=action_to_proto(DRAW_STOCK)
    ),
    "Rematch": lambda key, room: pb.RematchRequest(request_id=key, room_id=room),
}
READS: dict[str, Callable[[str], Any]] = {
    "GetRoom": lambda room: pb.GetRoomRequest(room_id=room),
    "GetView": lambda room: pb.GetViewRequest(room_id=room),
    "GetReplay": lambda room: pb.GetReplayRequest(room_id=room),
}


def invalid(field: str) -> Refusal:
    return Refusal("INVALID_ARGUMENT", "INVALID_REQUEST", {"field": field})


async def ask(player: Player, method: str, request: Any) -> Any:
    return await player.call(getattr(player.stub, method), request)


def target(score: int) -> rules_pb2.RuleOptions:
    return rules_pb2.RuleOptions(target_score=score)


class Unchanged:
    """Checks that what is done within leaves the stored room and its log alone."""

    def __init__(self, store_url: str, room_id: str) -> None:
        self._store_url = store_url
        self._room_id = room_id

    def __enter__(self) -> None:
        self._before = self._look()

    def __exit__(self, *_: object) -> None:
        assert self._look() == self._before

    def _look(self) -> tuple[bytes | None, list[tuple[int, bytes]]]:
        with StoreView(self._store_url) as store:
            return store.stored(self._room_id), store.log(self._room_id)


async def test_rooms_that_do_not_exist(game: Cluster) -> None:
    ann = game.player("ann")
    for room_id in (UNKNOWN, "p7-aaaaaaaaaaaaaaaa", "", "nonsense", "p0-AAAAAAAAAAAAAAAA", "p0-" + "a" * 5_000):
        for method, request in READS.items():
            refused = await refusal(ask(ann, method, request(room_id)))
            assert refused[:2] == ("NOT_FOUND", "ROOM_NOT_FOUND"), method
            assert refused.metadata == {"room_id": room_id[:64]}
        for method, mutation in MUTATIONS.items():
            refused = await refusal(ask(ann, method, mutation(request_id(), room_id)))
            assert refused[:2] == ("NOT_FOUND", "ROOM_NOT_FOUND"), method
        assert (await Watch(ann, room_id).end())[:2] == ("NOT_FOUND", "ROOM_NOT_FOUND")
        async with PlayStream(ann, room_id) as play:
            assert (await play.end())[:2] == ("NOT_FOUND", "ROOM_NOT_FOUND")


async def test_request_ids_that_are_no_uuid4(game: Cluster, store_url: str) -> None:
    ann = game.player("ann")
    room = await ann.create(room_options())
    with Unchanged(store_url, room.room_id):
        for key in ("", "1", "00000000-0000-1000-8000-000000000000"):
            for method, mutation in MUTATIONS.items():
                assert await refusal(ask(ann, method, mutation(key, room.room_id))) == invalid("request_id"), method
            request = pb.CreateRoomRequest(request_id=key, options=room_options())
            assert await refusal(ask(ann, "CreateRoom", request)) == invalid("request_id")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda r: r.options.CopyFrom(room_options(1)), invalid("options.seats")),
        (lambda r: r.options.CopyFrom(room_options(5)), invalid("options.seats")),
        (
            lambda r: r.options.rules.CopyFrom(rules_pb2.RuleOptions(target_score=0)),
            invalid("options.rules.target_score"),
        ),
        (
            lambda r: r.options.rules.CopyFrom(rules_pb2.RuleOptions(target_score=1001)),
            invalid("options.rules.target_score"),
        ),
        (lambda r: r.options.turn_time_limit.CopyFrom(duration(86_401)), invalid("options.turn_time_limit")),
        (lambda r: r.options.bot_pace.CopyFrom(duration(-1)), invalid("options.bot_pace")),
        (lambda r: r.options.round_interval.CopyFrom(duration(61)), invalid("options.round_interval")),
        (lambda r: r.bots.add(seat=2, bot="easy"), invalid("bots.seat")),
        (lambda r: r.bots.extend([pb.BotSeat(seat=1, bot="easy")] * 2), invalid("bots.seat")),
        (lambda r: r.bots.extend([pb.BotSeat(seat=0, bot="easy"), pb.BotSeat(seat=1, bot="easy")]), invalid("bots")),
        (lambda r: r.bots.add(seat=1, bot="expert"), Refusal("NOT_FOUND", "BOT_NOT_FOUND", {"bot": "expert"})),
    ],
)
async def test_rooms_that_cannot_be(game: Cluster, change: Callable[[Any], None], expected: Refusal) -> None:
    ann = game.player("ann")
    request = pb.CreateRoomRequest(request_id=request_id(), options=room_options())
    change(request)

    assert await refusal(ask(ann, "CreateRoom", request)) == expected
    assert not (await ask(ann, "ListRooms", pb.ListRoomsRequest())).rooms


async def test_lobbies_refuse(game: Cluster, store_url: str) -> None:
    ann, bob, eve = (game.player(name) for name in ("ann", "bob", "eve"))
    room = await ann.create(room_options(3, public=False), {1: "easy"})
    room_id = room.room_id
    await bob.join_with(room.join_code)
    with Unchanged(store_url, room_id):
        assert await refusal(eve.join(room_id)) == Refusal("PERMISSION_DENIED", "JOIN_CODE_REQUIRED", {})
        assert await refusal(eve.join_with(room.join_code)) == Refusal(
            "FAILED_PRECONDITION", "ROOM_FULL", {"seats": "3"}
        )
        for code in ("", "AAAAAA", "no code", room.join_code + "A", "ü" * 6, "A" * 10_000):
            assert await refusal(eve.join_with(code)) == Refusal("NOT_FOUND", "JOIN_CODE_NOT_FOUND", {})
            if code:
                assert await refusal(eve.room_with(code)) == Refusal("NOT_FOUND", "JOIN_CODE_NOT_FOUND", {})
        both = pb.GetRoomRequest(room_id=room_id, join_code=room.join_code)
        assert await refusal(ask(bob, "GetRoom", both)) == invalid("join_code")
        assert await refusal(ask(eve, "JoinRoom", pb.JoinRoomRequest(request_id=request_id()))) == invalid("room")
        assert await refusal(eve.leave(room_id)) == Refusal("PERMISSION_DENIED", "NOT_SEATED", {})
        assert await refusal(eve.bring(room_id, b"e")) == Refusal("PERMISSION_DENIED", "NOT_SEATED", {})
        assert await refusal(bob.bring(room_id, b"")) == invalid("entropy")
        assert await refusal(bob.bring(room_id, b"e" * 33)) == invalid("entropy")
        assert await refusal(bob.start(room_id)) == Refusal("PERMISSION_DENIED", "NOT_HOST", {})
        assert (await refusal(bob.replay(room_id))).reason == "MATCH_NOT_STARTED"
        for player in (bob, eve):
            update = MUTATIONS["UpdateSeats"](request_id(), room_id)
            assert await refusal(ask(player, "UpdateSeats", update)) == Refusal("PERMISSION_DENIED", "NOT_HOST", {})
        for changes, expected in (
            ([], invalid("changes")),
            ([(3, "easy")], invalid("changes.seat")),
            ([(1, "hard"), (1, "easy")], invalid("changes.seat")),
            ([(1, "expert")], Refusal("NOT_FOUND", "BOT_NOT_FOUND", {"bot": "expert"})),
            ([(1, "hard"), (2, "easy")], Refusal("FAILED_PRECONDITION", "SEAT_TAKEN", {"seat": "2"})),
            ([(1, ""), (0, "")], Refusal("FAILED_PRECONDITION", "SEAT_TAKEN", {"seat": "0"})),
        ):
            update = pb.UpdateSeatsRequest(
                request_id=request_id(), room_id=room_id, changes=[pb.BotSeat(seat=s, bot=b) for s, b in changes]
            )
            assert await refusal(ask(ann, "UpdateSeats", update)) == expected
        refused = await refusal(ann.submit(room_id, room.version, action_to_proto(DRAW_STOCK)))
        assert refused == Refusal("FAILED_PRECONDITION", "MATCH_NOT_STARTED", {"room_id": room_id})
    await bob.bring(room_id, b"once")
    with Unchanged(store_url, room_id):
        refused = await refusal(bob.bring(room_id, b"twice"))
        assert refused == Refusal("FAILED_PRECONDITION", "ENTROPY_ALREADY_SET", {"seat": "2"})


async def test_seats_that_cannot_be_had(game: Cluster, store_url: str) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    room = await ann.create(room_options(3), {1: "easy"})
    with Unchanged(store_url, room.room_id):
        for seat in (0, 1):
            refused = await refusal(bob.join(room.room_id, seat))
            assert refused == Refusal("FAILED_PRECONDITION", "SEAT_TAKEN", {"seat": str(seat)})
        for seat in (3, 2**32 - 1):
            assert await refusal(bob.join(room.room_id, seat)) == invalid("seat")
        refused = await refusal(ann.start(room.room_id))
        assert refused == Refusal("FAILED_PRECONDITION", "SEATS_NOT_FILLED", {"empty_seats": "1"})


MALFORMED = [
    (action_pb2.Action(), "action"),
    (action_pb2.Action(discard=action_pb2.Discard()), "action.discard.card"),
    (action_pb2.Action.FromString(b"\x2a\x02\x08\x63"), "action.discard.card"),  # card 99
    (action_pb2.Action(meld=action_pb2.LayMeld()), "action.meld.cards"),
    (
        action_pb2.Action(meld=action_pb2.LayMeld(cards=[card_pb2.CARD_2C, card_pb2.CARD_2C, card_pb2.CARD_3C])),
        "action.meld.cards",
    ),
    (action_pb2.Action(lay_off=action_pb2.LayOff(meld=1)), "action.lay_off.cards"),
    (action_pb2.Action(lay_off=action_pb2.LayOff(meld=1, cards=[card_pb2.CARD_UNSPECIFIED])), "action.lay_off.cards"),
]


async def test_matches_refuse_by_submit_action_and_on_play_alike(game: Cluster, store_url: str) -> None:
    ann, bob, eve = (game.player(name) for name in ("ann", "bob", "eve"))
    room = await ann.create(room_options(2))
    room_id = room.room_id
    await bob.join(room_id)
    version = await ann.start(room_id)
    hand = (await ann.view(room_id)).snapshot.view.hand
    draw, discard = action_to_proto(DRAW_STOCK), action_pb2.Action(discard=action_pb2.Discard(card=hand[0]))
    async with PlayStream(ann, room_id) as first, PlayStream(bob, room_id) as second:

        async def refused_both_ways(stream: PlayStream, at: int, action: action_pb2.Action, expected: Refusal) -> None:
            assert await refusal(stream.player.submit(room_id, at, action)) == expected
            key = request_id()
            sent = pb.PlayAction(request_id=key, expected_version=at, action=action)
            await stream.call.write(pb.PlayRequest(action=sent))
            await stream.until(lambda: key in stream.results)
            result = stream.results[key]
            assert reason_of(result) == expected.reason
            assert result.error.code == grpc.StatusCode[expected.code].value[0]

        def illegal(reason: str, **metadata: str) -> Refusal:
            return Refusal("FAILED_PRECONDITION", reason, metadata)

        with Unchanged(store_url, room_id):
            await refused_both_ways(second, version, draw, illegal("NOT_YOUR_TURN", turn="0"))
            await refused_both_ways(first, version, discard, illegal("WRONG_PHASE", phase="DRAW"))
            stale = Refusal("ABORTED", "STALE_VERSION", {"current_version": str(version)})
            for other in (0, version - 1, version + 1, 2**64 - 1):
                await refused_both_ways(first, other, draw, stale)
            for action, field in MALFORMED:
                await refused_both_ways(first, version, action, invalid(field))
                await refused_both_ways(second, 0, action, invalid(field))
            assert (await refusal(eve.submit(room_id, version, draw))).reason == "NOT_SEATED"
            for method in ("JoinRoom", "UpdateSeats", "SetEntropy", "StartMatch"):
                player = eve if method == "JoinRoom" else ann
                refused = await refusal(ask(player, method, MUTATIONS[method](request_id(), room_id)))
                assert refused[:2] == ("FAILED_PRECONDITION", "MATCH_ALREADY_STARTED"), method
            assert (await refusal(ann.rematch(room_id))).reason == "MATCH_NOT_OVER"
        version = (await ann.submit(room_id, version, draw)).event.version
        held = set((await ann.view(room_id)).snapshot.view.hand)
        foreign = next(card for card in range(1, 53) if card not in held)
        some = sorted(held)[:1]
        with Unchanged(store_url, room_id):
            await refused_both_ways(first, version, draw, illegal("WRONG_PHASE", phase="PLAY"))
            not_held = action_pb2.Action(discard=action_pb2.Discard(card=card_pb2.Card.ValueType(foreign)))
            await refused_both_ways(first, version, not_held, illegal("CARD_NOT_IN_HAND"))
            for number in (0, 1, 2**32 - 1):
                lay_off = action_pb2.Action(lay_off=action_pb2.LayOff(meld=number, cards=some))
                await refused_both_ways(first, version, lay_off, illegal("MELD_NOT_FOUND", meld=str(number)))
            meld = action_pb2.Action(meld=action_pb2.LayMeld(cards=some))
            await refused_both_ways(first, version, meld, illegal("INVALID_MELD"))


async def test_lay_offs_and_last_cards_that_the_rules_refuse(game: Cluster, store_url: str) -> None:
    options = table_options(rules=RuleOptions(discard_to_win=True))
    table = Table([id_of("ann"), id_of("bob")], options=options)
    table.start()
    table.room.match = position(
        "6C 6D 6H", "2S 3H", melds=["7C 8C 9C"], discards="KD", options=RuleOptions(discard_to_win=True)
    )
    with StoreView(store_url) as store:
        store.plant(table)
    ann, room_id, version = game.player("ann"), table.room.room_id, table.room.version
    with Unchanged(store_url, room_id):
        wrong = action_pb2.Action(lay_off=action_pb2.LayOff(meld=1, cards=[card_pb2.CARD_6D]))
        refused = await refusal(ann.submit(room_id, version, wrong))
        assert refused == Refusal("FAILED_PRECONDITION", "INVALID_LAY_OFF", {"meld": "1"})
        last = action_to_proto(meld_action(cards_of(table.round.hands[0])))
        refused = await refusal(ann.submit(room_id, version, last))
        assert refused == Refusal("FAILED_PRECONDITION", "MUST_KEEP_DISCARD", {})
    right = action_pb2.Action(lay_off=action_pb2.LayOff(meld=1, cards=[card_pb2.CARD_6C]))
    assert (await ann.submit(room_id, version, right)).event.version == version + 1


async def test_nothing_is_played_after_the_match(game: Cluster, store_url: str) -> None:
    ann = game.player("ann")
    room = await ann.create(room_options(2), {1: "easy"})
    version = await ann.start(room.room_id)
    version = await ann.leave(room.room_id)
    with Unchanged(store_url, room.room_id):
        refused = await refusal(ann.submit(room.room_id, version, action_to_proto(DRAW_DISCARD)))
        assert refused == Refusal("FAILED_PRECONDITION", "MATCH_OVER", {"room_id": room.room_id})


async def test_callers_who_are_nobody(game: Cluster) -> None:
    ann = game.player("ann")
    room = await ann.create(room_options())
    request = pb.GetRoomRequest(room_id=room.room_id)
    expired = player_token("ann", lifetime_seconds=-60)
    for metadata, reason in (
        ((), "TOKEN_MISSING"),
        (bearer("nonsense"), "TOKEN_INVALID"),
        (bearer(player_token("ann") + "x"), "TOKEN_INVALID"),
        (bearer(expired), "TOKEN_EXPIRED"),
    ):
        call = ann.stub.GetRoom(request, timeout=CALL_SECONDS, metadata=metadata)
        assert await refusal(call) == Refusal("UNAUTHENTICATED", reason, {})
        watch = ann.stub.WatchRoom(pb.WatchRoomRequest(room_id=room.room_id), metadata=metadata)
        assert await refusal(anext(aiter(watch))) == Refusal("UNAUTHENTICATED", reason, {})
    as_service = ann.stub.GetRoom(request, timeout=CALL_SECONDS, metadata=service("rami-game"))
    assert (await refusal(as_service))[:2] == ("PERMISSION_DENIED", "SCOPE_MISSING")


async def test_calls_that_are_no_calls(game: Cluster, store_url: str) -> None:
    ann = game.player("ann")
    room = await ann.create(room_options())
    with Unchanged(store_url, room.room_id):
        request = MUTATIONS["StartMatch"](request_id(), room.room_id)
        refused = await refusal(ann.stub.StartMatch(request, metadata=ann.metadata))
        assert refused[:2] == ("INVALID_ARGUMENT", "DEADLINE_REQUIRED")

        long = pb.LeaveRoomRequest(request_id=request_id(), room_id="x" * 70_000)
        refused = await refusal(ask(ann, "LeaveRoom", long))
        assert refused == Refusal("RESOURCE_EXHAUSTED", "MESSAGE_TOO_LARGE", {"limit_bytes": "65536"})

        raw: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = ann.channel.unary_unary(
            "/rami.game.v1.GameService/LeaveRoom"
        )
        refused = await refusal(raw(b"\xff\xff", timeout=CALL_SECONDS, metadata=ann.metadata))
        assert refused == Refusal("INVALID_ARGUMENT", "MALFORMED_MESSAGE", {})


async def test_lists_and_replays_refuse_pages_that_cannot_be(game: Cluster) -> None:
    ann = game.player("ann")
    room = await ann.create(room_options(), {1: "easy"})
    await ann.start(room.room_id)
    for request in (pb.ListRoomsRequest(page_size=-1), pb.ListRoomsRequest(page_size=101)):
        assert await refusal(ask(ann, "ListRooms", request)) == invalid("page_size")
    closed = pb.ListRoomsRequest(status=room_pb2.ROOM_STATUS_CLOSED)
    assert await refusal(ask(ann, "ListRooms", closed)) == invalid("status")
    for token in ("x", "1", "-1.a.0", "1.a.x", "9" * 40 + ".a.0", "\N{ARABIC-INDIC DIGIT ONE}.a.0"):
        assert await refusal(ask(ann, "ListRooms", pb.ListRoomsRequest(page_token=token))) == invalid("page_token")
    for size in (-1, 51):
        sized = pb.GetReplayRequest(room_id=room.room_id, page_size=size)
        assert await refusal(ask(ann, "GetReplay", sized)) == invalid("page_size")
    for token in ("x", "0", "-1", "99999", "9" * 40, "1.5"):
        paged = pb.GetReplayRequest(room_id=room.room_id, page_token=token)
        assert await refusal(ask(ann, "GetReplay", paged)) == invalid("page_token")


async def test_streams_that_begin_badly(game: Cluster) -> None:
    ann, eve = game.player("ann"), game.player("eve")
    room = await ann.create(room_options())
    for cursor in (b"x", b"x" * 15, b"x" * 17, b"x" * 60_000):
        assert await Watch(ann, room.room_id, cursor).end() == invalid("cursor")
        async with PlayStream(ann, room.room_id, cursor) as play:
            assert await play.end() == invalid("cursor")
    async with PlayStream(eve, room.room_id) as play:
        assert await play.end() == Refusal("PERMISSION_DENIED", "NOT_SEATED", {})

    for first in (pb.PlayRequest(), pb.PlayRequest(action=pb.PlayAction(request_id=request_id()))):
        call = ann.stub.Play(metadata=ann.metadata)
        await call.write(first)
        assert await refusal(anext(aiter(call))) == invalid("hello")
    call = ann.stub.Play(metadata=ann.metadata)
    await call.done_writing()
    assert await refusal(anext(aiter(call))) == invalid("hello")


@pytest.mark.parametrize("second", [pb.PlayRequest(), pb.PlayRequest(hello=pb.PlayHello())])
async def test_a_play_stream_says_hello_once(game: Cluster, second: pb.PlayRequest) -> None:
    ann = game.player("ann")
    room = await ann.create(room_options())
    async with PlayStream(ann, room.room_id) as play:
        await play.read()
        await play.call.write(second)
        assert await play.end() == invalid("action")


async def test_a_play_stream_ends_for_bytes_that_are_no_request(game: Cluster) -> None:
    ann = game.player("ann")
    room = await ann.create(room_options())
    raw: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = ann.channel.stream_stream("/rami.game.v1.GameService/Play")
    too_long = pb.PlayRequest(action=pb.PlayAction(request_id="x" * 70_000))
    for bad, expected in (
        (b"\xff\xff", ("INVALID_ARGUMENT", "MALFORMED_MESSAGE")),
        (too_long.SerializeToString(), ("RESOURCE_EXHAUSTED", "MESSAGE_TOO_LARGE")),
    ):
        call = raw(metadata=ann.metadata)
        await call.write(pb.PlayRequest(hello=pb.PlayHello(room_id=room.room_id)).SerializeToString())
        await call.read()
        await call.write(bad)

        assert (await end_of(call))[:2] == expected


async def test_bad_request_ids_on_play_are_results(game: Cluster) -> None:
    ann = game.player("ann")
    room = await ann.create(room_options(), {1: "easy"})
    await ann.start(room.room_id)
    async with PlayStream(ann, room.room_id) as play:
        await play.read()
        result = await play.act(DRAW_STOCK, key="no uuid")
        assert reason_of(result) == "INVALID_REQUEST"
        assert (await play.act(DRAW_STOCK)).version == play.version


async def test_names_are_cut_to_what_others_can_bear(game: Cluster) -> None:
    ann = game.player("ann")
    token = bearer(player_token("long", name="N\u202eame \n" + "x" * 5_000))
    request = pb.CreateRoomRequest(request_id=request_id(), options=room_options())
    room = (await ann.stub.CreateRoom(request, timeout=CALL_SECONDS, metadata=token)).room
    name = room.seats[0].player.display_name

    assert name == "Name " + "x" * 27
    assert len(name) == 32


async def test_the_service_is_up_without_a_decision_service(store_url: str) -> None:
    async with game_cluster(store_url) as cluster:
        ann = cluster.player("ann")
        room = await ann.create(room_options())
        refused = await refusal(ann.submit(room.room_id, 1, action_to_proto(discard_action(3))))
        assert refused.reason == "MATCH_NOT_STARTED"
