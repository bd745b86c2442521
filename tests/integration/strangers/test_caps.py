"""How much a caller may have at once: metadata, time, streams, rooms, answers that it does not read."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

from game_state import streams
from rami.game.v1 import game_service_pb2 as pb
from rami_engine import DRAW_STOCK
from rami_kit import incoming, unread
from rami_kit.access import Access
from rami_kit.testing import player, player_token
from support.calls import TIMEOUT, bench, details, failure
from support.echo import StringValue, text, value_of
from support.game_cluster import Player, Refusal, game_cluster, id_of, refusal, request_id, room_options
from support.game_store import StoreView
from support.game_streams import PlayStream, Watch, end_of
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

    from support.calls import Bench
    from support.game_bots import FakeBots

TOO_MANY_ROOMS = Refusal("RESOURCE_EXHAUSTED", "LIMIT_REACHED", {"limit": "rooms_per_player", "value": "2"})


def full(limit: str, value: int) -> tuple[str, str, dict[str, str]]:
    return ("RESOURCE_EXHAUSTED", "LIMIT_REACHED", {"limit": limit, "value": str(value)})


# Metadata.


async def test_metadata_beyond_the_cap_is_refused_by_grpc_itself() -> None:
    async with bench(max_metadata_bytes=8192) as b:
        fits = (*player("ada"), ("x-note", "n" * 7000))
        assert value_of(await b.stub.say(text("x"), timeout=TIMEOUT, metadata=fits)) == "x"
        for size in (8200, 12_000, 40_000):
            for _ in range(3):  # never by chance
                error = await failure(
                    b.stub.say(text("x"), timeout=TIMEOUT, metadata=(*player("ada"), ("x-note", "n" * size)))
                )
                assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert value_of(await b.stub.say(text("x"), timeout=TIMEOUT, metadata=fits)) == "x", "the connection lives"


# Deadlines.


async def test_a_deadline_beyond_the_cap_is_cut_to_it() -> None:
    async with bench(max_deadline_seconds=0.2) as b:
        ended = asyncio.Event()

        async def never(request: StringValue) -> StringValue:
            try:
                await asyncio.sleep(3600)
            finally:
                ended.set()
            return request

        b.servicer.on_say = never
        error = await failure(b.stub.say(text("x"), timeout=3000, metadata=player("ada")))
        assert details(error) == ("DEADLINE_EXCEEDED", "CALL_TOO_LONG", {"max_seconds": "0.2"})
        assert ended.is_set(), "no work is left behind"
        await b.settled("Say", DEADLINE_EXCEEDED=1)


async def test_what_a_handler_runs_out_of_is_its_own() -> None:
    async with bench(max_deadline_seconds=60) as b:

        async def late(_request: StringValue) -> StringValue:
            raise TimeoutError

        b.servicer.on_say = late
        error = await failure(b.stub.say(text("x"), timeout=3000, metadata=player("ada")))
        assert details(error) == ("INTERNAL", "INTERNAL", {})


async def test_a_long_deadline_does_no_harm_to_a_short_call() -> None:
    async with bench() as b:
        for seconds in (59, 60, 61, 1e9):
            assert value_of(await b.stub.say(text("x"), timeout=seconds, metadata=player("ada"))) == "x"


# Streams.


async def open_chat(b: Bench, metadata: Any = ()) -> Any:
    """A stream that is open for certain."""
    chat: Any = b.stub.chat(metadata=metadata)
    await chat.write(text("a"))
    assert value_of(await chat.read()) == "a"
    return chat


async def test_streams_of_a_player() -> None:
    async with bench(max_streams_per_player=2) as b:
        first = await open_chat(b, player("ada"))
        await open_chat(b, player("ada"))
        for method in ("Chat", "Count"):
            assert details(await failure(b.call(method, player("ada")))) == full("streams_per_player", 2)
        await open_chat(b, player("bob"))
        await b.stub.say(text("x"), timeout=TIMEOUT, metadata=player("ada"))

        first.cancel()
        await eventually(lambda: b.app.interceptor.running == 2, "the stream has ended")
        await open_chat(b, player("ada"))
        assert b.sample("limited_total", limit="streams_per_player") == 2


async def test_streams_of_an_address_where_nobody_needs_a_token() -> None:
    async with bench(Access.PUBLIC, max_streams_per_player=1) as b:
        await open_chat(b)
        assert details(await failure(b.call("Chat", player("ada")))) == full("streams_per_address", 1)


async def test_a_stream_is_refused_when_its_first_message_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming, "FIRST_MESSAGE_SECONDS", 3600.0)
    async with bench(max_streams_per_player=1) as b:
        await open_chat(b, player("ada"))
        for sends_something in (True, False):
            chat: Any = b.stub.chat(metadata=player("ada"))
            end = asyncio.ensure_future(failure(chat))
            await eventually(lambda: b.app.interceptor.running == 2, "the call has come")
            await asyncio.sleep(0.05)  # a refusal that does not wait is here by then
            assert not end.done()
            await (chat.write(text("x")) if sends_something else chat.done_writing())
            assert details(await end) == full("streams_per_player", 1)
            await eventually(lambda: b.app.interceptor.running == 1, "the call is over")
        hung_up: Any = b.stub.chat(metadata=player("ada"))
        await eventually(lambda: b.app.interceptor.running == 2, "the call has come")
        hung_up.cancel()
        await eventually(lambda: b.app.interceptor.running == 1, "nobody is waited for who has left")


async def test_a_drain_does_not_take_who_has_sent_nothing_yet_for_one_who_reads_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(incoming, "FIRST_MESSAGE_SECONDS", 3600.0)
    monkeypatch.setattr(unread, "UNREAD_SECONDS", 0.02)
    async with bench(max_streams_per_player=1) as b:
        await open_chat(b, player("ada"))
        chat: Any = b.stub.chat(metadata=player("ada"))
        await eventually(lambda: b.app.interceptor.running == 2, "the call has come")
        giving_up = asyncio.create_task(b.app.interceptor.writers.give_up_unread())
        await asyncio.sleep(0.2)  # who is given up is so by then
        giving_up.cancel()
        await chat.write(text("x"))
        assert details(await failure(chat)) == full("streams_per_player", 1)


async def test_a_stream_on_which_nothing_comes_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming, "FIRST_MESSAGE_SECONDS", 0.01)
    async with bench(max_streams_per_player=1) as b:
        await open_chat(b, player("ada"))
        assert details(await failure(b.stub.chat(metadata=player("ada")))) == full("streams_per_player", 1)


async def test_streams_of_a_process() -> None:
    async with bench(max_streams=2) as b:
        chats = [await open_chat(b, player(name)) for name in ("ada", "bob")]
        for _ in range(3):
            assert details(await failure(b.call("Chat", player("eve")))) == full("streams_per_process", 2)
        look: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = b.channel.unary_stream("/grpc.health.v1.Health/Watch")
        watch: Any = look(b"")
        await watch.read()
        chats[0].cancel()
        await eventually(lambda: b.app.interceptor.running == 2, "the stream has ended")
        watch.cancel()
        await eventually(lambda: b.app.interceptor.running == 1, "the watch has ended")
        await open_chat(b, player("eve"))


async def test_streams_are_counted_however_they_end() -> None:
    async with bench(max_streams=1, max_streams_per_player=1) as b:

        async def fails(_requests: object) -> AsyncIterator[StringValue | bytes]:
            yield StringValue(value="first")
            raise ValueError

        for _ in range(3):
            assert [raw async for raw in b.stub.count(text("n"), metadata=player("ada"))]
        b.servicer.on_chat = fails
        for _ in range(3):
            assert details(await failure(b.call("Chat", player("ada"))))[0] == "INTERNAL"
            assert details(await failure(b.stub.count(b"\xff\xff", metadata=player("ada"))))[0] == "INVALID_ARGUMENT"
        b.servicer.on_chat = b.servicer._parrot
        short = (("authorization", f"Bearer {player_token('ada', lifetime_seconds=1)}"),)
        chat: Any = b.stub.chat(metadata=short)
        await chat.write(text("a"))
        assert (await end_of(chat)).reason == "TOKEN_EXPIRED"
        await open_chat(b, player("ada"))


async def test_g2_more_watches_than_a_replica_bears_are_refused_at_once(store_url: str, bots: FakeBots) -> None:
    async with game_cluster(store_url, ai_address=bots.target, max_streams=5) as cluster:
        ann = cluster.player("ann")
        room = await ann.create(room_options(2))
        watches = [Watch(cluster.player(f"eve{number}"), room.room_id) for number in range(5)]
        for watch in watches:
            await watch.read()
        assert await Watch(ann, room.room_id).end() == Refusal(*full("streams_per_process", 5))
        async with PlayStream(ann, room.room_id) as play:
            assert await play.end() == Refusal(*full("streams_per_process", 5))
        assert (await ann.view(room.room_id)).snapshot.room.room_id == room.room_id, "calls go on"
        for watch in watches:
            await watch.close()
        await eventually(lambda: cluster.apps[0].interceptor.running == 0, "the watches have ended")
        async with PlayStream(ann, room.room_id) as play:
            await play.read()


async def test_answers_that_nobody_reads_do_not_pile_up(
    store_url: str, bots: FakeBots, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[int] = []
    blocked = asyncio.Event()
    add_result, room_for_result = streams.RoomStream.add_result, streams.RoomStream.room_for_result

    def noting(stream: streams.RoomStream, version: int, result: bytes) -> None:
        add_result(stream, version, result)
        waiting.append(len(stream._results))

    async def watched(stream: streams.RoomStream) -> None:
        if len(stream._results) >= streams.RESULTS_LIMIT:
            blocked.set()
        await room_for_result(stream)

    monkeypatch.setattr(streams.RoomStream, "add_result", noting)
    monkeypatch.setattr(streams.RoomStream, "room_for_result", watched)
    async with game_cluster(store_url, ai_address=bots.target) as cluster:
        # Without this option the windows of the connection grow to megabytes.
        options = [("grpc.http2.bdp_probe", 0)]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{cluster.apps[0].port}", options=options) as channel:
            ann = Player("ann", channel)
            room = await ann.create(room_options(2), {1: "easy"})
            await ann.start(room.room_id)
            async with PlayStream(ann, room.room_id) as play:
                await play.read()
                sent = 0

                async def flood() -> None:
                    nonlocal sent
                    while not blocked.is_set():
                        action = pb.PlayAction(request_id=f"{sent} is no uuid")
                        await play.call.write(pb.PlayRequest(action=action))
                        sent += 1

                flooding = asyncio.create_task(flood())
                async with asyncio.timeout(60):
                    await blocked.wait()
                await play.until(lambda: len(play.results) == sent and flooding.done())
            assert max(waiting) == streams.RESULTS_LIMIT


async def test_of_a_request_id_without_end_only_the_beginning_comes_back(store_url: str, bots: FakeBots) -> None:
    async with game_cluster(store_url, ai_address=bots.target) as cluster:
        ann = cluster.player("ann")
        room = await ann.create(room_options(2), {1: "easy"})
        async with PlayStream(ann, room.room_id) as play:
            await play.send(DRAW_STOCK, key="x" * 60_000)
            await play.until(lambda: bool(play.results))
            assert list(play.results) == ["x" * 64]


# Rooms.


async def test_rooms_of_a_host_on_any_replica(store_url: str, bots: FakeBots) -> None:
    async with game_cluster(store_url, 2, ai_address=bots.target, max_rooms_per_player=2) as cluster:
        here, there, bob = cluster.player("ann"), cluster.player("ann", 1), cluster.player("bob")
        first = await here.create(room_options(2))
        second = await there.create(room_options(2), {1: "easy"})
        for ann in (here, there):
            assert await refusal(ann.create(room_options(2))) == TOO_MANY_ROOMS
        await bob.create(room_options(2))

        await there.leave(first.room_id)
        third = await comes_in(here)
        assert await refusal(there.create(room_options(2))) == TOO_MANY_ROOMS

        await here.start(second.room_id)
        await here.leave(second.room_id)  # abandons the match: the room stays, and is over
        await comes_in(there)
        assert await refusal(here.create(room_options(2))) == TOO_MANY_ROOMS

        await bob.join(third.room_id)
        await here.leave(third.room_id)
        assert (await bob.room(third.room_id)).host_player_id == bob.id
        await comes_in(here)


async def comes_in(ann: Player) -> Any:
    """A room as soon as the place that has been given back is there."""
    made: list[Any] = []

    async def attempt() -> None:
        async with asyncio.timeout(30):
            while not made:
                try:
                    made.append(await ann.create(room_options(2)))
                except grpc.aio.AioRpcError as error:
                    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED  # noqa: PT017 - any number of times
                    await asyncio.sleep(0.01)

    await attempt()
    return made[0]


async def test_a_repeat_at_the_limit_gets_its_room(store_url: str, bots: FakeBots) -> None:
    async with game_cluster(store_url, ai_address=bots.target, max_rooms_per_player=2) as cluster:
        ann = cluster.player("ann")
        request = pb.CreateRoomRequest(request_id=request_id(), options=room_options(2))
        rooms = [(await ann.call(ann.stub.CreateRoom, request)).room.room_id for _ in range(5)]
        assert len(set(rooms)) == 1, "one room takes one place"
        await ann.create(room_options(2))
        assert (await ann.call(ann.stub.CreateRoom, request)).room.room_id == rooms[0]
        assert await refusal(ann.create(room_options(2))) == TOO_MANY_ROOMS


async def test_no_race_brings_more_rooms_than_allowed(store_url: str, bots: FakeBots) -> None:
    async with game_cluster(store_url, 2, ai_address=bots.target, max_rooms_per_player=5) as cluster:
        ann = [cluster.player("ann", replica) for replica in (0, 1)]
        answers = await asyncio.gather(
            *(ann[number % 2].create(room_options(2)) for number in range(30)), return_exceptions=True
        )
        assert sum(not isinstance(answer, BaseException) for answer in answers) == 5
        refused = [answer for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
        assert {error.code() for error in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert len(refused) == 25


async def test_places_that_were_never_given_back_are_found_at_the_limit(store_url: str, bots: FakeBots) -> None:
    async with game_cluster(store_url, ai_address=bots.target, max_rooms_per_player=2) as cluster:
        ann, bob = cluster.player("ann"), cluster.player("bob")
        with StoreView(store_url) as store:
            place = f"{{p0}}:host:{ann.id}"
            theirs = await bob.create(room_options(2))
            # As after crashes: a room that never came to be, and one that is somebody else's by now.
            store.client.zadd(place, {"p0-aaaaaaaaaaaaaaaa": 1, theirs.room_id: 1})
            await ann.create(room_options(2))
            await ann.create(room_options(2))
            assert await refusal(ann.create(room_options(2))) == TOO_MANY_ROOMS
            assert 0 < store.client.pttl(place) <= 7 * 24 * 3600 * 1000


async def test_a_rematch_takes_a_place_of_whoever_asks_first(store_url: str, bots: FakeBots) -> None:
    async with game_cluster(store_url, ai_address=bots.target, max_rooms_per_player=1) as cluster:
        ann, bob = cluster.player("ann"), cluster.player("bob")
        room = await ann.create(room_options(3), {2: "easy"})
        await bob.join(room.room_id)
        await ann.start(room.room_id)
        for someone in (ann, bob):
            await someone.leave(room.room_id)
        blocker = await comes_in(ann)
        limit_one = Refusal("RESOURCE_EXHAUSTED", "LIMIT_REACHED", {"limit": "rooms_per_player", "value": "1"})
        assert await refusal(ann.rematch(room.room_id)) == limit_one
        again = await bob.rematch(room.room_id)
        assert again.room.host_player_id == id_of("bob")
        assert (await ann.rematch(room.room_id)).room.room_id == again.room.room_id, "who joins takes none"
        assert await refusal(bob.create(room_options(2))) == limit_one
        await ann.leave(blocker.room_id)
        await comes_in(ann)
