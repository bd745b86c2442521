"""`rami bench`: measures one part of the system at a time. What can be typed, and which module does it.

Every part leaves build/bench/<part>.json and, where matplotlib is installed, build/bench/<part>.png (`bench_report`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from rami_cli.bench_bots import BotsBench, Duel, PlayerName, run_bots_bench

bench = typer.Typer(name="bench", help="Measure a part of the system.", no_args_is_help=True)

Folder = Annotated[Path, typer.Option(help="Folder for the figures and the plot.")]
DEFAULT_FOLDER = Path("build/bench")


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
