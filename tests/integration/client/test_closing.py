"""What is cancelled or closed in the middle of something: nobody is left waiting, and what is still wanted goes on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from rami.game.v1 import event_pb2
from rami_client import Client, RetryPolicy, TableEndedError, UnavailableError
from rami_engine import DRAW_STOCK, fallback_action, seat_view
from support.fake_queue import FakeQueue
from support.waiting import WAIT_SECONDS, eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import grpc.aio

    from rami_client import Table
    from support.fake_game import FakeGame
    from support.fake_room import FakeRoom

FAST = RetryPolicy(first_backoff_seconds=0.01, max_backoff_seconds=0.05)
PATIENT = RetryPolicy(first_backoff_seconds=3600, max_backoff_seconds=3600)


@pytest.fixture
async def client(server: FakeGame) -> AsyncIterator[Client]:
    async with Client.connect(game=server.target, token="ann", retry=FAST) as connected:
        yield connected


async def begin(table: Table, room: FakeRoom) -> None:
    """Starts the match; returns when the table shows it."""
    await eventually(lambda: bool(room.entropies[0]), "entropy is brought")
    room.start()
    await eventually(lambda: table.version == room.version, "the start is seen")


async def test_a_table_goes_on_when_the_caller_of_an_action_is_cancelled_while_it_is_sent(
    server: FakeGame, client: Client
) -> None:
    room = server.add_room(["ann", "bob"])
    async with client.table(room.room_id, seat=0) as table:
        await begin(table, room)
        for turns in range(20):  # of the loop, until it is certainly sent
            before = room.version
            acting = asyncio.create_task(table.act(table.legal_actions[0]))
            for _ in range(turns):
                await asyncio.sleep(0)
            acting.cancel()
            await asyncio.wait([acting])
            assert acting.cancelled() or acting.result() == before + 1
            assert room.match is not None
            assert room.match.round is not None
            seat = room.match.round.turn
            room.play(seat, fallback_action(seat_view(room.match, seat)), event_pb2.ACTION_SOURCE_AUTOPILOT)
            while room.match.round.turn != 0:
                room.play(1, fallback_action(seat_view(room.match, 1)), event_pb2.ACTION_SOURCE_PLAYER)
            await eventually(lambda: table.version == room.version, "the table is current")
            assert not table.ended
        assert await table.act(table.legal_actions[0]) == room.version


async def test_an_action_outlives_its_stream_that_is_cancelled_while_it_is_sent(
    server: FakeGame, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = server.add_room(["ann", "bob"])
    async with client.table(room.room_id, seat=0) as table:
        await begin(table, room)

        async def cancelled(call: grpc.aio.StreamStreamCall[object, object], _request: object) -> None:
            monkeypatch.undo()
            call.cancel()
            raise asyncio.CancelledError  # what gRPC says where the write was under way

        before = room.version
        monkeypatch.setattr("grpc.aio._call.StreamStreamCall.write", cancelled)
        assert await table.act(table.legal_actions[0]) == room.version == before + 1
        assert len(server.requests("Play")) == 2


async def test_tables_and_watches_end_with_their_client(server: FakeGame, client: Client) -> None:
    room = server.add_room(["ann", "bob"])
    async with client.table(room.room_id, seat=0) as table, client.watch(room.room_id) as watch:
        waiting = asyncio.create_task(table.wait_for_turn())
        updates = watch.updates()
        await asyncio.sleep(0)
        await client.close()
        assert table.ended
        assert watch.ended
        assert await waiting is False
        assert [update async for update in updates] == []
        with pytest.raises(TableEndedError):
            await table.act(DRAW_STOCK)
    await eventually(lambda: server.streams == 0, "no stream is left")


async def test_whoever_waits_for_a_seat_is_told_that_the_client_was_closed() -> None:
    async with FakeQueue() as queue:
        for retry in (FAST, PATIENT):
            client = Client.connect(game=queue.target, token="ann", retry=retry)
            watches = queue.watches
            waiting = asyncio.create_task(client.wait_for_match("ticket-1"))
            # Bound to this turn of the loop; mypy infers no lambda with a default.
            await eventually(lambda watches=watches: queue.watches > watches, "the ticket is watched")  # type: ignore[misc]
            await client.close()
            with pytest.raises(UnavailableError):
                await waiting


async def test_a_cancellation_that_comes_while_a_table_is_closed_is_not_lost(server: FakeGame, client: Client) -> None:
    room = server.add_room(["ann", "bob"])
    get_up = asyncio.Event()

    async def sit_and_stay() -> None:
        async with client.table(room.room_id, seat=0):
            await get_up.wait()
        await asyncio.Event().wait()

    for turns in range(8):  # of the loop, in one of which the table is being closed
        get_up.clear()
        sitting = asyncio.create_task(sit_and_stay())
        await eventually(lambda: server.streams == 1, "the table is open")
        get_up.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        sitting.cancel()
        async with asyncio.timeout(WAIT_SECONDS):
            await asyncio.wait([sitting])
        assert sitting.cancelled()
        await eventually(lambda: server.streams == 0, "no stream is left")
