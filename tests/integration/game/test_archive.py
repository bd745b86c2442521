"""The archive of finished matches: what is written, how often, and what of trouble on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import redis.asyncio

import rami_kit.finished_stream
from game_state.archive import Archive, open_archive
from rami.store.v1 import finished_pb2
from rami_cli.archive import ArchiveError, ArchiveReader
from rami_cli.inspecting import InspectionError, position_lines, read_from_store
from rami_client import BadFileError, verify
from rami_kit import keys
from rami_kit.settings import SettingsError
from support.game_bots import at_random
from support.game_cluster import game_cluster, room_options
from support.game_streams import Watch
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from support.game_bots import FakeBots
    from support.game_cluster import Cluster


async def play(cluster: Cluster, replica: int = 0) -> str:
    """A match of two bots to its end."""
    ann = cluster.player("ann", replica)
    room = await ann.create(room_options(2, target=1), {0: "easy", 1: "hard"}, observe=True)
    async with Watch(ann, room.room_id) as watch:
        await watch.read()
        await ann.start(room.room_id)
        await watch.until(lambda: watch.mirror.room.HasField("result"))
    return room.room_id


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*/*"))


def names_of(room_id: str) -> list[str]:
    """The files of a match."""
    return [f"{room_id}.replay.json", f"{room_id}.summary.json"]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*/*")}


def stored(cluster: Cluster, outcome: str = "stored") -> float:
    return sum(
        app.metrics.registry.get_sample_value("rami_game_archived_matches_total", {"outcome": outcome}) or 0.0
        for app in cluster.apps
    )


async def test_every_match_is_archived_once_and_can_be_verified(store_url: str, bots: FakeBots, tmp_path: Path) -> None:
    bots.choose = at_random(3)
    async with game_cluster(store_url, 2, ai_address=bots.target, archive_url=str(tmp_path)) as cluster:
        rooms = [await play(cluster, replica) for replica in (0, 1, 0)]
        await eventually(lambda: stored(cluster) == 3, "all are archived")
        replays = {room_id: await cluster.player("ann").replay(room_id) for room_id in rooms}
    assert files(tmp_path) == sorted(
        f"{room_id}{end}" for room_id in rooms for end in (".replay.json", ".summary.json")
    )

    archive = ArchiveReader(str(tmp_path))
    listed = {match.room_id: match for match in archive.matches()}
    assert listed.keys() == set(rooms)
    for room_id in rooms:
        replay = archive.replay(room_id)
        assert replay == replays[room_id]
        verify(replay)
        match = listed[room_id]
        assert match.rounds == len(replay.rounds)
        assert match.winner == replay.header.result.winner_seat
        assert [seat.rpartition(" ")[2] for seat in match.seats] == [
            str(score) for score in replay.header.result.scores
        ]
        assert match.reason == "target_score"
        assert list(archive.matches(match.day)) != []
    assert list(archive.matches("1999-01-01")) == []


async def test_a_match_that_could_not_be_written_comes_again(
    store_url: str, bots: FakeBots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full for a while."""
    write, failing = Archive.write, True

    async def write_or_fail(self: Archive, *what: Any) -> None:
        if failing:
            raise OSError("no space left")
        await write(self, *what)

    monkeypatch.setattr(Archive, "write", write_or_fail)
    monkeypatch.setattr(rami_kit.finished_stream, "POLL_SECONDS", 0.05)
    async with game_cluster(
        store_url, ai_address=bots.target, archive_url=str(tmp_path), archive_redeliver_seconds=0.1
    ) as cluster:
        room_id = await play(cluster)
        await eventually(lambda: stored(cluster, "failed") >= 2, "it was tried twice")
        assert files(tmp_path) == []
        failing = False
        await eventually(lambda: stored(cluster) == 1, "it is archived")
    assert files(tmp_path) == names_of(room_id)


async def test_a_match_delivered_twice_is_there_once(store_url: str, bots: FakeBots, tmp_path: Path) -> None:
    """As after a crash between writing and acknowledging."""
    async with game_cluster(store_url, ai_address=bots.target, archive_url=str(tmp_path)) as cluster:
        await play(cluster)
        await eventually(lambda: stored(cluster) == 1, "it is archived")
        before = contents(tmp_path)
        async with redis.asyncio.Redis.from_url(store_url) as client:
            entries: Any = await client.xrange(keys.finished_key(0))
            ((_, fields),) = entries
            await client.xadd(keys.finished_key(0), fields)
        await eventually(lambda: stored(cluster) == 2, "it was delivered again")
        assert contents(tmp_path) == before


async def test_what_cannot_be_archived_is_counted_and_passed_over(
    store_url: str, bots: FakeBots, tmp_path: Path
) -> None:
    gone = finished_pb2.FinishedMatch(schema=1, room_id="p0-aaaaaaaaaaaaaaaa").SerializeToString()
    other = finished_pb2.FinishedMatch(schema=99, room_id="p0-aaaaaaaaaaaaaaaa").SerializeToString()
    async with game_cluster(store_url, ai_address=bots.target, archive_url=str(tmp_path)) as cluster:
        async with redis.asyncio.Redis.from_url(store_url) as client:
            for entry in (gone, other, b"\xff"):
                await client.xadd(keys.finished_key(0), {"m": entry})
        room_id = await play(cluster)
        await eventually(lambda: stored(cluster) == 1, "the match behind them is archived")
        assert stored(cluster, "lost") == 1
        assert stored(cluster, "unreadable") == 2
    assert files(tmp_path) == names_of(room_id)


@pytest.mark.parametrize("address", ["nowhere://x", "s3://bucket/matches"])
def test_an_address_that_nothing_reaches_is_named(address: str) -> None:
    with pytest.raises(SettingsError, match="RAMI_ARCHIVE_URL"):
        open_archive(address)
    with pytest.raises(ArchiveError, match=address):
        ArchiveReader(address)


def test_a_broken_archive_says_which_file_is_broken(tmp_path: Path) -> None:
    (tmp_path / "2026-01-01").mkdir()
    for suffix in ("summary", "replay"):
        (tmp_path / "2026-01-01" / f"p0-x.{suffix}.json").write_text("{")
    archive = ArchiveReader(str(tmp_path))
    with pytest.raises(BadFileError, match="summary"):
        list(archive.matches())
    with pytest.raises(BadFileError, match="replay"):
        archive.replay("p0-x")
    with pytest.raises(ArchiveError, match="p0-y"):
        archive.replay("p0-y")
    with pytest.raises(ArchiveError, match="missing"):
        list(ArchiveReader(str(tmp_path / "missing")).matches())


async def test_an_operator_sees_the_hidden_cards_of_a_live_room_and_nobody_else(
    game: Cluster, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = game.player("ann"), game.player("bob")
    room = await ann.create(room_options(2))
    await bob.join(room.room_id)
    await ann.start(room.room_id)
    version = (await ann.room(room.room_id)).version
    hands = [(await player.view(room.room_id)).snapshot.view.hand for player in (ann, bob)]

    with pytest.raises(InspectionError, match="not revealed"):
        position_lines(await bob.replay(room.room_id), None)

    monkeypatch.setenv("RAMI_REDIS_URL", store_url)
    lines = [str(line) for line in position_lines(await read_from_store(room.room_id), version)]
    assert lines[0].startswith("Version "), lines
    assert "round 1, turn 1, DRAW" in lines[0]
    for hand, line in zip(hands, lines[1:3], strict=True):
        cards = [word for word in line.split() if word[-1] in "♣♦♥♠"]
        assert len(cards) == len(hand)
    for room_id in ("p0-aaaaaaaaaaaaaaaa", "nonsense", ""):
        with pytest.raises(InspectionError, match="no room has this id"):
            await read_from_store(room_id)


async def test_an_archived_match_is_shown_at_any_version(store_url: str, bots: FakeBots, tmp_path: Path) -> None:
    async with game_cluster(store_url, ai_address=bots.target, archive_url=str(tmp_path)) as cluster:
        room_id = await play(cluster)
        await eventually(lambda: stored(cluster) == 1, "it is archived")
    replay = ArchiveReader(str(tmp_path)).replay(room_id)
    actions = [action for played in replay.rounds for action in played.actions]
    first = position_lines(replay, actions[0].version)
    last = position_lines(replay, None)
    assert str(first[0]).startswith(f"Version {actions[0].version}:")
    assert str(last[0]).startswith(f"Version {actions[-1].version}:")
    with pytest.raises(InspectionError, match=f"no cards were dealt at version 1: .* {actions[0].version - 1}$"):
        position_lines(replay, 1)
    assert str(last[0]).endswith("OVER")
