"""The simulation notices what it is there to notice: services broken on purpose fail within a few seeds."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from sim.breaks import BREAKS, QUEUE_BREAKS, broken
from sim.plan import Deed, Kind, Plan, plan_for
from sim.run import run_seed

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_RUNS = 150
"""Each break is caught within so many runs."""
NEEDS = {
    "no_commit_id": Deed.FAIL_OVER,
    "no_due": Deed.CRASH,
    "silent_rewind": Deed.FAIL_OVER,
    "hasty_repeats": Deed.FAIL_OVER,
    "no_take_over": Deed.TRAP,
}
"""Breaks that show only where such a fault strikes; the others are looked for in every schedule."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def plans(kind: Kind, deed: Deed | None) -> Iterator[Plan]:
    for seed in range(10_000):
        plan = plan_for(seed)
        if plan.kind is kind and (deed is None or any(fault.deed is deed for fault in plan.faults)):
            yield plan


@pytest.mark.parametrize("name", [*BREAKS, *QUEUE_BREAKS])
def test_a_broken_build_is_caught(name: str) -> None:
    kind = Kind.QUEUE if name in QUEUE_BREAKS else Kind.TABLE
    with broken(name):
        for number, plan in enumerate(plans(kind, NEEDS.get(name))):
            assert number < MOST_RUNS, f"nothing was noticed in {MOST_RUNS} runs"
            if run_seed(plan.seed).findings:
                break
    # The same seed is good where nothing is broken: it is the break that was noticed.
    assert not run_seed(plan.seed).findings
