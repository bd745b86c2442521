"""Tables that matchmaking makes while its processes, those of the game service and the store die (M3).

Kills come at seeded moments, and at every step between the claim of a table and its assignment.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from support.chaos_journal import Assigned, Queued, Record, RoomRead, RoomsCounted, read_journal
from support.chaos_queue import QueueRun, check_queue, plan_queue, plan_steps
from support.chaos_site import FSYNC, MEMORY, Mode, Site
from support.game_cluster import id_of

if TYPE_CHECKING:
    from pathlib import Path

    from support.chaos_processes import Nursery

MODES = (MEMORY, FSYNC)
SHORT_FAULTS, LONG_FAULTS = 3, 40
SEED = 1


async def run(mode: Mode, faults: int, directory: Path, nursery: Nursery) -> None:
    site = Site(mode, directory, nursery, bots=None, matchmakers=2)
    async with site:
        await QueueRun(site).run(plan_queue(SEED, mode, faults))
    wrong = check_queue(read_journal(site.journal.path))
    assert not wrong, f"see {site.journal.path}:\n" + "\n".join(wrong)


async def test_m3_everybody_gets_one_seat(tmp_path: Path, nursery: Nursery) -> None:
    await run(FSYNC, SHORT_FAULTS, tmp_path, nursery)


async def test_m3_a_kill_at_every_step_from_claim_to_assignment(tmp_path: Path, nursery: Nursery) -> None:
    steps = plan_steps()
    site = Site(MEMORY, tmp_path, nursery, bots=None, matchmakers=2)
    async with site:
        strikes = await QueueRun(site).run_steps(steps)
    assert strikes == len(steps) == 12
    wrong = check_queue(read_journal(site.journal.path))
    assert not wrong, f"see {site.journal.path}:\n" + "\n".join(wrong)


@pytest.mark.chaos_long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("mode", MODES, ids=[mode.name for mode in MODES])
async def test_m3_everybody_gets_one_seat_for_long(mode: Mode, tmp_path: Path, nursery: Nursery) -> None:
    await run(mode, LONG_FAULTS, tmp_path, nursery)


ANN = Assigned(0, "ann", "t1", "TICKET_STATE_MATCHED", "p0-a", 0)
BOB = Assigned(0, "bob", "t2", "TICKET_STATE_MATCHED", "p0-a", 1)
TABLE: list[Record] = [
    Queued(0, "ann", "t1"),
    Queued(0, "bob", "t2"),
    ANN,
    BOB,
    RoomRead(0, "p0-a", [id_of("ann"), id_of("bob")]),
    RoomsCounted(0, 1),
]


def test_a_table_as_it_should_be() -> None:
    assert check_queue(TABLE) == []


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({1: Queued(0, "ann", "t3")}, "ann has two tickets"),
        (
            {3: replace(BOB, room="", state="TICKET_STATE_WAITING")},
            "bob has no seat: the ticket is TICKET_STATE_WAITING",
        ),
        ({3: replace(BOB, seat=0)}, "bob and ann have seat 0 of p0-a"),
        ({3: replace(ANN, seat=1)}, "ann has 2 seats"),
        (
            {4: RoomRead(0, "p0-a", [id_of("bob"), id_of("ann")])},
            "p0-a holds others than ['ann', 'bob'], who were sent there",
        ),
        ({4: RoomRead(0, "p0-a", [id_of("ann"), ""])}, "p0-a holds others than ['ann', 'bob'], who were sent there"),
        ({5: RoomsCounted(0, 2)}, "there are 2 rooms for 1 tables"),
    ],
)
def test_a_table_as_it_should_not_be(change: dict[int, Record], wrong: str) -> None:
    records = [change.get(place, record) for place, record in enumerate(TABLE)]
    assert wrong in check_queue(records)
