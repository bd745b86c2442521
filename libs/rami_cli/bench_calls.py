"""The part `calls`: what a durable action costs the game service, beside calls that do nothing.

64 tables of two play over Play, with legal actions, both seats getting every event; then as many callers act with
SubmitAction, and look with GetView. The yardsticks take and give as many bytes.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from typing import TYPE_CHECKING, Final, Self

import grpc.aio

from rami.game.v1 import action_pb2, game_service_pb2_grpc
from rami.game.v1 import game_service_pb2 as pb
from rami_cli.bench_echo_load import CALL_SECONDS, channels_to, cpu_of_calls, cpu_of_messages
from rami_cli.bench_figures import Figure
from rami_cli.bench_harness import Site
from rami_cli.bench_part import MICRO, Part
from rami_cli.bench_report import quantile
from rami_cli.bench_tables import Tables, by_chance, new_id, open_room, options_of
from rami_kit.testing import player

if TYPE_CHECKING:
    from rami_cli.bench_harness import Server
    from rami_cli.bench_part import Bench
    from rami_cli.bench_tables import Metadata, Seen, Stub

TABLES: Final = 64
PEAK_SHARE: Final = 0.8
BATCHES: Final = ("rami_store_batch_size_calls_sum", "rami_store_batch_size_calls_count")


async def measure(bench: Bench) -> list[Figure]:
    """The figures."""
    found = Figures()
    async with Site() as site:
        echo, store = await site.echo(), await site.store()
        game = await site.game(store.ready["url"])
        async with Tables([game.target], TABLES) as tables, Callers(game.target, TABLES) as callers:
            warm = await tables.play(bench.seconds)
            await tables.settle()
            found.size(warm, await callers.submit_for(0.5), await callers.look_for(0.3))
            sizes = {
                "length": round(warm.sent_bytes / warm.actions),
                "answer_length": round(warm.received_bytes / warm.actions),
            }
            for _ in bench.rounds("unary", "stream", "play", "submit", "view", "rate"):
                bench.step("unary echo")
                unary = MICRO * await cpu_of_calls(echo, bench.seconds, **sizes)
                bench.step("stream echo")
                talk, _ = await cpu_of_messages(echo, bench.seconds, **sizes)
                bench.step("actions over Play")
                tables.at_rate(None)
                batches = [await game.counted(name) for name in BATCHES]
                cost, of_store, rate = await _played(tables, game, store, bench.seconds)
                commits, pipelines = [
                    await game.counted(name) - old for name, old in zip(BATCHES, batches, strict=True)
                ]
                found.batch.add(commits / pipelines)
                found.play.add(cost, unary)
                found.told.add(cost, MICRO * talk)
                found.store.add(of_store, unary)
                found.rate.add(rate)
                for name, figure, call in (
                    ("SubmitAction", found.submit, callers.submit_for),
                    ("GetView", found.view, callers.look_for),
                ):
                    bench.step(name)
                    before = game.cpu_seconds()
                    calls, _, _ = await call(bench.seconds)
                    figure.add((game.cpu_seconds() - before) / calls * MICRO, unary)
                bench.step("actions at 80 % of the peak")
                paced = PEAK_SHARE * statistics.median(found.rate.samples)
                tables.at_rate(paced)
                seen = await tables.play(bench.seconds)
                await tables.settle()
                _, taken = await cpu_of_messages(echo, 0.7, **sizes, rate=paced)
                found.latencies(sorted(seen.seconds), sorted(taken))
    return found.all()


class Figures:
    """The figures of this part."""

    def __init__(self) -> None:
        beside = "us, unary echo"
        self.play = Figure("action over Play", "us of server", beside, goal=0.8)
        self.told = Figure("action over Play, beside a stream", "us of server", "us, stream echo")
        self.submit = Figure("SubmitAction", "us of server", beside, goal=1.9)
        self.view = Figure("GetView", "us of server", beside, goal=1.6)
        self.store = Figure("store's share of an action", "us of store", beside)
        self.rate = Figure("actions, closed loop", "1/s", more_is_better=True, note="generator and server a CPU each")
        self.batch = Figure("commits sent as one pipeline", "commits", more_is_better=True)
        self.middle = Figure("action over Play, p50 at 80 % of that", "ms", "ms, stream echo")
        self.tail = Figure("action over Play, p99 at 80 % of that", "ms", "ms, stream echo", 25.0, goal_of_value=True)

    def size(self, played: Seen, submitted: tuple[int, float, float], viewed: tuple[int, float, float]) -> None:
        """Notes how many bytes everything takes."""
        events = played.events / played.actions
        self.play.note = (
            f"{played.sent_bytes / played.actions:.0f} B in, {played.received_bytes / played.actions:.0f} B out in "
            f"{events:.1f} events"
        )
        self.submit.note = f"{submitted[1]:.0f} B in, {submitted[2]:.0f} B out"
        self.view.note = f"{viewed[1]:.0f} B in, {viewed[2]:.0f} B out"

    def latencies(self, ours: list[float], theirs: list[float]) -> None:
        """Seconds from a message to its answer, ascending."""
        self.middle.add(1000 * quantile(ours, 0.5), 1000 * quantile(theirs, 0.5))
        self.tail.add(1000 * quantile(ours, 0.99), 1000 * quantile(theirs, 0.99))

    def all(self) -> list[Figure]:
        """In the order in which they are shown."""
        return [self.play, self.told, self.submit, self.view, self.store, self.rate, self.batch, self.middle, self.tail]


async def _played(tables: Tables, game: Server, store: Server, seconds: float) -> tuple[float, float, float]:
    """Microseconds of an action in the server and in the store, and actions a second."""
    before = game.cpu_seconds(), store.cpu_seconds()
    seen = await tables.play(seconds)
    used = game.cpu_seconds() - before[0], store.cpu_seconds() - before[1]
    await tables.settle()
    return used[0] / seen.actions * MICRO, used[1] / seen.actions * MICRO, seen.actions / seconds


class Callers:
    """Tables that are played with unary calls, one call under way at each."""

    def __init__(self, target: str, tables: int) -> None:
        self._tables = tables
        self._channels = channels_to(target)
        self._rooms: list[_CalledTable] = []
        self._calls = 0
        self._sizes = [0, 0]

    async def __aenter__(self) -> Self:
        channels = await self._channels.__aenter__()
        stubs = [game_service_pb2_grpc.GameServiceStub(channel) for channel in channels]
        for number in range(self._tables):
            people = [player(f"caller-{number}-{seat}") for seat in range(2)]
            self._rooms.append(_CalledTable(stubs[number % len(stubs)], people, number))
        await asyncio.gather(*(room.open() for room in self._rooms))
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._channels.__aexit__(None, None, None)

    async def submit_for(self, seconds: float) -> tuple[int, float, float]:
        """Everybody acts for so long: calls, and mean bytes of a request and of an answer."""
        until = time.monotonic() + seconds
        counts = await asyncio.gather(*(room.act_until(until) for room in self._rooms))
        return _summed(counts)

    async def look_for(self, seconds: float) -> tuple[int, float, float]:
        """Everybody looks for so long, likewise."""
        until = time.monotonic() + seconds
        counts = await asyncio.gather(*(room.look_until(until) for room in self._rooms))
        return _summed(counts)


class _CalledTable:
    """One of those tables. Who draws needs no list: the stock can always be drawn from, and a refusal is looked up."""

    def __init__(self, stub: Stub, people: list[Metadata], number: int) -> None:
        self._stub = stub
        self._people = people
        self._chance = random.Random(f"caller/{number}")  # noqa: S311 - a load, not a secret
        self._room_id = ""
        self._seat = 0
        self._legal: list[action_pb2.Action] = []
        self._version = 0

    async def open(self) -> None:
        """A new room, and what can be done in it."""
        self._room_id = await open_room(self._stub, self._people, options_of(2))
        await self._look_up()

    async def act_until(self, until: float) -> tuple[int, int, int]:
        """Acts; calls, bytes sent and received."""
        calls = sent = received = 0
        while time.monotonic() < until:
            request = pb.SubmitActionRequest(
                request_id=new_id(),
                room_id=self._room_id,
                expected_version=self._version,
                action=by_chance(self._chance, self._legal),
                legal_actions=True,
            )
            try:
                answer = await self._stub.SubmitAction(request, metadata=self._people[self._seat], timeout=CALL_SECONDS)
            except grpc.aio.AioRpcError as error:
                if error.code() not in (grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.ABORTED):
                    raise
                await self._look_up()
                continue
            calls, sent, received = calls + 1, sent + request.ByteSize(), received + answer.ByteSize()
            self._version = answer.event.version
            if any(change.HasField("match_ended") for change in answer.event.changes):
                await self.open()
            elif answer.legal_actions.actions:
                self._legal = list(answer.legal_actions.actions)
            elif any(change.HasField("round_ended") for change in answer.event.changes):
                await self._look_up()
            else:
                self._seat = 1 - self._seat
                self._legal = [action_pb2.Action(draw_stock=action_pb2.DrawStock())]
        return calls, sent, received

    async def look_until(self, until: float) -> tuple[int, int, int]:
        """Looks; calls, bytes sent and received."""
        request = pb.GetViewRequest(room_id=self._room_id)
        calls = received = 0
        while time.monotonic() < until:
            answer = await self._stub.GetView(request, metadata=self._people[calls % 2], timeout=CALL_SECONDS)
            calls, received = calls + 1, received + answer.ByteSize()
        return calls, calls * request.ByteSize(), received

    async def _look_up(self) -> None:
        for seat, metadata in enumerate(self._people):
            request = pb.GetViewRequest(room_id=self._room_id)
            answer = await self._stub.GetView(request, metadata=metadata, timeout=CALL_SECONDS)
            if answer.legal_actions.actions:
                self._seat, self._legal = seat, list(answer.legal_actions.actions)
                self._version = answer.legal_actions.version
                return
        await self.open()  # the match is over


def _summed(counts: list[tuple[int, int, int]]) -> tuple[int, float, float]:
    calls, sent, received = (sum(column) for column in zip(*counts, strict=True))
    return calls, sent / max(calls, 1), received / max(calls, 1)


CALLS: Final = Part("calls", measure)

__all__ = ["CALLS"]
