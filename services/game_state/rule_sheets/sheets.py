"""Rule sheets, rendered: the texts of a language filled in for a room's options and the service's limits.

Filling in a whole sheet takes milliseconds, but few of its texts differ between rooms. All others are filled
in once, when the service starts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from game_state.rule_sheets.catalog import Translation, load_translations
from game_state.rule_sheets.figures import fixed_variables, room_variables
from game_state.rule_sheets.layout import KEYS, SECTIONS, TITLE_KEY
from rami.game.v1 import rule_sheet_service_pb2 as pb
from rami_engine import RULES_ID, RULES_VERSION, Guards, RuleOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

CACHED_SHEETS: Final = 64
"""Sheets kept once rendered. Most rooms play one of few sets of options."""


class RuleSheets:
    """All sheets of a service. Its guards are in the text, because they bind every room."""

    def __init__(self, translations: Mapping[str, Translation], guards: Guards) -> None:
        self._texts = {locale: _SheetTexts(translation, guards) for locale, translation in translations.items()}
        self._cached = lru_cache(maxsize=CACHED_SHEETS)(self._render)
        self._infos = tuple(
            pb.RuleSheetInfo(locale=locale, title=self.sheet(locale, RuleOptions()).title)
            for locale in sorted(translations)
        )

    @classmethod
    def load(cls, guards: Guards | None = None) -> RuleSheets:
        """The sheets that come with this package, each rendered once as a proof that it can be.

        Raises RuleSheetError, which is meant to stop the start, for a translation that cannot be used.
        """
        return cls(load_translations(), guards if guards is not None else Guards())

    @property
    def infos(self) -> tuple[pb.RuleSheetInfo, ...]:
        """The languages there are sheets in, ascending by locale."""
        return self._infos

    def sheet(self, locale: str, options: RuleOptions) -> pb.RuleSheet:
        """The sheet of a locale. The message is shared: copy it before changing it.

        Trusts its caller that the locale is one of `infos`.
        """
        return self._cached(locale, options)

    def _render(self, locale: str, options: RuleOptions) -> pb.RuleSheet:
        texts = self._texts[locale].filled_in(options)
        return pb.RuleSheet(
            rules_id=RULES_ID,
            rules_version=RULES_VERSION,
            locale=locale,
            title=texts[TITLE_KEY],
            sections=[
                pb.RuleSection(
                    kind=section.kind,
                    heading=texts[section.heading],
                    paragraphs=[texts[key] for key in section.paragraphs],
                )
                for section in SECTIONS
            ],
        )


class _SheetTexts:
    """The texts of one language: those that are the same in every room are filled in already."""

    __slots__ = ("_fixed", "_fixed_texts", "_room_keys", "_translation")

    def __init__(self, translation: Translation, guards: Guards) -> None:
        self._translation = translation
        self._fixed = fixed_variables(guards, translation.letters)
        self._room_keys = [key for key in sorted(KEYS) if not translation.variables[key] <= self._fixed.keys()]
        self._fixed_texts = {key: translation.text(key, self._fixed) for key in KEYS.difference(self._room_keys)}

    def filled_in(self, options: RuleOptions) -> dict[str, str]:
        """Every text for a room, by key."""
        variables = self._fixed | room_variables(options)
        room_texts = {key: self._translation.text(key, variables) for key in self._room_keys}
        return self._fixed_texts | room_texts
