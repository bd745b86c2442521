"""What a service asks for its process."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from rami_kit.process import COLLECT_AFTER, let_threads_finish, name_thread, settle_memory

if TYPE_CHECKING:
    import pytest

SAY_POLICIES = """
import os, subprocess, sys, threading
from rami_kit.process import let_threads_finish
let_threads_finish()
found = [os.sched_getscheduler(0)]
thread = threading.Thread(target=lambda: found.append(os.sched_getscheduler(threading.get_native_id())))
thread.start()
thread.join()
child = subprocess.run([sys.executable, "-c", "import os; print(os.sched_getscheduler(0))"], capture_output=True)
print(*found, int(child.stdout))
"""
"""Its own, that of a thread which starts later, and that of a process."""


class Knot:
    """Something that only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


def test_what_is_there_is_not_looked_at_again_and_what_comes_is_still_freed() -> None:
    before = gc.get_threshold()
    frozen = gc.get_freeze_count()
    waste = weakref.ref(Knot())
    try:
        settle_memory()

        assert waste() is None, "what was garbage by then is not kept for ever"
        assert gc.get_freeze_count() > frozen
        assert gc.get_threshold() == COLLECT_AFTER
        assert all(gc.get_threshold()), "a threshold of 0 would never look again"
        young, older, all_of_them = COLLECT_AFTER
        assert young * (older + 1) * (all_of_them + 1) <= 250_000, "so much garbage there may be"
        later = weakref.ref(Knot())
        gc.collect()
        assert later() is None
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def test_threads_and_workers_that_start_later_push_nobody_off_a_processor() -> None:
    said = subprocess.run([sys.executable, "-c", SAY_POLICIES], capture_output=True, check=True, timeout=30)

    assert [int(policy) for policy in said.stdout.split()] == [os.SCHED_BATCH] * 3


def test_a_system_that_forbids_it_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    before = os.sched_getscheduler(0)
    monkeypatch.setattr(os, "sched_setscheduler", forbid)
    let_threads_finish()
    monkeypatch.delattr(os, "SCHED_BATCH")
    let_threads_finish()

    assert os.sched_getscheduler(0) == before


def test_a_thread_is_called_for_the_system_what_it_is_told_to() -> None:
    def called() -> str:
        return Path(f"/proc/self/task/{threading.get_native_id()}/comm").read_text().strip()

    with ThreadPoolExecutor(1, initializer=name_thread, initargs=("seed-chains",)) as pool:
        assert pool.submit(called).result() == "seed-chains"
    assert called() != "seed-chains"
