"""Which Play stream of a seat is the newest: notices on the room's channel, ordered by the store's clock.

    P   a stream has been opened, or answers a question: whoever plays the seat and is older ends
    Q   a stream may have missed a P: whoever plays the seat and is newer answers with its own

A notice says seat, order and stream. The order is the store's time when the stream was announced, in microseconds, so
that every replica agrees on it; streams of one moment are ordered by their random ids.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

STREAM_ID_BYTES: Final = 8
ORDER_DIGITS: Final = 16
ANNOUNCEMENT: Final = b"P"
QUESTION: Final = b"Q"

_NOTICE: Final = struct.Struct(f">cB{ORDER_DIGITS}s{STREAM_ID_BYTES}s")


class PlayNotice(NamedTuple):
    """One Play stream of a seat. Of two with the same seat, the greater is the newer."""

    seat: int
    order: bytes
    """Decimal digits."""
    stream_id: bytes

    def encode(self, kind: bytes) -> bytes:
        """The published form."""
        return _NOTICE.pack(kind, *self)


def decode_notice(message: bytes) -> PlayNotice:
    """The notice of its published form. Trusts that the message begins with one of the two kinds."""
    _, seat, order, stream_id = _NOTICE.unpack(message)
    return PlayNotice(seat, order, stream_id)
