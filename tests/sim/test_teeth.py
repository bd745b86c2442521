"""The simulation notices what it is there to notice: services broken on purpose fail within a few seeds."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from sim.breaks import BREAKS, broken
from sim.plan import Deed, Fault, Kind, Plan, plan_for
from sim.run import Run

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_RUNS = 150
"""Each break is caught within so many runs."""
NEEDS = {
    "no_due": Deed.CRASH,
    "silent_rewind": Deed.FAIL_OVER,
    "hasty_repeats": Deed.FAIL_OVER,
    "no_take_over": Deed.TRAP,
    "keys_of_two_slots": Deed.MOVE_SLOT,
}
"""Breaks that show only where such a fault strikes; the others are looked for in every schedule."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def plans(name: str) -> Iterator[Plan]:
    """The schedules in which a break is looked for."""
    kind, deed = BREAKS[name], NEEDS.get(name)
    for seed in range(10_000):
        plan = plan_for(seed)
        if name == "no_commit_id":
            yield failing_over(plan)
        elif name == "split_parties" and not plan.parties:
            continue
        elif plan.kind is kind and (deed is None or any(fault.deed is deed for fault in plan.faults)):
            yield plan


def failing_over(plan: Plan) -> Plan:
    """A table whose store loses the latest step again and again, while two players act at any replica.

    Only then may a replica hold another step of the same number than the store does, which is rare otherwise.
    """
    faults = tuple(Fault(0.3 + number * 0.25, Deed.FAIL_OVER, 0.1, "game-0", share=0.1) for number in range(4))
    table = replace(
        plan, kind=Kind.TABLE, durability="memory", masters=1, seats=2, people=2, spectators=0, by_calls=1.0
    )
    return replace(table, turns=8, rounds=3, target=50, turn_limit=2.0, think=0.01, faults=faults)


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_build_is_caught(name: str) -> None:
    with broken(name):
        for number, plan in enumerate(plans(name)):
            assert number < MOST_RUNS, f"nothing was noticed in {MOST_RUNS} runs"
            if Run(plan).outcome().findings:
                break
    # The same schedule is good where nothing is broken: it is the break that was noticed.
    assert not Run(plan).outcome().findings
