"""`rami demo` from an empty machine: a real match, a verified replay, and nothing left behind."""

from __future__ import annotations

import json
import re
import signal
from typing import TYPE_CHECKING

from support.commands import names_in, rami
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path


async def test_the_demo_plays_verifies_and_leaves_nothing(tmp_path: Path) -> None:
    async with rami("demo", "--pace", "0.01", "--seed", "7", "--save", "saved", folder=tmp_path) as demo:
        await demo.read_until("Seated in room")
        assert len(demo.descendants()) >= 5  # the store and its server, and three services
        assert await demo.finish() == 0
        assert demo.descendants() == []
    assert "The match starts" in demo.output
    assert "Round 1: 10 cards each" in demo.output
    assert "Final standings" in demo.output
    assert "Replay verified from the commitment on" in demo.output
    assert "steps of the receipt, and all agree" in demo.output
    assert demo.output.rstrip().endswith("All processes have ended.")
    assert names_in(tmp_path) == ["saved"]
    (replay,) = (tmp_path / "saved").glob("*.replay.json")
    (receipt,) = (tmp_path / "saved").glob("*.receipt.jsonl")

    async with rami("verify", str(replay), "--receipt", str(receipt), folder=tmp_path) as verify:
        assert await verify.finish() == 0

    record = json.loads(replay.read_text())
    record["rounds"][0]["actions"][1]["seat"] = (record["rounds"][0]["actions"][1].get("seat", 0) + 1) % 3
    replay.write_text(json.dumps(record))
    async with rami("verify", str(replay), folder=tmp_path) as verify:
        assert await verify.finish() == 1
    assert "round 1, action 2: cannot be played" in verify.output


async def test_a_demo_in_which_every_process_is_killed_loses_no_move(tmp_path: Path) -> None:
    async with rami("demo", "--chaos", "--pace", "0.02", "--seed", "3", "--save", "saved", folder=tmp_path) as demo:
        assert await demo.finish() == 0, demo.output
        assert demo.descendants() == []
    for name in ("store", "game", "ai", "matchmaking"):
        assert re.search(rf"^{name} \(process \d+\) is killed with signal 9 at version \d+$", demo.output, re.MULTILINE)
        assert f"{name} ended with exit code -9; starting it again" in demo.output
        assert re.search(rf"^{name} +version \d+ +[\d.]+ s +[\d.]+ s", demo.output, re.MULTILINE), (
            "it is in the summary"
        )
    assert "in the replay, once and as it was asked for: 0 lost" in demo.output
    assert "steps of the receipt, and all agree" in demo.output
    assert demo.output.rstrip().endswith("All processes have ended.")
    for replay in (tmp_path / "saved").glob("*.replay.json"):
        asked = [json.loads(line) for line in _beside(replay, "asked.jsonl").read_text().splitlines()]
        acknowledged = [line["version"] for line in asked if line["kind"] == "acknowledged"]
        record = json.loads(replay.read_text())
        versions = {int(action["version"]) for each in record["rounds"] for action in each["actions"]}
        assert acknowledged
        assert versions.issuperset(acknowledged)
        receipt = str(_beside(replay, "receipt.jsonl"))
        async with rami("verify", str(replay), "--receipt", receipt, folder=tmp_path) as verify:
            assert await verify.finish() == 0


def _beside(replay: Path, name: str) -> Path:
    return replay.with_name(f"{replay.name.partition('.')[0]}.{name}")


async def test_an_interrupted_demo_leaves_nothing(tmp_path: Path) -> None:
    async with rami("demo", "--pace", "0.5", folder=tmp_path) as demo:
        await demo.read_until("Round 1")
        demo.process.send_signal(signal.SIGINT)
        assert await demo.finish() == 130
        assert demo.descendants() == []
    assert names_in(tmp_path) == []


async def test_a_killed_demo_takes_everything_with_it(tmp_path: Path) -> None:
    async with rami("demo", "--pace", "0.5", folder=tmp_path) as demo:
        await demo.read_until("Round 1")
        demo.process.kill()
        await demo.process.wait()
        await eventually(lambda: demo.descendants() == [], "every process ends by itself")
        await eventually(lambda: names_in(tmp_path) == [], lambda: f"these are removed: {sorted(tmp_path.rglob('*'))}")
