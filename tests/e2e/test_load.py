"""The load tool against a whole cluster."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from support.commands import rami
from support.fake_queue import FakeQueue

if TYPE_CHECKING:
    from pathlib import Path

    from support.cluster import Cluster


HASTY = ("--think=0", "--pause=0", "--disconnect=0.2", "--cancel=0.5")


async def load(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """The exit code of a run and everything that it printed."""
    async with rami("bench", "load", f"--folder={folder}", *arguments, folder=folder, **environment) as command:
        return await command.finish(), command.output


async def test_players_queue_play_and_lose_their_connections(whole_cluster: Cluster, tmp_path: Path) -> None:
    target = (f"--target={whole_cluster.game}", f"--matchmaking={whole_cluster.matchmaking}")
    code, output = await load(tmp_path, "--players=6", "--minutes=0.2", *HASTY, *target)
    assert code == 0, output
    report = json.loads((tmp_path / "load.json").read_text())
    rows = {row.get("name", row["kind"]): row for row in report["results"]}
    assert [row for row in report["results"] if row["kind"] == "error"] == []
    assert rows["sign in"]["count"] == 6
    assert rows["act"]["count"] > 0
    assert 0 < rows["act"]["p50_ms"] <= rows["act"]["p99_ms"]
    assert rows["totals"]["cancels"] + rows["totals"]["reconnects"] > 0
    assert (tmp_path / "load.png").stat().st_size > 1000
    assert "What players saw" in output


async def test_too_few_tokens_are_refused_before_anything_is_done(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("one\n")
    code, output = await load(tmp_path, "--players=2", f"--tokens={tokens}")
    assert code == 2, output
    assert not (tmp_path / "load.json").exists()


async def test_an_edge_with_tls_is_asked_for_everything(tmp_path: Path) -> None:
    queue = FakeQueue()
    url, trust = queue.listen_with_tls(tmp_path)
    async with queue:
        await load(tmp_path, "--players=1", "--minutes=0.05", f"--target={url}", **trust)
    report = json.loads((tmp_path / "load.json").read_text())
    assert {row["name"]: row["count"] for row in report["results"] if row["kind"] == "step"}["sign in"] >= 1


@pytest.mark.parametrize("target", ["https://play.example.com/table", "https://", "http://host:port"])
async def test_what_is_no_address_is_refused_before_anything_is_done(target: str, tmp_path: Path) -> None:
    code, output = await load(tmp_path, "--players=1", f"--target={target}")
    assert code == 2, output
    assert not (tmp_path / "load.json").exists()


async def test_a_cluster_that_is_away_is_told_as_errors(tmp_path: Path) -> None:
    code, output = await load(tmp_path, "--players=1", "--minutes=0.05", "--target=127.0.0.1:1")
    assert code == 1, output
    assert "nobody got as far as to a table: UNAVAILABLE" in " ".join(output.split())
    report = json.loads((tmp_path / "load.json").read_text())
    assert [row["count"] for row in report["results"] if row["kind"] == "step"] == [0, 0, 0, 0]
