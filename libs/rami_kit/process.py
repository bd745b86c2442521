"""What a service asks for its process: when its threads run, what they are called, when garbage is collected."""

from __future__ import annotations

import gc
import logging
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

COLLECT_AFTER: Final = (2_000, 2, 40)
"""Objects that are there more than at the last look until the cyclic garbage collector looks again, and how many looks
make one at older objects, and at all of them. Almost everything a service makes goes by its count of references alone,
so looking rarely costs no memory to speak of: what only a look at all objects frees is at most 250,000 of them. A look
at young objects is short, for nobody is served meanwhile, and takes more than in proportion for more of them: they have
to be brought back into the processor's caches. A look at older ones, 6,000 here, is no longer; at all, it is rare.
"""

_log = logging.getLogger(__name__)


def let_threads_finish() -> None:
    """Let none of the process's threads push another off its processor by waking up. To be called before any starts.

    gRPC hands every message from thread to thread, and each that wakes would interrupt the one that has woken it, six
    times a call: on a processor that is not idle, more is spent on changing over, and on caches that are cold again,
    than on the work. As batch work (sched(7)) a thread does what has come until there is nothing left, so messages
    gather behind it by themselves. Where a processor is idle, nothing changes. Nothing happens where the system does
    not know of it, or forbids it.
    """
    if not hasattr(os, "SCHED_BATCH"):
        return
    try:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    except OSError as error:
        _log.debug("threads stay scheduled as usual: %s", error.strerror)


def name_thread(name: str) -> None:
    """Call this thread so for the system, too, where it can be: for `top -H`, and for whoever counts what it costs.

    Linux keeps the first 15 bytes.
    """
    with suppress(OSError):
        Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(name)


def settle_memory() -> None:
    """What is there now stays until the end: modules, descriptors, tables. The collector need not look at it again,
    which else is most of what it does, and holds the event loop up for as long.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


__all__ = ["COLLECT_AFTER", "let_threads_finish", "name_thread", "settle_memory"]
