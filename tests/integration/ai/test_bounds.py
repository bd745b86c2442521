"""What happens under load, under time pressure and when processes die: nobody waits for ever, nothing is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ai_decision import process, servicer
from integration.ai.serving import CALL_SECONDS, Served, caller, calling, living, service_process, serving, workers_of
from rami.errors.v1 import error_reason_pb2 as reasons
from rami_engine import legal_actions
from rami_kit.errors import from_rpc_error
from support.waiting import eventually
from unit.ai.requests import request_for, some_turn
from unit.engine.positions import round_of

if TYPE_CHECKING:
    from rami.ai.v1.decision_service_pb2_grpc import DecisionServiceAsyncStub
    from unit.ai.requests import DecideRequest

MATCH = some_turn()
LEGAL_COUNT = len(legal_actions(MATCH, round_of(MATCH).turn))
EASY = request_for(MATCH, "easy")
HARD = request_for(MATCH, "hard")


@pytest.fixture(autouse=True)
def held_workers_live(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a test holds a worker, it is not taken for one that hangs."""
    monkeypatch.setattr(process, "STUCK_SECONDS", 3600.0)


async def decide(stub: DecisionServiceAsyncStub, request: DecideRequest, seconds: float = CALL_SECONDS) -> int:
    answer = await stub.Decide(request, timeout=seconds, metadata=caller())
    assert answer.action_index < LEGAL_COUNT
    return answer.action_index


def stop_workers() -> list[int]:
    """Holds the workers of this process's services: what they are given stays undecided."""
    pids = workers_of(os.getpid())
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    return pids


def send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        os.kill(pid, number)


def sample(served: Served, name: str, **labels: str) -> float:
    return served.app.metrics.registry.get_sample_value(name, labels) or 0.0


def begun(served: Served) -> float:
    """Decisions that a worker has been given."""
    return sample(served, "rami_ai_queue_seconds_count", **{"class": "people"})


async def busy(served: Served, count: int) -> None:
    await eventually(lambda: sample(served, "rami_ai_workers", state="busy") == count, f"{count} workers are busy")


async def waiting(served: Served, count: int) -> None:
    await eventually(lambda: sample(served, "rami_ai_queue_depth") == count, f"{count} decisions wait")


async def test_g4_hard_decisions_keep_neither_health_nor_easy_ones_waiting() -> None:
    async with serving() as served:
        finished: list[str] = []

        async def finish(request: DecideRequest) -> None:
            await decide(served.stub, request)
            finished.append(request.bot)

        pids = stop_workers()
        hard = [asyncio.create_task(finish(HARD)) for _ in range(8)]
        await waiting(served, 7)
        easy = asyncio.create_task(finish(EASY))
        await waiting(served, 8)
        health = await health_pb2_grpc.HealthStub(served.channel).Check(
            health_pb2.HealthCheckRequest(), timeout=CALL_SECONDS
        )
        assert health.status == health_pb2.HealthCheckResponse.SERVING
        send(pids, signal.SIGCONT)
        await asyncio.gather(*hard, easy)
        assert finished[:2] == ["hard", "easy"], "an easy decision goes before hard ones that have not begun"


async def test_g5_a_decision_keeps_its_deadline_and_leaves_no_work_behind() -> None:
    async with serving() as served:
        await decide(served.stub, HARD)
        pids = stop_workers()
        calls = [asyncio.create_task(decide(served.stub, HARD, 5.0)) for _ in range(2)]
        await busy(served, 1)
        await waiting(served, 1)
        for call in calls:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await waiting(served, 0)
        send(pids, signal.SIGCONT)
        await busy(served, 0)
        assert begun(served) == 2, "the second never reached a worker"
        assert await decide(served.stub, EASY) >= 0


async def late_decision(served: Served, seconds: float) -> grpc.aio.AioRpcError:
    """How a decision ends that no worker makes in time."""
    pids = stop_workers()
    try:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await decide(served.stub, EASY, seconds)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        # Not before may the workers go on: an answer could come before the front has heard that it is too late.
        await eventually(
            lambda: sample(served, "rami_ai_decisions_total", level="easy", outcome="timeout") == 1, "it is counted"
        )
    finally:
        send(pids, signal.SIGCONT)
    assert sample(served, "rami_ai_decisions_total", level="easy", outcome="cancelled") == 0
    return caught.value


async def test_a_decision_that_is_late_says_so_in_our_words(monkeypatch: pytest.MonkeyPatch) -> None:
    # The front gives up so long before the deadline that its answer arrives however busy the machine is.
    monkeypatch.setattr(servicer, "RESERVE_SECONDS", CALL_SECONDS - 0.2)
    async with serving() as served:
        error = await late_decision(served, CALL_SECONDS)
        assert from_rpc_error(error).reason == reasons.ERROR_REASON_DECISION_TIMEOUT


async def test_a_decision_that_grpc_ends_at_its_deadline_counts_as_late(monkeypatch: pytest.MonkeyPatch) -> None:
    # The front would wait for longer, as one does that is too busy to notice the time.
    monkeypatch.setattr(servicer, "RESERVE_SECONDS", -CALL_SECONDS)
    # Its time begins when the call has arrived, which may take a while; there is a connection by then.
    monkeypatch.setattr(servicer, "DEADLINE_SLACK_SECONDS", 1.9)
    async with serving() as served:
        await decide(served.stub, HARD)
        await late_decision(served, 2.0)


async def test_a_full_queue_refuses_at_once_and_says_when_to_come_back() -> None:
    async with serving(queue_limit=2) as served:
        pids = stop_workers()
        calls = [asyncio.create_task(decide(served.stub, HARD)) for _ in range(3)]
        await waiting(served, 2)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await decide(served.stub, EASY)
        error = from_rpc_error(caught.value)
        assert (error.code, error.reason) == (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            reasons.ERROR_REASON_DECISION_QUEUE_FULL,
        )
        trailers = dict(caught.value.trailing_metadata() or ())
        status = status_pb2.Status.FromString(bytes(trailers["grpc-status-details-bin"]))
        retry = error_details_pb2.RetryInfo()
        assert any(detail.Unpack(retry) for detail in status.details)
        assert retry.retry_delay.ToMilliseconds() > 0
        send(pids, signal.SIGCONT)
        assert len(set(await asyncio.gather(*calls))) == 1


async def test_a_cancelled_call_leaves_the_queue() -> None:
    async with serving() as served:
        pids = stop_workers()
        first = asyncio.create_task(decide(served.stub, EASY))
        await busy(served, 1)
        second = served.stub.Decide(HARD, timeout=CALL_SECONDS, metadata=caller())
        await waiting(served, 1)
        second.cancel()
        await waiting(served, 0)
        send(pids, signal.SIGCONT)
        await first
        assert sample(served, "rami_ai_decisions_total", level="hard", outcome="cancelled") == 1
        assert begun(served) == 1, "it never reached a worker"


async def test_a_worker_killed_in_the_middle_of_a_decision_costs_nobody_an_answer() -> None:
    async with serving() as served:
        expected = await decide(served.stub, HARD)
        pids = stop_workers()
        call = asyncio.create_task(decide(served.stub, HARD))
        await busy(served, 1)
        send(pids, signal.SIGKILL)
        assert await call == expected
        assert sample(served, "rami_ai_worker_restarts_total") == 1
        assert len(workers_of(os.getpid())) == 1


async def test_recycling_real_workers_loses_no_decision() -> None:
    async with serving(worker_recycle_decisions=10) as served:
        first = workers_of(os.getpid())
        answers: set[int] = set()
        async with asyncio.timeout(CALL_SECONDS):
            while living(first):
                answers.update(await asyncio.gather(*[decide(served.stub, EASY) for _ in range(8)]))
        assert len(answers) == 1
        assert sample(served, "rami_ai_worker_restarts_total") == 0


async def test_without_workers_the_service_is_not_ready_and_becomes_so_again() -> None:
    async with service_process(worker_start_seconds="60") as process, calling(process) as stub:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{process.port}") as channel:
            watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
            seen = [(await watch.read()).status]
            assert seen == [health_pb2.HealthCheckResponse.SERVING]
            send(process.worker_pids(), signal.SIGKILL)
            assert await decide(stub, EASY) >= 0, "it waits in the queue until there is a worker"
            watch.cancel()
        assert len(process.worker_pids()) == 1


async def test_a_front_that_is_killed_leaves_no_worker_behind() -> None:
    async with service_process(workers="2") as process, calling(process) as stub:
        pids = process.worker_pids()
        assert len(pids) == 2
        send(pids[:1], signal.SIGSTOP)
        calls = [asyncio.create_task(decide(stub, HARD)) for _ in range(4)]
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        process.process.kill()
        await process.process.wait()
        send(pids[:1], signal.SIGCONT)
        await eventually(lambda: not living(pids), "the workers have ended")
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_to_the_whole_group_lets_a_decision_finish(number: signal.Signals) -> None:
    async with service_process() as process, calling(process) as stub:
        pids = process.worker_pids()
        send(pids, signal.SIGSTOP)
        call = asyncio.create_task(decide(stub, HARD))
        await process.sampled('rami_ai_workers{state="busy"}', 1)
        os.killpg(process.pid, number)
        send(pids, signal.SIGCONT)
        assert await call >= 0
        async with asyncio.timeout(CALL_SECONDS):
            assert await process.process.wait() == 0
        assert not living(pids)


async def test_bad_settings_end_the_start_with_one_line() -> None:
    environment = os.environ | {"RAMI_MODE": "development", "RAMI_WORKERS": "-1"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "ai_decision", env=environment, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await process.communicate()
    assert process.returncode == 2
    assert errors.decode().count("\n") == 1
    assert "RAMI_WORKERS" in errors.decode()
