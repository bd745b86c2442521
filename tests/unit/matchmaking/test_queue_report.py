"""What a wait may be: the estimate from waits that have ended and waits that have not."""

from __future__ import annotations

import pytest

from matchmaking.queue_report import median_wait


@pytest.mark.parametrize(
    ("waits", "ages", "estimate"),
    [
        ([], [], None),
        ([], [5], None),
        ([10], [], 10),
        ([10, 20, 30], [], 20),
        ([10, 20], [], 10),
        # Those who have waited longer than others did push the estimate up, newcomers do not.
        ([10, 20, 30], [50, 60], 30),
        ([10, 20, 30], [1, 2, 3], 20),
        ([10, 20, 30], [50, 60, 70, 80], None),
        ([10], [10], 10),
    ],
)
def test_the_median_of_waits_of_which_some_go_on(waits: list[int], ages: list[int], estimate: int | None) -> None:
    assert median_wait(waits, ages) == estimate
