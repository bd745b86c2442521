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
    return _encode_tag(number, _VARINT) + _encode_varint(value) if value else b""


@lru_cache(maxsize=16_384)
def _encode_head(number: int, length: int) -> bytes:
    return _encode_tag(number, _LENGTH_DELIMITED) + _encode_varint(length)


@lru_cache
def _encode_tag(number: int, wire_type: int) -> bytes:
    return _encode_varint(number << 3 | wire_type)


def _encode_varint(value: int) -> bytes:
    if value <= 0x7F:
        return _BYTES[value]
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


_BYTES: Final = tuple(bytes((value,)) for value in range(0x80))
