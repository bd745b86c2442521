"""Ids as text: the first 26 characters of base 32, 130 bits of a digest."""

from __future__ import annotations

from itertools import product
from typing import Final

ID_LENGTH: Final = 26

_PAIRS: Final = ["".join(pair) for pair in product("abcdefghijklmnopqrstuvwxyz234567", repeat=2)]
_BYTES: Final = 17
"""So many hold the 26 characters, and six bits more."""


def base32_id(digest: bytes) -> str:
    """The first 26 characters of base 32 (RFC 4648, lower case, unpadded) of a digest of 16 bytes or more.

    Pairs of characters are looked up: b32encode takes longer than the digest that it is given.
    """
    bits = int.from_bytes(digest[:_BYTES].ljust(_BYTES, b"\0")) >> 6
    return "".join([_PAIRS[bits >> shift & 1023] for shift in range(120, -1, -10)])


__all__ = ["ID_LENGTH", "base32_id"]
