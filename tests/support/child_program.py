"""A stand-in for a service: says that it is ready, and does what its arguments ask for.

    python child_program.py LOG [--never-ready] [--exit-at-once CODE] [--ignore-term] [--grandchild] [--outsider]

Writes one line to LOG for each thing that happens to it, so that tests see the order over several processes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TextIO


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("log", type=Path)
    parser.add_argument("--name", default="child")
    parser.add_argument("--never-ready", action="store_true")
    parser.add_argument("--exit-at-once", type=int)
    parser.add_argument("--exit-unless", type=Path, help="exit 1 at once unless this file exists")
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--grandchild", action="store_true")
    parser.add_argument("--outsider", action="store_true", help="a grandchild in a session of its own")
    options = parser.parse_args()

    def note(text: str) -> None:
        with options.log.open("a") as log:
            log.write(f"{options.name} {text}\n")

    def on_term(*_: object) -> None:
        note("term")
        if not options.ignore_term:
            sys.exit(0)

    # A pause would sleep through a signal that comes just before it begins.
    told, telling = os.pipe()
    os.set_blocking(telling, False)
    signal.set_wakeup_fd(telling)
    signal.signal(signal.SIGTERM, on_term)
    note(f"start {os.getpid()}")
    say(sys.stdout, f"a line of {options.name} on standard output")
    say(sys.stderr, json.dumps({"level": "ERROR", "message": f"{options.name} complains"}))
    if options.exit_at_once is not None:
        sys.exit(options.exit_at_once)
    if options.exit_unless is not None and not options.exit_unless.exists():
        sys.exit(1)
    server = socket.create_server(("127.0.0.1", int(os.environ.get("CHILD_PORT", "0"))))
    for kind in ("grandchild", "outsider"):
        if getattr(options, kind):
            command = [sys.executable, "-c", "import signal; signal.pause()"]
            grandchild = subprocess.Popen(command, start_new_session=kind == "outsider")
            note(f"{kind} {grandchild.pid}")
    if not options.never_ready:
        say(sys.stdout, json.dumps({"service": options.name, "port": server.getsockname()[1]}))
    while True:
        os.read(told, 1)


def say(stream: TextIO, line: str) -> None:
    stream.write(f"{line}\n")
    stream.flush()


if __name__ == "__main__":
    main()
