"""Every scene on a healthy service, and on services that are broken on purpose: the checker must tell them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.chaos_checker import Fault
from support.chaos_processes import broken_game
from support.chaos_scenarios import BROKEN_OFF, SCENES, play_scene
from support.chaos_site import MEMORY_LOSSY, Site

if TYPE_CHECKING:
    from pathlib import Path

ALONE, TWO = 1, 2

BREAKS = [
    ("no_version_check", "rivals", TWO, {Fault.CHANGED_ACTION, Fault.BAD_RECORD}),
    ("no_commit_id", "lost_commit", TWO, {Fault.CONTRADICTION, Fault.BAD_RECORD}),
    ("no_dedupe", "lost_reply", ALONE, {Fault.REFUSED_YET_APPLIED}),
    ("no_due", "orphaned_bots", ALONE, {Fault.STALLED}),
    ("no_catch_up", "missed_events", TWO, {Fault.SKIPPED_STEP, Fault.LEFT_BEHIND}),
    ("blind_retry", "lost_reply", ALONE, {Fault.DOUBLED_ACTION}),
    ("early_answer", "lost_script", ALONE, {Fault.LOST_ACTION}),
    ("silent_rewind", "lost_commit", TWO, {Fault.SILENT_REWIND, Fault.SILENT_LOSS}),
    ("unconfirmed_refusals", "alternating_seats", TWO, {Fault.FALSE_REFUSAL}),
]


async def test_v8_s3_s6_a_healthy_service_comes_through_every_scene(tmp_path: Path) -> None:
    async with Site(MEMORY_LOSSY, tmp_path) as site:
        losses = 0
        for scene in SCENES:
            report = await play_scene(site, scene)
            assert not report.findings, f"after {scene}, see {site.journal.path}:\n{report}"
            assert not any(what.startswith(BROKEN_OFF) for what in report.counts), f"{scene}: {report}"
            losses = report.counts["acknowledged actions lost with the store"]
    assert losses == 1


@pytest.mark.parametrize(("name", "scene", "replicas", "expected"), BREAKS, ids=[each[0] for each in BREAKS])
async def test_a_broken_service_is_found_out(
    name: str, scene: str, replicas: int, expected: set[Fault], tmp_path: Path
) -> None:
    bots = scene == "orphaned_bots"
    async with Site(MEMORY_LOSSY, tmp_path, game=broken_game(name), replicas=replicas, bots=bots) as site:
        report = await play_scene(site, scene)
    assert report.faults & expected, f"{name} was not found out:\n{report}"
