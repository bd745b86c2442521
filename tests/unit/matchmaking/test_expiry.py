"""When players are given time to come back."""

from __future__ import annotations

import pytest

from matchmaking.expiry import AWAY_SECONDS, Grace


def test_a_process_that_begins_spares_tickets_for_as_long_as_nothing_may_be_heard_of_them() -> None:
    grace = Grace(30.0, 100.0)
    assert grace.left_ms(101.0) == 29_000
    for now in range(101, 129):
        grace.looked(float(now))
    assert grace.left_ms(129.5) == 500
    assert grace.left_ms(130.0) == 0
    assert grace.left_ms(131.0) == 0


@pytest.mark.parametrize(("away", "spared"), [(1.0, False), (AWAY_SECONDS, False), (AWAY_SECONDS + 0.1, True)])
def test_so_does_one_that_has_been_kept_from_looking(away: float, spared: bool) -> None:
    grace = Grace(2.0, 0.0)
    for now in range(10):
        grace.looked(float(now))
    back = 9.0 + away
    assert grace.left_ms(back) == (2_000 if spared else 0)
    grace.looked(back)
    assert grace.left_ms(back + 1.0) == (1_000 if spared else 0)
    grace.looked(back + 1.0)
    assert grace.left_ms(back + 2.0) == 0


def test_the_time_begins_with_the_return_and_not_with_the_tries() -> None:
    grace = Grace(2.0, 0.0)
    assert [grace.left_ms(now) for now in (10.0, 11.0, 12.0)] == [2_000] * 3
    grace.looked(12.0)
    assert grace.left_ms(13.5) == 500
