"""Figures of the bench: ratios, goals, and what counts as a move between two reports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from rami_cli.app import app
from rami_cli.bench_figures import Figure, compare, spread

if TYPE_CHECKING:
    from pathlib import Path


def figure(*pairs: tuple[float, float], goal: float | None = None, more: bool = False) -> Figure:
    made = Figure("action", "us", "us, echo", goal, more_is_better=more)
    for value, beside in pairs:
        made.add(value, beside)
    return made


def report(folder: Path, name: str, *figures: Figure) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"part": "calls", "results": [one.row() for one in figures]}))
    return path


def test_a_ratio_is_taken_run_by_run() -> None:
    # The machine was twice as slow in the second run: the ratio does not see it.
    row = figure((100, 200), (200, 400), (110, 220), goal=0.8).row()
    assert row["median"] == 110
    assert (row["ratio"], row["ratio_iqr"]) == (0.5, 0.0)
    assert row["reached"] is True
    assert row["samples"] == [100, 200, 110]


@pytest.mark.parametrize(("more", "reached"), [(False, False), (True, True)])
def test_a_goal_has_a_direction(more: bool, reached: bool) -> None:
    assert figure((6, 1), goal=5.0, more=more).row()["reached"] is reached


def test_a_figure_that_stands_alone_is_judged_by_its_value() -> None:
    alone = Figure("room", "bytes", goal=1500.0)
    alone.add(1200)
    row = alone.row()
    assert (row["ratio"], row["yardstick"], row["reached"]) == (None, None, True)
    assert Figure("room", "bytes", goal=1.0).row()["reached"] is None


def test_a_goal_may_be_one_for_the_value_whatever_the_yardstick() -> None:
    start = Figure("start", "s", "s, echo server", 1.5, goal_of_value=True)
    start.add(1.2, 0.5)
    assert start.row()["reached"] is True
    start.add(2.4, 0.5)
    assert start.row()["reached"] is False


def test_spread_is_the_interquartile_range() -> None:
    assert spread([1.0, 2.0, 3.0, 4.0, 100.0]) == 2.0
    assert spread([7.0]) == 0.0


@pytest.mark.parametrize(
    ("now", "verdict"), [((125, 135, 130), "worse"), ((65, 75, 70), "better"), ((104, 96, 101), "within noise")]
)
def test_a_move_is_larger_than_both_spreads(tmp_path: Path, now: tuple[float, ...], verdict: str) -> None:
    base = report(tmp_path, "base", figure((95, 100), (105, 100), (100, 100)))
    new = report(tmp_path, "new", figure(*[(value, 100) for value in now]))
    (row,) = compare(base, new)
    assert row["verdict"] == verdict


def test_a_small_move_of_steady_figures_is_noise(tmp_path: Path) -> None:
    (row,) = compare(report(tmp_path, "a", figure((100, 100))), report(tmp_path, "b", figure((102, 100))))
    assert row["verdict"] == "within noise"


def test_figures_of_one_report_alone_are_named(tmp_path: Path) -> None:
    other = Figure("view", "us")
    other.add(1.0)
    rows = compare(report(tmp_path, "a", figure((1, 1))), report(tmp_path, "b", other))
    assert [(row["name"], row["verdict"]) for row in rows] == [("action", "only before"), ("view", "new")]


def test_the_command_compares_with_the_report_of_the_same_name(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    base = report(kept, "calls", figure((100, 100)))
    report(tmp_path, "calls", figure((50, 100)))
    result = CliRunner().invoke(app, ["bench", "compare", str(base), "--folder", str(tmp_path)])
    assert result.exit_code == 0
    assert "better" in result.output


def test_measured_parts_make_a_table_for_a_page(tmp_path: Path) -> None:
    start = Figure("start", "s", "s, echo server", 1.5, goal_of_value=True)
    start.add(1.2, 0.5)
    alone = Figure("room", "bytes of store", goal=1500.0)
    alone.add(1600)
    report(tmp_path, "calls", figure((100, 200), goal=0.8), start, alone)
    result = CliRunner().invoke(app, ["bench", "table", "--folder", str(tmp_path)])
    assert "| **`make bench PART=calls`** |" in result.output
    assert "| action | 100 us | 0.50 ± 0.00 | us, echo | ≤ 0.8: reached |" in result.output
    assert "| start | 1.2 s | 2.40 ± 0.00 | s, echo server | ≤ 1.5 s: reached |" in result.output
    assert "| room | 1,600 bytes |  |  | ≤ 1,500 bytes: missed |" in result.output


def test_a_file_that_is_no_report_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text("[]")
    result = CliRunner().invoke(app, ["bench", "compare", str(wrong), str(wrong)])
    assert result.exit_code == 1
    assert "no report with figures" in " ".join(result.output.split())


def measured(folder: Path, part: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["bench", part, "--runs", "1", "--seconds", "0.5", "--folder", str(folder)])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads((folder / f"{part}.json").read_text())
    return {row["name"]: row for row in found["results"]}


def test_calls_are_measured_beside_echoes_on_servers_of_their_own(tmp_path: Path) -> None:
    rows = measured(tmp_path, "calls")
    for name in ("action over Play", "SubmitAction", "GetView"):
        row = rows[name]
        assert row["samples"], name
        assert row["yardstick_median"] > 0, name
        assert row["ratio"] == pytest.approx(row["median"] / row["yardstick_median"])
    assert (tmp_path / "calls.png").stat().st_size > 0


def test_the_engine_is_measured_whether_or_not_its_rivals_are_there(tmp_path: Path) -> None:
    rows = measured(tmp_path, "engine")
    assert rows["steps of random play"]["median"] > 0
    for name in ("OpenSpiel", "RLCard"):
        row = rows[f"steps of random play beside {name} gin rummy"]
        assert row["ratio"] or "rami[yardsticks]" in row["note"]
