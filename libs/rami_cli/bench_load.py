"""The part `load` of `rami bench`: many realistic players against a running cluster, as before a launch.

Players arrive over the first tenth of the time, so that signing in is no load test of its own. What is measured is what
they see: the whole way over the network and through the SDK, on the machine that the tool runs on. When that machine
has no time left, its own lag shows beside the figures, and they say more of it than of the cluster.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from rami_cli.bench_harness import BenchError
from rami_cli.bench_report import bench_progress, quantile, save_plot, write_report
from rami_cli.connecting import Home, connect
from rami_cli.load_player import ACT, STEPS, LoadPlayer, LoadRecord
from rami_cli.screen import make_console

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from rami_cli.load_player import LoadHabits
    from rami_client import Client

PART: Final = "load"
ARRIVAL_SHARE: Final = 0.1
"""Of the time, over which players arrive."""
TICK_SECONDS: Final = 0.25
FIRST_WORD_SECONDS: Final = 30.0
"""How much longer a run takes in which nothing has happened yet, good or bad: a short one may have seen too little.
"""
PLOTTED_BINS: Final = 60


@dataclass(frozen=True, slots=True)
class LoadBench:
    """What to do to which cluster."""

    players: int
    minutes: float
    game: str
    matchmaking: str
    habits: LoadHabits
    tokens: tuple[str, ...]
    """Bearer tokens, one for each player; empty: everybody signs in as a guest."""
    seed: int


async def run_load_bench(plan: LoadBench, folder: Path) -> None:
    """Plays, showing progress; then the table, and where the figures are.

    Raises OSError for an unwritable folder, and BenchError after all that when nothing that was tried has worked.
    """
    console = make_console()
    settings = {key: value for key, value in asdict(plan).items() if key != "tokens"}
    write_report(folder, PART, settings, ())
    record, lags = LoadRecord(), list[float]()
    seconds = plan.minutes * 60
    players: list[asyncio.Task[None]] = []
    with bench_progress() as progress:
        bar = progress.add_task(f"{plan.players} players", total=round(seconds))
        try:
            while (now := time.monotonic() - record.began) < seconds + (0.0 if record.begun else FIRST_WORD_SECONDS):
                arrived = plan.players * min(1.0, now / max(ARRIVAL_SHARE * seconds, 1e-9))
                while len(players) < min(plan.players, int(arrived) + 1):
                    players.append(asyncio.create_task(_player(plan, len(players), record).run()))
                due = time.monotonic() + TICK_SECONDS
                await asyncio.sleep(TICK_SECONDS)
                lags.append(time.monotonic() - due)
                progress.update(
                    bar,
                    completed=round(now),
                    description=f"{len(players)} players, {len(record.acts_at)} actions, {record.matches} matches, "
                    f"{sum(record.errors.values())} errors",
                )
            for task in [task for task in players if task.done()]:
                task.result()  # a player that ended has met a defect
        finally:
            for task in players:
                task.cancel()
            await asyncio.gather(*players, return_exceptions=True)
    rows = figures_of(record, lags)
    path = write_report(folder, PART, settings, rows)
    console.print(draw_table(rows))
    console.print(f"Figures: {path}")
    plot = save_plot(folder, PART, lambda axes: draw_latency(axes, record), console)
    if plot is not None:
        console.print(f"Plot: {plot}")
    if record.errors and not any(record.seconds.values()):
        raise BenchError(f"nobody got as far as to a table: {', '.join(record.errors)}")


def _player(plan: LoadBench, number: int, record: LoadRecord) -> LoadPlayer:
    token = plan.tokens[number] if plan.tokens else None

    def client() -> Client:
        return connect(Home(plan.game, plan.matchmaking), token=token)

    # The seed is for habits that can be had again, and guards nothing.
    return LoadPlayer(f"Load {number}", client, plan.habits, record, random.Random(f"{plan.seed}/{number}"))  # noqa: S311


def figures_of(record: LoadRecord, lags: list[float]) -> list[dict[str, Any]]:
    """A row for each step, one of totals, and one for each kind of error."""
    elapsed = max(time.monotonic() - record.began, 1e-9)
    rows: list[dict[str, Any]] = []
    for step in STEPS:
        times = sorted(record.seconds[step])
        row: dict[str, Any] = {"kind": "step", "name": step, "count": len(times), "per_second": len(times) / elapsed}
        if times:
            row |= {f"p{percent}_ms": 1000 * quantile(times, percent / 100) for percent in (50, 95, 99)}
        rows.append(row)
    rows.append(
        {
            "kind": "totals",
            "matches": record.matches,
            "cancels": record.cancels,
            "reconnects": record.reconnects,
            "stale": record.stale,
            "own_lag_p99_ms": 1000 * quantile(sorted(lags), 0.99) if lags else 0.0,
        }
    )
    rows += [
        {"kind": "error", "name": name, "count": count}
        for name, count in sorted(record.errors.items(), key=lambda pair: -pair[1])
    ]
    return rows


def draw_table(rows: list[dict[str, Any]]) -> Table:
    """The figures for people, in 80 columns."""
    table = Table(title="What players saw", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    for heading in ("count", "per s", "p50 ms", "p95 ms", "p99 ms"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        if row["kind"] == "step":
            times = [f"{row[key]:.1f}" if key in row else "" for key in ("p50_ms", "p95_ms", "p99_ms")]
            table.add_row(row["name"], str(row["count"]), f"{row['per_second']:.1f}", *times)
        elif row["kind"] == "totals":
            for name in ("matches", "cancels", "reconnects", "stale"):
                table.add_row(name, str(row[name]))
            table.add_row("lag of this tool", "", "", "", "", f"{row['own_lag_p99_ms']:.1f}")
        else:
            table.add_row(f"error: {row['name']}", str(row["count"]), style="red")
    return table


def draw_latency(axes: Axes, record: LoadRecord) -> None:
    """The time that actions took, over the time of the run: median and 99th percentile."""
    if not record.acts_at:
        return
    width = max(record.acts_at[-1] / PLOTTED_BINS, 1e-3)
    bins: dict[int, list[float]] = {}
    for at, seconds in zip(record.acts_at, record.seconds[ACT], strict=True):
        bins.setdefault(int(at / width), []).append(1000 * seconds)
    places = sorted(bins)
    for share, label in ((0.5, "median"), (0.99, "99th percentile")):
        heights = [quantile(sorted(bins[place]), share) for place in places]
        axes.plot([place * width for place in places], heights, label=label)
    axes.set_xlabel("seconds since the start")
    axes.set_ylabel("an action until its answer, ms")
    axes.set_ylim(bottom=0)
    axes.legend()


__all__ = ["LoadBench", "draw_table", "figures_of", "run_load_bench"]
