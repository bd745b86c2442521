"""Fields in the protobuf wire format, for messages that are put together from ready bytes.

Source: the protobuf encoding: a tag (field number, wire type), then a number, both as base-128 varints; of bytes and
messages the number is the length, and they follow.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_VARINT: Final = 0
_LENGTH_DELIMITED: Final = 2


def encode_field(number: int, body: bytes) -> bytes:
    """The serialized field `number` that holds a serialized message, or bytes."""
    return _encode_head(number, len(body)) + body


def encode_varint_field(number: int, value: int) -> bytes:
    """The serialized field `number` that holds an unsigned integer; empty for 0, as proto3 has it."""
    if 0 < value <= 0x7F:
        return _encode_small(number, value)
    return _encode_tag(number, _VARINT) + _encode_varint(value) if value else b""


@lru_cache(maxsize=0x1000)
def _encode_small(number: int, value: int) -> bytes:
    """As above, for most numbers that there are in a game."""
    return _encode_tag(number, _VARINT) + _BYTES[value]


@lru_cache(maxsize=16_384)
def _encode_head(number: int, length: int) -> bytes:
    return _encode_tag(number, _LENGTH_DELIMITED) + _encode_varint(length)


@lru_cache
def _encode_tag(number: int, wire_type: int) -> bytes:
    return _encode_varint(number << 3 | wire_type)


def _encode_varint(value: int) -> bytes:
    if value <= 0x7F:
        return _BYTES[value]
    if value <= 0x3FFF:
        return _encode_pair(value)
    return _encode_low_pair(value & 0x3FFF) + _encode_high(value >> 14)


@lru_cache(maxsize=0x1000)
def _encode_high(value: int) -> bytes:
    """What a long number has beyond its last 14 bits: of times in ms the same for a quarter of a minute."""
    return _encode_varint(value)


@lru_cache(maxsize=0x4000)
def _encode_pair(value: int) -> bytes:
    """A number of 8 to 14 bits: all of them at once keep the loop over bits away from every step."""
    return bytes((value & 0x7F | 0x80, value >> 7))


@lru_cache(maxsize=0x4000)
def _encode_low_pair(value: int) -> bytes:
    """The last 14 bits of a longer number."""
    return bytes((value & 0x7F | 0x80, value >> 7 | 0x80))


_BYTES: Final = tuple(bytes((value,)) for value in range(0x80))
