from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest

from rami_kit.backoff import Backoff
from rami_kit.errors import InvalidRequest
from rami_kit.logs import configure_logging
from rami_kit.paging import page_size
from rami_kit.redis_store import StoreClock

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)


def test_pauses_double_up_to_a_bound_and_begin_again() -> None:
    backoff = Backoff(0.1, 1.0)
    for bound in (0.1, 0.2, 0.4, 0.8, 1.0, 1.0):
        assert bound / 2 <= backoff.next() <= bound
    backoff.reset()
    assert backoff.next() <= 0.1


def test_log_lines_are_json_in_utc(root_logger: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("INFO", "game")
    log = logging.getLogger("rami.test")
    log.debug("not shown")
    log.info("a %s", "text", extra={"seats": 4})
    try:
        int("broken")
    except ValueError:
        log.exception("it failed")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["message"] for line in lines] == ["a text", "it failed"]
    assert lines[0]["time"].endswith("+00:00")
    assert (lines[0]["level"], lines[0]["service"], lines[0]["logger"]) == ("INFO", "game", "rami.test")
    assert lines[0]["seats"] == 4
    assert "ValueError: invalid literal" in lines[1]["exc_info"]
    assert len(root_logger.handlers) == 1


class Monotonic:
    """The process's monotonic clock, set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("rami_kit.redis_store.time.monotonic", lambda: self.now)


def test_the_clock_takes_the_middle_of_a_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    monotonic, clock = Monotonic(monkeypatch), StoreClock()
    clock.adjust(1000.0, 50.0, 52.0)
    monotonic.now = 51.5
    assert clock.now() == 1000.5


def test_a_slow_answer_does_not_move_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monotonic, clock = Monotonic(monkeypatch), StoreClock()
    clock.adjust(1000.0, 0.0, 0.002)
    clock.adjust(1001.9, 1.0, 2.0)  # the store was asked at 1.9, and the middle is 1.5
    monotonic.now = 2.0
    assert clock.now() == pytest.approx(1002.0, abs=0.01)


def test_a_clock_that_was_set_is_followed_even_by_a_slow_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monotonic, clock = Monotonic(monkeypatch), StoreClock()
    clock.adjust(1000.0, 0.0, 0.002)
    clock.adjust(5000.0, 1.0, 2.0)
    monotonic.now = 1.5
    assert clock.now() == 5000.0


def test_a_clock_that_is_known_better_does_not_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monotonic, clock = Monotonic(monkeypatch), StoreClock()
    clock.adjust(1000.0, 0.0, 0.1)  # the middle of a long way is 0.05
    monotonic.now = 1.0
    assert clock.now() == pytest.approx(1000.95)
    clock.adjust(1000.91, 0.99, 1.0)  # it is 1000.915
    assert clock.now() == pytest.approx(1000.95)
    monotonic.now = 1.02
    assert clock.now() == pytest.approx(1000.96)
    clock.adjust(1000.9305, 1.019, 1.02)  # it is 1000.931
    assert clock.now() == pytest.approx(1000.96)
    monotonic.now = 1.2
    assert clock.now() == pytest.approx(1001.111)
    clock.adjust(900.0, 1.99, 2.0)
    monotonic.now = 2.0
    assert clock.now() == pytest.approx(900.005), "the store's own clock has been set back"


def test_pages_have_a_size_within_the_range_and_a_default() -> None:
    assert page_size(0, 20, 100) == 20
    assert page_size(1, 20, 100) == 1
    assert page_size(100, 20, 100) == 100
    for wrong in (-1, 101):
        with pytest.raises(InvalidRequest):
            page_size(wrong, 20, 100)
