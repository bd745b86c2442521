"""Tables of people who play at random as fast as they are answered, or at a rate: the load of most parts.

Every seat holds a Play stream with its legal actions, gets every event, and acts when it is its turn. A match that ends
is followed by another in a new room. Latency runs from the action to its result on the same stream; at a rate it runs
from the moment at which the action was due when the one before came back later than that.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import uuid4

from google.protobuf import duration_pb2

from rami.game.v1 import action_pb2, game_service_pb2_grpc, room_pb2, rules_pb2
from rami.game.v1 import game_service_pb2 as pb
from rami_cli.bench_echo_load import CALL_SECONDS, CONNECTIONS, channels_to
from rami_cli.bench_harness import BenchError
from rami_kit.testing import player

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    Stub = game_service_pb2_grpc.GameServiceAsyncStub
    Choose = Callable[[random.Random, Sequence[action_pb2.Action]], action_pb2.Action]

Metadata = tuple[tuple[str, str], ...]
READY_SECONDS: Final = 60.0
LONGEST_LAG: Final = 1.0
"""Seconds that a table runs behind its rate before what it missed is let go."""


def by_chance(chance: random.Random, legal: Sequence[action_pb2.Action]) -> action_pb2.Action:
    """Any legal action."""
    return legal[chance.randrange(len(legal))]


def without_end(_: random.Random, legal: Sequence[action_pb2.Action]) -> action_pb2.Action:
    """Draw from the stock, discard, lay nothing down: rounds as long as they get."""
    return next((one for one in legal if one.WhichOneof("kind") in ("draw_stock", "discard")), legal[0])


def new_id() -> str:
    """A request id."""
    return str(uuid4())


def options_of(seats: int, target_score: int = 1000, *, spectators: bool = False) -> room_pb2.RoomOptions:
    """A private room in which nothing waits."""
    nothing = duration_pb2.Duration()
    return room_pb2.RoomOptions(
        seats=seats,
        rules=rules_pb2.RuleOptions(target_score=target_score),
        visibility=room_pb2.VISIBILITY_PUBLIC,
        spectators_allowed=spectators,
        turn_time_limit=nothing,
        bot_pace=nothing,
        round_interval=nothing,
    )


async def open_room(
    stub: Stub, people: Sequence[Metadata], options: room_pb2.RoomOptions, *, begin: bool = True
) -> str:
    """A room in which the people sit, the first as its host, and play; its id."""
    request = pb.CreateRoomRequest(request_id=new_id(), options=options)
    made = await stub.CreateRoom(request, metadata=people[0], timeout=CALL_SECONDS)
    room_id = made.room.room_id
    for other in people[1:]:
        await stub.JoinRoom(
            pb.JoinRoomRequest(request_id=new_id(), room_id=room_id), metadata=other, timeout=CALL_SECONDS
        )
    if begin:
        await stub.StartMatch(
            pb.StartMatchRequest(request_id=new_id(), room_id=room_id), metadata=people[0], timeout=CALL_SECONDS
        )
    return room_id


@dataclass(slots=True)
class Seen:
    """What players have seen since it was last emptied."""

    actions: int = 0
    """Accepted."""
    refused: int = 0
    events: int = 0
    """Delivered, to all seats together."""
    matches: int = 0
    seconds: list[float] = field(default_factory=list)
    """From action to result."""
    sent_bytes: int = 0
    received_bytes: int = 0


class Tables:
    """Tables under load. Enter it, and everybody plays when `playing` is set."""

    def __init__(
        self,
        targets: Sequence[str],
        tables: int,
        *,
        seats: int = 2,
        choose: Choose = by_chance,
        apart: bool = False,
        spectators: bool = False,
        target_score: int = 1000,
        name: str = "bench",
    ) -> None:
        """Tables take turns with the targets; with `apart` the seats of each do."""
        self._targets = targets
        self._count = tables
        self._seats = seats
        self._choose = choose
        self._apart = apart
        self._options = options_of(seats, target_score, spectators=spectators)
        self._name = name
        self._stack = AsyncExitStack()
        self._stubs: list[list[Stub]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._began = 0
        self._ready = asyncio.Event()
        self.playing = asyncio.Event()
        self.interval: float | None = None
        """Seconds between two actions of a table; None for at once."""
        self.seen = Seen()
        self.rooms: dict[int, str] = {}
        """The room of each table."""
        self.sent_at: dict[tuple[str, int], float] = {}
        """When the action was sent that is to make this version of this room, by time.monotonic(), since play began."""

    async def __aenter__(self) -> Self:
        try:
            for target in self._targets:
                channels = await self._stack.enter_async_context(channels_to(target, CONNECTIONS))
                self._stubs.append([game_service_pb2_grpc.GameServiceStub(channel) for channel in channels])
            self._tasks = [asyncio.create_task(self._table(number)) for number in range(self._count)]
            async with asyncio.timeout(READY_SECONDS):
                await self._until_ready()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._close()

    async def play(self, seconds: float) -> Seen:
        """Everybody plays for so long; what they saw. Raises what a table raised, and BenchError when none moved."""
        self.seen = Seen()
        self.sent_at.clear()
        self.playing.set()
        await asyncio.sleep(seconds)
        self.playing.clear()
        seen = self.seen
        for task in self._tasks:
            if task.done():
                task.result()
        if not seen.actions:
            raise BenchError("nobody could act")
        return seen

    async def settle(self) -> None:
        """Waits until what was under way when play stopped has come back."""
        before = -1
        while before != self.seen.actions + self.seen.events:
            before = self.seen.actions + self.seen.events
            await asyncio.sleep(0.1)

    def at_rate(self, actions_per_second: float | None) -> None:
        """From now on so many actions a second altogether; None for as many as go through."""
        self.interval = None if actions_per_second is None else self._count / actions_per_second

    async def _until_ready(self) -> None:
        ready = asyncio.create_task(self._ready.wait())
        await asyncio.wait([ready, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        for task in self._tasks:
            if task.done():
                task.result()

    async def _close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await self._stack.aclose()

    def _stub(self, number: int, seat: int) -> Stub:
        stubs = self._stubs[(number + (seat if self._apart else 0)) % len(self._stubs)]
        return stubs[(number // len(self._stubs) + seat) % len(stubs)]

    async def _table(self, number: int) -> None:
        chance = random.Random(f"{self._name}/{number}")  # noqa: S311 - a load, not a secret
        people = [player(f"{self._name}-{number}-{seat}") for seat in range(self._seats)]
        while True:
            room_id = self.rooms[number] = await open_room(self._stub(number, 0), people, self._options)
            table = _Table(self, room_id, chance)
            streams = [
                asyncio.create_task(table.sit(self._stub(number, seat), metadata))
                for seat, metadata in enumerate(people)
            ]
            try:
                done, _ = await asyncio.wait(streams, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            finally:
                for task in streams:
                    task.cancel()
                await asyncio.gather(*streams, return_exceptions=True)
            self.seen.matches += 1

    def greeted(self) -> None:
        """A seat has its first snapshot."""
        self._began += 1
        if self._began == self._count * self._seats:
            self._ready.set()


class _Table:
    """One room while it lasts."""

    def __init__(self, tables: Tables, room_id: str, chance: random.Random) -> None:
        self._tables = tables
        self._room_id = room_id
        self._chance = chance
        self._due = 0.0

    async def sit(self, stub: Stub, metadata: Metadata) -> None:
        """A seat, until the match is over."""
        call = stub.Play(metadata=metadata)
        tables, sent = self._tables, 0.0
        try:
            hello = pb.PlayHello(room_id=self._room_id, legal_actions=True)
            await call.write(pb.PlayRequest(hello=hello))
            greeted = False
            async for message in call:
                now = time.monotonic()
                seen = tables.seen
                if not greeted:
                    greeted = True
                    tables.greeted()
                seen.received_bytes += message.ByteSize()
                seen.events += len(message.events)
                for result in message.results:
                    if result.HasField("version"):
                        seen.actions += 1
                        seen.seconds.append(now - sent)
                    else:
                        seen.refused += 1
                if any(change.HasField("match_ended") for event in message.events for change in event.changes):
                    return
                if message.HasField("legal_actions") and message.legal_actions.actions:
                    sent = await self._act(call, message.legal_actions)
        finally:
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call.code()
        raise BenchError("a stream ended in the middle of a match")

    async def _act(self, call: Any, legal: Any) -> float:
        """Acts in its time; the moment from which its latency counts."""
        tables = self._tables
        if not tables.playing.is_set():
            await tables.playing.wait()
            self._due = 0.0
        counted_from = 0.0
        if tables.interval is not None:
            now = time.monotonic()
            if not self._due or now - self._due > LONGEST_LAG:
                self._due = now + tables.interval * self._chance.random()
            if self._due > now:
                await asyncio.sleep(self._due - now)
            else:
                counted_from = self._due
            self._due += tables.interval
        action = tables._choose(self._chance, legal.actions)  # noqa: SLF001 - one module's two halves
        request = pb.PlayRequest(
            action=pb.PlayAction(request_id=new_id(), expected_version=legal.version, action=action)
        )
        tables.seen.sent_bytes += request.ByteSize()
        sent = counted_from or time.monotonic()
        tables.sent_at[self._room_id, legal.version + 1] = sent
        await call.write(request)
        return sent


__all__ = ["Metadata", "Seen", "Stub", "Tables", "by_chance", "new_id", "open_room", "options_of", "without_end"]
