"""Makes processes of the services in a tenth of the usual time, so that they can be killed by the hundred.

    python chaos_nursery.py SOCKET_FD

Imports everything once; each process is then a fork that runs a module or a file as the interpreter would. One
request is one message on the socket: JSON with `arguments` (as after `python`) and `environment`, and with it the
descriptors that become standard output and standard error. The answer is the pid. JSON with `exit_of`, a pid, is
answered with the exit code of that process once it has ended. Ends when the socket is closed, and
every process that is left ends with it.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import traceback
from contextlib import suppress
from typing import Any

from game_state.rule_sheets import catalog, sheets

IMPORTED = ("ai_decision.service", "game_state.service", "matchmaking.service", "rami_kit.app")
"""What the processes need. Importing it starts no thread, so that forking is safe."""
PR_SET_PDEATHSIG = 1
MESSAGE_BYTES = 1 << 16


def main(place: socket.socket) -> None:
    """Make processes until nobody asks any more."""
    for name in IMPORTED:
        importlib.import_module(name)
    read_rule_sheets()
    gc.freeze()
    codes: dict[int, int] = {}
    while True:
        message, descriptors, _, _ = socket.recv_fds(place, MESSAGE_BYTES, 2)
        reap(codes)
        if not message:
            return
        request = json.loads(message)
        if "exit_of" in request:
            place.send(str(exit_code(request["exit_of"], codes)).encode())
            continue
        child = os.fork()
        if child == 0:
            place.close()
            run(request, *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        place.send(str(child).encode())


def read_rule_sheets() -> None:
    """Read the texts of the rule sheets once for all: nothing else takes so long when a game service starts."""
    translations = functools.cache(catalog.load_translations)
    translations()
    vars(sheets)["load_translations"] = translations


def reap(codes: dict[int, int]) -> None:
    """Take leave of those who have ended, and note how. Until then nobody else gets their pid."""
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            codes[pid] = os.waitstatus_to_exitcode(status)


def exit_code(pid: int, codes: dict[int, int]) -> int:
    """How a process has ended, which is waited for."""
    if pid not in codes:
        codes[pid] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return codes.pop(pid)


def run(request: dict[str, Any], output: int, errors: int) -> None:
    """Become the process that was asked for. Does not return."""
    code = 1
    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(output, 1)
        os.dup2(errors, 2)
        os.close(output)
        os.close(errors)
        os.environ.clear()
        os.environ.update(request["environment"])
        execute(request["arguments"])
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - said where errors go, as the interpreter does
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def execute(arguments: list[str]) -> None:
    """Run `-m module` or a file with its arguments."""
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
