"""Spans of time in requests: how long a turn may take, for instance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rami_kit.errors import InvalidRequest

if TYPE_CHECKING:
    from google.protobuf.duration_pb2 import Duration

MAX_SAFE_SECONDS: Final = 10**9


def span_ms(span: Duration, field: str, most: int) -> int:
    """A span of time in ms, rounded up: a very short one is not none.

    Raises InvalidRequest for `field` unless it is within 0 to `most`.
    """
    if not -MAX_SAFE_SECONDS <= span.seconds <= MAX_SAFE_SECONDS:
        raise InvalidRequest(field, f"must be within 0 and {most / 1000:g} s")
    milliseconds = span.seconds * 1000 - -span.nanos // 1_000_000
    if not 0 <= milliseconds <= most or not 0 <= span.nanos < 10**9:
        raise InvalidRequest(field, f"must be within 0 and {most / 1000:g} s")
    return milliseconds


__all__ = ["span_ms"]
