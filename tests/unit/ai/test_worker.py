"""The loop of a worker, without its process."""

import io
import struct
import sys

import pytest

from ai_decision import worker
from ai_decision.config import AiSettings
from ai_decision.frames import LENGTH, Answer, Chosen, Failed, decode_answer, encode_job
from rami_kit.testing import make_settings
from unit.ai.requests import request_for, some_turn

FAR = sys.float_info.max


def answers_to(jobs: bytes) -> list[Answer | None]:
    written = io.BytesIO()
    worker.serve(io.BytesIO(jobs), written)
    rest, answers = written.getvalue(), []
    while rest:
        end = LENGTH.size + LENGTH.unpack_from(rest)[0]
        answers.append(decode_answer(rest[LENGTH.size : end]))
        rest = rest[end:]
    return answers


def test_it_says_that_it_is_ready_and_answers_jobs_in_order() -> None:
    request = request_for(some_turn(), "easy").SerializeToString()
    ready, *answers = answers_to(encode_job(request, FAR) * 3)
    assert ready is None
    assert len(answers) == 3
    assert isinstance(answers[0], Chosen)
    assert answers == [answers[0]] * 3


@pytest.mark.parametrize("cut", [1, 3, 20])
def test_it_ends_when_the_front_goes_away_in_the_middle_of_a_job(cut: int) -> None:
    assert answers_to(encode_job(b"x" * 40, FAR)[:-cut]) == [None]
    assert answers_to(struct.pack("<I", 9)[:cut]) == [None]


def test_a_defect_is_reported_and_the_next_job_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*_: object) -> Answer:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(worker, "decide", break_down)
    ready, first, second = answers_to(encode_job(b"", FAR) * 2)
    assert ready is None
    assert isinstance(first, Failed)
    assert "ZeroDivisionError: a defect" in first.traceback
    assert isinstance(second, Failed)


def test_a_search_whose_deadline_has_passed_still_answers() -> None:
    request = request_for(some_turn(), "hard").SerializeToString()
    _, answer = answers_to(encode_job(request, 0.0))
    assert isinstance(answer, Chosen)


def test_no_workers_means_one_per_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert make_settings(AiSettings, None, workers=0).worker_count == 3
    assert make_settings(AiSettings, None).worker_count == 1
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert make_settings(AiSettings, None, workers=0).worker_count == 1
