"""Simulated schedules of faults, many of them: whatever happens, nothing is lost, doubled, forged or left hanging."""

from __future__ import annotations

import logging
from collections import Counter

import pytest

from sim.plan import Deed, Kind, plan_for
from sim.run import run_seed

PARTS = 40
SEEDS_A_PART = 50


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_goes_wrong_whatever_happens(part: int) -> None:
    logging.disable(logging.CRITICAL)
    try:
        outcomes = [run_seed(part * SEEDS_A_PART + number) for number in range(SEEDS_A_PART)]
    finally:
        logging.disable(logging.NOTSET)
    wrong = {outcome.seed: outcome.findings for outcome in outcomes if outcome.findings}
    assert not wrong, "replay one with: make sim REPLAY=<seed>"
    assert any(outcome.counts["matches that ended"] for outcome in outcomes)


def test_the_schedules_have_every_fault_and_every_kind_of_run() -> None:
    plans = [plan_for(seed) for seed in range(PARTS * SEEDS_A_PART)]
    deeds = Counter(fault.deed for plan in plans for fault in plan.faults)
    assert set(deeds) == set(Deed)
    assert {plan.kind for plan in plans} == set(Kind)
    assert {plan.durability for plan in plans} == {"memory", "fsync", "replica"}
    assert {plan.seats for plan in plans} == {2, 3, 4}
    assert {plan.masters for plan in plans} == {1, 3}
    assert {plan.parties for plan in plans} == {0, 1, 2}
