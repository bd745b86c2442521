"""A worker that does what the job says, in place of deciding; run with a folder in which it leaves marks.

index N        answers N
mark NAME      leaves a mark of that name, then waits for a mark NAME.go, then answers 0
die            dies
die once NAME  dies unless the mark NAME is there, which it leaves first; else answers 1
hang           never answers
stay           answers 0, and does not end when it is dismissed
nonsense       sends a frame that no worker sends
fail           reports a defect
pid            answers with its process id
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from ai_decision.frames import LENGTH, Answer, Chosen, Failed, decode_job, encode_answer, encode_ready


def obey(text: str, marks: Path) -> Answer | None:
    """The answer to a job, or None for one that gets none."""
    match text.split():
        case ["index", number]:
            return Chosen(int(number))
        case ["mark", name]:
            (marks / f"{name}.go").unlink(missing_ok=True)
            os.mkfifo(marks / f"{name}.go")
            (marks / name).touch()
            (marks / f"{name}.go").read_bytes()
            return Chosen(0)
        case ["die"]:
            os.kill(os.getpid(), signal.SIGKILL)
        case ["die", "once", name]:
            if (marks / name).exists():
                return Chosen(1)
            (marks / name).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        case ["hang"]:
            signal.pause()
        case ["stay"]:
            (marks / f"stays-{os.getpid()}").touch()
            return Chosen(0)
        case ["fail"]:
            return Failed("Traceback: as told")
        case ["pid"]:
            return Chosen(os.getpid())
        case _:
            sys.stdout.buffer.write(LENGTH.pack(1) + b"\xff")
            sys.stdout.buffer.flush()
    return None


def main() -> None:
    marks = Path(sys.argv[1])
    (marks / f"started-{os.getpid()}").touch()
    if (marks / "refuse-to-start").exists():
        sys.exit(3)
    jobs, answers = sys.stdin.buffer, sys.stdout.buffer
    answers.write(encode_ready())
    answers.flush()
    while head := jobs.read(LENGTH.size):
        request, _ = decode_job(jobs.read(LENGTH.unpack(head)[0]))
        if (answer := obey(request.decode(), marks)) is not None:
            answers.write(encode_answer(answer))
            answers.flush()
    if (marks / f"stays-{os.getpid()}").exists():
        signal.pause()


if __name__ == "__main__":
    main()
