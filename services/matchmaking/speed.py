"""How fast matching is: what a pass costs the matcher alone, and what calls cost beside ten thousand tickets.

The first part counts processor time of the matcher over queues of several sizes whose tickets cannot sit down
together, while others come and go: what it costs must follow what changes, not what waits. The second part runs
the real service in a process of its own, on the embedded store, with a game service that only hands out ids, and
sends arrivals and cancels at a fixed rate; it tells the latency of every call, the processor time of the service,
and how long its passes took. `python -m matchmaking.speed` leaves matching.json.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import resource
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import grpc.aio

from matchmaking.matcher import Matcher
from matchmaking.tickets import MatchPolicy, Ticket
from rami.game.v1 import match_room_service_pb2, match_room_service_pb2_grpc, rules_pb2
from rami.matchmaking.v1 import matchmaking_service_pb2, matchmaking_service_pb2_grpc
from rami_engine.rules import RuleOptions
from rami_kit.embedded import EmbeddedStore
from rami_kit.testing import JWT_SECRET, SERVICE_SECRET, bearer, player_token

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

PASSES: Final = 200
CHANGES_A_PASS: Final = 50
"""A thousand changes a second at twenty passes a second."""
PASS_MS: Final = 50
TOLD_APART: Final = 5_000.0
"""Points between tickets that never sit down together."""
READY_SECONDS: Final = 60.0
CALL_SECONDS: Final = 30.0
CREATES_AT_ONCE: Final = 64
_RULES: Final = [
    RuleOptions(target, ace_high, discard)
    for ace_high in (False, True)
    for discard in (False, True)
    for target in range(1, 1001)
]


def pass_costs(waiting: int, *, widening: bool = False, seed: int = 1) -> dict[str, float]:
    """Processor milliseconds of a pass over a queue of so many tickets, with arrivals and cancels in each; of
    tickets whose windows are still widening, or are as wide as they get. None comes to accept any skill meanwhile.
    """
    chance = random.Random(seed)  # noqa: S311 - a load, not a secret
    matcher = Matcher(MatchPolicy(spread_per_second=50.0))
    now_ms = 1_000_000
    rules = (RuleOptions(),)
    for number in range(waiting):
        create_ms = now_ms - (chance.randrange(0, 80_000) if widening else chance.randrange(80_000, 105_000))
        seats = 2 + number % 3
        matcher.add(Ticket(f"w{number}", "", "", (seats,), rules, False, "", number * TOLD_APART, create_ms))
    matcher.run(now_ms)
    chance = random.Random(seed)  # noqa: S311 - the same arrivals whatever waits
    costs = []
    tables = 0
    newest: list[str] = []
    for number in range(PASSES):
        now_ms += PASS_MS
        began = time.process_time()
        for place in range(CHANGES_A_PASS // 2):
            name = f"a{number}-{place}"
            skill = chance.gauss(-TOLD_APART, 250.0)
            counts = chance.choice(((2,), (2, 3, 4), (4,)))
            matcher.add(Ticket(name, "", "", counts, rules, False, "", skill, now_ms))
            newest.append(name)
        for name in newest[:-200]:
            matcher.remove(name)
        del newest[:-200]
        tables += len(matcher.run(now_ms))
        costs.append((time.process_time() - began) * 1000)
    return {"waiting": waiting, "tables": tables, **_percentiles(costs)}


class _Rooms(match_room_service_pb2_grpc.MatchRoomServiceServicer):
    """A game service that hands out ids."""

    async def CreateMatchRoom(  # noqa: N802 - RPC
        self,
        request: match_room_service_pb2.CreateMatchRoomRequest,
        _context: grpc.aio.ServicerContext[Any, Any],
    ) -> match_room_service_pb2.CreateMatchRoomResponse:
        return match_room_service_pb2.CreateMatchRoomResponse(room_id=f"p0-{request.match_id}")


@contextlib.asynccontextmanager
async def _service(store_url: str) -> AsyncIterator[dict[str, Any]]:
    """The matchmaking service in a process of its own; the line that it starts with, and its pid."""
    server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
    match_room_service_pb2_grpc.add_MatchRoomServiceServicer_to_server(_Rooms(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    settings = {
        "HOST": "127.0.0.1",
        "PORT": "0",
        "METRICS_PORT": "0",
        "REDIS_URL": store_url,
        "JWT_SECRET": JWT_SECRET,
        "SERVICE_SECRET": SERVICE_SECRET,
        "GAME_ADDRESS": f"127.0.0.1:{port}",
        "TICKET_IDLE_SECONDS": "3600",
        "LOG_LEVEL": "ERROR",
    }
    environment = os.environ | {f"RAMI_{name}": value for name, value in settings.items()}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "matchmaking", env=environment, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(READY_SECONDS):
            line: dict[str, Any] = json.loads(await process.stdout.readline())
        yield line | {"pid": process.pid}
    finally:
        process.kill()
        await process.wait()
        await server.stop(None)


class Crowd:
    """Players who queue and leave, and what their calls took."""

    def __init__(self, stub: matchmaking_service_pb2_grpc.MatchmakingServiceAsyncStub) -> None:
        self._stub = stub
        self.seconds: dict[str, list[float]] = {"create": [], "cancel": [], "queue": []}
        self.failures: dict[str, int] = {}
        self.waiting: list[tuple[str, tuple[tuple[str, str], ...]]] = []

    async def create(self, subject: str, seats: int, rules: RuleOptions) -> None:
        """One arrival."""
        options = rules_pb2.RuleOptions(
            target_score=rules.target_score, ace_high=rules.ace_high, discard_to_win=rules.discard_to_win
        )
        request = matchmaking_service_pb2.CreateTicketRequest(
            request_id=str(uuid4()),
            criteria=matchmaking_service_pb2.TicketCriteria(player_counts=[seats], rules=[options]),
        )
        metadata = bearer(player_token(subject))
        answer = await self._timed("create", self._stub.CreateTicket(request, metadata=metadata, timeout=CALL_SECONDS))
        if answer is not None:
            self.waiting.append((answer.ticket.ticket_id, metadata))

    async def cancel(self, ticket_id: str, metadata: tuple[tuple[str, str], ...]) -> None:
        """One player leaves."""
        request = matchmaking_service_pb2.CancelTicketRequest(request_id=str(uuid4()), ticket_id=ticket_id)
        await self._timed("cancel", self._stub.CancelTicket(request, metadata=metadata, timeout=CALL_SECONDS))

    async def look(self) -> None:
        """One look at the queue."""
        call = self._stub.GetQueue(
            matchmaking_service_pb2.GetQueueRequest(),
            metadata=bearer(player_token("onlooker")),
            timeout=CALL_SECONDS,
        )
        await self._timed("queue", call)

    async def _timed(self, kind: str, call: Any) -> Any:
        began = time.perf_counter()
        try:
            answer = await call
        except grpc.aio.AioRpcError as error:
            # A ticket that has been matched meanwhile is not a failure; it is counted all the same.
            name = f"{kind} {error.code().name}"
            self.failures[name] = self.failures.get(name, 0) + 1
            answer = None
        self.seconds[kind].append(time.perf_counter() - began)
        return answer


async def call_costs(*, waiting: int, rate: int, seconds: float, store_url: str) -> dict[str, Any]:
    """Latencies and processor time while arrivals and cancels come at a rate beside tickets that wait."""
    async with _service(store_url) as service, grpc.aio.insecure_channel(f"127.0.0.1:{service['port']}") as channel:
        crowd = Crowd(matchmaking_service_pb2_grpc.MatchmakingServiceStub(channel))
        # Three for every table of four: nobody of them ever sits down.
        for start in range(0, waiting, CREATES_AT_ONCE):
            numbers = range(start, min(start + CREATES_AT_ONCE, waiting))
            await asyncio.gather(*(crowd.create(f"w{one}", 4, _RULES[one // 3]) for one in numbers))
        crowd.seconds = {kind: [] for kind in crowd.seconds}
        crowd.waiting.clear()
        crowd.failures.clear()
        before = _cpu_seconds(service["pid"])
        counted = await asyncio.to_thread(_counted, service["metrics_port"])
        began = time.perf_counter()
        await _come_and_go(crowd, rate, seconds)
        lasted = time.perf_counter() - began
        used = _cpu_seconds(service["pid"]) - before
        counted = {key: value - counted[key] for key, value in _counted(service["metrics_port"]).items()}
    calls = sum(map(len, crowd.seconds.values()))
    return {
        "waiting": waiting,
        "rate": rate,
        "reached_rate": calls / lasted,
        "service_cpu_share": used / lasted,
        "service_cpu_us_a_call": used / calls * 1e6,
        "calls_ms": {kind: _percentiles([one * 1000 for one in taken]) for kind, taken in crowd.seconds.items()},
        "failures": crowd.failures,
        # Without what the load generator adds, which shares the processors with the service; but also without the wait
        # for the event loop where more calls come than it can take.
        "in_service": {
            method: {"calls": counted[method], "over_50_ms": counted[method] - counted[f"{method}_within_50_ms"]}
            for method in ("CreateTicket", "CancelTicket")
        },
        "passes": counted["passes"],
        "pass_mean_ms": counted["pass_seconds"] / max(1.0, counted["passes"]) * 1000,
        "passes_over_100_ms": counted["passes"] - counted["passes_within_100_ms"],
    }


async def _come_and_go(crowd: Crowd, rate: int, seconds: float) -> None:
    """Every arrival is followed by a cancel of the latest who is still known; in step with the clock."""
    tasks: set[asyncio.Task[None]] = set()
    began = time.perf_counter()
    for number in range(round(rate * seconds)):
        await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
        if number % rate == 0:
            tasks.add(asyncio.create_task(crowd.look()))
        if number % 2 or not crowd.waiting:
            task = asyncio.create_task(crowd.create(f"n{number}", 2 + number // 2 % 3, _RULES[number % 4]))
        else:
            task = asyncio.create_task(crowd.cancel(*crowd.waiting.pop()))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)


def _cpu_seconds(pid: int) -> float:
    """What a process has used of the processor so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _counted(port: int) -> dict[str, float]:
    """What the service's own metrics say of its passes, and of calls from when they reach their handler."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        lines = page.read().decode().splitlines()
    passes, calls = "rami_matchmaking_pass_seconds", "rami_grpc_seconds"
    wanted = {
        f"{passes}_count": "passes",
        f"{passes}_sum": "pass_seconds",
        f'{passes}_bucket{{le="0.1"}}': "passes_within_100_ms",
    }
    for method in ("CreateTicket", "CancelTicket"):
        label = f'method="rami.matchmaking.v1.MatchmakingService/{method}"'
        wanted[f"{calls}_count{{{label}}}"] = method
        wanted[f'{calls}_bucket{{le="0.05",{label}}}'] = f"{method}_within_50_ms"
    found = dict.fromkeys(wanted.values(), 0.0)
    for name, _, value in (line.rpartition(" ") for line in lines):
        if name in wanted:
            found[wanted[name]] = float(value)
    return found


def _percentiles(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values) or [0.0]
    last = len(ordered) - 1
    return {
        "median": ordered[last // 2],
        "p99": ordered[last * 99 // 100],
        "most": ordered[last],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, tells and writes."""
    parser = argparse.ArgumentParser(prog="python -m matchmaking.speed", description="Measure how fast matching is.")
    parser.add_argument("--waiting", type=int, default=10_000, help="tickets that wait meanwhile, 12,000 at most")
    parser.add_argument("--rate", type=int, default=1_000, help="arrivals and cancels a second")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    sizes = (1_000, options.waiting, 10 * options.waiting)
    passes = [pass_costs(waiting) for waiting in sizes]
    with EmbeddedStore() as store:
        calls = asyncio.run(
            call_costs(waiting=options.waiting, rate=options.rate, seconds=options.seconds, store_url=store.url)
        )
    report = {
        "matcher_pass_cpu_ms": passes,
        "cost_ratio": passes[-1]["median"] / passes[0]["median"],
        "matcher_pass_cpu_ms_while_windows_widen": [pass_costs(waiting, widening=True) for waiting in sizes],
        "service": calls,
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
        "load_average": os.getloadavg()[0],
    }
    text = json.dumps(report, indent=1)
    (options.folder / "matching.json").write_text(text + "\n")
    print(text)  # noqa: T201 - a command prints
    return 0


if __name__ == "__main__":
    sys.exit(main())
