"""How a command runs: its event loop, its signals, its errors, and its exit code.

0    done
1    it failed; one clear message on standard error
2    the command line is wrong (typer's own)
130  interrupted from the keyboard, 143 by SIGTERM: everything that was started has been ended
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, Final, TypeVar

import typer

from rami_cli.acknowledged import LostMoveError
from rami_cli.archive import ArchiveError
from rami_cli.bench_harness import BenchError
from rami_cli.child import ChildDiedError
from rami_cli.cluster import ClusterError
from rami_cli.inspecting import InspectionError
from rami_cli.screen import make_console
from rami_client import RamiClientError
from rami_engine import ReplayError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from rami_cli.cluster import Cluster

Result = TypeVar("Result")

EXPECTED_ERRORS: Final = (
    ArchiveError,
    BenchError,
    ChildDiedError,
    ClusterError,
    InspectionError,
    LostMoveError,
    RamiClientError,
    ReplayError,
    OSError,
)
"""What is told in one message, without a traceback."""

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_command(work: Coroutine[Any, Any, None], *, stopped_code: int | None = None) -> None:
    """Runs a command to its end, and leaves with its exit code when it is not 0.

    A signal cancels the work, which then cleans up; a second one ends the process at once. `stopped_code` is the exit
    code after a signal, for commands that are ended in no other way; None means 128 and the number of the signal.
    """
    code = asyncio.run(_until_signal(work, stopped_code))
    if code:
        raise typer.Exit(code)


async def with_cluster(cluster: Cluster, work: Coroutine[Any, Any, Result]) -> Result:
    """The result of some work that needs a cluster. Raises what the work raises, and ChildDiedError as soon as the
    cluster cannot be kept running.
    """
    failed = asyncio.create_task(cluster.failed())
    working = asyncio.create_task(work)
    both: set[asyncio.Task[Any]] = {failed, working}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)
    if not working.cancelled():
        return working.result()
    failed.result()
    raise asyncio.CancelledError


async def _until_signal(work: Coroutine[Any, Any, None], stopped_code: int | None) -> int:
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(work)
    received: list[int] = []

    def on_signal(number: int) -> None:
        if received:
            os._exit(1)  # the leashes end what was started
        received.append(number)
        task.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, on_signal, number)
    try:
        await task
    except asyncio.CancelledError:
        if not received:
            raise
        return 128 + received[0] if stopped_code is None else stopped_code
    except BrokenPipeError:
        # Whoever read has gone, as `| head` does. What is still buffered must not be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except EXPECTED_ERRORS as error:
        make_console(stderr=True).print(f"[bold red]error:[/] {_escaped(error)}")
        return 1
    return 0


def _escaped(error: Exception) -> str:
    return str(error).replace("[", r"\[")
