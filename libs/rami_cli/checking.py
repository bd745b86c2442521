"""What can be wrong with a command line that its types do not tell: options that mean nothing beside each other, and
texts that are no day, no profile, no file. All of it raises typer.BadParameter, with which a command ends with 2.
"""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Final

import typer

from rami_kit.keys import parse_room_id
from rami_kit.settings import DEVELOPMENT_SERVICE_SECRET, MIN_SECRET_BYTES

_RUNNING_CLUSTER: Final = "for a running cluster: name it by --game"
_OWN_TABLE: Final = "for a table of your own"


def check_play(context: typer.Context) -> None:
    """Refuses options of `rami play` that the way to the seat leaves without meaning, rather than passing them over."""
    given = context.params
    code, queue, alone = given["code"], given["queue"], given["game"] is None
    if code is not None and not code.strip():
        raise typer.BadParameter("--code has no code")
    if queue and code:
        raise typer.BadParameter("a seat is found by --queue or by --code")
    for option, idle, purpose in (
        ("queue", alone and queue, _RUNNING_CLUSTER),
        ("code", alone, _RUNNING_CLUSTER),
        ("matchmaking", alone, _RUNNING_CLUSTER),
        ("token", alone, _RUNNING_CLUSTER),
        ("pace", not queue, "for the queue: add --queue"),
        ("level", queue or code, _OWN_TABLE),
        ("seats", code, f"{_OWN_TABLE} or the queue"),
        ("target", code, f"{_OWN_TABLE} or the queue"),
    ):
        if idle and is_typed(context, option):
            raise typer.BadParameter(f"--{option} is {purpose}")


def is_typed(context: typer.Context, option: str) -> bool:
    """Whether an option stands in the command line itself: not by its default, nor in the environment."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def archive_and_room(address: str, room: str | None) -> tuple[str, str | None]:
    """Where an archive is, and which of its rooms is meant: a room alone is of that of RAMI_ARCHIVE_URL."""
    archive = os.environ.get("RAMI_ARCHIVE_URL")
    if room is None and archive and parse_room_id(address) is not None:
        return archive, address
    return address, room


def archive_day(text: str | None) -> str | None:
    """A day as the folders of an archive are named."""
    try:
        if text is None or date.fromisoformat(text).isoformat() == text:
            return text
    except ValueError:
        pass
    raise typer.BadParameter(f"{text!r} is no day, such as 2026-11-30")


def bot_profile(text: str) -> str:
    """The id of a profile as RAMI_BOT_SERVICES can name it."""
    if not text.strip() or text != text.strip() or any(mark in text for mark in ",;="):
        raise typer.BadParameter(f"{text!r} cannot be the id of a profile in RAMI_BOT_SERVICES")
    return text


def service_secret(text: str) -> str:
    """The secret that services share, long enough for them."""
    if len(text.encode()) < MIN_SECRET_BYTES:
        raise typer.BadParameter(f"must have {MIN_SECRET_BYTES} bytes or more, as RAMI_SERVICE_SECRET has")
    if text == DEVELOPMENT_SERVICE_SECRET:
        typer.echo("This key is of a cluster in development mode: RAMI_SERVICE_SECRET is not set.", err=True)
    return text


def replay_file(source: str) -> Path | None:
    """The file that is meant; None for the id of a room, which has neither dots nor slashes."""
    file = Path(source)
    if file.is_file():
        return file
    if source and file.is_dir():
        raise typer.BadParameter(f"is a folder, not a replay file: {source}")
    if not source or "/" in source or "." in source:
        raise typer.BadParameter(f"no such file: {source or repr(source)}")
    return None


__all__ = [
    "archive_and_room",
    "archive_day",
    "bot_profile",
    "check_play",
    "is_typed",
    "replay_file",
    "service_secret",
]
