"""A seed is one run and no other, in any process: only then does a failing one show again what it has shown once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sim.plan import Kind, plan_for
from sim.run import run_seed
from sim.world import Loop, SimulationError, virtual_world

SEEDS = (1, 21, 24, 26)
TESTS = Path(__file__).parents[1]
SHOW = (
    "import sys; from sim.run import run_seed; print(*(run_seed(int(seed), trace=True).hash for seed in sys.argv[1:]))"
)


def test_there_are_runs_of_all_kinds_and_stores_among_them() -> None:
    plans = [plan_for(seed) for seed in SEEDS]
    assert {plan.kind for plan in plans} == set(Kind)
    assert {plan.masters for plan in plans} == {1, 3}


@pytest.mark.parametrize("hash_seed", ["0", "12345"])
def test_a_seed_runs_the_same_in_another_process(hash_seed: str) -> None:
    ours = [run_seed(seed, trace=True).hash for seed in SEEDS]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(TESTS)}
    process = subprocess.run(
        [sys.executable, "-c", SHOW, *map(str, SEEDS)], env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.split() == ours


def test_a_seed_runs_the_same_with_its_trace_kept_and_after_others() -> None:
    first, other, untraced, again = (run_seed(SEEDS[place], trace=place != 2) for place in (0, 1, 2, 0))
    assert again == first
    assert len(again.lines) > 50
    assert other.hash != first.hash
    assert (untraced.hash, untraced.lines) == ("", [])
    traced = run_seed(SEEDS[2], trace=True)
    assert (traced.steps, traced.seconds, traced.counts) == (untraced.steps, untraced.seconds, untraced.counts)


def test_a_loop_in_which_nobody_can_go_on_says_so() -> None:
    loop = Loop(lambda *_: None)
    with virtual_world("nothing", loop), pytest.raises(SimulationError, match="nobody waits"):
        loop.run_until_complete(loop.create_future())
    loop.close()
