"""Names that players show each other: what may stand in one, whoever it comes from.

A guest's name is refused when it cannot be shown; that of an identity provider, which nobody here can send back, is
made so that it can be.
"""

from __future__ import annotations

import re
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

_NON_JOINER: Final = "\u200c"
_JOINER: Final = "\u200d"
_VIRAMA: Final = 9
"""The canonical combining class of the signs that take the vowel off a letter of an Indic script."""
_EMOJI_STYLE: Final = "\ufe0f"
_SKIN_TONES: Final = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
_JOIN_NOTHING: Final = re.compile(
    "[\u0621-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0673\u0675-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2\u06d3\u06d5]"
)
"""Letters of the Arabic script that are never joined to the next one (Unicode's joining types R and U)."""


def checked_name(text: str, field: str) -> str:
    """A name without the space around it. Raises InvalidRequest for `field` for one that cannot be shown."""
    name = text.strip()
    if not 1 <= len(name) <= MAX_NAME_LENGTH:
        raise InvalidRequest(field, f"must have 1 to {MAX_NAME_LENGTH} characters")
    if any(_is_control(name, place) or character in _LINE_ENDS for place, character in enumerate(name)):
        raise InvalidRequest(field, "must not have control characters")
    if any(character in _BLANK for character in name) or not _is_seen(name):
        raise InvalidRequest(field, "must not have characters that show nothing")
    return name


def display_name(claim: object) -> str:
    """A name that is safe to show: one line of at most 32 characters, all of them to be seen."""
    if not isinstance(claim, str):
        return DEFAULT_NAME
    # Cut first: a token may bring kilobytes, and only what can end up in the name is worth looking at.
    line = "".join(" " if c.isspace() else c for c in claim[: MAX_NAME_LENGTH * 8])
    kept = "".join(c for place, c in enumerate(line) if not _is_control(line, place) and c not in _BLANK)
    name = " ".join(kept.split())[:MAX_NAME_LENGTH].rstrip(f" {_JOINER}{_NON_JOINER}")
    return name if _is_seen(name) else DEFAULT_NAME


def _is_control(text: str, place: int) -> bool:
    """Whether a character is a control or format character, or one that means nothing to others."""
    return unicodedata.category(text[place])[0] == "C" and not _joins(text, place)


def _joins(text: str, place: int) -> bool:
    """Whether a character is a joiner that changes how its neighbours are drawn: some scripts and emoji need them.

    After a virama either does. The non-joiner keeps two letters of the Arabic script apart that would be joined. The
    joiner makes one picture of two emoji.
    """
    joiner, before, after = text[place], text[:place], text[place + 1 : place + 2]
    if joiner not in (_JOINER, _NON_JOINER) or not before or not after:
        return False
    if unicodedata.combining(before[-1]) == _VIRAMA:
        return unicodedata.category(after)[0] == "L"
    if joiner == _NON_JOINER:
        return _is_arabic(before[-1]) and _is_arabic(after) and not _JOIN_NOTHING.match(before[-1])
    picture = before[-2:-1] if before[-1] == _EMOJI_STYLE or before[-1] in _SKIN_TONES else before[-1]
    return _is_picture(picture) and _is_picture(after)


def _is_arabic(character: str) -> bool:
    return unicodedata.bidirectional(character) == "AL"


def _is_picture(character: str) -> bool:
    return character != "" and unicodedata.category(character) == "So"


def _is_seen(name: str) -> bool:
    """Whether a name without blank letters is more than spaces, and marks that stand on nothing."""
    return any(unicodedata.category(character)[0] not in "MZ" for character in name)


__all__ = ["DEFAULT_NAME", "MAX_NAME_LENGTH", "checked_name", "display_name"]
