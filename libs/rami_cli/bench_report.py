"""What every part of `rami bench` leaves behind: its figures as JSON and, where matplotlib is installed, a plot.

    {"part": "bots", "machine": {...}, "settings": {...}, "results": [{...}, ...]}

Settings and results are the part's own, with the unit in the name of each figure.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from rami_cli.screen import make_console

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from rich.console import Console

NO_PLOT = "No plot: matplotlib is not installed. `pip install 'rami\\[bench]'` brings it."


def write_report(
    folder: Path, part: str, settings: Mapping[str, object], results: Sequence[Mapping[str, object]]
) -> Path:
    """Writes <part>.json, whole or not at all. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    report = {
        "part": part,
        "machine": {"cpus": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "settings": settings,
        "results": results,
    }
    path = folder / f"{part}.json"
    unfinished = path.with_suffix(".json.tmp")
    unfinished.write_text(json.dumps(report, indent=2) + "\n")
    unfinished.replace(path)
    return path


def save_plot(folder: Path, part: str, draw: Callable[[Axes], None], console: Console) -> Path | None:
    """Writes <part>.png with what `draw` puts on its axes; without matplotlib says so and gives None.

    Raises OSError.
    """
    if importlib.util.find_spec("matplotlib") is None:
        console.print(NO_PLOT)
        return None
    from matplotlib.figure import Figure  # noqa: PLC0415 - of an extra

    figure = Figure(figsize=(9, 5), layout="constrained")
    draw(figure.add_subplot())
    path = folder / f"{part}.png"
    figure.savefig(path, dpi=120)
    return path


def bench_progress() -> Progress:
    """A bar for each task, on standard error, so that the table on standard output can be kept."""
    columns: tuple[Any, ...] = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=make_console(stderr=True))


def quantile(ascending: Sequence[float], share: float) -> float:
    """The least value that so large a share of the values does not exceed. At least one value."""
    return ascending[min(len(ascending) - 1, int(share * len(ascending)))]
