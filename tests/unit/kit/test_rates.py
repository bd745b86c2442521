from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rami_kit.rates import Buckets, Rate, charge_message, set_message_charge


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def buckets(per_second: float, burst: int, **values: int) -> tuple[Buckets, Clock]:
    clock = Clock()
    return Buckets(Rate(per_second, burst), clock=clock, **values), clock


def test_a_burst_is_taken_and_then_one_for_each_interval() -> None:
    some, clock = buckets(10, 5)
    assert [some.take("ann") for _ in range(5)] == [0.0] * 5
    assert some.take("ann") == pytest.approx(0.1)
    clock.now += 0.06
    assert some.take("ann") == pytest.approx(0.04), "a refusal takes nothing and says when to come back"
    clock.now += 0.041
    assert some.take("ann") == 0.0
    assert some.take("ann") > 0
    clock.now += 60
    assert [some.take("ann") > 0 for _ in range(6)] == [False] * 5 + [True], "a rest fills the bucket, no more"


def test_what_is_given_back_can_be_taken_again() -> None:
    some, _ = buckets(1, 2)
    for _ in range(10):
        assert some.take("ann") == 0.0
        some.give_back("ann")
    some.give_back("nobody")
    assert [some.take("ann") > 0 for _ in range(3)] == [False, False, True]


def test_callers_do_not_share() -> None:
    some, _ = buckets(1, 1)
    assert some.take("ann") == 0.0
    assert some.take("bob") == 0.0
    assert some.take("ann") > 0


@settings(deadline=None)
@given(st.floats(0.01, 1e6), st.integers(1, 1000), st.lists(st.floats(0, 2), max_size=60), st.integers())
def test_no_more_than_the_burst_and_the_rate(per_second: float, burst: int, steps: list[float], seed: int) -> None:
    some, clock = buckets(per_second, burst)
    chance, taken = random.Random(seed), 0
    for step in steps:
        clock.now += step / per_second
        taken += sum(some.take("ann") == 0.0 for _ in range(chance.randint(1, 5)))
    assert taken <= burst + (clock.now - 1000.0) * per_second + 1e-3


@settings(deadline=None)
@given(st.floats(0.01, 1e6), st.integers(1, 1000))
def test_a_caller_who_waits_as_told_gets_in(per_second: float, burst: int) -> None:
    some, clock = buckets(per_second, burst)
    for _ in range(burst + 5):
        wait = some.take("ann")
        if wait:
            clock.now += wait
            assert some.take("ann") == 0.0


def test_who_has_been_quiet_is_forgotten() -> None:
    some, clock = buckets(10, 5)
    for number in range(100):
        some.take(f"player{number}")
    assert len(some) == 100
    clock.now += 1.0
    for number in range(60):
        some.take(f"other{number}")
    assert len(some) <= 61


def test_memory_is_bounded_also_while_everybody_is_busy() -> None:
    some, _ = buckets(0.001, 2, kept=50)
    for number in range(1000):
        some.take(f"player{number}")
        assert len(some) <= 50
    assert some.take("player999") == 0.0
    assert some.take("player999") > 0, "the latest are remembered"


def test_a_message_outside_a_stream_is_free_and_in_one_it_is_charged() -> None:
    charge_message()
    charged: list[bool] = []
    set_message_charge(lambda: charged.append(True))
    charge_message()
    assert charged == [True]
