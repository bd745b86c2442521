"""Runs many seeds in several processes, or one with its trace: what `make sim` calls.

python -m sim --seeds 1000 --first 1        how many a minute, and the seeds that fail
python -m sim --replay 4711                 the plan, the trace and the findings of one
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
import time
from typing import TYPE_CHECKING

from sim.plan import plan_for
from sim.run import run_seed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sim.run import Outcome

SHOWN = 20
"""Failing seeds that are shown in full."""


def main(argv: list[str] | None = None) -> int:
    """The exit code: 0 when every seed is good."""
    parser = argparse.ArgumentParser(prog="sim", description="Deterministic simulation of the services under faults.")
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--replay", type=int, help="run this seed alone and show what happens")
    arguments = parser.parse_args(argv)
    if arguments.replay is not None:
        return _replay(arguments.replay)
    return _run_many(range(arguments.first, arguments.first + arguments.seeds), arguments.jobs)


def _replay(seed: int) -> int:
    outcome = run_seed(seed, trace=True)
    _say("\n".join(outcome.lines))
    _say(str(plan_for(seed)))
    _say(", ".join(f"{count} {what}" for what, count in sorted(outcome.counts.items())))
    _say("\n".join(f"WRONG: {finding}" for finding in outcome.findings) or "nothing is wrong")
    _say(f"{outcome.seconds:.1f} virtual seconds, {outcome.steps} steps, hash {outcome.hash}")
    return int(bool(outcome.findings))


def _run_many(seeds: range, jobs: int) -> int:
    logging.disable(logging.CRITICAL)
    began = time.monotonic()
    if jobs == 1:
        failed = _report(map(run_seed, seeds))
    else:
        with multiprocessing.get_context("fork").Pool(jobs, initializer=logging.disable) as pool:
            failed = _report(pool.imap(run_seed, seeds, chunksize=max(1, min(50, len(seeds) // jobs // 4))))
    seconds = time.monotonic() - began
    _say(f"{len(seeds)} seeds in {seconds:.1f} s: {len(seeds) * 60 / seconds:.0f} a minute, {failed} failed")
    return int(failed > 0)


def _report(outcomes: Iterable[Outcome]) -> int:
    failed = 0
    for outcome in outcomes:
        if outcome.findings:
            failed += 1
            if failed <= SHOWN:
                _say(str(plan_for(outcome.seed)))
                _say("\n".join(f"  WRONG: {finding}" for finding in outcome.findings[:5]))
                _say(f"  replay it: make sim REPLAY={outcome.seed}")
    return failed


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


__all__ = ["main"]
