"""A dashboard as a picture, drawn from what a Prometheus has recorded: `python -m monitoring.drawing ADDRESS FOLDER`.

For looking at a dashboard without Grafana, in documents and reviews. Panels stand where Grafana puts them.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from matplotlib.figure import Figure

from monitoring.asking import Line, QueryError, over_time
from monitoring.dashboards import DASHBOARDS
from monitoring.panels import GRID, RATE_INTERVAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from monitoring.panels import Dashboard, Panel

INCHES: Final = 0.75
"""Of one of the 24 columns of the grid; a row is half as high."""
MOST_LINES: Final = 12
"""So many are named in a legend."""
STEPS: Final = 120
UNITS: Final = {
    "s": "seconds",
    "ms": "milliseconds",
    "ops": "a second",
    "reqps": "a second",
    "percentunit": "share",
    "bytes": "bytes",
}
RED, GREEN, INK, PAPER = "#d44a3a", "#3a7d44", "#22262b", "#ffffff"


def draw(dashboard: Dashboard, address: str, begin: float, end: float, window: str) -> Figure:
    """The dashboard between two moments (Unix seconds); rates look at `window`, such as 1m. Raises QueryError."""
    placed = dashboard.as_json()["panels"]
    rows = max(place["gridPos"]["y"] + place["gridPos"]["h"] for place in placed)
    figure = Figure(figsize=(GRID * INCHES, rows * INCHES / 2 + 0.6), facecolor=PAPER)
    figure.suptitle(dashboard.title, x=0.01, ha="left", fontsize=15, fontweight="bold", color=INK)
    height = rows * INCHES / 2 + 0.6
    panels = iter(dashboard.panels)
    for place in placed:
        grid = place["gridPos"]
        top = 1 - (0.6 + grid["y"] * INCHES / 2) / height
        if place["type"] == "row":
            figure.text(0.01, top - 0.28 / height, place["title"], fontsize=11, fontweight="bold", color="#5b6570")
            continue
        panel = next(panels)
        tall = grid["h"] * INCHES / 2 / height
        box = (
            grid["x"] / GRID + 0.035,
            top - tall + 0.35 * INCHES / height,
            grid["w"] / GRID - 0.045,
            tall - 0.85 * INCHES / height,
        )
        lines = _lines(panel, address, begin, end, window)
        axes = figure.add_axes(box)
        axes.set_title(panel.title, loc="left", fontsize=8.5, color=INK)
        if panel.stat:
            _draw_number(axes, panel, lines)
        else:
            _draw_lines(axes, panel, lines, begin)
    return figure


def _lines(panel: Panel, address: str, begin: float, end: float, window: str) -> list[tuple[str, Line]]:
    found: list[tuple[str, Line]] = []
    for query in panel.queries:
        text = query.text.replace(RATE_INTERVAL, window)
        lines = over_time(address, text, begin, end, (end - begin) / STEPS)
        found.extend((_legend(query.legend, line.labels), line) for line in lines)
    return sorted(found, key=lambda each: each[0])


def _legend(form: str, labels: dict[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda label: labels.get(label[1], ""), form)


def _draw_lines(axes: Axes, panel: Panel, lines: list[tuple[str, Line]], begin: float) -> None:
    shown = [each for each in lines if any(value for _, value in each[1].points)] or lines
    for number, (name, line) in enumerate(shown):
        moments = [(moment - begin) / 60 for moment, _ in line.points]
        label = name if number < MOST_LINES else None
        axes.plot(moments, [value for _, value in line.points], linewidth=1.2, label=label)
    if panel.bad_from is not None:
        axes.axhline(panel.bad_from, color=RED, linewidth=0.8, linestyle=":")
    axes.set_ylim(bottom=0)
    axes.tick_params(labelsize=6.5, colors=INK)
    axes.set_ylabel(UNITS.get(panel.unit, ""), fontsize=6.5, color=INK)
    axes.grid(visible=True, linewidth=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if any(name for name, _ in shown):
        axes.legend(fontsize=5.5, loc="upper left", frameon=False, ncols=2 if len(shown) > 4 else 1)


def _draw_number(axes: Axes, panel: Panel, lines: list[tuple[str, Line]]) -> None:
    axes.set_axis_off()
    value = lines[0][1].points[-1][1] if lines else None
    text = "no data" if value is None else f"{value:.2%}" if panel.unit == "percentunit" else f"{value:g}"
    bad = value is None or (panel.bad_from is not None and value >= panel.bad_from)
    axes.text(0.0, 0.4, text, fontsize=20, color=RED if bad else GREEN, va="center", transform=axes.transAxes)


def save_all(address: str, folder: Path, begin: float, end: float, window: str) -> list[Path]:
    """A picture of every dashboard, <uid>.png. Raises QueryError and OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for dashboard in DASHBOARDS:
        path = folder / f"{dashboard.uid}.png"
        draw(dashboard, address, begin, end, window).savefig(path, dpi=80)
        paths.append(path)
    return paths


def main() -> int:
    parser = argparse.ArgumentParser(prog="monitoring.drawing", description=__doc__)
    parser.add_argument("address", help="of Prometheus, such as http://127.0.0.1:9090")
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--minutes", type=float, default=60, help="how far back (60)")
    parser.add_argument("--window", default="1m", help="what rates look at (1m)")
    arguments = parser.parse_args()
    now = time.time()
    try:
        begin = now - arguments.minutes * 60
        for path in save_all(arguments.address, arguments.folder, begin, now, arguments.window):
            sys.stdout.write(f"{path}\n")
    except (QueryError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
