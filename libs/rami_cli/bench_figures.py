"""Figures of a measurement: samples beside the samples of a yardstick, their medians and spread, and what has moved.

A figure is measured several times, and its yardstick beside it each time, in the same minutes on the same machine: the
ratio is what can be compared with other machines and other days. Spread is the interquartile range. Every sample stays
in the report.
"""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from rami_cli.bench_harness import BenchError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

LEAST_MOVE: Final = 0.03
"""Smaller changes than this are never called a move, however steady the samples are."""


@dataclass(slots=True)
class Figure:
    """One measured quantity."""

    name: str
    unit: str
    yardstick: str = ""
    """What it is measured beside; empty for a figure that stands alone."""
    goal: float | None = None
    """The ratio, or without a yardstick the value, to reach."""
    goal_of_value: bool = False
    """The goal is one for the value, whatever the yardstick."""
    more_is_better: bool = False
    samples: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    """The yardstick's samples, one for each of ours."""
    note: str = ""

    def add(self, value: float, beside: float | None = None) -> None:
        """One sample, with the yardstick's of the same moment."""
        self.samples.append(value)
        if beside is not None:
            self.beside.append(beside)

    @property
    def ratios(self) -> list[float]:
        """Each sample as a multiple of its yardstick."""
        return [value / beside for value, beside in zip(self.samples, self.beside, strict=False) if beside]

    def row(self) -> dict[str, Any]:
        """The figure as it is kept."""
        judged = self.samples if self.goal_of_value else self.ratios or self.samples
        return {
            "name": self.name,
            "unit": self.unit,
            "median": statistics.median(self.samples) if self.samples else None,
            "iqr": spread(self.samples),
            "yardstick": self.yardstick or None,
            "yardstick_median": statistics.median(self.beside) if self.beside else None,
            "ratio": statistics.median(self.ratios) if self.ratios else None,
            "ratio_iqr": spread(self.ratios) if self.ratios else None,
            "goal": self.goal,
            "goal_of_value": self.goal_of_value,
            "reached": self._reached(judged),
            "more_is_better": self.more_is_better,
            "note": self.note,
            "samples": self.samples,
            "yardstick_samples": self.beside,
        }

    def _reached(self, judged: Sequence[float]) -> bool | None:
        if self.goal is None or not judged:
            return None
        middle = statistics.median(judged)
        return middle >= self.goal if self.more_is_better else middle <= self.goal


def spread(samples: Sequence[float]) -> float:
    """The interquartile range; 0 for fewer than two samples."""
    if len(samples) < 2:
        return 0.0
    quartiles = statistics.quantiles(samples, n=4, method="inclusive")
    return quartiles[2] - quartiles[0]


def draw_figures(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    """The figures for people."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("figure")
    for heading in ("median", "± iqr", "yardstick", "ratio", "goal"):
        table.add_column(heading, justify="right")
    for row in rows:
        if row["median"] is None:
            table.add_row(row["name"], "", "", "", "", row["note"])
            continue
        beside = f"{amount(row['yardstick_median'])} {row['yardstick']}" if row["yardstick_median"] is not None else ""
        ratio = f"{row['ratio']:.2f} ± {row['ratio_iqr']:.2f}" if row["ratio"] is not None else ""
        goal = f"{_goal(row)} {'✓' if row['reached'] else '✗'}" if row["goal"] is not None else ""
        name = f"{row['name']}, {row['unit']}" + (f" ({row['note']})" if row["note"] else "")
        table.add_row(name, amount(row["median"]), amount(row["iqr"]), beside, ratio, goal)
    return table


def draw_ratios(axes: Axes, rows: Sequence[dict[str, Any]]) -> None:
    """A bar for each ratio with its spread, and a mark for each goal; figures that stand alone are left out."""
    shown = [row for row in rows if row["ratio"] is not None]
    places = range(len(shown))
    axes.barh(places, [row["ratio"] for row in shown], xerr=[row["ratio_iqr"] / 2 for row in shown], capsize=4)
    goals = [
        (row["goal"], place) for place, row in enumerate(shown) if row["goal"] is not None and not row["goal_of_value"]
    ]
    if goals:
        at, lines = zip(*goals, strict=True)
        axes.scatter(at, lines, marker="|", s=400, color="black", label="goal")
        axes.legend()
    axes.set_yticks(places, [f"{row['name']}\nbeside {row['yardstick']}" for row in shown])
    axes.invert_yaxis()
    axes.set_xlabel("times its yardstick")


def compare(base: Path, new: Path) -> list[dict[str, Any]]:
    """What each figure of two reports of one part has become. Raises OSError, and BenchError for other files.

    A figure has moved when its medians are further apart than both interquartile ranges together, and than LEAST_MOVE.
    Ratios are compared where both have them, else the values.
    """
    before, after = read_rows(base), read_rows(new)
    moved = []
    for name in before.keys() & after.keys():
        old, now = before[name], after[name]
        key, width = (
            ("ratio", "ratio_iqr") if old["ratio"] is not None and now["ratio"] is not None else ("median", "iqr")
        )
        if old[key] is None or now[key] is None:
            continue
        change = now[key] - old[key]
        noise = max(old[width] + now[width], LEAST_MOVE * abs(old[key]))
        better = (change > 0) == old["more_is_better"]
        verdict = "within noise" if abs(change) <= noise else "better" if better else "worse"
        moved.append({"name": name, "old": old[key], "new": now[key], "noise": noise, "verdict": verdict})
    moved += [
        {"name": name, "old": None, "new": None, "noise": None, "verdict": "only before" if name in before else "new"}
        for name in before.keys() ^ after.keys()
    ]
    order = list(before) + [name for name in after if name not in before]
    return sorted(moved, key=lambda row: order.index(str(row["name"])))


def draw_comparison(rows: Sequence[dict[str, Any]]) -> Table:
    """The comparison for people."""
    table = Table(title="What moved beyond noise", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("figure")
    for heading in ("before", "now", "noise", "change"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for row in rows:
        if row["old"] is None:
            table.add_row(row["name"], "", "", "", "", row["verdict"])
            continue
        change = f"{100 * (row['new'] / row['old'] - 1):+.1f} %" if row["old"] else ""
        table.add_row(
            row["name"], amount(row["old"]), amount(row["new"]), f"± {amount(row['noise'])}", change, row["verdict"]
        )
    return table


def markdown_figures(reports: Sequence[Path]) -> str:
    """The figures of reports as one table for a page. Values are those of one machine: ratios say more.

    Raises OSError, and BenchError for files that are none.
    """
    lines = ["| figure | value | times its yardstick | yardstick | goal |", "| --- | ---: | ---: | --- | --- |"]
    for report in reports:
        lines.append(f"| **`make bench PART={report.stem}`** | | | | |")
        for row in read_rows(report).values():
            name = f"{row['name']} ({row['note']})" if row["note"] else row["name"]
            value = "" if row["median"] is None else f"{amount(row['median'])} {row['unit'].partition(' of ')[0]}"
            ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f} ± {row['ratio_iqr']:.2f}"
            goal = ""
            if row["reached"] is not None:
                goal = f"{_goal(row)}: {'reached' if row['reached'] else 'missed'}"
            lines.append(f"| {name} | {value} | {ratio} | {row['yardstick'] or ''} | {goal} |")
    return "\n".join(lines)


def _goal(row: dict[str, Any]) -> str:
    """What is to be reached: a ratio, or a value with its unit. Older reports know goals of ratios alone."""
    unit = f" {row['unit'].partition(' of ')[0]}" if row.get("goal_of_value") or row["ratio"] is None else ""
    return f"{'≥' if row['more_is_better'] else '≤'} {row['goal']:,g}{unit}"


def read_rows(path: Path) -> dict[str, dict[str, Any]]:
    """The figures of a report by name. Raises OSError, and BenchError for a file that is none."""
    try:
        return {
            str(row["name"]): row for row in json.loads(path.read_text(encoding="utf-8"))["results"] if "ratio" in row
        }
    except (ValueError, KeyError, TypeError) as error:
        raise BenchError(f"{path} is no report with figures: {error}") from error


def amount(value: float) -> str:
    """A number with three digits that matter, in full where it is large."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


__all__ = [
    "Figure",
    "amount",
    "compare",
    "draw_comparison",
    "draw_figures",
    "draw_ratios",
    "markdown_figures",
    "read_rows",
    "spread",
]
