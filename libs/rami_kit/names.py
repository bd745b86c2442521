"""Names that players show each other: what may stand in one, whoever it comes from.

A guest's name is refused when it cannot be shown; that of an identity provider, which nobody here can send back, is
made so that it can be.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from rami_kit.errors import InvalidRequest

MAX_NAME_LENGTH: Final = 32
"""In characters, as Unicode counts them."""
DEFAULT_NAME: Final = "Player"
"""For who brings none."""

_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Letters, marks and signs that are drawn as nothing by what they are, though their categories do not say so."""
_LINE_ENDS: Final = frozenset("\u2028\u2029")


def checked_name(text: str, field: str) -> str:
    """A name without the space around it. Raises InvalidRequest for `field` for one that cannot be shown."""
    name = text.strip()
    if not 1 <= len(name) <= MAX_NAME_LENGTH:
        raise InvalidRequest(field, f"must have 1 to {MAX_NAME_LENGTH} characters")
    if any(_is_control(character) or character in _LINE_ENDS for character in name):
        raise InvalidRequest(field, "must not have control characters")
    if any(character in _BLANK for character in name) or not _is_seen(name):
        raise InvalidRequest(field, "must not have characters that show nothing")
    return name


def display_name(claim: object) -> str:
    """A name that is safe to show: one line of at most 32 characters, all of them to be seen."""
    if not isinstance(claim, str):
        return DEFAULT_NAME
    # Cut first: a token may bring kilobytes, and only what can end up in the name is worth looking at.
    printable = (" " if c.isspace() else c for c in claim[: MAX_NAME_LENGTH * 8])
    kept = "".join(c for c in printable if not _is_control(c) and c not in _BLANK)
    name = " ".join(kept.split())[:MAX_NAME_LENGTH].rstrip()
    return name if _is_seen(name) else DEFAULT_NAME


def _is_control(character: str) -> bool:
    """Whether it is a control or format character, or one that means nothing to others."""
    return unicodedata.category(character)[0] == "C"


def _is_seen(name: str) -> bool:
    """Whether a name without blank letters is more than spaces, and marks that stand on nothing."""
    return any(unicodedata.category(character)[0] not in "MZ" for character in name)


__all__ = ["DEFAULT_NAME", "MAX_NAME_LENGTH", "checked_name", "display_name"]
