"""Seeded runs: whole matches under faults, a seed and a durability mode each.

    pytest tests/chaos                                  the short part, a few faults in each mode
    pytest tests/chaos -m chaos_long                    the long part, over 200 kills
    RAMI_CHAOS_SEED=7 pytest tests/chaos -m chaos_long  with another seed

What is killed, cut or lost, and when, follows from the seed; how the processes interleave does not. The journal of a
run that fails is left in the test's temporary directory.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

from support.chaos_faults import KILLS, plan
from support.chaos_loop import ChaosRun
from support.chaos_processes import AI
from support.chaos_site import FSYNC, MEMORY, MEMORY_ALONE, MEMORY_LOSSY, REPLICA, Mode, Site

if TYPE_CHECKING:
    from pathlib import Path

    from support.chaos_checker import Report
    from support.chaos_faults import Fault
    from support.chaos_processes import Nursery

FIRST_SEED = int(os.environ.get("RAMI_CHAOS_SEED", "1"))
MODES = (MEMORY, MEMORY_ALONE, MEMORY_LOSSY, FSYNC, REPLICA)

SHORT_FAULTS = 3
LONG_FAULTS = 30
LONG_KILLS = 40
SLOW_SECONDS = 0.02
"""The longest that each way to and from the store takes in slow runs: far longer than anything else does."""
LONG_SECONDS = 900
"""No run comes near this; it only keeps one that hangs from hanging for ever."""


async def run(site: Site, seed: int, faults: list[Fault]) -> Report:
    async with site:
        report = await ChaosRun(site, seed).run(faults)
    print(f"\n{site.mode.name}, seed {seed}: {report}")  # noqa: T201 - with -s, what a run has been through
    assert not report.findings, f"seed {seed}, see {site.journal.path}:\n{report}"
    assert report.counts["acknowledgements that stand"] > 0
    assert report.counts["recoveries in time"] > 0
    return report


@pytest.mark.parametrize("mode", MODES, ids=[mode.name for mode in MODES])
async def test_v4_nothing_is_lost_or_doubled(mode: Mode, tmp_path: Path, nursery: Nursery) -> None:
    await run(Site(mode, tmp_path, nursery), FIRST_SEED, plan(FIRST_SEED, mode, SHORT_FAULTS))


@pytest.mark.chaos_long
@pytest.mark.timeout(LONG_SECONDS)
@pytest.mark.parametrize("mode", MODES, ids=[mode.name for mode in MODES])
async def test_v4_nothing_is_lost_or_doubled_for_long(mode: Mode, tmp_path: Path, nursery: Nursery) -> None:
    faults = plan(FIRST_SEED, mode, LONG_FAULTS)
    await run(Site(mode, tmp_path, nursery, bots=AI), FIRST_SEED, faults)


@pytest.mark.chaos_long
@pytest.mark.timeout(LONG_SECONDS)
@pytest.mark.parametrize("mode", MODES, ids=[mode.name for mode in MODES])
async def test_v4_kill_after_kill(mode: Mode, tmp_path: Path, nursery: Nursery) -> None:
    kills = plan(FIRST_SEED, mode, LONG_KILLS, kills_only=True)
    report = await run(Site(mode, tmp_path, nursery, bots=AI), FIRST_SEED, kills)
    assert report.counts["kills"] == LONG_KILLS


@pytest.mark.chaos_long
@pytest.mark.timeout(LONG_SECONDS)
@pytest.mark.parametrize("mode", MODES, ids=[mode.name for mode in MODES])
async def test_v4_on_a_slow_way_to_the_store(mode: Mode, tmp_path: Path, nursery: Nursery) -> None:
    site = Site(mode, tmp_path, nursery)
    chance = random.Random(FIRST_SEED)
    site.latency = lambda: chance.uniform(0, SLOW_SECONDS)
    await run(site, FIRST_SEED, plan(FIRST_SEED, mode, LONG_FAULTS))


def test_the_long_part_has_over_200_kills() -> None:
    mixed = sum(fault.deed in KILLS for mode in MODES for fault in plan(FIRST_SEED, mode, LONG_FAULTS))
    assert LONG_KILLS * len(MODES) + mixed > 200
