"""Which language the reader of a rule sheet gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rami_kit.errors import InvalidRequest
from rami_kit.languages import DEFAULT_LOCALE, MAX_TAG_LENGTH, MAX_TAGS, best_locale, is_well_formed

if TYPE_CHECKING:
    from collections.abc import Sequence

_FIELD: Final = "locales"


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
    locale = best_locale(requested)
    return (DEFAULT_LOCALE, bool(requested)) if locale is None else (locale, False)
