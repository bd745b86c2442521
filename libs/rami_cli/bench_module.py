"""Runs a measurement that a service brings: the command knows no service, so it starts the module as a program."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping


def run_module(module: str, options: Mapping[str, object], *more: str) -> None:
    """Runs `python -m module --name value ... more` to its end. Raises typer.Exit with its code unless that is 0."""
    named = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    ended = subprocess.run([sys.executable, "-m", module, *named, *more], check=False)  # noqa: S603 - ours
    if ended.returncode != 0:
        raise typer.Exit(ended.returncode)


__all__ = ["run_module"]
