"""Every scene on a healthy service, and on services that are broken on purpose: the checker must tell them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from support.chaos_checker import Fault
from support.chaos_processes import BOTS, broken_game
from support.chaos_scenarios import BROKEN_OFF, SCENES, play_scene
from support.chaos_site import MEMORY_UNSYNCED, Site

if TYPE_CHECKING:
    from pathlib import Path

    from support.chaos_processes import Nursery

ALONE, TWO = 1, 2


class Break(NamedTuple):
    """A way to be broken, the scene in which it shows, and what it may be found out by."""

    name: str
    scene: str
    replicas: int
    found_by: set[Fault]


BREAKS = [
    Break("no_version_check", "rivals", TWO, {Fault.CHANGED_ACTION, Fault.LOST_ACTION}),
    Break("no_commit_id", "lost_commit", TWO, {Fault.CONTRADICTION, Fault.BAD_RECORD}),
    Break("no_dedupe", "lost_reply", ALONE, {Fault.REFUSED_YET_APPLIED}),
    Break("no_due", "orphaned_bots", ALONE, {Fault.STALLED}),
    Break("no_catch_up", "missed_events", TWO, {Fault.SKIPPED_STEP, Fault.LEFT_BEHIND}),
    Break("blind_retry", "lost_reply", ALONE, {Fault.DOUBLED_ACTION}),
    Break("early_answer", "lost_script", ALONE, {Fault.LOST_ACTION}),
    Break("silent_rewind", "lost_commit", TWO, {Fault.SILENT_REWIND, Fault.SILENT_LOSS}),
    Break("unconfirmed_refusals", "alternating_seats", TWO, {Fault.FALSE_REFUSAL}),
]


async def test_v8_s3_s6_a_healthy_service_comes_through_every_scene(tmp_path: Path, nursery: Nursery) -> None:
    async with Site(MEMORY_UNSYNCED, tmp_path, nursery) as site:
        losses = 0
        for scene in SCENES:
            report = await play_scene(site, scene)
            assert not report.findings, f"after {scene}, see {site.journal.path}:\n{report}"
            assert not any(what.startswith(BROKEN_OFF) for what in report.counts), f"{scene}: {report}"
            losses = report.counts["acknowledged actions lost with the store"]
    assert losses == 1


@pytest.mark.parametrize("broken", BREAKS, ids=[broken.name for broken in BREAKS])
async def test_a_broken_service_is_found_out(broken: Break, tmp_path: Path, nursery: Nursery) -> None:
    game, bots = broken_game(broken.name), BOTS if broken.scene == "orphaned_bots" else None
    async with Site(MEMORY_UNSYNCED, tmp_path, nursery, game=game, replicas=broken.replicas, bots=bots) as site:
        report = await play_scene(site, broken.scene)
    assert report.faults & broken.found_by, f"{broken.name} was not found out:\n{report}"
