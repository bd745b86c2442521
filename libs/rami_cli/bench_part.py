"""How a part of the bench is run: progress while it measures, then its report, its table and its plot."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rami_cli.bench_figures import draw_figures, draw_ratios
from rami_cli.bench_report import bench_progress, save_plot, write_report
from rami_cli.screen import make_console

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from rich.progress import Progress, TaskID

    from rami_cli.bench_figures import Figure

MICRO: Final = 1e6
"""Microseconds in a second."""


@dataclass(slots=True)
class Bench:
    """What a part is given: how often and how long it measures, and whom it tells how far it is."""

    runs: int
    seconds: float
    """Of one measurement in one run."""
    _progress: Progress
    _task: TaskID

    def rounds(self, *steps: str) -> Iterator[int]:
        """The numbers of the runs; each is announced to take these steps, which `step` then ticks off."""
        self._progress.update(self._task, total=self.runs * len(steps))
        yield from range(self.runs)

    def step(self, what: str) -> None:
        """Something is being measured now."""
        self._progress.update(self._task, advance=1, description=what)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the bench."""

    name: str
    measure: Callable[[Bench], Awaitable[list[Figure]]]
    seconds: float = 1.5
    """Of one measurement, unless told otherwise."""


async def run_part(part: Part, folder: Path, *, runs: int, seconds: float | None) -> None:
    """Measures a part. Raises OSError for an unwritable folder, and what the part raises."""
    console = make_console()
    lasts = part.seconds if seconds is None else seconds
    settings = {"runs": runs, "seconds": lasts, "load_average_before": os.getloadavg()[0]}
    write_report(folder, part.name, settings, ())
    began = time.monotonic()
    with bench_progress() as progress:
        task = progress.add_task(part.name, total=None)
        figures = await part.measure(Bench(runs, lasts, progress, task))
        progress.update(task, description=part.name)
    rows = [figure.row() for figure in figures]
    settings |= {"load_average_after": os.getloadavg()[0], "took_seconds": round(time.monotonic() - began, 1)}
    path = write_report(folder, part.name, settings, rows)
    console.print(draw_figures(f"{part.name}: medians of {runs} runs", rows))
    console.print(f"Load average {settings['load_average_before']:.1f} before, {os.getloadavg()[0]:.1f} after.")
    console.print(f"Figures: {path}")
    if any(row["ratio"] is not None for row in rows):
        plot = save_plot(folder, part.name, lambda axes: draw_ratios(axes, rows), console)
        if plot is not None:
            console.print(f"Plot: {plot}")


__all__ = ["MICRO", "Bench", "Part", "run_part"]
