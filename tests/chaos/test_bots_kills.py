"""The AI service killed the hard way: its workers do not outlive it, and matches go on without it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.chaos_faults import Deed, Fault, Point
from support.chaos_loop import ChaosRun
from support.chaos_processes import AI, ChaosProcess
from support.chaos_site import MEMORY_ALONE, Site
from support.chaos_tables import Kind
from support.waiting import eventually

if TYPE_CHECKING:
    from support.chaos_processes import Nursery


def children_of(pid: int) -> list[int]:
    """The pids of the processes that a process has started and that are still there."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            # After the name in brackets, which may hold anything: state, parent.
            _, parent = place.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
        if int(parent) == pid:
            found.append(int(place.parent.name))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_workers_end_with_their_front(tmp_path: Path, nursery: Nursery) -> None:
    front = ChaosProcess("ai", AI, {"RAMI_WORKERS": "2"}, tmp_path, nursery)
    await front.start()
    await eventually(lambda: len(children_of(front.pid)) == 2, "both workers are there")
    workers = children_of(front.pid)
    await front.kill()
    await eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), "the workers are gone")


async def test_v7_matches_go_on_while_the_ai_service_is_gone(tmp_path: Path, nursery: Nursery) -> None:
    async with Site(MEMORY_ALONE, tmp_path, nursery) as site:
        kill = Fault(3, Point.BEFORE_SCRIPT, Deed.KILL_BOTS, 0)
        report = await ChaosRun(site, 1, (Kind.MIXED, Kind.BOTS)).run([kill])
    assert not report.findings, f"see {site.journal.path}:\n{report}"
    assert report.counts["kills"] == 1
    assert report.counts["actions by the fallback"] > 0
