"""What every call that lists asks of a request: how long a page may be, and what is said to a token that is none.

What a token holds is up to each list; clients look into none of them.
"""

from __future__ import annotations

from rami_kit.errors import InvalidRequest


def page_size(asked: int, default: int, most: int) -> int:
    """The size of a page. Raises InvalidRequest for a negative one or one above the most."""
    if not 0 <= asked <= most:
        raise InvalidRequest("page_size", f"must be within 0..{most}")
    return asked or default


def wrong_page_token() -> InvalidRequest:
    """The error for a page token that no answer has given out."""
    return InvalidRequest("page_token", "must be a token that a page has given")


__all__ = ["page_size", "wrong_page_token"]
