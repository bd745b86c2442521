"""A worker process: jobs in on stdin, answers out on stdout, in order, until stdin is closed.

Started as `python -m ai_decision.worker`, a fresh interpreter that imports bots, engine and messages and nothing of
gRPC. It ends when the front closes the pipe or dies, however it dies; signals meant for the whole group are left to
the front, which ends its workers when it has drained. Standard output belongs to the frames alone.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from typing import TYPE_CHECKING, Final

from ai_decision.deciding import decide
from ai_decision.frames import Answer, Failed, decode_job, encode_answer, encode_ready, take_frames
from ai_decision.warming import warm_up

if TYPE_CHECKING:
    from io import BufferedReader, BytesIO
    from typing import BinaryIO

READ_BYTES: Final = 65_536
"""As much as a pipe holds."""
RESERVE_SECONDS: Final = 0.03
"""A search ends so long before the deadline of its job: for the last bounded step and the way back."""


def serve(jobs: BufferedReader | BytesIO, answers: BinaryIO) -> None:
    """Answer jobs until there are no more."""
    answers.write(encode_ready())
    answers.flush()
    received = bytearray()
    while data := jobs.read1(READ_BYTES):
        received += data
        answers.write(b"".join([encode_answer(_answer(*decode_job(job))) for job in take_frames(received)]))
        answers.flush()


def _answer(request: bytes, deadline: float) -> Answer:
    search_end = deadline - RESERVE_SECONDS
    clock = time.monotonic
    try:
        return decide(request, lambda: clock() >= search_end)
    except Exception:  # noqa: BLE001 - the front logs it and answers INTERNAL; the next job may be fine
        return Failed(traceback.format_exc())


def main() -> int:
    """The process. 0 when the front is gone or done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever prints by accident must not get between the frames.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        warm_up()
        serve(os.fdopen(sys.stdin.fileno(), "rb", closefd=False), answers)
    except BrokenPipeError:
        # The front went away in the middle of an answer; nobody waits for it.
        os._exit(0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
