"""Length-delimited fields in the protobuf wire format, for messages that are put together from ready bytes.

Source: the protobuf encoding: a tag (field number, wire type 2), the length as a base-128 varint, the bytes.
"""

from __future__ import annotations

from typing import Final

_LENGTH_DELIMITED: Final = 2


def encode_field(number: int, body: bytes) -> bytes:
    """The serialized field `number` (1 to 15) that holds a serialized message, or bytes."""
    length = len(body)
    if length <= 0x7F:
        return bytes((number << 3 | _LENGTH_DELIMITED, length)) + body
    head = bytearray((number << 3 | _LENGTH_DELIMITED,))
    while length > 0x7F:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    head.append(length)
    return bytes(head) + body
