from __future__ import annotations

import pytest

from ai_decision.queue import FAIR_SHARE, TOGETHER, DecisionQueue, Job, QueueFull


def job(name: str, *, people: bool = True, quick: bool = False) -> Job:
    return Job(name.encode(), 1e9, quick=quick, people=people)


def taken(queue: DecisionQueue) -> list[str]:
    order = []
    while jobs := queue.take():
        order += [job.request.decode() for job in jobs]
    return order


async def test_people_come_before_bots_and_quick_bots_before_slow_ones() -> None:
    queue = DecisionQueue(10)
    for name, people, quick in [
        ("bots slow", False, False),
        ("bots quick", False, True),
        ("people slow", True, False),
        ("people quick", True, True),
    ]:
        queue.add(job(name, people=people, quick=quick))

    assert len(queue) == 4
    assert taken(queue) == ["people quick", "people slow", "bots quick", "bots slow"]
    assert len(queue) == 0


async def test_equals_come_in_order() -> None:
    queue = DecisionQueue(10)
    for number in range(5):
        queue.add(job(str(number)))
    queue.put_back(job("again"))

    assert taken(queue) == ["again", "0", "1", "2", "3", "4"]


async def test_quick_jobs_are_taken_together_and_others_one_by_one() -> None:
    queue = DecisionQueue(100)
    for number in range(TOGETHER + 2):
        queue.add(job(f"quick {number}", quick=True))
    queue.add(job("slow"))
    queue.add(job("slower"))

    assert [len(queue.take()) for _ in range(4)] == [TOGETHER, 2, 1, 1]
    assert queue.take() == []


async def test_a_job_that_a_worker_has_died_of_is_taken_alone() -> None:
    queue = DecisionQueue(100)
    for name in ("new", "newer"):
        queue.add(job(name, quick=True))
    for name in ("again", "first again"):
        tried = job(name, quick=True)
        tried.attempts = 1
        queue.put_back(tried)

    together = [[job.request.decode() for job in queue.take()] for _ in range(3)]
    assert together == [["first again"], ["again"], ["new", "newer"]]


async def test_together_with_quick_jobs_nothing_starves() -> None:
    queue = DecisionQueue(100)
    queue.add(job("bots", people=False, quick=True))
    taken: list[Job] = []
    while not taken or taken[-1].people:
        while len(queue) < TOGETHER:
            queue.add(job("people", quick=True))
        taken += queue.take()
        assert len(taken) <= FAIR_SHARE
    assert len(taken) == FAIR_SHARE


async def test_nothing_starves_while_people_keep_coming() -> None:
    queue = DecisionQueue(100)
    queue.add(job("bots", people=False))
    turns = 0
    while True:
        queue.add(job("people"))
        turns += 1
        (next_job,) = queue.take()
        if not next_job.people:
            break
        assert turns <= FAIR_SHARE
    assert turns == FAIR_SHARE


async def test_a_full_queue_refuses_bots_and_makes_room_for_people() -> None:
    queue = DecisionQueue(3)
    old, young, person = job("old", people=False), job("young", people=False, quick=True), job("person")
    for waiting in (old, young, person):
        queue.add(waiting)
    with pytest.raises(QueueFull):
        queue.add(job("bots", people=False))

    queue.add(job("another"))
    assert isinstance(young.answer.exception(), QueueFull), "the youngest of the tables without people goes"
    queue.add(job("one more"))
    assert isinstance(old.answer.exception(), QueueFull)
    with pytest.raises(QueueFull):
        queue.add(job("too many"))
    assert taken(queue) == ["person", "another", "one more"]


async def test_who_has_left_does_not_wait_any_more() -> None:
    queue = DecisionQueue(3)
    first, second = job("first"), job("second")
    queue.add(first)
    queue.add(second)

    assert queue.remove(first)
    assert not queue.remove(first)
    assert taken(queue) == ["second"]


async def test_the_age_of_the_queue_is_that_of_its_oldest_job() -> None:
    queue = DecisionQueue(3)
    assert queue.oldest_seconds() == 0
    young, old = job("young"), job("old", people=False)
    old.submitted -= 5
    queue.add(young)
    queue.add(old)

    assert 5 <= queue.oldest_seconds() < 60
    queue.remove(old)
    assert queue.oldest_seconds() < 5
