"""`rami bench`: what it measures, what it leaves behind, and what it refuses."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rami_bots.arena import Sample
from rami_cli import bench_report
from rami_cli.app import app
from rami_cli.bench_bots import Duel, PlayerName, draw_table, figures_of, find_player
from rami_cli.bench_report import quantile
from rami_cli.screen import make_console

BOTS = ("bench", "bots", "--players", "2", "--deals", "3", "--rounds", "--processes", "1")


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.output


def test_bots_of_one_kind_win_half_and_the_figures_are_kept(tmp_path: Path) -> None:
    code, output = run(*BOTS, "--duel", "easy:easy", "--ace-high", "--folder", str(tmp_path))
    assert code == 0
    assert "easy v. easy" in output
    report = json.loads((tmp_path / "bots.json").read_text())
    assert report["part"] == "bots"
    assert report["settings"]["ace_high"] is True
    assert report["settings"]["target_score"] == 1
    (figures,) = report["results"]
    assert (figures["deals"], figures["games"], figures["rounds"]) == (3, 6, 6)
    assert (figures["win_rate"], figures["lead_points"]) == (0.5, 0)
    assert 0 < figures["p50_ms"] <= figures["p99_ms"]
    assert (tmp_path / "bots.png").stat().st_size > 0
    assert list(tmp_path.glob("*.tmp")) == []


def test_without_matplotlib_there_are_figures_and_no_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    console = make_console(plain=True)
    with console.capture() as told:
        drawn: list[Any] = []
        assert bench_report.save_plot(tmp_path, "bots", drawn.append, console) is None
    assert "pip install 'rami[bench]'" in told.get()
    assert drawn == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", ["easy", "easy:expert", ":", "normal:easy:hard"])
def test_a_duel_names_two_players(wrong: str) -> None:
    code, output = run(*BOTS, "--duel", wrong)
    assert code == 2
    assert "open-hand" in output


@pytest.mark.parametrize("wrong", [("--players", "5"), ("--deals", "0"), ("--target", "1001"), ("--processes", "0")])
def test_figures_out_of_range_are_refused(wrong: tuple[str, str]) -> None:
    assert run("bench", "bots", *wrong)[0] == 2


def test_a_deal_with_its_rotations_is_one_sample() -> None:
    duel = Duel(PlayerName.HARD, PlayerName.NORMAL, 2)
    samples = [Sample(2, 1, 10.0, 4, [0.001, 0.003], [0.002]), Sample(2, 2, 30.0, 4, [0.002], [0.002])]
    figures = figures_of(duel, samples)
    assert (figures.games, figures.rounds, figures.win_rate) == (4, 8, 0.75)
    assert figures.win_rate_margin == pytest.approx(1.96 * 0.25)
    assert figures.lead_points == 10
    assert (figures.mean_ms, figures.p50_ms, figures.p99_ms) == pytest.approx((2, 2, 3))
    assert figures.decisions_per_second == pytest.approx(500)
    console = make_console(plain=True)
    console.width = 80
    with console.capture() as told:
        console.print(draw_table([figures]))
    assert "2: hard v. normal" in told.get()
    assert "75.0 ± 49.0" in told.get()


def test_quantiles_are_values_that_were_seen() -> None:
    assert quantile([1.0], 0.99) == 1.0
    assert quantile([1.0, 2.0, 3.0, 4.0], 0.5) == 3.0
    assert quantile([1.0, 2.0], 1.0) == 2.0


def test_every_player_can_be_found_and_none_of_them_twice() -> None:
    assert len({find_player(name) for name in PlayerName}) == len(PlayerName)
