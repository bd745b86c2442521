"""The pool with workers that do as they are told: order, bounds, deaths, deadlines, succession."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from ai_decision import process
from ai_decision.frames import Chosen, Failed
from ai_decision.pool import DecisionTimeout, WorkerPool, WorkersLost
from ai_decision.queue import TOGETHER, QueueFull
from rami_kit.metrics import AiMetrics
from support.waiting import eventually

SCRIPT = Path(__file__).with_name("scripted_worker.py")
LONG = 120.0


class Pool:
    """A pool of scripted workers, what it counts, and the folder of their marks."""

    def __init__(self, marks: Path, workers: int, queue_limit: int, recycle: int) -> None:
        self.marks = marks
        self.metrics = AiMetrics(CollectorRegistry())
        self.pool = WorkerPool(
            workers=workers,
            queue_limit=queue_limit,
            recycle_decisions=recycle,
            start_seconds=LONG,
            metrics=self.metrics,
            command=(sys.executable, str(SCRIPT), str(marks)),
        )

    async def ask(self, text: str, *, seconds: float = LONG, quick: bool = False, people: bool = True) -> object:
        return await self.pool.decide(text.encode(), time.monotonic() + seconds, quick=quick, people=people)

    def submit(self, text: str, **how: Any) -> asyncio.Task[object]:
        return asyncio.create_task(self.ask(text, **how))

    async def occupy(self, name: str) -> asyncio.Task[object]:
        """A worker is busy until `release`."""
        task = self.submit(f"mark {name}")
        await eventually((self.marks / name).exists, f"a worker has begun {name}")
        return task

    async def release(self, name: str) -> None:
        await asyncio.to_thread((self.marks / f"{name}.go").write_bytes, b"")

    def started(self) -> int:
        """Processes that there have been."""
        return len(list(self.marks.glob("started-*")))

    def restarts(self) -> float:
        return self.metrics.worker_restarts.labels().value


@asynccontextmanager
async def pool_of(marks: Path, *, workers: int = 1, queue_limit: int = 8, recycle: int = 0) -> AsyncIterator[Pool]:
    pool = Pool(marks, workers, queue_limit, recycle)
    try:
        async with asyncio.timeout(LONG):
            await pool.pool.start()
        yield pool
    finally:
        await pool.pool.close()
        assert pool.pool.pids == []


async def test_answers_come_from_as_many_processes_as_there_are_workers(tmp_path: Path) -> None:
    async with pool_of(tmp_path, workers=2) as pool:
        assert pool.pool.ready
        assert len(pool.pool.pids) == 2
        first = await pool.occupy("a")
        answer = await pool.ask("pid")
        assert isinstance(answer, Chosen)
        assert answer.place in pool.pool.pids
        await pool.release("a")
        assert await first == Chosen(0)
        assert await pool.ask("fail") == Failed("Traceback: as told")


async def test_quick_decisions_go_before_slow_ones_and_equals_in_order(tmp_path: Path) -> None:
    order: list[object] = []
    async with pool_of(tmp_path) as pool:
        first = await pool.occupy("a")
        tasks = []
        for number, quick in enumerate([False, False, True, True]):
            task = pool.submit(f"index {number}", quick=quick)
            task.add_done_callback(lambda done: order.append(done.result()))
            tasks.append(task)
        await eventually(lambda: pool.pool.waiting == 4, "four wait")
        assert pool.metrics.queue_depth.labels().value == 4
        await pool.release("a")
        await asyncio.gather(first, *tasks)
    assert order == [Chosen(number) for number in (2, 3, 0, 1)]
    assert pool.metrics.queue_depth.labels().value == 0
    assert pool.metrics.queue_seconds.labels("people").count == 5


async def test_a_full_queue_refuses_at_once_and_takes_again(tmp_path: Path) -> None:
    async with pool_of(tmp_path, queue_limit=2) as pool:
        first = await pool.occupy("a")
        waiting = [pool.submit("index 1"), pool.submit("index 2")]
        await eventually(lambda: pool.pool.waiting == 2, "two wait")
        for quick in (False, True):
            with pytest.raises(QueueFull):
                await pool.ask("index 3", quick=quick)
        assert pool.pool.waiting == 2
        await pool.release("a")
        assert await asyncio.gather(first, *waiting) == [Chosen(0), Chosen(1), Chosen(2)]
        assert await pool.ask("index 3") == Chosen(3)


async def test_a_decision_that_is_left_or_late_leaves_the_queue(tmp_path: Path) -> None:
    async with pool_of(tmp_path) as pool:
        first = await pool.occupy("a")
        left = pool.submit("die")
        await eventually(lambda: pool.pool.waiting == 1, "one waits")
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left
        with pytest.raises(DecisionTimeout):
            await pool.ask("die", seconds=0.05)
        with pytest.raises(DecisionTimeout):
            await pool.ask("die", seconds=-1)
        assert pool.pool.waiting == 0
        await pool.release("a")
        assert await first == Chosen(0)
        assert await pool.ask("index 4") == Chosen(4)
        assert pool.restarts() == 0, "nothing of what was dropped reached a worker"


async def test_the_answer_to_a_decision_that_was_left_goes_to_nobody(tmp_path: Path) -> None:
    async with pool_of(tmp_path) as pool:
        left = await pool.occupy("a")
        left.cancel()
        following = pool.submit("index 5")
        await pool.release("a")
        assert await following == Chosen(5)
        assert pool.pool.busy == 0


async def test_a_worker_that_dies_is_replaced_and_its_decision_made_by_another(tmp_path: Path) -> None:
    async with pool_of(tmp_path) as pool:
        before = pool.pool.pids
        assert await pool.ask("die once b") == Chosen(1)
        assert pool.restarts() == 1
        assert pool.pool.pids != before
        assert len(pool.pool.pids) == 1


async def test_quick_decisions_of_a_moment_go_to_one_worker_together(tmp_path: Path) -> None:
    async with pool_of(tmp_path, workers=2) as pool:
        together = await asyncio.gather(*[pool.ask("pid", quick=True) for _ in range(TOGETHER)])
        assert len(set(together)) == 1
        apart = await asyncio.gather(*[pool.ask("pid") for _ in range(2)])
        assert set(apart) == {Chosen(pid) for pid in pool.pool.pids}
        more = await asyncio.gather(*[pool.ask(f"index {number}", quick=True) for number in range(TOGETHER + 1)])
        assert more == [Chosen(number) for number in range(TOGETHER + 1)]
        assert pool.pool.busy == 0
        assert pool.metrics.queue_depth.labels().value == 0


async def test_of_decisions_that_a_worker_has_together_only_the_one_to_blame_is_given_up(tmp_path: Path) -> None:
    async with pool_of(tmp_path) as pool:
        tasks = [pool.submit(text, quick=True) for text in ("index 1", "die", "index 2", "index 3")]
        with pytest.raises(WorkersLost):
            await tasks[1]
        assert [await task for task in tasks if task is not tasks[1]] == [Chosen(1), Chosen(2), Chosen(3)]
        assert pool.restarts() == 2, "with the rest apart from it, it is the only one that was tried twice"


async def test_a_decision_that_was_left_among_others_is_not_tried_again(tmp_path: Path) -> None:
    async with pool_of(tmp_path) as pool:
        left = pool.submit("mark a", quick=True)
        other = pool.submit("index 1", quick=True)
        await eventually((tmp_path / "a").exists, "both have been begun")
        assert pool.pool.busy == 2
        left.cancel()
        os.kill(pool.pool.pids[0], signal.SIGKILL)
        assert await other == Chosen(1)
        assert pool.pool.busy == 0


async def test_as_many_as_workers_and_queue_hold_are_taken_at_once(tmp_path: Path) -> None:
    async with pool_of(tmp_path, workers=2, queue_limit=2) as pool:
        tasks = [pool.submit(f"mark {name}") for name in "abcd"]
        refused = pool.submit("index 1")
        with pytest.raises(QueueFull):
            await refused
        for name in "abcd":
            await eventually((tmp_path / name).exists, f"a worker has begun {name}")
            await pool.release(name)
        assert await asyncio.gather(*tasks) == [Chosen(0)] * 4


async def test_a_decision_that_was_begun_goes_before_those_that_were_not(tmp_path: Path) -> None:
    order: list[object] = []
    async with pool_of(tmp_path) as pool:
        begun = await pool.occupy("a")
        begun.add_done_callback(lambda _: order.append("begun"))
        other = pool.submit("index 1")
        other.add_done_callback(lambda _: order.append("other"))
        await eventually(lambda: pool.pool.waiting == 1, "one waits")
        (tmp_path / "a").unlink()
        os.kill(pool.pool.pids[0], signal.SIGKILL)
        await eventually((tmp_path / "a").exists, "the decision is begun again")
        await pool.release("a")
        await asyncio.gather(begun, other)
    assert order == ["begun", "other"]


async def test_a_decision_that_kills_two_workers_is_given_up_and_the_pool_lives(tmp_path: Path) -> None:
    async with pool_of(tmp_path, workers=2) as pool:
        with pytest.raises(WorkersLost):
            await pool.ask("die")
        assert pool.restarts() == 2
        assert await pool.ask("index 6") == Chosen(6)
        await eventually(lambda: len(pool.pool.pids) == 2, "both are replaced")


async def test_an_idle_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    async with pool_of(tmp_path) as pool:
        (pid,) = pool.pool.pids
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: pool.restarts() == 1 and pool.pool.ready, "a worker serves again")
        assert pool.pool.pids != [pid]
        assert await pool.ask("index 7") == Chosen(7)


async def test_a_worker_that_says_nonsense_is_replaced(tmp_path: Path) -> None:
    async with pool_of(tmp_path) as pool:
        with pytest.raises(WorkersLost):
            await pool.ask("what?")
        assert pool.restarts() == 2
        assert await pool.ask("index 8") == Chosen(8)


async def test_a_worker_that_hangs_past_the_deadline_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STUCK_SECONDS", 0.05)
    async with pool_of(tmp_path) as pool:
        with pytest.raises(DecisionTimeout):
            await pool.ask("hang", seconds=0.1)
        assert await pool.ask("index 9") == Chosen(9)
        assert pool.restarts() == 1, "the decision that hung was not tried again: nobody waited for it"


async def test_workers_that_do_not_start_are_tried_again_until_they_do(tmp_path: Path) -> None:
    (tmp_path / "refuse-to-start").touch()
    pool = Pool(tmp_path, 1, 8, 0)
    starting = asyncio.create_task(pool.pool.start())
    await eventually(lambda: pool.restarts() >= 3, "it has been tried again")
    assert not pool.pool.ready
    assert not starting.done()
    (tmp_path / "refuse-to-start").unlink()
    async with asyncio.timeout(LONG):
        await starting
    assert await pool.ask("index 1") == Chosen(1)
    await pool.pool.close()


async def test_a_command_that_does_not_exist_is_tried_again_and_close_ends_it(tmp_path: Path) -> None:
    metrics = AiMetrics(CollectorRegistry())
    pool = WorkerPool(
        workers=1, queue_limit=1, recycle_decisions=0, start_seconds=1, metrics=metrics, command=(str(tmp_path / "no"),)
    )
    starting = asyncio.create_task(pool.start())
    await eventually(lambda: metrics.worker_restarts.labels().value >= 2, "it has been tried again")
    starting.cancel()
    await pool.close()
    assert pool.pids == []


async def test_recycling_loses_nothing_and_the_pool_keeps_its_size(tmp_path: Path) -> None:
    async with pool_of(tmp_path, workers=2, recycle=5, queue_limit=200) as pool, asyncio.timeout(LONG):
        first = pool.pool.pids
        asked = 0
        while pool.started() < 6 or set(first) & set(pool.pool.pids):
            numbers = range(asked, asked + 20)
            answers = await asyncio.gather(*[pool.ask(f"index {number}") for number in numbers])
            assert answers == [Chosen(number) for number in numbers]
            assert 2 <= len(pool.pool.pids) <= 3, "one starts, or one ends, at a time"
            asked += 20
        assert pool.restarts() == 0, "a worker that is succeeded has not died"
        await eventually(lambda: len(pool.pool.pids) == 2, "the outdated ones have gone")
        assert await pool.ask("index 1") == Chosen(1)


async def test_of_several_outdated_workers_who_has_decided_most_is_replaced_first(tmp_path: Path) -> None:
    async with pool_of(tmp_path, workers=2, recycle=5) as pool:
        held = await pool.occupy("a")
        (busy,) = pool.pool._jobs
        (other,) = pool.pool._workers - {busy}
        busy.decisions, other.decisions = 9, 8
        assert await pool.ask("index 1") == Chosen(1)
        assert pool.pool._outdated is busy, "and not who has just answered"
        await pool.release("a")
        assert await held == Chosen(0)
        await eventually(lambda: busy.pid not in pool.pool.pids, "it has gone")
        assert other.pid in pool.pool.pids


async def test_an_outdated_worker_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STUCK_SECONDS", 0.05)
    async with pool_of(tmp_path, recycle=1) as pool:
        (stays,) = pool.pool.pids
        assert await pool.ask("stay") == Chosen(0)
        await eventually(lambda: stays not in pool.pool.pids, "it has gone")
        await eventually(lambda: len(pool.pool.pids) == 1, "its successor is alone")
        (next_one,) = pool.pool.pids
        assert await pool.ask("index 1") == Chosen(1)
        await eventually(lambda: next_one not in pool.pool.pids, "and is replaced in its turn")
        assert pool.restarts() == 0


async def test_closing_ends_busy_workers_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ai_decision.pool.DISMISS_SECONDS", 0.2)
    pool = Pool(tmp_path, 1, 8, 0)
    await pool.pool.start()
    busy = await pool.occupy("a")
    await pool.pool.close()
    assert pool.pool.pids == []
    busy.cancel()
    with pytest.raises(asyncio.CancelledError):
        await busy
