"""The command line: what can be typed, what is refused, and how commands end."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from rami_cli import app as app_module
from rami_cli import cluster as cluster_module
from rami_cli import settings_table
from rami_cli.app import app
from rami_cli.cluster import Addresses, Cluster, ClusterError, ClusterOptions
from rami_cli.demo import DemoOptions
from rami_cli.lines import LineReader
from rami_cli.play import PlayOptions
from rami_cli.record import describe
from rami_cli.replays import replay_steps, verify_files
from rami_cli.running import run_command, with_cluster
from rami_cli.settings_table import Setting, draw_settings, markdown_settings, read_settings
from rami_cli.ways import Pace
from rami_client import BadFileError, Receipt, save_replay, verify
from rami_client.state import RoomMirror
from support.matches import played_match

if TYPE_CHECKING:
    from pathlib import Path

RUN = CliRunner()


@pytest.mark.parametrize("command", ["up", "demo", "play", "watch", "replay", "verify", "settings"])
def test_every_command_explains_itself(command: str) -> None:
    result = RUN.invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert "Usage:" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "--seats", "5"],
        ["demo", "--pace", "-1"],
        ["play", "--level", "expert"],
        ["play", "--target", "0"],
        ["up", "--ports", "some"],
        ["up", "--game-replicas", "0"],
        ["verify"],
        ["verify", "/nowhere/at/all"],
        ["play", "--queue"],
        ["play", "--code", "ABCDEF"],
        ["play", "--game", "host:1", "--code", ""],
        ["play", "--game", "host:1", "--code", "ABCDEF", "--queue"],
        ["play", "--game", "host:1", "--pace", "fast"],
        ["play", "--game", "host:1", "--queue", "--pace", "hasty"],
        ["play", "--pace", "normal"],
        ["play", "--token", "x"],
        ["play", "--matchmaking", "host:2"],
        ["play", "--game", "host:1", "--queue", "--level", "hard"],
        ["play", "--game", "host:1", "--code", "ABCDEF", "--level", "hard"],
        ["play", "--game", "host:1", "--code", "ABCDEF", "--seats", "2"],
        ["play", "--game", "host:1", "--code", "ABCDEF", "--target", "50"],
        ["replay", ""],
        ["replays", "archive", "--day", "yesterday"],
        ["replays", "archive", "--day", "20261130"],
        ["replays", "archive", "--day", ""],
        ["replays", "archive", "--save", "file"],
        ["replays", "archive", "p0-abcdefgh23456723", "--day", "2026-11-30"],
        ["inspect", "p0-abcdefgh23456723", "--archive", "archive", "--operator"],
        ["bot-key", ""],
        ["bot-key", " magpie"],
        ["bot-key", "magpie,monk"],
        ["bot-key", "magpie", "--secret", "short"],
        ["deal"],
    ],
)
def test_a_wrong_command_line_ends_with_2(arguments: list[str]) -> None:
    assert RUN.invoke(app, arguments).exit_code == 2


def test_a_token_of_the_environment_is_no_wrong_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    async def run_play(options: object) -> None:
        seen.append(options)

    monkeypatch.setattr(app_module, "run_play", run_play)
    assert RUN.invoke(app, ["play"], env={"RAMI_TOKEN": "x"}).exit_code == 0
    assert len(seen) == 1


def test_a_bot_key_of_the_built_in_secret_says_so() -> None:
    built_in = RUN.invoke(app, ["bot-key", "magpie"], env={"RAMI_SERVICE_SECRET": None})
    own = RUN.invoke(app, ["bot-key", "magpie"], env={"RAMI_SERVICE_SECRET": "s" * 32})
    assert (built_in.exit_code, own.exit_code) == (0, 0)
    assert "development" in built_in.stderr
    assert own.stderr == ""
    assert {len(built_in.stdout.strip()), len(own.stdout.strip())} == {64}


def test_a_room_alone_is_looked_up_in_the_archive_of_the_environment(tmp_path: Path) -> None:
    room = "p0-abcdefgh23456723"
    result = RUN.invoke(app, ["replays", room], env={"RAMI_ARCHIVE_URL": str(tmp_path)})
    assert result.exit_code == 1
    assert f"no match of the room {room}" in " ".join(result.output.split())


def test_an_archive_without_matches_says_so(tmp_path: Path) -> None:
    missing = RUN.invoke(app, ["replays", str(tmp_path / "typo")])
    assert missing.exit_code == 1
    assert "no archive is at" in " ".join(missing.output.split())
    (tmp_path / "notes.txt").write_text("not of the archive")
    for arguments, word in ((["replays"], "yet"), (["replays", "--day", "2026-11-30"], "2026-11-30")):
        empty = RUN.invoke(app, [*arguments, str(tmp_path)])
        assert empty.exit_code == 0, empty.output
        assert word in empty.output


def test_demo_hands_its_options_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    async def run_demo(options: object) -> None:
        seen.append(options)

    monkeypatch.setattr(app_module, "run_demo", run_demo)
    result = RUN.invoke(app, ["demo", "--seats", "4", "--seed", "7", "--plain", "--pace", "0.5", "--chaos"])
    assert result.exit_code == 0
    assert seen == [DemoOptions(4, 7, True, 0.5, None, chaos=True)]


def test_play_hands_its_options_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    async def run_play(options: object) -> None:
        seen.append(options)

    monkeypatch.setattr(app_module, "run_play", run_play)
    result = RUN.invoke(app, ["play", "--level", "hard", "--game", "host:1", "--name", "Ada"])
    assert result.exit_code == 0
    assert RUN.invoke(app, ["play", "--game", "host:1", "--queue", "--pace", "relaxed"]).exit_code == 0
    assert RUN.invoke(app, ["play", "--game", "host:1", "--queue"]).exit_code == 0
    assert RUN.invoke(app, ["play", "--game", "host:1", "--code", "ABCDEF", "--token", "t"]).exit_code == 0
    there = PlayOptions(name="Guest", game="host:1", matchmaking="127.0.0.1:7003")
    assert seen == [
        replace(there, level="hard", name="Ada"),
        replace(there, pace=Pace.RELAXED),
        replace(there, pace=Pace.NORMAL),
        replace(there, code="ABCDEF", token="t"),
    ]


def test_addresses_as_json_name_everything() -> None:
    addresses = Addresses("a:1", ("a:1", "a:2"), "b:1", "c:1", "e:1", "redis://d:1/0", {"game": "a:9"})
    assert json.loads(json.dumps(addresses.as_json())) == {
        "game": "a:1",
        "game_replicas": ["a:1", "a:2"],
        "ai": "b:1",
        "matchmaking": "c:1",
        "edge": "e:1",
        "redis": "redis://d:1/0",
        "metrics": {"game": "a:9"},
    }


def test_a_taken_port_is_named_before_anything_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(cluster_module, "DEFAULT_PORTS", {"ai": (port, 0)})
        result = RUN.invoke(app, ["up", "--logs", str(tmp_path / "logs")])
    assert result.exit_code == 1
    assert f"port {port} (ai) is taken" in result.output
    assert "--ports auto" in result.output
    assert not (tmp_path / "logs").exists()


def test_the_password_of_a_store_is_not_shown() -> None:
    shown = cluster_module._without_password("rediss://user:secret@store.example:6380/2")
    assert shown == "rediss://store.example:6380/2"
    assert cluster_module._without_password("unix:///run/store.sock") == "unix:///run/store.sock"


def test_several_game_services_are_one_target() -> None:
    assert cluster_module._balanced(["127.0.0.1:1"]) == "127.0.0.1:1"
    assert cluster_module._balanced(["127.0.0.1:1", "127.0.0.1:2"]) == "ipv4:127.0.0.1:1,127.0.0.1:2"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A replay file and the receipt of seat 0."""
    room, replay, _ = played_match(["ann", ""])
    replay_path, receipt_path = tmp_path / "match.json", tmp_path / "match.jsonl"
    save_replay(replay_path, replay)
    snapshot = RoomMirror(player_id="ann").take_snapshot(room.snapshot(0, rewound=False))
    Receipt.open(receipt_path).saw(snapshot, 0)
    return replay_path, receipt_path


def test_verify_says_what_it_has_proved(files: tuple[Path, Path]) -> None:
    result = RUN.invoke(app, ["verify", str(files[0]), "--receipt", str(files[1])])
    assert result.exit_code == 0
    assert "Replay verified" in result.output
    assert "1 step of the receipt, and all agree" in result.output
    assert "did not see the match start" in result.output
    assert "does not reach the end" not in result.output


def test_verify_says_what_a_receipt_that_was_cut_covers(files: tuple[Path, Path]) -> None:
    _, replay, receipt = played_match(["ann", ""])
    save_replay(files[0], replay)
    whole = describe(verify(replay, receipt))
    assert f"It is the match that was seen: {len(receipt.sightings)} steps" in whole
    assert f"covers versions 1 to {receipt.sightings[-1].version}." in whole
    del receipt.sightings[10:]
    cut = describe(verify(replay, receipt))
    assert "not the whole match: 10 steps" in cut
    assert "covers only versions 1 to 10." in cut
    assert "does not reach the end of the match: nothing after version 10 " in cut
    first_line = files[1].read_text().splitlines()[0]
    files[1].write_text(first_line + "\n")
    result = RUN.invoke(app, ["verify", str(files[0]), "--receipt", str(files[1])])
    assert "The receipt saw nothing of the match" in result.output


def test_verify_without_a_receipt_says_what_it_has_not_checked(files: tuple[Path, Path]) -> None:
    result = RUN.invoke(app, ["verify", str(files[0])])
    assert "Not checked without a receipt: the room, who sat where, the options, the guards" in result.output


def test_verify_names_the_tampered_place(files: tuple[Path, Path]) -> None:
    text = files[0].read_text()
    record = json.loads(text)
    record["rounds"][0]["result"]["points"] += 1
    files[0].write_text(json.dumps(record))
    result = RUN.invoke(app, ["verify", str(files[0])])
    assert result.exit_code == 1
    points = record["rounds"][0]["result"]["points"]
    assert f"round 1: its points should be {points - 1} by its actions, and {points} is recorded" in result.output


def test_verify_refuses_what_is_no_replay(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("no replay")
    result = RUN.invoke(app, ["verify", str(path)])
    assert result.exit_code == 1
    assert "is no replay" in result.output
    with pytest.raises(BadFileError):
        verify_files(path, None)


def test_replay_prints_every_step_and_the_proof(files: tuple[Path, Path]) -> None:
    result = RUN.invoke(app, ["replay", str(files[0])])
    assert result.exit_code == 0
    assert result.output.startswith("Round 1: 7 cards each")
    assert " the match\n" in result.output
    assert "Replay verified" in result.output


def test_replay_steps_on_enter_and_stops_on_q(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    os.write(write, b"\n\nq\n")
    os.close(write)
    monkeypatch.setattr(app_module, "LineReader", lambda: LineReader(read))
    result = RUN.invoke(app, ["replay", "--step", str(files[0])])
    os.close(read)
    assert result.exit_code == 0
    assert "Replay verified" not in result.output
    assert len([line for line in result.output.splitlines() if not line.startswith("    ")]) == 3


def test_replay_shows_all_hands_and_every_action() -> None:
    _, replay, _ = played_match(["ann", ""])
    steps = list(replay_steps(replay))
    assert len(steps) == sum(len(played.actions) + 1 for played in replay.rounds)
    assert [line.plain.split()[0] for line in steps[0]] == ["Round", "Ann", "Easy"]


def test_settings_come_from_the_services_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("RAMI_")]:
        monkeypatch.delenv(name)
    settings = read_settings()
    by_name = {setting.name: setting for setting in settings}
    assert by_name["RAMI_MODE"].services == ("game", "ai", "matchmaking")
    assert by_name["RAMI_BOT_PACE_SECONDS"].services == ("game",)
    assert by_name["RAMI_BOT_FILL_WAIT_SECONDS"].services == ("matchmaking",)
    assert by_name["RAMI_MODE"].value == "production"
    for missing in ("RAMI_REDIS_URL", "RAMI_JWT_SECRET", "RAMI_SERVICE_SECRET"):
        assert by_name[missing].value == "(missing)"
    assert by_name["RAMI_EDGE_PORT"].services == ("edge",)
    assert by_name["RAMI_EDGE_PORT"].value == by_name["RAMI_EDGE_PORT"].default == "7000"
    assert all(setting.description for setting in settings)
    lines = markdown_settings(settings).splitlines()
    assert len(lines) == len(settings) + 2
    assert all(line.replace(r"\|", "").count("|") == 6 for line in lines)


def test_settings_show_what_the_environment_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_table, "SERVICES", ("game",))
    monkeypatch.setenv("RAMI_MODE", "development")
    monkeypatch.setenv("RAMI_REDIS_URL", "redis://store.example:6379/0")
    monkeypatch.setenv("RAMI_SERVICE_SECRET", "k" * 32)
    monkeypatch.delenv("RAMI_JWT_SECRET", raising=False)
    monkeypatch.setenv("RAMI_EDGE_GAME_ADDRESSES", "[fd00::1]:7001, b:1")
    by_name = {setting.name: setting.value for setting in read_settings()}
    assert by_name["RAMI_MODE"] == "development"
    assert by_name["RAMI_REDIS_URL"] == by_name["RAMI_SERVICE_SECRET"] == "(set)"
    assert by_name["RAMI_JWT_SECRET"] == "(built in)"
    assert by_name["RAMI_EDGE_GAME_ADDRESSES"] == "[fd00::1]:7001,b:1"
    monkeypatch.setenv("RAMI_EDGE_PORT", "none")
    with pytest.raises(ClusterError, match="the edge refuses its settings: RAMI_EDGE_PORT"):
        read_settings()


def test_settings_break_no_name_on_a_narrow_terminal() -> None:
    name = "RAMI_MAX_CONNECTION_AGE_SECONDS"
    setting = Setting(name, "float", "5", "[5]", "What it means, at some length. " * 6, ("game", "matchmaking"))
    out = io.StringIO()
    Console(file=out, width=80, soft_wrap=True, highlight=False).print(draw_settings([setting]))
    lines = out.getvalue().splitlines()
    assert lines[0] == f"{name} = [5]   game, matchmaking"
    assert len(lines) > 2
    assert all(line.startswith("    ") and len(line.rstrip()) <= 80 for line in lines[1:])


@pytest.mark.parametrize("source", ["nofile.json", "some/where", "./p0-abcdefgh23456723"])
def test_a_replay_file_that_is_not_there_is_no_room(source: str, tmp_path: Path) -> None:
    result = RUN.invoke(app, ["replay", source])
    assert result.exit_code == 2
    assert "no such file" in result.output
    folder = RUN.invoke(app, ["replay", str(tmp_path)])
    assert folder.exit_code == 2
    assert "is a folder" in " ".join(folder.output.split())


def test_markdown_escapes_what_would_end_a_cell() -> None:
    setting = Setting("RAMI_X", "a|b", "c", "", "d|e", ("game",))
    assert markdown_settings([setting]).splitlines()[2] == r"| `RAMI_X` | game | a\|b | `c` | d\|e |"


@pytest.mark.parametrize(
    ("number", "stopped_code", "code"),
    [(signal.SIGTERM, None, 143), (signal.SIGINT, None, 130), (signal.SIGTERM, 0, 0)],
)
def test_a_signal_lets_a_command_clean_up(number: int, stopped_code: int | None, code: int) -> None:
    cleaned: list[bool] = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), number)
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    if code:
        with pytest.raises(typer.Exit) as left:
            run_command(work(), stopped_code=stopped_code)
        assert left.value.exit_code == code
    else:
        run_command(work(), stopped_code=stopped_code)
    assert cleaned == [True]


def test_an_expected_error_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    async def work() -> None:
        raise ClusterError("no [room] here")

    with pytest.raises(typer.Exit) as left:
        run_command(work())
    assert left.value.exit_code == 1
    assert capsys.readouterr().err == "error: no [room] here\n"


def test_a_defect_keeps_its_traceback() -> None:
    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_command(work())


class FailingCluster(Cluster):
    """A cluster that cannot be kept running."""

    async def failed(self) -> None:
        raise ClusterError("it broke")


async def test_work_ends_when_its_cluster_does() -> None:
    cluster = FailingCluster(ClusterOptions())
    with pytest.raises(ClusterError, match="it broke"):
        await with_cluster(cluster, asyncio.Event().wait())


async def test_work_gives_its_result() -> None:
    class Lasting(Cluster):
        async def failed(self) -> None:
            await asyncio.Event().wait()

    async def work() -> int:
        return 42

    assert await with_cluster(Lasting(ClusterOptions()), work()) == 42
