"""Runs a command that must not outlive its parent, even when the parent is killed without a word.

    python leash.py PARENT_PID COMMAND...            on Linux: the kernel sends SIGTERM when the parent dies
    python leash.py --watch PARENT_PID COMMAND...    elsewhere: watches standard input, which the parent holds open

Run as a script by path, with the standard library only, so that it costs a few milliseconds. On Linux it becomes
the command; elsewhere it stays as its parent and hands signals on.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading

PR_SET_PDEATHSIG = 1
WATCH = "--watch"


def become(parent: int, command: list[str]) -> None:
    """Asks the kernel for SIGTERM when the parent dies, and becomes the command. Linux only."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(1)  # it died before it could be asked for
    os.execv(command[0], command)  # noqa: S606 - the supervisor names the command


def watch(command: list[str]) -> int:
    """Runs the command until it ends, or until standard input does: then it gets SIGTERM. Its exit code."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as child:  # noqa: S603 - see become
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: child.send_signal(number))
        threading.Thread(target=_end_with_input, args=(child,), daemon=True).start()
        return child.wait()


def _end_with_input(child: subprocess.Popen[bytes]) -> None:
    # By the file descriptor: the buffered reader's lock would be held when the interpreter ends.
    with contextlib.suppress(OSError):
        while os.read(0, 1024):
            pass
    child.terminate()


def main(arguments: list[str]) -> int:
    """Runs what the arguments say."""
    if arguments[0] == WATCH:
        return watch(arguments[2:])
    become(int(arguments[0]), arguments[1:])
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
