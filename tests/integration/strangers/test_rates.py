"""Who calls too often is told when to come back, and nobody else notices."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2, status_pb2

from rami.game.v1 import game_service_pb2 as pb
from rami.matchmaking.v1 import player_service_pb2 as players
from rami_engine import DRAW_STOCK
from rami_kit.access import Access
from rami_kit.testing import bearer, player, player_token, service
from rami_wire import action_to_proto
from support.calls import TIMEOUT, bench, details, failure
from support.echo import text
from support.game_cluster import NO_BOTS, game_cluster, refusal, request_id, room_options
from support.game_streams import PlayStream, reason_of
from support.queueing import refusal as queue_refusal
from support.queueing import running_replica

if TYPE_CHECKING:
    from support.calls import Bench
    from support.game_bots import FakeBots

SLOW = 0.001
"""A token in a quarter of an hour: none comes back while a test runs."""
PER_PLAYER = ("RESOURCE_EXHAUSTED", "RATE_LIMITED", {"limit": "rate_per_player"})
PER_ADDRESS = ("RESOURCE_EXHAUSTED", "RATE_LIMITED", {"limit": "rate_per_address"})


def say(b: Bench, metadata: Any) -> Any:
    return b.stub.say(text("x"), timeout=TIMEOUT, metadata=metadata)


def retry_seconds(error: grpc.aio.AioRpcError) -> float:
    """What RetryInfo says."""
    raw = dict(error.trailing_metadata())["grpc-status-details-bin"]
    assert isinstance(raw, bytes)
    return retry_of(status_pb2.Status.FromString(raw))


def retry_of(status: status_pb2.Status) -> float:
    retry = error_details_pb2.RetryInfo()
    assert any(detail.Unpack(retry) for detail in status.details)
    return float(retry.retry_delay.ToNanoseconds() / 1e9)


async def test_a_player_who_calls_too_often() -> None:
    async with bench(rate_per_player=SLOW, rate_per_player_burst=3) as b:
        for _ in range(3):
            await say(b, player("ada"))
        error = await failure(say(b, player("ada")))
        assert details(error) == PER_PLAYER
        assert 900 < retry_seconds(error) <= 1000, "when the next token comes"
        assert details(await failure(b.call("Count", player("ada")))) == PER_PLAYER, "streams count, too"
        another_token = bearer(player_token("ada", name="Ada again"))
        assert details(await failure(say(b, another_token))) == PER_PLAYER, "a new token is the same player"
        await say(b, player("bob"))
        assert b.sample("limited_total", limit="rate_per_player") == 3
        await b.settled("Say", OK=4, RESOURCE_EXHAUSTED=2)


async def test_a_player_who_waits_as_told_gets_in() -> None:
    async with bench(rate_per_player=20, rate_per_player_burst=1) as b:
        await say(b, player("ada"))
        for _ in range(5):
            try:
                await say(b, player("ada"))
            except grpc.aio.AioRpcError as error:
                await asyncio.sleep(retry_seconds(error) + 0.002)  # the loop's timers know milliseconds alone
                await say(b, player("ada"))


async def test_an_address_that_calls_too_often_whoever_it_says_it_is() -> None:
    async with bench(rate_per_address=SLOW, rate_per_address_burst=4) as b:
        await say(b, player("ada"))
        await say(b, player("bob"))
        assert details(await failure(say(b, ())))[1] == "TOKEN_MISSING"
        assert details(await failure(say(b, bearer("garbage"))))[1] == "TOKEN_INVALID"
        for metadata in (player("ada"), player("eve"), (), bearer("garbage"), bearer(player_token("x", exp=9))):
            assert details(await failure(say(b, metadata))) == PER_ADDRESS
        assert b.sample("limited_total", limit="rate_per_address") == 5


async def test_what_is_wrong_for_a_service_s_method_counts_as_well() -> None:
    async with bench(Access.SERVICE, rate_per_address=SLOW, rate_per_address_burst=2) as b:
        assert details(await failure(say(b, player("ada"))))[1] == "SCOPE_MISSING"
        assert details(await failure(say(b, service("rami-ai"))))[1] == "TOKEN_INVALID"
        assert details(await failure(say(b, player("ada")))) == PER_ADDRESS


async def test_services_are_never_limited() -> None:
    values = {"rate_per_address": SLOW, "rate_per_address_burst": 1, "rate_per_player": SLOW, "max_streams": 1}
    async with bench(Access.SERVICE, rate_per_player_burst=1, max_streams_per_player=1, **values) as b:
        for _ in range(20):
            await say(b, service("rami-game"))
        chats = [b.stub.chat(metadata=service("rami-game")) for _ in range(3)]
        for chat in chats:
            await chat.write(text("a"))
            await chat.read()
        for chat in chats:
            chat.cancel()


async def test_public_methods_are_limited_by_address_and_health_is_not() -> None:
    async with bench(Access.PUBLIC, rate_per_address=SLOW, rate_per_address_burst=2) as b:
        await say(b, ())
        await say(b, player("ada"))
        assert details(await failure(say(b, ()))) == PER_ADDRESS
        check: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = b.channel.unary_unary("/grpc.health.v1.Health/Check")
        for _ in range(10):
            await check(b"", timeout=TIMEOUT)


async def test_zero_means_no_limit() -> None:
    async with bench(rate_per_address=0, rate_per_player=0, max_streams=0, max_streams_per_player=0) as b:
        for _ in range(50):
            await say(b, player("ada"))
        assert [raw async for raw in b.stub.count(text("n"), metadata=player("ada"))]


@pytest.mark.parametrize(
    ("trusted", "burst_of_two"),
    [("127.0.0.0/8", {"192.0.2.1": 2, "192.0.2.2": 2}), ("10.0.0.1", {"192.0.2.1": 2, "192.0.2.2": 0})],
    ids=["a trusted proxy", "anybody else"],
)
async def test_behind_a_proxy_each_caller_has_an_address_of_its_own(trusted: str, burst_of_two: dict[str, int]) -> None:
    async with bench(rate_per_address=SLOW, rate_per_address_burst=2, trusted_proxies=trusted) as b:
        for address, expected in burst_of_two.items():
            metadata = (*player("ada"), ("x-forwarded-for", f"6.6.6.6, {address}"))
            for _ in range(expected):
                await say(b, metadata)
            assert details(await failure(say(b, metadata))) == PER_ADDRESS


async def test_messages_of_a_public_stream_are_calls() -> None:
    async with bench(Access.PUBLIC, rate_per_address=SLOW, rate_per_address_burst=3) as b:
        chat = b.stub.chat()
        for word in ("a", "b", "c"):
            await chat.write(text(word))
        assert details(await failure(chat)) == PER_ADDRESS


async def test_one_action_too_many_is_a_result_and_the_stream_goes_on(store_url: str, bots: FakeBots) -> None:
    async with game_cluster(
        store_url, ai_address=bots.target, rate_per_player=SLOW, rate_per_player_burst=6
    ) as cluster:
        ann, eve = cluster.player("ann"), cluster.player("eve")
        room = await ann.create(room_options(2), {1: "easy"})
        await ann.start(room.room_id)
        async with PlayStream(ann, room.room_id) as play:
            await play.read()
            for _ in range(3):
                refused = await play.act(DRAW_STOCK, version=1)
                assert reason_of(refused) == "STALE_VERSION"
            result = await play.act(DRAW_STOCK)
            assert reason_of(result) == "RATE_LIMITED"
            assert 900 < retry_of(result.error) <= 1000
            assert reason_of(await play.act(DRAW_STOCK)) == "RATE_LIMITED"
            assert play.call.done() is False
        before = (await eve.room(room.room_id)).version
        request = pb.SubmitActionRequest(
            request_id=request_id(), room_id=room.room_id, expected_version=before, action=action_to_proto(DRAW_STOCK)
        )
        assert (await refusal(ann.call(ann.stub.SubmitAction, request))).reason == "RATE_LIMITED"
        assert (await eve.room(room.room_id)).version == before, "nothing was played"


async def test_guests_of_an_address_come_in_slowly(store_url: str) -> None:
    values = {"guest_rate_per_address": SLOW, "guest_rate_per_address_burst": 2}
    async with running_replica(store_url, NO_BOTS, **values) as replica:

        async def sign_in() -> players.CreateGuestResponse:
            return await replica.players.CreateGuest(players.CreateGuestRequest(display_name="Ann"), timeout=TIMEOUT)

        guest = await sign_in()
        await sign_in()
        reason, metadata = await queue_refusal(sign_in())
        assert (reason, metadata) == ("RATE_LIMITED", {"limit": "rate_per_address"})
        token = bearer(guest.token)
        known = await replica.players.GetPlayer(players.GetPlayerRequest(), metadata=token, timeout=TIMEOUT)
        assert known.player.player_id == guest.player_id, "everything else goes on"


async def test_who_guesses_at_join_codes_is_slowed_down(store_url: str, bots: FakeBots) -> None:
    values: dict[str, Any] = {"wrong_codes_per_address": SLOW, "wrong_codes_per_address_burst": 3}
    async with game_cluster(store_url, ai_address=bots.target, **values) as cluster:
        ann, bob, eve = (cluster.player(name) for name in ("ann", "bob", "eve"))
        room = await ann.create(room_options(4, public=False))
        open_room = await ann.create(room_options(4))
        for _ in range(10):
            assert (await bob.join_with(room.join_code)).room.room_id == room.room_id, "right codes cost nothing"
            assert (await bob.room_with(room.join_code)).room_id == room.room_id, "nor do look-ups with them"
        wrong = ["AAAAAA", "BBBBBB", "garbage", *(f"{number:06}" for number in range(20))]
        ways = itertools.cycle((eve.join_with, eve.room_with))
        answers = await asyncio.gather(*(refusal(way(code)) for code, way in zip(wrong, ways, strict=False)))
        assert sorted({answer.reason for answer in answers}) == ["JOIN_CODE_NOT_FOUND", "RATE_LIMITED"]
        assert sum(answer.reason == "JOIN_CODE_NOT_FOUND" for answer in answers) == 3
        other = cluster.player("another guest")
        for way in (other.join_with, other.room_with):
            limited = await refusal(way(room.join_code))
            assert limited == ("RESOURCE_EXHAUSTED", "RATE_LIMITED", {"limit": "wrong_codes_per_address"})
        assert (await eve.join(open_room.room_id)).room.room_id == open_room.room_id, "other ways in stay open"
