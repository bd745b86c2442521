"""`rami bench`: measures one part of the system at a time. What can be typed, and which module does it.

Every part leaves build/bench/<part>.json and, where matplotlib is installed, build/bench/<part>.png (`bench_report`).
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from rami_cli.bench_ai import AI
from rami_cli.bench_bots import BotsBench, Duel, PlayerName, run_bots_bench
from rami_cli.bench_calls import CALLS
from rami_cli.bench_delivery import DELIVERY
from rami_cli.bench_engine import ENGINE
from rami_cli.bench_figures import compare, draw_comparison, markdown_figures
from rami_cli.bench_load import LoadBench, run_load_bench
from rami_cli.bench_module import run_module
from rami_cli.bench_part import Part, run_part
from rami_cli.bench_rooms import ROOMS
from rami_cli.bench_scaling import SCALING
from rami_cli.bench_start import START
from rami_cli.bench_store import STORE
from rami_cli.connecting import edge_of
from rami_cli.load_player import LoadHabits
from rami_cli.running import run_command
from rami_cli.screen import make_console

bench = typer.Typer(name="bench", help="Measure a part of the system.", no_args_is_help=True)

Folder = Annotated[Path, typer.Option(help="Folder for the figures and the plot.")]
DEFAULT_FOLDER = Path("build/bench")

COSTS = (CALLS, STORE, ENGINE, DELIVERY, AI, START, ROOMS, SCALING)
"""The parts that measure costs beside yardsticks: what `all` runs."""

Runs = Annotated[int, typer.Option(min=1, max=100, help="How often everything is measured.")]
Seconds = Annotated[
    float | None, typer.Option(min=0.1, max=600, help="Of one measurement in one run; None: the part's own.")
]


@bench.command(name="all")
def every_part(*, runs: Runs = 5, seconds: Seconds = None, folder: Folder = DEFAULT_FOLDER) -> None:
    """Measure every cost beside its yardstick: calls, store, engine, delivery, ai, start, rooms and scaling."""
    run_command(_run_all(COSTS, runs, seconds, folder))


@bench.command(name="calls")
def calls_command(*, runs: Runs = 5, seconds: Seconds = None, folder: Folder = DEFAULT_FOLDER) -> None:
    """Actions over Play and SubmitAction, and GetView, beside bare echoes."""
    run_command(run_part(CALLS, folder, runs=runs, seconds=seconds))


@bench.command(name="store")
def store_command(*, runs: Runs = 5, seconds: Seconds = None, folder: Folder = DEFAULT_FOLDER) -> None:
    """Commits beside bare ones, bytes of rooms and logs, and actions beside 100,000 rooms."""
    run_command(run_part(STORE, folder, runs=runs, seconds=seconds))


@bench.command(name="engine")
def engine_command(*, runs: Runs = 5, seconds: Seconds = None, folder: Folder = DEFAULT_FOLDER) -> None:
    """The rules alone beside OpenSpiel and RLCard, where they are installed."""
    run_command(run_part(ENGINE, folder, runs=runs, seconds=seconds))


@bench.command(name="delivery")
def delivery_command(*, runs: Runs = 5, seconds: Seconds = None, folder: Folder = DEFAULT_FOLDER) -> None:
    """1,000 watchers of 250 tables beside bare stream writes."""
    run_command(run_part(DELIVERY, folder, runs=runs, seconds=seconds))


@bench.command(name="ai")
def ai_command(*, runs: Runs = 3, seconds: Seconds = None, folder: Folder = DEFAULT_FOLDER) -> None:
    """Decisions beside echoes and bare searches, bot-only matches, and several AI processes."""
    run_command(run_part(AI, folder, runs=runs, seconds=seconds))


@bench.command(name="start")
def start_command(*, runs: Runs = 5, seconds: Seconds = None, folder: Folder = DEFAULT_FOLDER) -> None:
    """Time to SERVING and idle memory of each service."""
    run_command(run_part(START, folder, runs=runs, seconds=seconds))


@bench.command(name="rooms")
def rooms_command(*, runs: Runs = 5, seconds: Seconds = None, folder: Folder = DEFAULT_FOLDER) -> None:
    """Making rooms, and the wait for a table, beside bare calls."""
    run_command(run_part(ROOMS, folder, runs=runs, seconds=seconds))


@bench.command(name="scaling")
def scaling_command(*, runs: Runs = 5, seconds: Seconds = None, folder: Folder = DEFAULT_FOLDER) -> None:
    """Actions with one and two replicas, and with three masters of a cluster."""
    run_command(run_part(SCALING, folder, runs=runs, seconds=seconds))


@bench.command(name="compare")
def compare_command(
    base: Annotated[Path, typer.Argument(help="A report kept from before.", exists=True, dir_okay=False)],
    new: Annotated[
        Path | None, typer.Argument(help="The report to compare; None: of the same name in the folder.")
    ] = None,
    *,
    folder: Folder = DEFAULT_FOLDER,
) -> None:
    """Say what moved between two reports of one part beyond what moves by chance."""

    async def work() -> None:
        rows = await asyncio.to_thread(compare, base, new or folder / base.name)
        make_console().print(draw_comparison(rows))

    run_command(work())


@bench.command(name="table")
def table_command(*, folder: Folder = DEFAULT_FOLDER) -> None:
    """Print the figures of every part that has been measured, as Markdown."""

    async def work() -> None:
        reports = [folder / f"{part.name}.json" for part in COSTS]
        print(await asyncio.to_thread(markdown_figures, [report for report in reports if report.exists()]))

    run_command(work())


async def _run_all(parts: tuple[Part, ...], runs: int, seconds: float | None, folder: Path) -> None:
    for part in parts:
        await run_part(part, folder, runs=runs, seconds=seconds)


def _duel(text: str) -> tuple[PlayerName, PlayerName]:
    challenger, _, other = text.partition(":")
    try:
        return PlayerName(challenger), PlayerName(other)
    except ValueError as error:
        names = ", ".join(PlayerName)
        raise typer.BadParameter(f"{text!r} is not CHALLENGER:OTHER of {names}") from error


@bench.command()
def bots(
    *,
    duel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHALLENGER:OTHER", help="Who plays whom; repeat it. None: every level and the one below."
        ),
    ] = None,
    players: Annotated[list[int] | None, typer.Option(min=2, max=4, help="Seats; repeat it. None: 2, 3 and 4.")] = None,
    deals: Annotated[int, typer.Option(min=1, max=1_000_000, help="Deals, each played once per seat.")] = 400,
    first_deal: Annotated[int, typer.Option(min=0, help="Number of the first deal.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of decks and policies.")] = 1,
    rounds: Annotated[bool, typer.Option("--rounds", help="Single rounds instead of games.")] = False,
    target: Annotated[int, typer.Option(min=1, max=1000, help="Points that win a game.")] = 100,
    ace_high: Annotated[bool, typer.Option("--ace-high", help="An ace in hand counts 11.")] = False,
    discard_to_win: Annotated[bool, typer.Option("--discard-to-win", help="The last card must be discarded.")] = False,
    processes: Annotated[int | None, typer.Option(min=1, max=256, help="None: one per CPU.")] = None,
    folder: Folder = DEFAULT_FOLDER,
) -> None:
    """Let bots play each other with the same decks in every seat, and tell who wins how often."""
    seats = players or [2, 3, 4]
    pairs = (
        [_duel(text) for text in duel]
        if duel
        else [(PlayerName.NORMAL, PlayerName.EASY), (PlayerName.HARD, PlayerName.NORMAL)]
    )
    run_bots_bench(
        BotsBench(
            duels=tuple(Duel(challenger, other, count) for count in seats for challenger, other in pairs),
            deals=range(first_deal, first_deal + deals),
            seed=seed,
            target_score=1 if rounds else target,
            ace_high=ace_high,
            discard_to_win=discard_to_win,
            processes=processes or os.cpu_count() or 1,
        ),
        folder,
    )


@bench.command()
def load(
    *,
    players: Annotated[int, typer.Option(min=1, max=100_000, help="Players at once.")] = 100,
    minutes: Annotated[float, typer.Option(min=0.01, max=1440, help="How long.")] = 1.0,
    target: Annotated[
        str, typer.Option(help="Edge, as https://host or a gRPC target; or the gRPC target of the game service.")
    ] = "127.0.0.1:7000",
    matchmaking: Annotated[
        str | None, typer.Option(help="gRPC target of matchmaking; None: the target is an edge.")
    ] = None,
    think: Annotated[float, typer.Option(min=0, help="Mean seconds before an action.")] = 2.0,
    pause: Annotated[float, typer.Option(min=0, help="Mean seconds between two matches.")] = 5.0,
    cancel: Annotated[float, typer.Option(min=0, max=1, help="Share of tickets that are withdrawn.")] = 0.05,
    disconnect: Annotated[float, typer.Option(min=0, max=1, help="Share of turns that lose the connection.")] = 0.01,
    seats: Annotated[list[int] | None, typer.Option(min=2, max=4, help="Accepted table sizes; repeat it.")] = None,
    bots: Annotated[bool, typer.Option("--bots/--no-bots", help="Whether bots may fill tables.")] = True,
    tokens: Annotated[
        Path | None, typer.Option(help="File with one bearer token a line; none: guests.", exists=True, dir_okay=False)
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the players' habits.")] = 1,
    folder: Folder = DEFAULT_FOLDER,
) -> None:
    """Let many realistic players queue and play on a running cluster, and tell what they saw."""
    edge_of(target)  # refused here when it is neither
    known = tuple(tokens.read_text(encoding="utf-8").split()) if tokens is not None else ()
    if tokens is not None and len(known) < players:
        raise typer.BadParameter(f"{tokens} has {len(known)} tokens for {players} players")
    plan = LoadBench(
        players=players,
        minutes=minutes,
        game=target,
        matchmaking=matchmaking or target,
        habits=LoadHabits(think, cancel, disconnect, tuple(seats or [2, 3, 4]), bots, pause),
        tokens=known,
        seed=seed,
    )
    run_command(run_load_bench(plan, folder))


@bench.command()
def evening(
    *,
    arrivals: Annotated[int, typer.Option(min=100, max=1_000_000, help="Players who queue in the evening.")] = 20_000,
    seats: Annotated[list[int] | None, typer.Option(min=2, max=4, help="Seats; repeat it. None: 2, 3 and 4.")] = None,
    largest: Annotated[int, typer.Option(min=4, max=1_000, help="The largest k of the rival.")] = 40,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the arrivals.")] = 1,
    folder: Folder = DEFAULT_FOLDER,
) -> None:
    """Simulate an evening of matchmaking: even tables against waiting, beside "take the tightest of k"."""
    options = {"arrivals": arrivals, "largest": largest, "seed": seed, "folder": folder}
    run_module("matchmaking.evening", options, "--seats", *map(str, seats or [2, 3, 4]))


@bench.command()
def matching(
    *,
    waiting: Annotated[int, typer.Option(min=1, max=12_000, help="Tickets that wait meanwhile.")] = 10_000,
    rate: Annotated[int, typer.Option(min=1, max=10_000, help="Arrivals and cancels a second.")] = 1_000,
    seconds: Annotated[float, typer.Option(min=1, max=3_600, help="How long.")] = 10.0,
    folder: Folder = DEFAULT_FOLDER,
) -> None:
    """Measure passes over a long queue, and calls beside it on a service of its own."""
    run_module("matchmaking.speed", {"waiting": waiting, "rate": rate, "seconds": seconds, "folder": folder})
