"""The simulated evening in small: our curve against the rival's, and the arithmetic of curves."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest

from matchmaking import evening
from matchmaking.evening import (
    EVENING_MS,
    Point,
    arrivals_of,
    our_evening,
    picky_policy,
    rival_evening,
    spread_at,
    worse_than,
)

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = (math.inf, 400.0, 130.0, 50.0, 20.0, 8.0, 3.2, 1.3)


def point(setting: float, mean_wait: float, mean_spread: float) -> Point:
    return Point(setting, mean_wait, mean_spread, 0.0, 0.0, 0)


@pytest.mark.parametrize("seats", [2, 4])
def test_our_curve_is_nowhere_worse_than_the_tightest_of_k(seats: int) -> None:
    arrivals = arrivals_of(1, 2_000, EVENING_MS // 10)
    ours = [our_evening(arrivals, seats, picky_policy(setting), setting) for setting in SETTINGS]
    rival = [rival_evening(arrivals, seats, players) for players in range(seats, 3 * seats + 1)]
    assert worse_than(ours, rival) == []
    # Waiting buys even tables at every step of the knob, and nobody pays with a wait as long as the rival's.
    assert [one.mean_spread for one in ours] == sorted((one.mean_spread for one in ours), reverse=True)
    longest = {one.setting: one.longest_wait for one in ours}
    assert longest[50.0] < rival[-1].longest_wait


def test_an_evening_is_the_same_for_the_same_seed() -> None:
    arrivals = arrivals_of(seed=3, number=300)
    assert arrivals == arrivals_of(seed=3, number=300)
    assert arrivals != arrivals_of(seed=4, number=300)
    assert [one.create_ms for one in arrivals] == sorted(one.create_ms for one in arrivals)
    assert our_evening(arrivals, 3, picky_policy(20.0), 20.0) == our_evening(arrivals, 3, picky_policy(20.0), 20.0)


def test_whoever_is_left_over_counts() -> None:
    arrivals = arrivals_of(seed=3, number=301)
    for seats in (2, 3):
        played = our_evening(arrivals, seats, picky_policy(math.inf), math.inf)
        assert played.left == 301 % seats
        # Taking any table at once is what the rival does with its smallest k.
        assert (played.mean_wait, played.longest_wait) == pytest.approx(
            (rival_evening(arrivals, seats, seats).mean_wait, rival_evening(arrivals, seats, seats).longest_wait)
        )


def test_a_curve_is_read_between_its_points_and_not_beyond() -> None:
    curve = [point(1, 4.0, 10.0), point(2, 2.0, 30.0)]
    assert [spread_at(curve, wait) for wait in (2.0, 3.0, 4.0)] == [30.0, 20.0, 10.0]
    assert spread_at(curve, 1.0) is None
    assert spread_at(curve, 5.0) is None
    assert worse_than(curve, [point(7, 3.0, 20.0), point(8, 3.0, 19.0), point(9, 5.0, 50.0)]) == [8, 9]


def test_the_command_leaves_its_numbers_and_a_plot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evening, "PICKY", (400.0, 20.0))
    arguments = ["--arrivals", "120", "--seats", "2", "--largest", "4", "--processes", "1", "--folder", str(tmp_path)]
    code = evening.main(arguments)
    report = json.loads((tmp_path / "evening.json").read_text())
    (curves,) = report["curves"]
    assert code == bool(curves["worse_than_rival_at"])
    assert [row["setting"] for row in curves["rival"]] == [2, 3, 4]
    assert curves["ours"][0]["setting"] == "at once"
    assert [row["setting"] for row in curves["ours"][1:]] == [400.0, 20.0]
    assert (tmp_path / "evening.png").stat().st_size > 1000
    assert "take the tightest of k" in capsys.readouterr().out
