"""Three times the peak through the edge: what is served, how fast the rest is refused, and what is left afterwards.

    pytest tests/chaos/test_overload.py -m chaos_long

Timed, and so only in the long part, for a machine that has nothing else to do. Figures are ratios within one run:
short phases at the peak and over it take turns, because the speed of a machine changes over minutes. A match is played
over streams through the same edge all the while.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest

from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1 import game_service_pb2_grpc, room_pb2
from rami_client import Bot, Client, RetryPolicy, play_match
from rami_engine import Action, SeatView, fallback_action
from support.blast import Call, Phase, Plan, write_plan
from support.cluster import running_cluster
from support.details import reason_and_pause, status_of
from support.edge_process import FakeService, running_edge

if TYPE_CHECKING:
    from collections.abc import Sequence

TESTS = Path(__file__).parents[1]
ROUNDS = 4
OVER = 3.0
AT_ONCE = 8
"""Calls that are open at the peak: the service is always busy, and the limit is not reached."""
ROOMS = 16
GOODPUT = 0.8
ANSWER_MS = 250.0
REFUSAL_MS = 50.0
NOISE = 5.0
"""On a machine that is busy with other things, answers over the peak may take so many times as long as at it, and
refusals as long as answers do when there is hardly any load: no limit can be quicker than the processor is there.
"""


@dataclass(frozen=True)
class Measured:
    """The phases of one kind, taken together."""

    answers_a_second: float
    begun: int
    answered: int
    refused: int
    broken: int
    answer_p99_ms: float
    refusal_p99_ms: float


def phases(peak_seconds: float, over_seconds: float) -> list[Phase]:
    turn = [
        Phase("peak", peak_seconds, at_once=AT_ONCE),
        Phase("over", over_seconds, times=OVER),
        Phase("after", 1.0, times=0.4),
    ]
    return [Phase("warm", 2.0, at_once=AT_ONCE), *(turn * ROUNDS)]


async def blast(target: str, calls: list[Call], plan: list[Phase], folder: Path) -> dict[str, Measured]:
    """Runs a plan in a process of its own; what became of each kind of phase. Prints every line of results."""
    file = folder / "plan.json"
    write_plan(file, Plan(target, 4, calls, plan))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "support.blast", str(file)), cwd=TESTS, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    sys.stdout.write(output.decode())
    lines: list[dict[str, Any]] = [json.loads(line) for line in output.splitlines()]
    return {name: together([line for line in lines if line["name"] == name]) for name in ("peak", "over", "after")}


def together(lines: Sequence[dict[str, Any]]) -> Measured:
    def total(key: str) -> int:
        return sum(line[key] for line in lines)

    def worst(key: str) -> float:
        """The median of the phases' percentiles: one phase that the machine disturbed does not decide."""
        found = sorted(line[key] for line in lines if line[key] is not None)
        return found[len(found) // 2] if found else 0.0

    return Measured(
        answers_a_second=total("answered") / sum(line["seconds"] for line in lines),
        begun=total("begun"),
        answered=total("answered"),
        refused=total("refused"),
        broken=total("reset") + total("lost"),
        answer_p99_ms=worst("answer_p99_ms"),
        refusal_p99_ms=worst("refusal_p99_ms"),
    )


def judge(measured: dict[str, Measured]) -> None:
    """Holds the figures to what is promised."""
    peak, over, after = measured["peak"], measured["over"], measured["after"]
    sys.stdout.write(f"goodput {over.answers_a_second / peak.answers_a_second:.2f} of the peak: {measured}\n")
    assert over.begun >= 2.5 * peak.answers_a_second * over.answered / over.answers_a_second, "the load was there"
    assert over.answers_a_second >= GOODPUT * peak.answers_a_second
    assert over.answer_p99_ms <= max(ANSWER_MS, NOISE * peak.answer_p99_ms)
    assert over.refusal_p99_ms <= max(REFUSAL_MS, after.answer_p99_ms)
    assert over.refused > 0
    assert peak.broken == over.broken == after.broken == 0
    assert after.answered == after.begun, "nothing is refused any more once the load has gone"


class SlowService(FakeService):
    """Answers one call after another, each in 4 ms: 250 a second, and no more."""

    def __init__(self) -> None:
        super().__init__()
        self._turn = asyncio.Lock()

    async def unary(self, path: str, context: grpc.aio.ServicerContext[Any, Any]) -> bytes:
        async with self._turn:
            await asyncio.sleep(0.004)
        self.calls.clear()
        return await super().unary(path, context)


@pytest.mark.chaos_long
@pytest.mark.timeout(300)
async def test_a_slow_service_gets_as_many_calls_as_it_answers_in_good_time(tmp_path: Path) -> None:
    service = SlowService()
    await service.start()
    try:
        async with running_edge([service], CALLS_PER_SECOND="0", MAX_CALLS="32") as edge:
            message = pb.ListRoomsRequest().SerializeToString()
            call = Call("/rami.game.v1.GameService/ListRooms", {"grpc-timeout": "20S"}, message)
            judge(await blast(edge.target, [call], phases(2.0, 4.0), tmp_path))
    finally:
        await service.stop()


class FallbackBot(Bot):
    """Plays what the engine plays for those who are away."""

    def choose(self, view: SeatView, legal: tuple[Action, ...]) -> Action:  # noqa: ARG002 - the view suffices
        return fallback_action(view)


@pytest.mark.chaos_long
@pytest.mark.timeout(600)
async def test_three_times_the_peak(tmp_path: Path) -> None:
    limits = {"RAMI_RATE_PER_PLAYER": "0", "RAMI_RATE_PER_ADDRESS": "0", "RAMI_EDGE_CALLS_PER_SECOND": "0"}
    with running_cluster("--edge", "--game-replicas", "1", **limits) as cluster:
        assert cluster.edge is not None
        retry = RetryPolicy(attempts=100)
        async with Client.connect(game=cluster.edge, matchmaking=cluster.edge, retry=retry) as client:
            await client.sign_in_as_guest("Ada")
            rooms = [await client.create_room(room_pb2.RoomOptions(seats=2), bots={1: "easy"}) for _ in range(ROOMS)]
            for room in rooms:
                await client.start_match(room.room_id)
            calls = [
                Call(
                    "/rami.game.v1.GameService/GetView",
                    {"authorization": f"Bearer {client.token}", "rami-room-id": room.room_id, "grpc-timeout": "20S"},
                    pb.GetViewRequest(room_id=room.room_id).SerializeToString(),
                )
                for room in rooms
            ]
            refusals: list[tuple[grpc.StatusCode, str, float | None]] = []
            async with client.table(rooms[0].room_id, seat=0) as table:
                version = table.version
                playing = asyncio.create_task(play_match(table, FallbackBot(), pace_seconds=0.2))
                looking = asyncio.create_task(look_at_refusals(cluster.edge, client, refusals))
                measured = await blast(cluster.edge, calls, phases(2.0, 4.0), tmp_path)
                looking.cancel()
                playing.cancel()
                looked, _ = await asyncio.gather(looking, playing, return_exceptions=True)
                assert table.error is None
                assert table.version > version + 10, "a match over streams goes on all the while"
            assert not isinstance(looked, Exception), looked
            assert set(refusals) == {(grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED", 0.5)}
            judge(measured)


async def look_at_refusals(
    target: str, client: Client, refusals: list[tuple[grpc.StatusCode, str, float | None]]
) -> None:
    """Calls now and then as a real client does, and writes down what the refusals say."""
    metadata = (("authorization", f"Bearer {client.token}"),)
    async with grpc.aio.insecure_channel(target) as channel:
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        while True:
            try:
                await stub.ListRooms(pb.ListRoomsRequest(), timeout=20, metadata=metadata)
            except grpc.aio.AioRpcError as error:
                refusals.append((error.code(), *reason_and_pause(status_of(error))))
            await asyncio.sleep(0.1)
