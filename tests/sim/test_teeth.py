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
    from collections.abc import Callable, Iterator, Mapping

MOST_RUNS = 150
"""Each break is caught within so many runs."""
NEEDS: Mapping[str, Callable[[Plan], bool]] = {
    "no_due": lambda plan: has(plan, Deed.CRASH),
    "silent_rewind": lambda plan: has(plan, Deed.FAIL_OVER),
    "hasty_repeats": lambda plan: plan.durability != "memory" and has(plan, Deed.FAIL_OVER, crash=True),
    "no_take_over": lambda plan: has(plan, Deed.TRAP, crash=True),
    "keys_of_two_slots": lambda plan: plan.masters > 1,
    "split_parties": lambda plan: plan.parties > 0,
}
"""Schedules that a break shows in, where these are few; the others are looked for in every one."""


def has(plan: Plan, deed: Deed, *, crash: bool = False) -> bool:
    """Whether something happens in a schedule, with a crash where that is asked for."""
    return any(fault.deed is deed and (fault.crash or not crash) for fault in plan.faults)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def plans(name: str) -> Iterator[Plan]:
    """The schedules in which a break is looked for."""
    for seed in range(10_000):
        plan = plan_for(seed)
        if name == "no_commit_id":
            yield failing_over(plan)
        elif plan.kind is BREAKS[name] and NEEDS.get(name, bool)(plan):
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
