"""The journal of a chaos run: everything that clients asked and were told, written down as it happens.

One JSON object a line, in a file outside the cluster. What a client is about to ask is in the file before it leaves,
what it is told is in the file before the client acts on it. The checker reads nothing else.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PULSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Seated:
    """A player holds a seat of a room; a seat of -1 means that it only watches."""

    at: float
    room: str
    who: str
    seat: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A player asks for an action: by a unary call, or by a message on a Play stream."""

    at: float
    room: str
    who: str
    call: int
    """Pairs it with its Answered; a Play stream answers by request id instead."""
    request_id: str
    expected_version: int
    action: bytes
    replica: int


@dataclass(frozen=True, slots=True)
class Answered:
    """A unary call ended: "OK" with the event of the action, or a status code and reason."""

    at: float
    call: int
    code: str
    reason: str = ""
    current_version: int = -1
    """Of a STALE_VERSION refusal."""
    event: bytes = b""


@dataclass(frozen=True, slots=True)
class Opened:
    """A player opens a stream with its cursor; an empty one asks for a snapshot."""

    at: float
    room: str
    who: str
    stream: int
    cursor: bytes
    replica: int


@dataclass(frozen=True, slots=True)
class Told:
    """A message came on a stream: a rami.game.v1.PlayResponse, of which WatchRoomResponse is a part."""

    at: float
    stream: int
    message: bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """A stream is over."""

    at: float
    stream: int
    code: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Struck:
    """A fault was put in; what and where, in words."""

    at: float
    fault: str


@dataclass(frozen=True, slots=True)
class Killed:
    """A process was ended by signal 9."""

    at: float
    process: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The store comes back without its latest commits, as after losing power: what clients hold may be gone."""

    at: float
    acknowledged: bool = True
    """What was acknowledged may be gone as well; else only what was told to watchers before it was."""


@dataclass(frozen=True, slots=True)
class Expected:
    """From here on every match that is not over must go on within so many seconds: with a step made after this."""

    at: float
    why: str
    within: float
    wall_ns: int
    """The same moment by the clock of the machine, which is also the store's."""


@dataclass(frozen=True, slots=True)
class Lagged:
    """The machine did not let this process, and so perhaps nobody, run for so many seconds until now."""

    at: float
    seconds: float


@dataclass(frozen=True, slots=True)
class AtRest:
    """The version a room ended at, read when all was quiet."""

    at: float
    room: str
    version: int


@dataclass(frozen=True, slots=True)
class Replayed:
    """The whole record of a room: a rami.game.v1.GetReplayResponse with every round."""

    at: float
    room: str
    replay: bytes


@dataclass(frozen=True, slots=True)
class FinishedMatches:
    """The rooms of the matches that the store passes on as finished, once for each entry."""

    at: float
    rooms: list[str]


@dataclass(frozen=True, slots=True)
class Queued:
    """A player has a ticket."""

    at: float
    who: str
    ticket: str


@dataclass(frozen=True, slots=True)
class Assigned:
    """A ticket was read in its last state: with a room and seat, or with the name of another state and no room."""

    at: float
    who: str
    ticket: str
    state: str
    room: str
    seat: int


@dataclass(frozen=True, slots=True)
class RoomRead:
    """Who sits in a room, as the game service says: player ids by seat, empty for nobody."""

    at: float
    room: str
    seats: list[str]


@dataclass(frozen=True, slots=True)
class RoomsCounted:
    """How many rooms the store holds."""

    at: float
    rooms: int


Record: TypeAlias = (
    Seated
    | Asked
    | Answered
    | Opened
    | Told
    | Ended
    | Struck
    | Killed
    | Lost
    | Expected
    | Lagged
    | AtRest
    | Replayed
    | FinishedMatches
    | Queued
    | Assigned
    | RoomRead
    | RoomsCounted
)
_KINDS: dict[str, type[Record]] = {kind.__name__: kind for kind in get_args(Record)}


class Journal:
    """Writes the file, and wakes who waits for something to appear in it. Close it with `close`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._began = time.monotonic()
        self._numbers = 0
        self._changed = asyncio.Event()
        self._lag = 0.0
        self._listeners: list[Callable[[Record], None]] = []

    def now(self) -> float:
        """Seconds since the journal was opened."""
        return time.monotonic() - self._began

    def number(self) -> int:
        """A number that no other call or stream of this journal has."""
        self._numbers += 1
        return self._numbers

    def listen(self, listener: Callable[[Record], None]) -> None:
        """Call somebody with every record, after it is in the file."""
        self._listeners.append(listener)

    def write(self, record: Record) -> None:
        """Append a record. It is with the system when this returns, and outlives this process."""
        os.write(self._file, _encode(record))
        for listener in self._listeners:
            listener(record)
        self._changed.set()

    async def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until a condition holds that only changes with records; False when the time is up first.

        Time in which the machine let nobody run does not count.
        """
        began, lag = self.now(), self._lag
        while not condition():
            left = began + seconds + (self._lag - lag) - self.now()
            if left <= 0:
                return False
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed.wait()
        return True

    async def feel_lag(self) -> None:
        """Write down, for ever, when the machine does not let this process run."""
        while True:
            before = self.now()
            await asyncio.sleep(PULSE_SECONDS)
            lag = self.now() - before - PULSE_SECONDS
            if lag > PULSE_SECONDS:
                self._lag += lag
                self.write(Lagged(self.now(), lag))

    def close(self) -> None:
        """End the file."""
        os.close(self._file)


def read_journal(path: Path) -> Iterator[Record]:
    """Every record of a file, in the order of writing. A line that was cut off at the end is left out."""
    with path.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield _decode(line)


def _encode(record: Record) -> bytes:
    values: dict[str, Any] = {"kind": type(record).__name__}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        values[field.name] = base64.b64encode(value).decode() if isinstance(value, bytes) else value
    return json.dumps(values).encode() + b"\n"


def _decode(line: bytes) -> Record:
    values = json.loads(line)
    kind = _KINDS[values.pop("kind")]
    for field in dataclasses.fields(kind):
        if field.type == "bytes" and field.name in values:
            values[field.name] = base64.b64decode(values[field.name])
    return kind(**values)
