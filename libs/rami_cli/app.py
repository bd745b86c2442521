"""The command line of `rami`: what can be typed, and which module does it."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from rami_cli.archive import ArchiveReader
from rami_cli.bench import bench
from rami_cli.checking import archive_and_room, archive_day, bot_profile, check_play, replay_file, service_secret
from rami_cli.cluster import Cluster, ClusterOptions
from rami_cli.connecting import connect_to_look
from rami_cli.demo import DemoOptions, run_demo
from rami_cli.edge_child import page_of
from rami_cli.edge_process import run_edge
from rami_cli.inspecting import position_lines, read_from_store
from rami_cli.lines import LineReader
from rami_cli.play import PlayOptions, run_play
from rami_cli.record import describe
from rami_cli.replays import replay_steps, verify_files
from rami_cli.running import run_command
from rami_cli.screen import make_console
from rami_cli.settings_table import draw_settings, markdown_settings, read_settings
from rami_cli.texts import choose_language
from rami_cli.watch import run_watch
from rami_cli.ways import Pace
from rami_client import load_replay, save_replay, verify
from rami_kit.auth import bot_key
from rami_kit.languages import LOCALES
from rami_kit.settings import DEVELOPMENT_SERVICE_SECRET

app = typer.Typer(
    name="rami",
    help="Rami, a card game for two to four, as a backend: start it, play it, watch it, check it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(bench)

DEFAULT_GAME = "127.0.0.1:7001"
DEFAULT_MATCHMAKING = "127.0.0.1:7003"


class Ports(StrEnum):
    """Where services listen."""

    DEFAULT = "default"
    AUTO = "auto"


class Level(StrEnum):
    """How strong the bots are."""

    EASY = "easy"
    NORMAL = "normal"
    HARD = "hard"


Seats = Annotated[int, typer.Option(min=2, max=4, help="Seats at the table.")]
Plain = Annotated[bool, typer.Option("--plain", help="Lines of text, also on a terminal.")]
Save = Annotated[Path | None, typer.Option(help="Folder to keep the replay and the receipt in.")]
Game = Annotated[str, typer.Option(help="gRPC target of the game service, or URL of an edge: https://…, http://….")]
Matchmaking = Annotated[
    str, typer.Option(help="gRPC target of the matchmaking service, for signing in as a guest. An edge needs none.")
]
Token = Annotated[str | None, typer.Option(envvar="RAMI_TOKEN", help="Bearer token; none signs in as a guest.")]
# Commands need not look at it: the callback has chosen the language before they run.
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        envvar="RAMI_LANGUAGE",
        callback=choose_language,
        help=f"Language of the table: {', '.join(LOCALES)}. None: the terminal's.",
    ),
]


@app.command()
def up(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line with every address.")] = False,
    game_replicas: Annotated[
        int | None, typer.Option(min=1, max=16, help="Game services to start; 1, or 2 behind an edge.")
    ] = None,
    edge: Annotated[bool, typer.Option("--edge", help="Start an Envoy in front: gRPC, gRPC-Web and files.")] = False,
    ai_workers: Annotated[int | None, typer.Option(min=1, max=64, help="Worker processes of the AI service.")] = None,
    ports: Annotated[Ports, typer.Option(help="Well-known ports, or free ones.")] = Ports.DEFAULT,
    logs: Annotated[Path, typer.Option(help="Folder for the logs.")] = Path("build/logs"),
) -> None:
    """Start the store and all services, and keep them running until Ctrl-C or SIGTERM."""
    options = ClusterOptions(
        auto_ports=ports is Ports.AUTO,
        game_replicas=game_replicas or (2 if edge else 1),
        edge=edge,
        ai_workers=ai_workers,
        log_folder=logs,
    )
    run_command(_up(options, as_json=as_json), stopped_code=0)


async def _up(options: ClusterOptions, *, as_json: bool) -> None:
    console = make_console()
    if not as_json:
        console.print("Starting the store and all services …")
    async with Cluster(options, tell=make_console(stderr=True).print) as cluster:
        addresses = cluster.addresses.as_json()
        if as_json:
            print(json.dumps(addresses), flush=True)
        else:
            for name, address in addresses.items():
                if address is not None:
                    console.print(f"{name:<14} {_listed(address)}")
            if cluster.addresses.edge is not None:
                console.print(f"{'page':<14} {page_of(cluster.addresses.edge)}")
            console.print(f"{'logs':<14} {cluster.log_folder}")
            console.print("Ready. Ctrl-C stops everything.")
        try:
            await cluster.failed()
        finally:  # on standard error where the output is for a program
            make_console(stderr=as_json).print("Stopping everything …")


@app.command(name="edge")
def edge_command(
    *, print_config: Annotated[bool, typer.Option("--print-config", help="Only show Envoy's configuration.")] = False
) -> None:
    """Run the edge in front of services that run already. Settings are variables with the prefix RAMI_EDGE_."""
    code = run_edge(print_config=print_config)
    if code:
        raise typer.Exit(code)


def _listed(address: object) -> str:
    match address:
        case dict():
            return "  ".join(f"{name} {value}" for name, value in address.items())
        case list():
            return "  ".join(str(value) for value in address)
        case _:
            return str(address)


@app.command()
def demo(
    *,
    seats: Seats = 3,
    seed: Annotated[int | None, typer.Option(help="Seed of your scripted seat's choices.")] = None,
    plain: Plain = False,
    pace: Annotated[float, typer.Option(min=0, max=5, help="Least seconds between two actions.")] = 0.1,
    save: Save = None,
    chaos: Annotated[
        bool, typer.Option("--chaos", help="Kill every process once while the match is played, and lose no move.")
    ] = False,
    _language: Language = None,
) -> None:
    """Play a real match through all services, show it, and verify its replay. Needs nothing and leaves nothing."""
    run_command(run_demo(DemoOptions(seats, seed, plain, pace, save, chaos)))


@app.command()
def play(
    context: typer.Context,
    *,
    seats: Seats = 3,
    level: Annotated[Level, typer.Option(help="How strong the bots are.")] = Level.NORMAL,
    name: Annotated[str, typer.Option(help="Your name at the table.")] = "Guest",
    target: Annotated[int, typer.Option(min=1, max=1000, help="Points that win the match.")] = 100,
    game: Annotated[
        str | None,
        typer.Option(
            help="gRPC target of a game service, or URL of an edge: https://…, http://…. None: starts a cluster."
        ),
    ] = None,
    matchmaking: Annotated[
        str, typer.Option(help="With --game: gRPC target of the matchmaking service. An edge needs none.")
    ] = DEFAULT_MATCHMAKING,
    queue: Annotated[
        bool, typer.Option("--queue", help="With --game: play with whoever looks for a table; bots fill it.")
    ] = False,
    pace: Annotated[
        Pace, typer.Option(help="With --queue: no limit for a turn, a minute, or 20 s. Only the same pace meets.")
    ] = Pace.NORMAL,
    code: Annotated[str | None, typer.Option(help="With --game: sit down at the table of this join code.")] = None,
    token: Token = None,
    hint: Annotated[bool, typer.Option("--hint", help="Show what the strongest bot would do in your place.")] = False,
    plain: Plain = False,
    save: Save = None,
    _language: Language = None,
) -> None:
    """Take a seat: against bots, from the queue, or by a join code. Starts a cluster unless --game names one.

    A match that was interrupted at a running cluster, or goes on without you there, is offered before any other.
    """
    check_play(context)
    options = PlayOptions(seats, level.value, name, game, matchmaking, target, plain, save, hint)
    run_command(run_play(replace(options, pace=pace if queue else None, code=code, token=token)))


@app.command()
def watch(
    room: Annotated[str | None, typer.Argument(help="The room's id; none lists the matches to watch.")] = None,
    *,
    game: Game = DEFAULT_GAME,
    matchmaking: Matchmaking = DEFAULT_MATCHMAKING,
    token: Token = None,
    plain: Plain = False,
    _language: Language = None,
) -> None:
    """Watch a match until it is over: the room that is named, or one of the list."""

    async def work() -> None:
        async with connect_to_look(game, matchmaking, token) as client:
            await run_watch(client, room, plain=plain)

    run_command(work())


@app.command()
def replay(
    source: Annotated[str, typer.Argument(metavar="ROOM|FILE", help="A room's id, or a replay file.")],
    *,
    game: Game = DEFAULT_GAME,
    matchmaking: Matchmaking = DEFAULT_MATCHMAKING,
    token: Token = None,
    step: Annotated[bool, typer.Option("--step", help="Wait for Enter after each step.")] = False,
    save: Annotated[Path | None, typer.Option(help="File to keep the replay in.")] = None,
    _language: Language = None,
) -> None:
    """Verify a replay and read it, all hands face up."""
    file = replay_file(source)

    async def work() -> None:
        console = make_console()
        if file is not None:
            record = await asyncio.to_thread(load_replay, file)
        else:
            async with connect_to_look(game, matchmaking, token) as client:
                record = await client.replay(source)
        if save is not None:
            await asyncio.to_thread(save_replay, save, record)
        verification = verify(record)
        with LineReader() as typed:
            for lines in replay_steps(record):
                for line in lines:
                    console.print(line)
                if step and await typed.read() in (None, "q"):
                    return
        console.print(describe(verification))

    run_command(work())


@app.command(name="verify")
def verify_command(
    file: Annotated[Path, typer.Argument(help="A replay file.", exists=True, dir_okay=False)],
    *,
    receipt: Annotated[
        Path | None, typer.Option(help="What a client wrote down while it played.", exists=True, dir_okay=False)
    ] = None,
    _language: Language = None,
) -> None:
    """Check a replay from its commitment to its winner, and name the place where it was tampered with."""

    async def work() -> None:
        verification = await asyncio.to_thread(verify_files, file, receipt)
        make_console().print(describe(verification))

    run_command(work())


@app.command(name="replays")
def replays_command(
    address: Annotated[
        str, typer.Argument(envvar="RAMI_ARCHIVE_URL", help="The archive: a folder, or what fsspec reaches.")
    ],
    room: Annotated[str | None, typer.Argument(help="A room: verify its replay and show it.")] = None,
    *,
    day: Annotated[
        str | None, typer.Option(callback=archive_day, help="Only matches that ended on this day, YYYY-MM-DD (UTC).")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most matches to list.")] = 50,
    save: Annotated[Path | None, typer.Option(help="File to keep the replay in.")] = None,
    _language: Language = None,
) -> None:
    """List the archive of finished matches, or open one of it."""
    address, room = archive_and_room(address, room)
    if room is None and save is not None:
        raise typer.BadParameter("--save is for one match: name its room")
    if room is not None and day is not None:
        raise typer.BadParameter("--day is for the list: leave the room out")

    async def work() -> None:
        console = make_console()
        archive = ArchiveReader(address)
        if room is None:
            matches = await asyncio.to_thread(lambda: list(islice(archive.matches(day), limit)))
            if not matches:
                console.print(f"No match in {address} ended on {day}." if day else f"No match is in {address} yet.")
            for match in matches:
                console.print(
                    f"{match.end}  {match.room_id}  {' · '.join(match.seats)}  "
                    f"({match.reason}, {match.rounds} rounds, {match.actions} actions)"
                )
            return
        record = await asyncio.to_thread(archive.replay, room)
        if save is not None:
            await asyncio.to_thread(save_replay, save, record)
        verification = verify(record)
        for lines in replay_steps(record):
            for line in lines:
                console.print(line)
        console.print(describe(verification))

    run_command(work())


@app.command()
def inspect(
    room: Annotated[str, typer.Argument(help="The id of the room.")],
    *,
    at: Annotated[int | None, typer.Option("--at", min=1, help="The version to show; the newest by default.")] = None,
    archive: Annotated[str | None, typer.Option(help="The archive that the match is in.")] = None,
    operator: Annotated[
        bool, typer.Option("--operator", help="Read the store of RAMI_REDIS_URL: the only way to see hidden cards.")
    ] = False,
    game: Game = DEFAULT_GAME,
    matchmaking: Matchmaking = DEFAULT_MATCHMAKING,
    token: Token = None,
    _language: Language = None,
) -> None:
    """Show a room as it stood at a version: hands, melds, piles and scores."""
    if archive is not None and operator:
        raise typer.BadParameter("a room is read from --archive or by --operator")

    async def work() -> None:
        if archive is not None:
            record = await asyncio.to_thread(ArchiveReader(archive).replay, room)
        elif operator:
            record = await read_from_store(room)
        else:
            async with connect_to_look(game, matchmaking, token) as client:
                record = await client.replay(room)
        console = make_console()
        for line in position_lines(record, at):
            console.print(line)

    run_command(work())


@app.command(name="bot-key")
def bot_key_command(
    bot: Annotated[str, typer.Argument(callback=bot_profile, help="The profile, as it stands in RAMI_BOT_SERVICES.")],
    secret: Annotated[
        str,
        typer.Option(
            callback=service_secret,
            envvar="RAMI_SERVICE_SECRET",
            show_default=False,
            help="What the cluster's services share.",
        ),
    ] = DEVELOPMENT_SERVICE_SECRET,
) -> None:
    """Print the key by which somebody's bot service knows the calls of this cluster. It opens nothing here."""
    print(bot_key(secret, bot))


@app.command()
def settings(*, markdown: Annotated[bool, typer.Option("--markdown", help="The table of the README.")] = False) -> None:
    """Show every setting, as a service has it that is started by hand with the environment of this shell.

    `rami up`, `play` and `demo` run in development mode with a store of their own, unless the environment says more.
    """

    async def work() -> None:
        found = await asyncio.to_thread(read_settings)
        if markdown:
            print(markdown_settings(found))
        else:
            make_console().print(draw_settings(found))

    run_command(work())


def main() -> None:
    """Runs the command line of this process."""
    app(args=sys.argv[1:], prog_name="rami")
