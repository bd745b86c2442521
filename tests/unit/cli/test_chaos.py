"""What the chaos demo shows of its kills, and how it goes about them; the kills themselves are an end-to-end test."""

from __future__ import annotations

import asyncio
import io
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from rich.console import Console

from rami_cli import chaos as chaos_module
from rami_cli.acknowledged import AskedActions
from rami_cli.chaos import VICTIMS, Board, Chaos, Fate, fates_table
from rami_cli.child import ChildDiedError
from rami_cli.cluster import Cluster, ClusterError
from rami_cli.demo import DemoOptions, run_demo
from rami_cli.screen import HEIGHT, WIDTH
from rami_client import Client, RetryPolicy, Table
from support.fake_game import FakeGame
from support.matches import fallback
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from rich.console import RenderableType

    from support.fake_room import FakeRoom


def text_of(drawn: RenderableType) -> str:
    out = io.StringIO()
    Console(file=out, width=WIDTH, no_color=True, highlight=False).print(drawn)
    return out.getvalue()


class FakeCluster:
    """Processes that come back when they are let."""

    def __init__(self) -> None:
        self.killed: list[str] = []
        self.on_kill: Callable[[str], None] = lambda _: None
        self.let_back = asyncio.Event()
        self.let_back.set()

    addresses = SimpleNamespace(game="game", ai="ai", matchmaking="matchmaking")

    def pids(self) -> dict[str, int | None]:
        return {name: 100 + number for number, name in enumerate(VICTIMS)}

    async def kill(self, name: str) -> None:
        self.killed.append(name)
        self.on_kill(name)
        await self.let_back.wait()


@pytest.fixture
async def at_the_table(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[FakeRoom, Table, FakeCluster]]:
    async def serves(_: str) -> None:
        return None

    monkeypatch.setattr(chaos_module, "serving", serves)
    # The steps of this room are made in a past that comes before every kill.
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    async with FakeGame() as server:
        room = server.add_room(["ann", "bob"])
        client = Client.connect(game=server.target, token="ann", retry=RetryPolicy(first_backoff_seconds=0.01))
        async with client, client.table(room.room_id, seat=0) as table:
            await eventually(lambda: bool(room.entropies[0]), "entropy is brought")
            room.start()
            yield room, table, FakeCluster()


async def play_on(room: FakeRoom, table: Table) -> None:
    from rami.game.v1 import event_pb2

    while room.match is not None and room.match.winner is None:
        room.play(*fallback(room), event_pb2.ACTION_SOURCE_PLAYER)
        await eventually(lambda: table.version == room.version, "the table keeps up")


async def test_everybody_is_killed_once_and_in_order(
    at_the_table: tuple[FakeRoom, Table, FakeCluster],
) -> None:
    room, table, cluster = at_the_table
    told: list[str] = []
    chaos = Chaos(cast("Cluster", cluster), 1, told.append)
    playing = asyncio.create_task(play_on(room, table))
    await chaos.strike(table)
    playing.cancel()
    assert cluster.killed == list(VICTIMS)
    assert chaos.done
    versions = [fate.version for fate in chaos.fates]
    assert versions == sorted(versions)
    assert all(after - before >= 3 for before, after in zip([0, *versions], versions, strict=False))
    assert [line.split()[0] for line in told] == [name for name in VICTIMS for _ in range(2)]
    text = text_of(fates_table(chaos.fates))
    assert all(f"version {version}" in text for version in versions)


async def test_who_is_left_when_the_match_is_over_is_left_for_the_next(
    at_the_table: tuple[FakeRoom, Table, FakeCluster],
) -> None:
    room, table, cluster = at_the_table
    chaos = Chaos(cast("Cluster", cluster), 1, lambda _: None)

    def end(_: str) -> None:
        room.close()

    cluster.on_kill = end
    playing = asyncio.create_task(play_on(room, table))
    await chaos.strike(table)
    playing.cancel()
    assert cluster.killed == ["store"]
    assert not chaos.done


async def test_a_process_that_does_not_come_back_fails_the_demo(
    at_the_table: tuple[FakeRoom, Table, FakeCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    room, table, cluster = at_the_table
    monkeypatch.setattr(chaos_module, "RECOVERY_SECONDS", 0.3)
    cluster.let_back.clear()
    playing = asyncio.create_task(play_on(room, table))
    with pytest.raises(ClusterError, match=r"store is not back 0\.3 s after store was killed"):
        await Chaos(cast("Cluster", cluster), 1, lambda _: None).strike(table)
    playing.cancel()


async def test_a_process_that_cannot_come_back_is_told_as_such(
    at_the_table: tuple[FakeRoom, Table, FakeCluster], tmp_path: Path
) -> None:
    room, table, cluster = at_the_table

    def die(name: str) -> None:
        raise ChildDiedError(name, "cannot be started again", tmp_path / "log")

    cluster.on_kill = die
    playing = asyncio.create_task(play_on(room, table))
    with pytest.raises(ChildDiedError, match="store cannot be started again"):
        await Chaos(cast("Cluster", cluster), 1, lambda _: None).strike(table)
    playing.cancel()


async def test_the_board_says_who_is_down_and_fits_below_the_table(
    at_the_table: tuple[FakeRoom, Table, FakeCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, table, _ = at_the_table
    journal = AskedActions()
    loop = asyncio.get_running_loop()
    now = loop.time()
    fates = [
        Fate("store", pid=1, version=12, killed_at=now - 3, back_after=0.5, on_after=0.75),
        Fate("game", pid=2, version=20, killed_at=now),
        Fate("ai"),
        Fate("matchmaking"),
    ]
    board = Board(fates, journal, table)
    with monkeypatch.context() as clock:
        clock.setattr(loop, "time", lambda: now + 0.04)
        lines = text_of(board).splitlines()
    assert len(lines) == board.lines < HEIGHT - 12
    assert max(len(line) for line in lines) <= WIDTH
    assert lines[1].split() == ["store", "back", "version", "12", "0.50", "s", "0.75", "s"]
    assert lines[2].split()[:4] == ["game", "DOWN", "for", "0.0"]
    assert lines[3].split() == ["ai", "up"]
    assert lines[5].split() == ["your", "moves", "0", "of", "0", "acknowledged", "0", "sent", "again"]


async def test_a_store_of_somebody_elses_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAMI_REDIS_URL", "redis://store.example:6379/0")
    with pytest.raises(ClusterError, match="unset RAMI_REDIS_URL"):
        await run_demo(DemoOptions(chaos=True))
