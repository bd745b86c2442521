"""Loading translations: one Fluent file a language, read and checked as a whole before anything is served.

A file with a syntax error, a text too few or too many, or a variable that nothing fills in is refused with
all that is wrong in it, so that a broken sheet stops the start and never reaches a player.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING, Final

from fluent.runtime import FluentBundle
from fluent.syntax import FluentParser, ast
from fluent.syntax.visitor import Visitor

from game_state.rule_sheets.errors import RuleSheetError
from game_state.rule_sheets.figures import fixed_variables, room_variables
from game_state.rule_sheets.layout import KEYS, LETTER_KEYS
from rami_engine import Guards, RuleOptions
from rami_kit.languages import DEFAULT_LOCALE, LOCALES

if TYPE_CHECKING:
    from collections.abc import Mapping

_LINE_BREAK: Final = re.compile(r"[ \t]*\n[ \t\n]*")
_FILLED_IN: Final = room_variables(RuleOptions()).keys() | fixed_variables(Guards(), {}).keys()


class Translation:
    """The texts of one language. Raises RuleSheetError for a source that cannot be used."""

    __slots__ = ("_bundle", "letters", "locale", "variables")

    def __init__(self, locale: str, source: str) -> None:
        resource = FluentParser().parse(source)
        self.locale = locale
        self.variables: Mapping[str, frozenset[str]] = _checked_variables(locale, resource, source)
        """The variables of each text, by key."""
        # The isolation marks around variables would show up as boxes in plain text; no text mixes directions.
        self._bundle = FluentBundle([locale], use_isolating=False)
        self._bundle.add_resource(resource)
        self.letters: Mapping[str, str] = {rank: self.text(key, {}) for rank, key in LETTER_KEYS.items()}
        """How players of the language write the ranks that the data writes as letters."""

    def text(self, key: str, variables: Mapping[str, object]) -> str:
        """A text on one line. Raises RuleSheetError when a variable of it is missing."""
        pattern = self._bundle.get_message(key).value
        assert pattern is not None, "every text has been checked to be one"
        wanted = {name: variables[name] for name in self.variables[key] if name in variables}
        text, errors = self._bundle.format_pattern(pattern, wanted)
        if errors:
            raise RuleSheetError(self.locale, [f"{key}: {error}" for error in errors])
        return _LINE_BREAK.sub(" ", str(text))


def load_translations() -> dict[str, Translation]:
    """Every translation, by locale, ascending. Raises RuleSheetError for the first that cannot be used.

    All have the same texts, and each text the same variables as in English: a translation that leaves out a
    number says something else.
    """
    folder = resources.files("game_state.rule_sheets") / "locales"
    translations = {}
    for locale in LOCALES:
        try:
            source = (folder / f"{locale}.ftl").read_text(encoding="utf-8")
        except (FileNotFoundError, UnicodeDecodeError) as error:
            raise RuleSheetError(locale, [f"cannot be read: {error}"]) from error
        translations[locale] = Translation(locale, source)
    model = translations[DEFAULT_LOCALE].variables
    for translation in translations.values():
        require_same_variables(translation, model)
    return translations


def require_same_variables(translation: Translation, model: Mapping[str, frozenset[str]]) -> None:
    """Raises RuleSheetError unless every text mentions exactly the variables that `model` gives for it."""
    problems = []
    for key in sorted(KEYS):
        missing, extra = model[key] - translation.variables[key], translation.variables[key] - model[key]
        problems += [f"{key}: leaves out ${name}" for name in sorted(missing)]
        problems += [f"{key}: adds ${name}" for name in sorted(extra)]
    if problems:
        raise RuleSheetError(translation.locale, problems)


class _References(Visitor):
    """Collects what a text refers to."""

    def __init__(self) -> None:
        self.variables: set[str] = set()
        self.texts: set[str] = set()
        self.others: set[str] = set()

    def visit_VariableReference(self, node: ast.VariableReference) -> None:  # noqa: N802 - called by this name
        self.variables.add(node.id.name)

    def visit_MessageReference(self, node: ast.MessageReference) -> None:  # noqa: N802 - called by this name
        self.texts.add(node.id.name)

    def visit_TermReference(self, node: ast.TermReference) -> None:  # noqa: N802 - called by this name
        self.others.add(f"-{node.id.name}")

    def visit_FunctionReference(self, node: ast.FunctionReference) -> None:  # noqa: N802 - called by this name
        self.others.add(f"{node.id.name}()")


def _checked_variables(locale: str, resource: ast.Resource, source: str) -> dict[str, frozenset[str]]:
    """The variables of each text of a file, by key. Raises RuleSheetError with everything that is wrong."""
    problems: list[str] = []
    variables: dict[str, frozenset[str]] = {}
    for entry in resource.body:
        if isinstance(entry, ast.Junk):
            problems += [_syntax_error(annotation, source) for annotation in entry.annotations]
        elif isinstance(entry, ast.Message):
            key = entry.id.name
            if key in variables:
                problems.append(f"{key}: is there twice")
            variables[key], wrong = _checked_text(entry)
            problems += [f"{key}: {what}" for what in wrong]
        elif isinstance(entry, ast.Term):
            problems.append(f"-{entry.id.name}: terms are not used")
    problems += [f"{key}: is missing" for key in sorted(KEYS - variables.keys())]
    problems += [f"{key}: belongs to no sheet" for key in sorted(variables.keys() - KEYS)]
    if problems:
        raise RuleSheetError(locale, problems)
    return variables


def _checked_text(message: ast.Message) -> tuple[frozenset[str], list[str]]:
    """The variables of a text, and what is wrong with it."""
    references = _References()
    references.visit(message.value)
    wrong = [f"uses ${name}, which nothing fills in" for name in sorted(references.variables - _FILLED_IN)]
    # Only the letters of cards are shared between texts: they have no variables and refer to nothing.
    strangers = (references.texts - set(LETTER_KEYS.values())) | references.others
    wrong += [f"refers to {name}" for name in sorted(strangers)]
    if message.value is None:
        wrong.append("has no text")
    if message.id.name in LETTER_KEYS.values() and (references.variables or references.texts):
        wrong.append("is not plain text")
    return frozenset(references.variables), wrong


def _syntax_error(annotation: ast.Annotation, source: str) -> str:
    start = annotation.span.start if annotation.span is not None else 0
    line = source.count("\n", 0, start) + 1
    return f"line {line}: {annotation.message} ({annotation.code})"
