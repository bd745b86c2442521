"""Page tokens: where the next page of a list begins, in a form that clients do not look into."""

from __future__ import annotations

import base64
import binascii
import struct
from typing import Final

from rami_kit.paging import wrong_page_token

_PAGE_TOKEN: Final = struct.Struct(">I")


def format_page_token(first: int) -> str:
    """The token of the page that begins at a place, counted from 0."""
    return base64.urlsafe_b64encode(_PAGE_TOKEN.pack(first)).decode()


def parse_page_token(token: str) -> int:
    """The place that a page begins at. Raises InvalidRequest for a token that no answer has given."""
    try:
        raw = base64.b64decode(token, altchars=b"-_", validate=True)
        (first,) = _PAGE_TOKEN.unpack(raw)
    except (binascii.Error, ValueError, struct.error):
        raise wrong_page_token() from None
    return int(first)


__all__ = ["format_page_token", "parse_page_token"]
