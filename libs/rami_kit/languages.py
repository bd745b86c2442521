"""The languages that players are spoken to in, and which of them a reader gets.

Tags are looked up as RFC 4647 describes: each is shortened from its end until a language fits, then the next is
tried. Well-formed means the grammar of RFC 5646, with the irregular tags that it keeps alive.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from babel.core import get_global

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LOCALES: Final = ("cs", "en", "es", "fr", "nb", "ru")
"""The languages, ascending."""
DEFAULT_LOCALE: Final = "en"
MAX_TAGS: Final = 16
"""Tags that are looked at of what one reader asks for."""
MAX_TAG_LENGTH: Final = 35

_WELL_FORMED: Final = re.compile(
    r"""
    (?: [a-z]{2,3} (?:-[a-z]{3}){0,3} | [a-z]{4,8} )      # language, and what extends it
    (?: -[a-z]{4} )?                                      # script
    (?: -(?:[a-z]{2}|[0-9]{3}) )?                         # region
    (?: -(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}) )*            # variants
    (?: -[a-wy-z0-9] (?:-[a-z0-9]{2,8})+ )*               # extensions
    (?: -x (?:-[a-z0-9]{1,8})+ )?                         # private use
    | x (?:-[a-z0-9]{1,8})+
    | en-gb-oed | sgn-(?:be-fr|be-nl|ch-de)
    | i-(?:ami|bnn|default|enochian|hak|klingon|lux|mingo|navajo|pwn|tao|tay|tsu)
    """,
    re.VERBOSE,
)

_READ_AS_WELL: Final[Mapping[str, str]] = {"no": "nb", "nn": "nb"}
"""Languages that are not spoken here whose readers read another: Norwegian at large and Nynorsk, Bokmål."""


def is_well_formed(tag: str) -> bool:
    """Whether a text is a BCP 47 tag by its form; the subtags need not exist."""
    return _WELL_FORMED.fullmatch(tag.lower()) is not None and tag.isascii()


def best_locale(tags: Iterable[str]) -> str | None:
    """The locale that fits well-formed tags in order of preference; None when none does."""
    for tag in tags:
        locale = _lookup(tag.lower())
        if locale is not None:
            return locale
    return None


def accepted_locale(header: str) -> str | None:
    """The locale for the value of an `accept-language` header (RFC 9110); None for the default, or for nonsense.

    What is not well-formed, not wanted (`q=0`) or beyond 16 tags is passed over: a bad header fails no call.
    """
    weighted: list[tuple[float, str]] = []
    for part in header[: MAX_TAGS * 2 * MAX_TAG_LENGTH].split(",")[:MAX_TAGS]:
        tag, _, parameter = (side.strip() for side in part.partition(";"))
        name, _, value = parameter.partition("=")
        try:
            weight = float(value) if name.strip() == "q" else 1.0
        except ValueError:
            continue
        if 0 < weight <= 1 and len(tag) <= MAX_TAG_LENGTH and is_well_formed(tag):
            weighted.append((weight, tag))
    # Sorting keeps the order of equals.
    return best_locale(tag for _, tag in sorted(weighted, key=lambda pair: -pair[0]))


def _lookup(tag: str) -> str | None:
    """The locale that a tag in lower case leads to, if any."""
    language, *rest = tag.split("-")
    subtags = [_canonical(language), *rest]
    while subtags:
        shortened = "-".join(subtags)
        locale = _READ_AS_WELL.get(shortened, shortened)
        if locale in LOCALES:
            return locale
        subtags.pop()
    return None


def _canonical(language: str) -> str:
    """The language by its shortest code, so that "spa" is "es" and "nob" is "nb"."""
    alias = get_global("language_aliases").get(language, language)
    return str(alias)


__all__ = [
    "DEFAULT_LOCALE",
    "LOCALES",
    "MAX_TAGS",
    "MAX_TAG_LENGTH",
    "accepted_locale",
    "best_locale",
    "is_well_formed",
]
