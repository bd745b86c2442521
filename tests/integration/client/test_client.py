"""Calls: what they carry, what is tried again and what is not, and streams of tickets and rooms."""

from __future__ import annotations

import asyncio
import socket
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import grpc
import pytest

from rami.game.v1 import event_pb2, room_pb2
from rami.game.v1 import game_service_pb2 as game
from rami.matchmaking.v1 import matchmaking_service_pb2 as matchmaking
from rami_client import (
    Client,
    DeadlineExceededError,
    FailedPreconditionError,
    NotFoundError,
    ResourceExhaustedError,
    RetryPolicy,
    ServerError,
    TicketEndedError,
    UnauthenticatedError,
    UnavailableError,
)
from rami_engine import fallback_action, seat_view
from support.fake_queue import FakeQueue
from support.statuses import status_of
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from support.fake_game import FakeGame

FAST = RetryPolicy(attempts=4, first_backoff_seconds=0.01, max_backoff_seconds=0.05)


@pytest.fixture
async def client(server: FakeGame) -> AsyncIterator[Client]:
    async with Client.connect(game=server.target, token="ann", retry=FAST) as connected:
        yield connected


async def test_calls_carry_token_room_and_request_id(server: FakeGame, client: Client) -> None:
    room = server.add_room(["ann", "bob"])
    await client.start_match(room.room_id)
    (request,) = server.requests("StartMatch")
    assert isinstance(request, game.StartMatchRequest)
    assert str(uuid.UUID(request.request_id)) == request.request_id
    assert uuid.UUID(request.request_id).version == 4
    assert server.metadata[0]["authorization"] == "Bearer ann"
    assert server.metadata[0]["rami-room-id"] == room.room_id


@pytest.mark.parametrize("reason", ["STORE_UNAVAILABLE", "DECISION_TIMEOUT", "OVERLOADED"])
async def test_a_mutation_is_repeated_with_its_request_id(server: FakeGame, client: Client, reason: str) -> None:
    room = server.add_room(["ann", "bob"])
    server.failures = [("StartMatch", status_of(reason))] * 3
    await client.start_match(room.room_id)
    first, *others = server.requests("StartMatch")
    assert len(others) == 3
    assert all(request == first for request in others)


async def test_attempts_come_to_an_end(server: FakeGame, client: Client) -> None:
    server.failures = [("GetRoom", status_of("STORE_UNAVAILABLE"))] * 9
    with pytest.raises(UnavailableError) as caught:
        await client.get_room("p0-abcdefgh23456723")
    assert caught.value.reason == "STORE_UNAVAILABLE"
    assert len(server.requests("GetRoom")) == FAST.attempts


@pytest.mark.parametrize(
    ("reason", "family"),
    [
        ("RATE_LIMITED", ResourceExhaustedError),
        ("INTERNAL", ServerError),
        ("ROOM_FULL", FailedPreconditionError),
        ("TOKEN_EXPIRED", UnauthenticatedError),
    ],
)
async def test_answers_are_not_tried_again(
    server: FakeGame, client: Client, reason: str, family: type[Exception]
) -> None:
    server.failures = [("GetRoom", status_of(reason))]
    with pytest.raises(family):
        await client.get_room("p0-abcdefgh23456723")
    assert len(server.requests("GetRoom")) == 1


def test_pauses_grow_are_random_and_honour_the_server() -> None:
    policy = RetryPolicy(first_backoff_seconds=0.1, max_backoff_seconds=1.0)
    for failures, longest in ((1, 0.1), (2, 0.2), (3, 0.4), (4, 0.8), (5, 1.0), (500, 1.0)):
        pauses = {policy.pause_seconds(failures) for _ in range(20)}
        assert all(longest / 2 <= pause <= longest for pause in pauses)
        assert len(pauses) > 1
    asked = UnavailableError(grpc.StatusCode.UNAVAILABLE, "", retry_after_seconds=7.5)
    honoured = {policy.pause_seconds(1, asked) for _ in range(20)}
    assert all(7.5 <= pause <= 7.5 * 1.25 for pause in honoured)
    assert len(honoured) > 1, "not everybody comes back at once"


async def test_a_call_without_an_answer_ends_at_its_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connections are made, and nothing is ever said
        target = f"127.0.0.1:{silent.getsockname()[1]}"
        retry = RetryPolicy(attempts=2, first_backoff_seconds=0.01)
        async with Client.connect(game=target, token="ann", deadline_seconds=0.1, retry=retry) as client:
            with pytest.raises(DeadlineExceededError):
                await client.get_room("p0-abcdefgh23456723")


async def test_a_room_that_is_not_there_is_named(client: Client) -> None:
    with pytest.raises(NotFoundError) as caught:
        await client.get_room("p0-nowhere")
    assert caught.value.reason == "ROOM_NOT_FOUND"
    assert caught.value.metadata == {"room_id": "p0-nowhere"}


async def test_a_guest_is_the_caller_from_then_on() -> None:
    async with FakeQueue() as queue, Client.connect(game="127.0.0.1:1", matchmaking=queue.target) as client:
        guest = await client.sign_in_as_guest("Ada")
        assert (client.player_id, client.token) == (guest.player_id, guest.token) == ("id of Ada", "guest-token")
        await client.get_ticket("ticket-1")
        assert "authorization" not in queue.metadata[0]
        assert queue.metadata[1]["authorization"] == "Bearer guest-token"


async def test_lists_are_read_to_their_end_or_limit() -> None:
    async with FakeQueue() as queue, Client.connect(game="127.0.0.1:1", matchmaking=queue.target) as client:
        assert [ranked.rank for ranked in await client.leaderboard()] == [1, 2, 3, 4, 5]
        assert [ranked.rank for ranked in await client.leaderboard(limit=3)] == [1, 2, 3]


async def test_an_edge_serves_matchmaking_on_the_same_target() -> None:
    async with FakeQueue() as queue, Client.connect(game=queue.target, token="ann") as client:
        assert (await client.get_ticket("ticket-1")).ticket_id == "ticket-1"


async def test_a_ticket_is_followed_over_broken_streams_to_its_seat() -> None:
    async with FakeQueue() as queue, Client.connect(game=queue.target, token="ann", retry=FAST) as client:
        ticket = await client.join_queue(player_counts=[3], bots_allowed=True, bot="easy")
        assert ticket.criteria.player_counts == [3]
        assert ticket.criteria.bot == "easy"
        waiting = asyncio.create_task(client.wait_for_match(ticket.ticket_id))
        await eventually(lambda: queue.watches == 1, "the ticket is watched")
        queue.break_streams()
        await eventually(lambda: queue.watches == 2, "the watch resumes")
        queue.change(matchmaking.TICKET_STATE_CLAIMED)
        queue.change(matchmaking.TICKET_STATE_MATCHED, "p0-room")
        assignment = await waiting
        assert (assignment.room_id, assignment.seat) == ("p0-room", 1)


async def test_a_ticket_is_followed_although_a_stream_is_lost_without_a_word() -> None:
    impatient = replace(FAST, silence_limit_seconds=0.2)
    async with FakeQueue() as queue, Client.connect(game=queue.target, token="ann", retry=impatient) as client:
        queue.lost_streams = 1
        waiting = asyncio.create_task(client.wait_for_match("ticket-1"))
        await eventually(lambda: queue.watches == 1, "the ticket is watched")
        queue.change(matchmaking.TICKET_STATE_MATCHED, "p0-room")
        assert (await waiting).room_id == "p0-room"
        assert queue.watches > 1


async def test_a_table_is_followed_although_a_stream_is_lost_without_a_word(server: FakeGame) -> None:
    room = server.add_room(["ann", "bob"])
    impatient = replace(FAST, silence_limit_seconds=0.2)
    async with (
        Client.connect(game=server.target, token="ann", retry=impatient) as client,
        client.table(room.room_id),
    ):
        await eventually(lambda: len(server.requests("Play")) > 2, "a stream without heartbeats is opened again")
    await eventually(lambda: server.streams == 0, "none of them is left")


async def test_states_are_told_once() -> None:
    async with FakeQueue() as queue, Client.connect(game=queue.target, token="ann", retry=FAST) as client:
        states: list[int] = []

        async def follow() -> None:
            states.extend([ticket.state async for ticket in client.watch_ticket("ticket-1")])

        following = asyncio.create_task(follow())
        for watches in (1, 2, 3):
            await eventually(lambda watches=watches: queue.watches == watches, "the ticket is watched")  # type: ignore[misc]
            queue.break_streams()
        await eventually(lambda: queue.watches == 4, "the watch resumes")
        queue.change(matchmaking.TICKET_STATE_EXPIRED)
        await following
        assert states == [matchmaking.TICKET_STATE_WAITING, matchmaking.TICKET_STATE_EXPIRED]


async def test_a_cancelled_ticket_says_so() -> None:
    async with FakeQueue() as queue, Client.connect(game=queue.target, token="ann") as client:
        waiting = asyncio.create_task(client.wait_for_match("ticket-1"))
        await eventually(lambda: queue.watches == 1, "the ticket is watched")
        await client.leave_queue("ticket-1")
        with pytest.raises(TicketEndedError, match="CANCELLED") as caught:
            await waiting
        assert caught.value.state == matchmaking.TICKET_STATE_CANCELLED


async def test_a_ticket_that_is_not_there_ends_the_watch() -> None:
    async with FakeQueue() as queue, Client.connect(game=queue.target, token="ann") as client:
        queue.failures = [status_of("ROOM_NOT_FOUND")]
        with pytest.raises(NotFoundError):
            await client.wait_for_match("ticket-2")
        assert queue.watches == 1


async def test_a_spectator_sees_everything_but_hands(server: FakeGame) -> None:
    room = server.add_room(["ann", ""])
    async with (
        Client.connect(game=server.target, token="eve", retry=FAST) as watcher,
        watcher.watch(room.room_id) as watch,
    ):
        room.start()
        while room.match is not None and room.match.winner is None:
            assert room.match.round is not None
            seat = room.match.round.turn
            room.play(seat, fallback_action(seat_view(room.match, seat)), event_pb2.ACTION_SOURCE_BOT)
            if room.version % 20 == 0:
                server.break_streams()
            await eventually(lambda: watch.version == room.version, "the watcher keeps up")
        assert watch.over
        assert room.match is not None
        assert watch.view == seat_view(room.match, None)
        assert watch.room == room.message()
    await eventually(lambda: server.streams == 0, "the stream ends")


async def test_options_of_a_new_room_reach_the_server(server: FakeGame, client: Client) -> None:
    options = room_pb2.RoomOptions(seats=3)
    with pytest.raises(ServerError) as caught:
        await client.create_room(options, bots={1: "easy"})
    assert caught.value.code is grpc.StatusCode.UNIMPLEMENTED
    assert not server.calls
