"""Fields in the protobuf wire format, for messages that are put together from ready bytes.

Source: the protobuf encoding: a tag (field number, wire type), then a number as a base-128 varint; of bytes and
messages the number is the length, and they follow.
"""

from __future__ import annotations

from typing import Final

_VARINT: Final = 0
_LENGTH_DELIMITED: Final = 2
_SHORT_HEADS: Final = tuple(
    tuple(bytes((number << 3 | _LENGTH_DELIMITED, length)) for length in range(0x80)) for number in range(16)
)
"""The beginnings of fields of up to 127 bytes, by number and length: most are."""


def encode_field(number: int, body: bytes) -> bytes:
    """The serialized field `number` (1 to 15) that holds a serialized message, or bytes."""
    length = len(body)
    if length <= 0x7F:
        return _SHORT_HEADS[number][length] + body
    return _encode_numbers(number << 3 | _LENGTH_DELIMITED, length) + body


def encode_varint_field(number: int, value: int) -> bytes:
    """The serialized field `number` (1 to 15) that holds an unsigned integer; empty for 0, as proto3 has it."""
    return _encode_numbers(number << 3 | _VARINT, value) if value else b""


def _encode_numbers(tag: int, value: int) -> bytes:
    """A tag of one byte and a base-128 varint."""
    if value <= 0x7F:
        return bytes((tag, value))
    encoded = bytearray((tag,))
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
