"""The part `bots` of `rami bench`: duels of bots in the arena, spread over processes.

The time of a decision is CPU time, so that other work on the machine counts little. Figures are written after every
duel: a long run that is interrupted leaves those that are done.
"""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from rami_bots import find_bot
from rami_bots.arena import duel, honest, mean_lead, win_rate
from rami_bots.open_hand import play_open_hand
from rami_cli.bench_report import bench_progress, quantile, save_plot, write_report
from rami_cli.screen import make_console
from rami_engine import RuleOptions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from rami_bots.arena import Player, Sample

PART: Final = "bots"
DEALS_PER_TASK: Final = 5


class PlayerName(StrEnum):
    """Who can play in the arena."""

    EASY = "easy"
    NORMAL = "normal"
    HARD = "hard"
    OPEN_HAND = "open-hand"
    """Sees all cards: what a perfect memory and perfect guesses would be worth. Plays here and nowhere else."""


@dataclass(frozen=True, slots=True)
class Duel:
    """A challenger against copies of another player."""

    challenger: PlayerName
    other: PlayerName
    players: int

    def __str__(self) -> str:
        rivals = self.other if self.players == 2 else f"{self.players - 1} x {self.other}"
        return f"{self.players} seats: {self.challenger} v. {rivals}"


@dataclass(frozen=True, slots=True)
class BotsBench:
    """What to play."""

    duels: tuple[Duel, ...]
    deals: range
    seed: int
    target_score: int
    ace_high: bool
    discard_to_win: bool
    processes: int

    @property
    def options(self) -> RuleOptions:
        """The rules that are played."""
        return RuleOptions(self.target_score, self.ace_high, self.discard_to_win)


@dataclass(frozen=True, slots=True)
class DuelFigures:
    """How a duel went. Times are CPU time of one decision."""

    players: int
    challenger: str
    other: str
    deals: int
    games: int
    rounds: int
    win_rate: float
    win_rate_margin: float
    """Half the width of the 95 % interval over deals; so of the lead."""
    lead_points: float
    """The challenger's score less the mean score of the others, per game."""
    lead_margin: float
    decisions_per_second: float
    mean_ms: float
    p50_ms: float
    p99_ms: float
    other_mean_ms: float
    other_p50_ms: float
    other_p99_ms: float


def run_bots_bench(plan: BotsBench, folder: Path) -> None:
    """Plays all duels, showing progress; then the table, and where the figures are."""
    console = make_console()
    settings = {
        "deals": len(plan.deals),
        "first_deal": plan.deals.start,
        "seed": plan.seed,
        "target_score": plan.target_score,
        "ace_high": plan.ace_high,
        "discard_to_win": plan.discard_to_win,
        "processes": plan.processes,
    }
    done: list[DuelFigures] = []
    path = write_report(folder, PART, settings, ())
    # Fresh interpreters: this one may have loaded gRPC, which does not survive a fork.
    context = multiprocessing.get_context("spawn")
    with bench_progress() as progress, ProcessPoolExecutor(plan.processes, mp_context=context) as pool:
        bars = {one: progress.add_task(str(one), total=len(plan.deals)) for one in plan.duels}
        try:
            for one in plan.duels:
                tasks = [
                    pool.submit(_play_deals, one, plan, plan.deals[begin : begin + DEALS_PER_TASK])
                    for begin in range(0, len(plan.deals), DEALS_PER_TASK)
                ]
                samples: list[Sample] = []
                for task in as_completed(tasks):
                    samples += task.result()
                    progress.update(bars[one], completed=len(samples))
                done.append(figures_of(one, samples))
                write_report(folder, PART, settings, [asdict(row) for row in done])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    console.print(draw_table(done))
    console.print(f"Figures: {path}")
    plot = save_plot(folder, PART, lambda axes: draw_bars(axes, done), console)
    if plot is not None:
        console.print(f"Plot: {plot}")


def find_player(name: PlayerName) -> Player:
    """The player of a name."""
    return play_open_hand if name is PlayerName.OPEN_HAND else honest(find_bot(name).policy)


def _play_deals(one: Duel, plan: BotsBench, deals: range) -> list[Sample]:
    """Runs in a process of the pool."""
    challenger, other = find_player(one.challenger), find_player(one.other)
    return list(
        duel(
            challenger,
            other,
            deals,
            time.process_time,
            players=one.players,
            seed=plan.seed,
            options=plan.options,
        )
    )


def figures_of(one: Duel, samples: Sequence[Sample]) -> DuelFigures:
    """The figures of a duel with at least one deal."""
    wins, lead = win_rate(samples), mean_lead(samples)
    seconds = sorted(spent for sample in samples for spent in sample.seconds)
    other_seconds = sorted(spent for sample in samples for spent in sample.rival_seconds)
    return DuelFigures(
        players=one.players,
        challenger=one.challenger,
        other=one.other,
        deals=len(samples),
        games=sum(sample.games for sample in samples),
        rounds=sum(sample.rounds for sample in samples),
        win_rate=wins.mean,
        win_rate_margin=wins.margin,
        lead_points=lead.mean,
        lead_margin=lead.margin,
        decisions_per_second=len(seconds) / max(sum(seconds), 1e-9),
        mean_ms=1000 * sum(seconds) / len(seconds),
        p50_ms=1000 * quantile(seconds, 0.5),
        p99_ms=1000 * quantile(seconds, 0.99),
        other_mean_ms=1000 * sum(other_seconds) / len(other_seconds),
        other_p50_ms=1000 * quantile(other_seconds, 0.5),
        other_p99_ms=1000 * quantile(other_seconds, 0.99),
    )


def draw_table(rows: Sequence[DuelFigures]) -> Table:
    """The figures for people, in 80 columns."""
    table = Table(
        title="Bots against bots (± is the 95 % interval over deals)",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=0,
        pad_edge=False,
    )
    table.add_column("duel", no_wrap=True)
    for heading in ("  games", "  won %", "  lead", "  per s", "  p50 ms", "  p99 ms"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            f"{row.players}: {row.challenger} v. {row.other}",
            str(row.games),
            f"{100 * row.win_rate:.1f} ± {100 * row.win_rate_margin:.1f}",
            f"{row.lead_points:.0f} ± {row.lead_margin:.0f}",
            f"{row.decisions_per_second:.0f}",
            f"{row.p50_ms:.2f}",
            f"{row.p99_ms:.2f}",
        )
    return table


def draw_bars(axes: Axes, rows: Sequence[DuelFigures]) -> None:
    """Win rates with their intervals, and what each would be by luck alone."""
    places = range(len(rows))
    axes.barh(places, [100 * row.win_rate for row in rows], xerr=[100 * row.win_rate_margin for row in rows], capsize=4)
    axes.scatter([100 / row.players for row in rows], places, marker="|", s=400, color="black", label="by luck")
    axes.set_yticks(places, [f"{row.players} seats: {row.challenger} v. {row.other}" for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("games won, % (95 % interval over deals)")
    axes.legend()
