"""Showing a room: one whose match is over already is told at once, and ends."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import grpc
import pytest
from rich.console import Console

from rami.game.v1 import event_pb2, room_pb2
from rami.game.v1.game_service_pb2_grpc import GameServiceStub
from rami_cli.showing import show_until_over
from rami_client import RetryPolicy, Watch
from rami_client.calls import Calls
from rami_client.state import RoomMirror
from support.matches import new_room, played_match

if TYPE_CHECKING:
    from support.fake_room import FakeRoom


async def shown(room: FakeRoom, *, status: room_pb2.RoomStatus.ValueType, terminal: bool) -> str:
    """What a watcher is shown of a room in which nothing happens any more."""
    mirror = RoomMirror()
    snapshot = event_pb2.Snapshot.FromString(room.snapshot(None, rewound=False).SerializeToString())
    snapshot.room.status = status
    mirror.take_snapshot(snapshot)
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=terminal, no_color=True, highlight=False)
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        watching = Watch(GameServiceStub(channel), Calls("token", 1.0, RetryPolicy()), "room", mirror)
        await show_until_over(watching, console, plain=not terminal)
    return out.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
async def test_a_match_that_is_over_is_shown_with_its_standings(*, terminal: bool) -> None:
    room, replay, _ = played_match(["ann", ""])
    text = await shown(room, status=room_pb2.ROOM_STATUS_OVER, terminal=terminal)
    winner = ["Ann", "Easy 2"][replay.header.result.winner_seat]
    assert f"{winner} wins the match" in text
    assert "Final standings" in text
    assert f"{max(replay.header.result.scores)}\n" in text


async def test_a_room_that_is_gone_is_told() -> None:
    text = await shown(new_room(["ann", "bob"]), status=room_pb2.ROOM_STATUS_CLOSED, terminal=False)
    assert text.split() == ["The", "room", "is", "gone"]
