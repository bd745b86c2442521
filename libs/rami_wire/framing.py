"""Fields in the protobuf wire format, for messages that are put together from ready bytes.

Source: the protobuf encoding: a tag (field number, wire type), then a number, both as base-128 varints; of bytes and
messages the number is the length, and they follow.

What every step of every match writes takes ready tags and heads (`varint_tag`, `field_heads`, `small_fields`): looking
into a tuple that everybody uses costs a fraction of a call, and of a large cache whose entries are far away.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_VARINT: Final = 0
_LENGTH_DELIMITED: Final = 2
_SMALL: Final = 0x80
"""Numbers below take one byte."""


def encode_field(number: int, body: bytes) -> bytes:
    """The serialized field `number` that holds a serialized message, or bytes."""
    return _encode_head(number, len(body)) + body


def encode_varint_field(number: int, value: int) -> bytes:
    """The serialized field `number` that holds an unsigned integer; empty for 0, as proto3 has it."""
    if value < _SMALL:
        return small_fields(number)[value]
    return varint_tag(number) + encode_varint(value)


def encode_varint(value: int) -> bytes:
    """An unsigned integer as base-128 varint."""
    if value < _SMALL:
        return _BYTES[value]
    if value <= 0x3FFF:
        return bytes((value & 0x7F | 0x80, value >> 7))
    return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80)) + _encode_high(value >> 14)


@lru_cache
def varint_tag(number: int) -> bytes:
    """What stands before the number in field `number`."""
    return encode_varint(number << 3 | _VARINT)


@lru_cache
def small_fields(number: int) -> tuple[bytes, ...]:
    """The serialized field `number` for every unsigned integer below 128; empty for 0, as proto3 has it."""
    tag = varint_tag(number)
    return b"", *(tag + _BYTES[value] for value in range(1, _SMALL))


@lru_cache
def field_heads(number: int, longest: int) -> tuple[bytes, ...]:
    """What stands before the bytes in field `number`, by how many they are, up to `longest`."""
    return tuple(_encode_head(number, length) for length in range(longest + 1))


@lru_cache(maxsize=16_384)
def _encode_head(number: int, length: int) -> bytes:
    return encode_varint(number << 3 | _LENGTH_DELIMITED) + encode_varint(length)


@lru_cache(maxsize=0x1000)
def _encode_high(value: int) -> bytes:
    """What a long number has beyond its last 14 bits: of times in ms the same for a quarter of a minute."""
    return encode_varint(value)


_BYTES: Final = tuple(bytes((value,)) for value in range(_SMALL))
