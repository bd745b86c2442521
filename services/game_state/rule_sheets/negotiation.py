"""Which language a reader gets: BCP 47 tags in order of preference against the languages there are sheets in.

Tags are looked up as RFC 4647 describes: each is shortened from its end until a sheet fits, then the next is
tried. Well-formed means the grammar of RFC 5646, with the irregular tags that it keeps alive.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from babel.core import get_global

from game_state.rule_sheets.layout import DEFAULT_LOCALE, LOCALES
from rami_kit.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_TAGS: Final = 16
MAX_TAG_LENGTH: Final = 35

_FIELD: Final = "locales"

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
"""Languages without a sheet whose readers read that of another: Norwegian at large and Nynorsk, Bokmål."""


def is_well_formed(tag: str) -> bool:
    """Whether a text is a BCP 47 tag by its form; the subtags need not exist."""
    return _WELL_FORMED.fullmatch(tag.lower()) is not None and tag.isascii()


def negotiate(requested: Sequence[str]) -> tuple[str, bool]:
    """The locale of the sheet that fits best, and whether it is a fallback: nothing asked for is there.

    Asking for nothing is asking for English. Raises InvalidRequest for more than 16 tags, and for the first
    that is longer than 35 characters or malformed even if an earlier one fits.
    """
    if len(requested) > MAX_TAGS:
        raise InvalidRequest(_FIELD, f"must be at most {MAX_TAGS} tags")
    for index, tag in enumerate(requested):
        if len(tag) > MAX_TAG_LENGTH:
            raise InvalidRequest(f"{_FIELD}[{index}]", f"must be at most {MAX_TAG_LENGTH} characters")
        if not is_well_formed(tag):
            raise InvalidRequest(f"{_FIELD}[{index}]", "must be a BCP 47 tag, for example es-MX")
    for tag in requested:
        locale = _lookup(tag.lower())
        if locale is not None:
            return locale, False
    return DEFAULT_LOCALE, bool(requested)


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
