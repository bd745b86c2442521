"""What goes through the pipes comes out as it went in."""

import pytest

from ai_decision.frames import (
    LENGTH,
    Answer,
    Chosen,
    Failed,
    Invalid,
    Weighed,
    decode_answer,
    decode_job,
    encode_answer,
    encode_job,
    encode_ready,
    take_frames,
)


def body_of(frame: bytes) -> bytes:
    (length,) = LENGTH.unpack_from(frame)
    assert length == len(frame) - LENGTH.size
    return frame[LENGTH.size :]


@pytest.mark.parametrize(("request_bytes", "deadline"), [(b"", 0.0), (b"\0abc\xff", 12345.678), (b"x" * 70_000, -1.5)])
def test_jobs_round_trip(request_bytes: bytes, deadline: float) -> None:
    assert decode_job(body_of(encode_job(request_bytes, deadline))) == (request_bytes, deadline)


@pytest.mark.parametrize(
    "answer",
    [
        Chosen(0),
        Chosen(2**32 - 1),
        Chosen(3, (Weighed(3, -1.5, 160), Weighed(0, None, 0))),
        Invalid("view.seat", "must be set: é"),
        Failed("Traceback\n\0\n"),
        Failed(""),
    ],
)
def test_answers_round_trip(answer: Answer) -> None:
    decoded = decode_answer(body_of(encode_answer(answer)))
    assert decoded == answer
    assert type(decoded) is type(answer)


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_frames_are_taken_when_they_have_come_whole(size: int) -> None:
    sent = b"".join([encode_job(b"x" * length, 1.0) for length in (0, 5, 300)])
    received = bytearray()
    frames = []
    for begin in range(0, len(sent), size):
        received += sent[begin : begin + size]
        frames += take_frames(received)

    assert [len(decode_job(frame)[0]) for frame in frames] == [0, 5, 300]
    assert not received


def test_ready_is_no_answer() -> None:
    assert decode_answer(body_of(encode_ready())) is None


@pytest.mark.parametrize("body", [b"", b"\x07", b"\x01\x01", b"\x01" + b"\0" * 19, b"\x02\xff\xfe", b"\x03\xff"])
def test_nonsense_is_an_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"no answer|decode"):
        decode_answer(body)
