"""A running cluster of real processes, started by the `rami up` command as a user would start it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

STOP_SECONDS = 120


@dataclass(frozen=True)
class Cluster:
    """The addresses of a cluster, as `rami up --json` printed them."""

    game: str
    game_replicas: list[str]
    ai: str
    matchmaking: str
    edge: str | None
    redis: str
    metrics: Any


@contextmanager
def running_cluster(*arguments: str, **environment: str) -> Iterator[Cluster]:
    """A cluster on free ports for as long as the context lasts; it must end cleanly."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rami_cli", "up", "--json", "--ports", "auto", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"the cluster ended with code {process.wait()} before it was healthy"
        told = json.loads(line)
        yield Cluster(**{name: told[name] for name in Cluster.__dataclass_fields__})
        assert process.poll() is None, "the cluster ended by itself"
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(STOP_SECONDS)
        if process.stdout is not None:
            process.stdout.close()
    assert code == 0
