"""What players read when a call is refused: a text for each error reason in each language.

One Fluent file a language in `error_texts`, whose keys are the names of the reasons in lower case with dashes. They
hold nothing that varies: what does stands in the metadata of the ErrorInfo, for the client to show as it likes. So
every line is `key = text`, which is read here without Fluent's parser: that takes a tenth of a second a file, and
errors are told from an event loop. They are for people; programs look at the reason.
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from rami_kit.languages import accepted_locale

if TYPE_CHECKING:
    from collections.abc import Iterable

ACCEPT_LANGUAGE: Final = "accept-language"
"""The metadata by which a caller says what it reads."""

_stream_locale: ContextVar[str | None] = ContextVar("stream_locale", default=None)


def error_text(reason: str, locale: str) -> str | None:
    """The text for a reason by its name, such as "NOT_YOUR_TURN"; None for a reason that has none."""
    return _texts(locale).get(_key(reason))


def metadata_locale(metadata: Iterable[tuple[str, str | bytes]] | None) -> str | None:
    """The locale that call metadata asks for; None when it asks for none that there is."""
    for key, value in metadata or ():
        if key == ACCEPT_LANGUAGE and isinstance(value, str):
            return accepted_locale(value)
    return None


def current_locale() -> str | None:
    """What the caller of the current stream reads: for errors that are told on it. None outside of streams."""
    return _stream_locale.get()


def set_current_locale(locale: str | None) -> None:
    """Note what the caller of a stream reads, for the rest of its task."""
    _stream_locale.set(locale)


def _key(reason: str) -> str:
    return reason.lower().replace("_", "-")


@cache
def _texts(locale: str) -> dict[str, str]:
    """All texts of a language, by key."""
    source = (resources.files("rami_kit") / "error_texts" / f"{locale}.ftl").read_text(encoding="utf-8")
    lines = [line for line in source.splitlines() if line and not line.startswith("#")]
    return {key: text for key, _, text in (line.partition(" = ") for line in lines)}


__all__ = [
    "ACCEPT_LANGUAGE",
    "current_locale",
    "error_text",
    "metadata_locale",
    "set_current_locale",
]
