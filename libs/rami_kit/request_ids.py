"""Request ids: what names a mutation, so that a repeat of it applies once. Every service asks for the same form."""

from __future__ import annotations

import re
from typing import Final

from rami_kit.errors import InvalidRequest

_UUID4: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.ASCII)

REQUEST_ID_LENGTH: Final = 36
"""Characters, which are bytes as well."""


def require_request_id(request_id: str, field: str = "request_id") -> str:
    """The request id in lower case. Raises InvalidRequest for a text that is no UUID4."""
    lowered = request_id.lower()  # no other letters become those of hex digits
    if _UUID4.fullmatch(lowered) is None:
        raise InvalidRequest(field, "must be a UUID version 4 in its canonical text form")
    return lowered


__all__ = ["REQUEST_ID_LENGTH", "require_request_id"]
