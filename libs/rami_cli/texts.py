"""What the table in the terminal says, in the language of whoever sits at it.

One Fluent file a language in `texts`. A command chooses its language once, before it says anything: by --language or
RAMI_LANGUAGE, else as the terminal is set (LC_ALL, LC_MESSAGES, LANG); a language that is not there is English.
"""

from __future__ import annotations

import os
import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

import typer
from fluent.runtime import FluentBundle, FluentResource
from rich.text import Text

from rami_kit.languages import DEFAULT_LOCALE, LOCALES, best_locale, is_well_formed

if TYPE_CHECKING:
    from collections.abc import Mapping

TERMINAL_VARIABLES: Final = ("LC_ALL", "LC_MESSAGES", "LANG")
"""By which a terminal says its language; the first that is set counts."""

_FIRST_MARK: Final = 0xE000
"""Characters of private use stand for drawn parts while a text is put together."""
_MARKS: Final = re.compile("([\ue000-\ue0ff])")

_locale = DEFAULT_LOCALE


def choose_language(wanted: str | None) -> str | None:
    """Speak a language from here on: a BCP 47 tag, or None for that of the terminal.

    Returns what was wanted, so that it can check an option. Raises typer.BadParameter for a text that is no tag.
    """
    global _locale  # noqa: PLW0603 - one process speaks one language
    if wanted is not None and not is_well_formed(wanted):
        raise typer.BadParameter(f"{wanted!r} is no language tag, such as {', '.join(LOCALES)}")
    _locale = best_locale([_terminal_tag(os.environ) if wanted is None else wanted]) or DEFAULT_LOCALE
    return wanted


def current_language() -> str:
    """The language that is spoken, as a tag."""
    return _locale


def text(key: str, /, **values: object) -> str:
    """A text in the language of the command. Raises KeyError for one that is not there."""
    bundle = _bundle(_locale)
    pattern = bundle.get_message(key).value
    if pattern is None:
        raise KeyError(key)
    return str(bundle.format_pattern(pattern, values)[0])


def rich_text(key: str, style: str = "", /, **values: object) -> Text:
    """A text of which some values are drawn, such as cards in their colours."""
    drawn: dict[str, Text] = {}
    plain: dict[str, object] = {}
    for name, value in values.items():
        if isinstance(value, Text):
            mark = chr(_FIRST_MARK + len(drawn))
            drawn[mark], plain[name] = value, mark
        else:
            plain[name] = value
    line = Text(style=style)
    for part in _MARKS.split(text(key, **plain)):
        line.append_text(drawn[part]) if part in drawn else line.append(part)
    return line


def own(name: str) -> Mapping[str, str]:
    """The values of a sentence about a seat by its name: whether it is the player's own, and the name."""
    return {"own": "yes" if name == own_name() else "no", "name": name}


def own_name() -> str:
    """What the player's own seat is called."""
    return text("own-name")


def _terminal_tag(environment: Mapping[str, str]) -> str:
    """The language of the terminal as a tag: "cs_CZ.UTF-8" is cs-CZ; empty for none."""
    value = next((environment[name] for name in TERMINAL_VARIABLES if environment.get(name)), "")
    tag = re.split("[.@]", value, maxsplit=1)[0].replace("_", "-")
    return tag if is_well_formed(tag) else ""


@cache
def _bundle(locale: str) -> FluentBundle:
    source = (resources.files("rami_cli") / "texts" / f"{locale}.ftl").read_text(encoding="utf-8")
    bundle = FluentBundle([locale], use_isolating=False)
    bundle.add_resource(FluentResource(source))
    return bundle


__all__ = ["choose_language", "current_language", "own", "own_name", "rich_text", "text"]
