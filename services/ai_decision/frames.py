"""What goes through the pipes between the front and a worker process.

    job      u32 length of the rest | f64 deadline | rami.ai.v1.DecideRequest
    answer   u32 length of the rest | u8 AnswerKind | body

Integers and floats are little-endian. The deadline is in seconds of the machine's monotonic clock, which front and
workers share. A worker first sends READY, then one answer for each job in order; jobs that come together are answered
together, since a look into a pipe and a wake-up cost about what a quick decision does. The body of CHOSEN is the place
of the chosen action (u32) and, for each action that was considered where that was asked for, its place (u32), its
points (f64, NaN for none) and the number of deals (u32); of INVALID a field and what is allowed with a NUL between, of
FAILED the traceback for the log; texts are UTF-8.
"""

from __future__ import annotations

import math
import struct
from enum import IntEnum
from typing import Final, NamedTuple

LENGTH: Final = struct.Struct("<I")
_DEADLINE: Final = struct.Struct("<d")
_PLACE_SIZE: Final = 4
_WEIGHED: Final = struct.Struct("<IdI")
_SEPARATOR: Final = "\0"


class AnswerKind(IntEnum):
    """What a worker says."""

    READY = 0
    """It is warm and waits for jobs."""
    CHOSEN = 1
    INVALID = 2
    """A field of the request is wrong."""
    FAILED = 3
    """A defect."""


class Weighed(NamedTuple):
    """An action that was considered."""

    place: int
    """Its place in the request."""
    points: float | None
    """What it was thought to be worth; None for what was not estimated."""
    deals: int
    """Supposed deals that the estimate is from."""


class Chosen(NamedTuple):
    """The chosen action, by its place in the request."""

    place: int
    weighed: tuple[Weighed, ...] = ()
    """What was considered, best first, where that was asked for."""


class Invalid(NamedTuple):
    """A field of the request, and what is allowed there."""

    field: str
    description: str


class Failed(NamedTuple):
    """The traceback of a defect, for the log alone."""

    traceback: str


Answer = Chosen | Invalid | Failed


def encode_job(request: bytes, deadline: float) -> bytes:
    """The frame of a job."""
    return LENGTH.pack(_DEADLINE.size + len(request)) + _DEADLINE.pack(deadline) + request


def decode_job(body: bytes) -> tuple[bytes, float]:
    """Request and deadline of a job frame without its length."""
    return body[_DEADLINE.size :], _DEADLINE.unpack_from(body)[0]


def take_frames(received: bytearray) -> list[bytes]:
    """The frames that have come whole, without their lengths. They are removed from what was received."""
    frames = []
    begin = 0
    while len(received) >= (body := begin + LENGTH.size):
        end = body + LENGTH.unpack_from(received, begin)[0]
        if len(received) < end:
            break
        frames.append(bytes(received[body:end]))
        begin = end
    del received[:begin]
    return frames


def encode_ready() -> bytes:
    """The frame that says that a worker waits for jobs."""
    return _frame(AnswerKind.READY, b"")


def encode_answer(answer: Answer) -> bytes:
    """The frame of an answer."""
    match answer:
        case Chosen(place, weighed):
            reasons = [
                _WEIGHED.pack(one.place, math.nan if one.points is None else one.points, one.deals) for one in weighed
            ]
            return _frame(AnswerKind.CHOSEN, place.to_bytes(_PLACE_SIZE, "little") + b"".join(reasons))
        case Invalid(field, description):
            return _frame(AnswerKind.INVALID, f"{field}{_SEPARATOR}{description}".encode())
        case Failed(traceback):
            return _frame(AnswerKind.FAILED, traceback.encode())


def decode_answer(body: bytes) -> Answer | None:
    """The answer in a frame without its length; None for READY. Raises ValueError for what no worker sends."""
    kind, rest = int.from_bytes(body[:1], "little"), body[1:]
    match kind:
        case AnswerKind.READY if body and not rest:
            return None
        case AnswerKind.CHOSEN if len(rest) >= _PLACE_SIZE and not (len(rest) - _PLACE_SIZE) % _WEIGHED.size:
            weighed = [
                Weighed(place, None if math.isnan(points) else points, deals)
                for place, points, deals in _WEIGHED.iter_unpack(rest[_PLACE_SIZE:])
            ]
            return Chosen(int.from_bytes(rest[:_PLACE_SIZE], "little"), tuple(weighed))
        case AnswerKind.INVALID:
            field, _, description = rest.decode().partition(_SEPARATOR)
            return Invalid(field, description)
        case AnswerKind.FAILED:
            return Failed(rest.decode())
        case _:
            raise ValueError(f"no answer of kind {kind} has {len(body)} bytes")


def _frame(kind: AnswerKind, body: bytes) -> bytes:
    return LENGTH.pack(1 + len(body)) + bytes((kind,)) + body
