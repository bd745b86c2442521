"""Tokens that end while a room is followed: with a renewed one it goes on, without one it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rami_client import Client, RetryPolicy, UnauthenticatedError
from support.statuses import status_of
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from support.fake_game import FakeGame

FAST = RetryPolicy(attempts=2, first_backoff_seconds=0.01, max_backoff_seconds=0.05)


@pytest.fixture
async def client(server: FakeGame) -> AsyncIterator[Client]:
    async with Client.connect(game=server.target, token="eve", retry=FAST) as connected:
        yield connected


async def test_a_watch_goes_on_with_a_renewed_token(server: FakeGame, client: Client) -> None:
    room = server.add_room(["ann", "bob"])
    async with client.watch(room.room_id) as watching:
        client._calls.token = "adam"
        server.break_streams(status_of("TOKEN_EXPIRED"))
        await eventually(lambda: len(server.requests("WatchRoom")) == 2, "the stream is opened again")
        assert [call["authorization"] for call in server.metadata] == ["Bearer eve", "Bearer adam"]
        room.start()
        await eventually(lambda: watching.version == room.version, "the watcher sees the start")
        assert watching.error is None


async def test_a_watch_ends_with_its_token(server: FakeGame, client: Client) -> None:
    room = server.add_room(["ann", "bob"])
    async with client.watch(room.room_id) as watching:
        server.break_streams(status_of("TOKEN_EXPIRED"))
        await eventually(lambda: watching.ended, "the watch ends")
        assert isinstance(watching.error, UnauthenticatedError)
        assert watching.error.reason == "TOKEN_EXPIRED"
        assert len(server.requests("WatchRoom")) == 1
