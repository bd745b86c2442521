"""A simulated evening: what waiting buys in even tables, measured on the real matcher and on an obvious rival.

Players arrive over six hours on a curve that rises and falls as an evening does, with ratings spread normally.
The rival takes the tightest table among the players waiting as soon as k of them wait; k is its one knob. Ours
has one knob too, how picky it is (`picky_policy`); the windows follow from it. Each setting of a knob is a point:
mean wait against mean spread of the tables, players who are left over at the end counted with the time until
then. `python -m matchmaking.evening` measures both curves and leaves evening.json, and a plot where matplotlib
is installed.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from bisect import bisect_left, insort
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from matchmaking.config import MatchmakingSettings
from matchmaking.matcher import Matcher
from matchmaking.tickets import MatchPolicy, Ticket
from rami_engine.rules import RuleOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

EVENING_MS: Final = 6 * 3600 * 1000
QUIET: Final = 0.1
"""How many arrive at the ends of the evening, against its busiest moment."""
MEAN_SKILL: Final = 1000.0
SKILL_DEVIATION: Final = 250.0
"""That of new players in the rating model, in points."""
PICKY: Final = (4000.0, 1200.0, 400.0, 130.0, 50.0, 20.0, 8.0, 3.2, 1.3, 0.5, 0.2, 0.08)
"""Settings of our knob, in points of spread for every second of waiting; besides them "at once"."""
STEPS: Final = ((50.0, 1_000), (3.0, 4_000), (0.0, 10_000))
"""How long the steps of the windows are, in ms, from which setting on: short ones cost time where waits are long."""
WIDEST: Final = 2_500.0


@dataclass(frozen=True, slots=True)
class Arrival:
    """A player who queues."""

    create_ms: int
    skill: float


@dataclass(frozen=True, slots=True)
class Point:
    """What one setting has made of an evening. Times are seconds, spreads rating points."""

    setting: float
    """k of the rival; points for every second of ours, infinite for "at once"."""
    mean_wait: float
    mean_spread: float
    p99_wait: float
    longest_wait: float
    left: int
    """Players without a table at the end."""


def arrivals_of(seed: int, number: int, evening_ms: int = EVENING_MS) -> list[Arrival]:
    """The arrivals of an evening, in order; the same for the same seed."""
    chance = random.Random(f"evening-{seed}")  # noqa: S311 - a simulation, not a secret
    moments: list[int] = []
    while len(moments) < number:
        part = chance.random()
        if chance.random() < QUIET + (1 - QUIET) * math.sin(math.pi * part) ** 2:
            moments.append(round(part * evening_ms))
    return [Arrival(moment, chance.gauss(MEAN_SKILL, SKILL_DEVIATION)) for moment in sorted(moments)]


def picky_policy(spread_per_second: float) -> MatchPolicy:
    """Our knob: how many points of spread a second of waiting buys; infinite makes every table at once.

    The windows stay out of the way of what the knob asks for: they begin at what 20 s buy and grow four times
    as fast as it, which lets players of rare skill be seated by rivals who have only just come. Once they would be
    as wide as all skills, a player accepts anybody: nobody waits longer while there are others who have.
    """
    if math.isinf(spread_per_second):
        return MatchPolicy(base_width=WIDEST, width_step=0.0, max_width=WIDEST, open_ms=0, spread_per_second=0.0)
    step_ms = next(step_ms for least, step_ms in STEPS if spread_per_second >= least)
    base, step = min(WIDEST, 20 * spread_per_second), 4 * spread_per_second * step_ms / 1000
    return MatchPolicy(
        base_width=base,
        width_step=step,
        step_ms=step_ms,
        max_width=WIDEST,
        open_ms=step_ms * max(1, math.ceil((WIDEST - base) / step)),
        spread_per_second=spread_per_second,
    )


def our_evening(arrivals: Sequence[Arrival], seats: int, policy: MatchPolicy, setting: float) -> Point:
    """The evening with the real matcher, which is asked whenever somebody arrives and whenever it wants to be."""
    matcher = Matcher(policy)
    waits: list[int] = []
    spreads: list[float] = []
    end_ms = arrivals[-1].create_ms
    rules = (RuleOptions(),)
    number = 0
    while True:
        moment = matcher.next_moment()
        now_ms = arrivals[number].create_ms if number < len(arrivals) else end_ms + 1
        if moment is not None and moment < now_ms:
            now_ms = moment
        if now_ms > end_ms:
            break
        while number < len(arrivals) and arrivals[number].create_ms <= now_ms:
            one = arrivals[number]
            name = f"{number:06}"
            matcher.add(Ticket(name, name, name, (seats,), rules, False, "", one.skill, one.create_ms))
            number += 1
        for table in matcher.run(now_ms):
            waits += [now_ms - ticket.create_ms for ticket in table.tickets]
            spreads.append(table.spread)
    return _point(setting, waits, spreads, [end_ms - ticket.create_ms for ticket in matcher])


def rival_evening(arrivals: Sequence[Arrival], seats: int, players: int) -> Point:
    """The evening with the rival: as soon as so many players wait, the tightest table among them."""
    waiting: list[tuple[float, int]] = []
    waits: list[int] = []
    spreads: list[float] = []
    for one in arrivals:
        insort(waiting, (one.skill, one.create_ms))
        if len(waiting) >= players:
            gaps = [high[0] - low[0] for low, high in zip(waiting, waiting[seats - 1 :], strict=False)]
            spread = min(gaps)
            first = gaps.index(spread)
            waits += [one.create_ms - create_ms for _, create_ms in waiting[first : first + seats]]
            spreads.append(spread)
            del waiting[first : first + seats]
    return _point(players, waits, spreads, [arrivals[-1].create_ms - create_ms for _, create_ms in waiting])


def spread_at(curve: Sequence[Point], mean_wait: float) -> float | None:
    """The spread of a curve at a mean wait, on the straight line between two of its points; None beyond them."""
    points = sorted((point.mean_wait, point.mean_spread) for point in curve)
    at = bisect_left(points, (mean_wait, -math.inf))
    if at == len(points):
        return None
    if at == 0:
        return points[0][1] if math.isclose(points[0][0], mean_wait) else None
    (wait, spread), (next_wait, next_spread) = points[at - 1], points[at]
    return spread + (next_spread - spread) * (mean_wait - wait) / (next_wait - wait)


def worse_than(ours: Sequence[Point], rival: Sequence[Point]) -> list[float]:
    """The settings of the rival that our curve does not match or better at the same mean wait."""
    worse = []
    for point in rival:
        spread = spread_at(ours, point.mean_wait)
        if spread is None or spread > point.mean_spread + 1e-9:
            worse.append(point.setting)
    return worse


def _point(setting: float, waits: list[int], spreads: list[float], left: list[int]) -> Point:
    seconds = sorted(wait / 1000 for wait in waits + left)
    return Point(
        setting=setting,
        mean_wait=sum(seconds) / len(seconds),
        mean_spread=sum(spreads) / len(spreads),
        p99_wait=seconds[(len(seconds) * 99 - 1) // 100],
        longest_wait=seconds[-1],
        left=len(left),
    )


def _ours(job: tuple[int, int, int, float]) -> Point:
    seed, number, seats, setting = job
    return our_evening(arrivals_of(seed, number), seats, picky_policy(setting), setting)


def _rival(job: tuple[int, int, int, int]) -> Point:
    seed, number, seats, players = job
    return rival_evening(arrivals_of(seed, number), seats, players)


def measure(
    *, seed: int, number: int, seats: int, largest: int, settings: Sequence[float], pool: ProcessPoolExecutor
) -> dict[str, Any]:
    """Both curves for tables of so many seats, as they are written down."""
    ours = pool.map(_ours, [(seed, number, seats, setting) for setting in (math.inf, *settings)])
    rival = pool.map(_rival, [(seed, number, seats, players) for players in range(seats, largest + 1)])
    default = our_evening(arrivals_of(seed, number), seats, MatchmakingSettings.model_construct().policy, 0.0)
    our_curve, rival_curve = list(ours), list(rival)
    return {
        "seats": seats,
        "ours": [_plain(point) for point in our_curve],
        "rival": [
            _plain(point) | {"our_spread_at_this_wait": spread_at(our_curve, point.mean_wait)} for point in rival_curve
        ],
        "default": _plain(default),
        "worse_than_rival_at": worse_than(our_curve, rival_curve),
    }


def _plain(point: Point) -> dict[str, Any]:
    return asdict(point) | ({"setting": "at once"} if math.isinf(point.setting) else {})


def table_lines(curves: dict[str, Any]) -> list[str]:
    """The numbers of one count of seats, for people."""
    lines = [f"{curves['seats']} seats", "  take the tightest of k    spread   ours at that wait   longest"]
    lines += [
        f"    k = {row['setting']:<3.0f} wait {row['mean_wait']:6.2f} s   {row['mean_spread']:6.1f}   "
        f"{row['our_spread_at_this_wait'] or math.nan:8.1f}         {row['longest_wait']:9.0f} s"
        for row in curves["rival"]
    ]
    lines.append("  ours: points a second     spread               99 %   longest")
    for row in [*curves["ours"], curves["default"] | {"setting": "default"}]:
        lines.append(
            f"    {row['setting']!s:>7} wait {row['mean_wait']:6.2f} s   {row['mean_spread']:6.1f}          "
            f"{row['p99_wait']:9.0f} s  {row['longest_wait']:6.0f} s"
        )
    worse = curves["worse_than_rival_at"]
    lines.append(f"  worse than the rival at k = {worse}" if worse else "  nowhere worse than the rival")
    return lines


def plot(result: list[dict[str, Any]], path: Path) -> None:
    """Both curves of every count of seats. Trusts the caller that matplotlib is installed."""
    matplotlib = import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot = import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, len(result), figsize=(6 * len(result), 5), squeeze=False)
    for axis, curves in zip(axes[0], result, strict=True):
        for key, style, label in (("rival", "o-", "tightest table of the k waiting"), ("ours", "s-", "ours")):
            rows = sorted(curves[key], key=lambda row: row["mean_wait"])
            axis.plot(
                [row["mean_wait"] for row in rows], [row["mean_spread"] for row in rows], style, label=label, ms=3
            )
        axis.plot(curves["default"]["mean_wait"], curves["default"]["mean_spread"], "k*", ms=12, label="our defaults")
        axis.set(xscale="log", yscale="log", xlabel="mean wait, s", ylabel="mean spread of a table, points")
        axis.set_title(f"{curves['seats']} seats")
        axis.legend()
        axis.grid(visible=True, which="both", alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, tells and writes. Exit code 1 when our curve is worse than the rival's anywhere."""
    parser = argparse.ArgumentParser(prog="python -m matchmaking.evening", description="Measure a simulated evening.")
    parser.add_argument("--arrivals", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seats", type=int, nargs="+", choices=(2, 3, 4), default=[2, 3, 4])
    parser.add_argument("--largest", type=int, default=40, help="the largest k of the rival")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    result = []
    # Not forked: whoever calls this may have threads of gRPC running.
    with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
        for seats in options.seats:
            curves = measure(
                seed=options.seed,
                number=options.arrivals,
                seats=seats,
                largest=options.largest,
                settings=PICKY,
                pool=pool,
            )
            result.append(curves)
            print("\n".join(table_lines(curves)), flush=True)  # noqa: T201 - a command prints
    report = {"arrivals": options.arrivals, "seed": options.seed, "hours": EVENING_MS / 3_600_000, "curves": result}
    (options.folder / "evening.json").write_text(json.dumps(report, indent=1) + "\n")
    if find_spec("matplotlib") is not None:
        plot(result, options.folder / "evening.png")
    return 1 if any(curves["worse_than_rival_at"] for curves in result) else 0


if __name__ == "__main__":
    sys.exit(main())
