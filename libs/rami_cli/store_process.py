"""The embedded store as a process of its own, so that it can be supervised, restarted and ended like any other.

    python -m rami_cli.store_process DIRECTORY [--orphan-of PID FOLDER]

Keeps the data in DIRECTORY, so that a restart brings everything back: where RAMI_DURABILITY is fsync, with all that was
acknowledged. Listens on the port that RAMI_STORE_PORT names, or on a free one. Ends when its server does. When the
process PID is dead by then it removes FOLDER, which nobody else is left to do.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from rami_kit.embedded import EmbeddedStore
from rami_kit.settings import Durability

PORT_VARIABLE = "RAMI_STORE_PORT"
DURABILITY_VARIABLE = "RAMI_DURABILITY"


def end_leftover(directory: Path) -> None:
    """Ends a server that an earlier process of this directory left behind when it was killed.

    Only a process that is known to be that server is touched: it must hold the directory as its working directory.
    """
    with suppress(FileNotFoundError, ValueError, ProcessLookupError, PermissionError):
        pid = int((directory / "server.pid").read_text())
        if Path(f"/proc/{pid}/cwd").readlink() == directory.resolve():
            os.kill(pid, signal.SIGKILL)


def run(directory: Path, port: int) -> int:
    """Runs the store until a signal comes or its server dies; the exit code."""
    told, telling = os.pipe()
    os.set_blocking(telling, False)
    signal.set_wakeup_fd(telling, warn_on_full_buffer=False)
    # Until this process ends, and not until an event loop does: the system tells of the end of each thread of a killed
    # parent, one after the other as they get a CPU, and a late signal must not end this before it has cleaned up.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    end_leftover(directory)
    # Once a second is quick, and brings a killed server back with all but perhaps its last moments: "memory" promises
    # no more.
    durable = os.environ.get(DURABILITY_VARIABLE) == Durability.FSYNC
    options = {"appendonly": "yes", "appendfsync": "always" if durable else "everysec"}
    store = EmbeddedStore(directory=directory, port=port or None, options=options)
    store.start()
    pid = store.pid
    try:
        print(json.dumps({"service": "store", "port": store.port, "url": store.url}), flush=True)
        while os.read(told, 1)[0] == signal.SIGCHLD:
            if not is_alive(pid):
                return 1
            # It was only stopped, or goes on.
        return 0
    finally:
        store.stop()


def remove_folder(folder: Path) -> None:
    """Removes a folder with all that is in it; again for a while when somebody still wrote to it meanwhile."""
    for _ in range(200):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)


def is_alive(pid: int) -> bool:
    """Whether a child of this process is still running."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def is_dead(pid: int) -> bool:
    """Whether a process has ended, as far as it will do anything more.

    The system tells children of the death of the thread that has started them. While other threads of a killed
    process wait for a busy CPU to end on, it is still everybody's parent, so its id says nothing: its state does.
    """
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    try:
        os.kill(pid, 0)  # there is no such process, or no /proc on this system
    except (ProcessLookupError, PermissionError):
        return True
    return False


def main() -> int:
    """The process."""
    parser = argparse.ArgumentParser(prog="rami_cli.store_process")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--orphan-of", nargs=2, metavar=("PID", "FOLDER"))
    arguments = parser.parse_args()
    try:
        return run(arguments.directory, int(os.environ.get(PORT_VARIABLE, "0")))
    finally:
        if arguments.orphan_of is not None and is_dead(int(arguments.orphan_of[0])):
            remove_folder(Path(arguments.orphan_of[1]))  # nobody else is left to do it


if __name__ == "__main__":
    sys.exit(main())
