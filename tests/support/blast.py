"""A load generator that costs a tenth of what the servers cost: unary gRPC calls as fixed HTTP/2 frames.

    python -m support.blast PLAN.json      runs the phases of a plan; prints one JSON line of results for each

A real gRPC client in Python costs as much as the call it measures, and would have to run three times as often. Here
a call is two frames that are made once; of an answer only frame types are read: data before the end is an answer,
trailers alone are a refusal. What a refusal says is for a real client to look at.

A phase is closed (so many calls are open at any time) or open (so many calls begin each second, whatever becomes of
them). Times run from the moment at which a call was to begin, so that a client that lags cannot hide a delay.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
WINDOW = 1 << 30


@dataclass
class Call:
    """What is sent: a path, metadata, and the bytes of a message."""

    path: str
    metadata: dict[str, str]
    message: bytes


@dataclass
class Phase:
    """Open or closed, for so many seconds."""

    name: str
    seconds: float
    at_once: int = 0
    """Closed: so many calls are open at any time."""
    times: float = 0.0
    """Open: so many times as many calls a second as the latest closed phase had answers."""


@dataclass
class Plan:
    """Where the calls go, how many connections carry them, which they are (in turn), and the phases."""

    target: str
    connections: int
    calls: list[Call]
    phases: list[Phase]


@dataclass
class Result:
    """What became of the calls of a phase; times in milliseconds."""

    name: str
    seconds: float
    begun: int = 0
    answered: int = 0
    refused: int = 0
    reset: int = 0
    lost: int = 0
    answer_ms: list[float] = field(default_factory=list)
    refusal_ms: list[float] = field(default_factory=list)

    def line(self) -> str:
        """For the one who measures: counts, and percentiles of both kinds of times."""
        numbers = {name: value for name, value in asdict(self).items() if not name.endswith("_ms")}
        for name, times in (("answer", sorted(self.answer_ms)), ("refusal", sorted(self.refusal_ms))):
            for percent in (50, 95, 99):
                place = min(len(times) - 1, len(times) * percent // 100)
                numbers[f"{name}_p{percent}_ms"] = round(times[place], 1) if times else None
        return json.dumps(numbers)


class Connection(asyncio.Protocol):
    """One HTTP/2 connection; `done(began, outcome)` is told of every call that ends."""

    def __init__(self, blaster: Blaster) -> None:
        self._blaster = blaster
        self._buffer = b""
        self._next_stream = 1
        self.open: dict[int, tuple[float, bool, Result]] = {}
        self.usable = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        # No dynamic header table; no pushes; as much data as anybody wants to send.
        settings = struct.pack(">HIHIHI", 1, 0, 2, 0, 4, WINDOW)
        grow = struct.pack(">I", WINDOW)
        transport.write(PREFACE + frame(SETTINGS, 0, 0, settings) + frame(WINDOW_UPDATE, 0, 0, grow))
        self.usable = True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - lost is lost
        self.usable = False
        for _, _, result in self.open.values():
            result.lost += 1
        self._blaster.ended(len(self.open))
        self.open.clear()

    def begin(self, head: bytes, body: bytes, began: float, result: Result) -> None:
        """Sends one call."""
        assert self._transport is not None
        stream, self._next_stream = self._next_stream, self._next_stream + 2
        self.open[stream] = (began, False, result)
        self._transport.write(frame(HEADERS, END_HEADERS, stream, head) + frame(DATA, END_STREAM, stream, body))

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer + data if self._buffer else data
        place, size = 0, len(buffer)
        while size - place >= 9:
            length = int.from_bytes(buffer[place : place + 3], "big")
            if size - place < 9 + length:
                break
            kind, flags = buffer[place + 3], buffer[place + 4]
            stream = int.from_bytes(buffer[place + 5 : place + 9], "big")
            self._take(kind, flags, stream, buffer[place + 9 : place + 9 + length] if kind == PING else b"")
            place += 9 + length
        self._buffer = buffer[place:]

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == DATA and stream in self.open:
            began, _, result = self.open[stream]
            self.open[stream] = (began, True, result)
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            self._end(stream, reset=False)
        elif kind == RST_STREAM:
            self._end(stream, reset=True)
        elif kind == SETTINGS and not flags & ACK:
            self._answer(frame(SETTINGS, ACK, 0, b""))
        elif kind == PING and not flags & ACK:
            self._answer(frame(PING, ACK, 0, payload))
        elif kind == GOAWAY:
            self.usable = False

    def _answer(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(data)

    def _end(self, stream: int, *, reset: bool) -> None:
        call = self.open.pop(stream, None)
        if call is None:
            return
        began, answered, result = call
        took = (time.perf_counter() - began) * 1000
        if reset:
            result.reset += 1
        elif answered:
            result.answered += 1
            result.answer_ms.append(took)
        else:
            result.refused += 1
            result.refusal_ms.append(took)
        self._blaster.ended(1)


class Blaster:
    """Runs the phases of a plan one after another."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        host, _, port = plan.target.rpartition(":")
        self._place = (host, int(port))
        self._calls = deque((header_block(call, plan.target), message_frame(call.message)) for call in plan.calls)
        self._connections: list[Connection] = []
        self._running = 0
        self._answers_a_second = 0.0
        self._freed = asyncio.Event()

    def ended(self, calls: int) -> None:
        """So many calls are over."""
        self._running -= calls
        self._freed.set()

    async def run(self) -> None:
        """Runs every phase, and prints a line for each when its calls are over."""
        for phase in self._plan.phases:
            result = Result(phase.name, phase.seconds)
            if phase.times:
                await self._open_loop(phase.seconds, phase.times * self._answers_a_second, result)
            else:
                await self._closed_loop(phase, result)
                self._answers_a_second = result.answered / phase.seconds
            sys.stdout.write(result.line() + "\n")
            sys.stdout.flush()
        for connection in self._connections:
            connection.close()

    async def _open_loop(self, seconds: float, rate: float, result: Result) -> None:
        start = time.perf_counter()
        while (now := time.perf_counter()) < start + seconds:
            due = int((now - start) * rate)
            while result.begun < due:
                await self._begin(start + result.begun / rate, result)
            await asyncio.sleep(0.001)
        await self._finish()

    async def _closed_loop(self, phase: Phase, result: Result) -> None:
        end = time.perf_counter() + phase.seconds
        while (now := time.perf_counter()) < end:
            while self._running < phase.at_once:
                await self._begin(now, result)
            self._freed.clear()
            await self._freed.wait()
        await self._finish()

    async def _begin(self, began: float, result: Result) -> None:
        self._calls.rotate(-1)
        connection = await self._connection(result.begun)
        result.begun += 1
        self._running += 1
        connection.begin(*self._calls[0], began, result)

    async def _connection(self, number: int) -> Connection:
        self._connections = [each for each in self._connections if each.usable or each.open]
        usable = [each for each in self._connections if each.usable]
        if len(usable) < self._plan.connections:
            loop = asyncio.get_running_loop()
            _, connection = await loop.create_connection(lambda: Connection(self), *self._place)
            self._connections.append(connection)
            return connection
        return usable[number % len(usable)]

    async def _finish(self) -> None:
        async with asyncio.timeout(30):
            while self._running:
                self._freed.clear()
                await self._freed.wait()


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """An HTTP/2 frame."""
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def header_block(call: Call, authority: str) -> bytes:
    """The header block of a call, every field a literal that is not indexed."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": call.path,
        ":authority": authority,
        "content-type": "application/grpc",
        "te": "trailers",
        **call.metadata,
    }
    return b"".join(
        b"\0" + _integer(len(name)) + name.encode() + _integer(len(value)) + value.encode()
        for name, value in fields.items()
    )


def message_frame(message: bytes) -> bytes:
    """A gRPC message with its prefix."""
    return b"\0" + len(message).to_bytes(4, "big") + message


def _integer(value: int) -> bytes:
    """An HPACK integer with a prefix of 7 bits, which leaves Huffman coding off."""
    if value < 127:
        return bytes((value,))
    rest, out = value - 127, bytearray((127,))
    while rest >= 128:
        out.append(rest % 128 + 128)
        rest //= 128
    out.append(rest)
    return bytes(out)


def write_plan(path: Path, plan: Plan) -> None:
    """For another process to run."""
    path.write_text(json.dumps(asdict(plan), default=lambda value: value.hex()))


def read_plan(path: Path) -> Plan:
    """What `write_plan` wrote."""
    told = json.loads(path.read_text())
    calls = [Call(call["path"], call["metadata"], bytes.fromhex(call["message"])) for call in told["calls"]]
    return Plan(told["target"], told["connections"], calls, [Phase(**phase) for phase in told["phases"]])


async def _main(path: Path) -> None:
    await Blaster(read_plan(path)).run()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1])))
