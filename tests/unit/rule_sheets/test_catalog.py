"""Translations are complete and agree with each other, and a broken one is refused with everything wrong in it."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

import pytest
from fluent.syntax import FluentParser, ast
from fluent.syntax.visitor import Visitor

from game_state.rule_sheets import RuleSheetError, RuleSheets, catalog
from game_state.rule_sheets.catalog import Translation, load_translations, require_same_variables
from game_state.rule_sheets.figures import fixed_variables, room_variables
from game_state.rule_sheets.layout import KEYS, LETTER_KEYS
from rami_engine import Guards, RuleOptions
from rami_kit.languages import LOCALES

if TYPE_CHECKING:
    from collections.abc import Mapping


def source_of(locale: str) -> str:
    return (resources.files("game_state.rule_sheets") / "locales" / f"{locale}.ftl").read_text("utf-8")


def problems_of(source: str) -> tuple[str, ...]:
    with pytest.raises(RuleSheetError) as caught:
        Translation("en", source)
    assert all(line.startswith("en.ftl: ") for line in str(caught.value).split("\n"))
    return caught.value.problems


class WrittenFigures(Visitor):
    """Collects digits that a text writes itself."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_TextElement(self, node: ast.TextElement) -> None:  # noqa: N802 - called by this name
        if any(character.isdigit() for character in node.value):
            self.found.append(node.value)

    def visit_VariantKey(self, _node: ast.SyntaxNode) -> None:  # noqa: N802 - called by this name
        return


@pytest.mark.parametrize("locale", LOCALES)
def test_every_language_has_every_text_with_the_variables_of_the_english_one(
    locale: str, translations: Mapping[str, Translation]
) -> None:
    assert translations[locale].variables.keys() == KEYS
    assert translations[locale].variables == translations["en"].variables


def test_every_variable_is_used(translations: Mapping[str, Translation]) -> None:
    filled_in = room_variables(RuleOptions()).keys() | fixed_variables(Guards(), {}).keys()
    assert frozenset().union(*translations["en"].variables.values()) == filled_in


@pytest.mark.parametrize("locale", LOCALES)
def test_no_text_writes_a_figure_itself(locale: str) -> None:
    for entry in FluentParser().parse(source_of(locale)).body:
        if isinstance(entry, ast.Message) and entry.id.name not in LETTER_KEYS.values():
            figures = WrittenFigures()
            figures.visit(entry.value)
            assert figures.found == [], entry.id.name


def test_the_folder_holds_the_declared_languages_and_no_other() -> None:
    folder = resources.files("game_state.rule_sheets") / "locales"
    assert sorted(file.name for file in folder.iterdir()) == [f"{locale}.ftl" for locale in LOCALES]


def test_a_missing_text_is_named() -> None:
    source = source_of("en").replace("turn-return =", "turn-give-back =")
    assert problems_of(source) == ("turn-return: is missing", "turn-give-back: belongs to no sheet")


def test_a_syntax_error_is_named_by_its_line() -> None:
    lines = source_of("en").split("\n")
    place = lines.index("turn-heading = Your turn")
    lines[place] = "turn-heading = Your } turn"
    problems = problems_of("\n".join(lines))
    assert problems[0].startswith(f"line {place + 1}: ")
    assert "turn-heading: is missing" in problems


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("{ $opening-points ->", "{ $open ->", "special-opening: uses $open, which nothing fills in"),
        ("end-heading = ", "end-heading = { $min-players } { DATETIME($x) } ", "end-heading: refers to DATETIME()"),
        ("end-heading = ", "end-heading = { title } ", "end-heading: refers to title"),
        ("end-heading = ", "end-heading = { -word } ", "end-heading: refers to -word"),
        ("rank-ace = A", "rank-ace = { $min-players }", "rank-ace: is not plain text"),
        ("rank-ace = A", "rank-ace = A\n-word = B", "-word: terms are not used"),
        ("rank-ace = A", "rank-ace = A\nrank-ace = B", "rank-ace: is there twice"),
        ("title = Rami: the rules of the game", "title =\n    .text = Rami", "title: has no text"),
    ],
)
def test_what_cannot_be_filled_in_is_refused(old: str, new: str, problem: str) -> None:
    source = source_of("en")
    assert source.count(old) == 1
    assert problem in problems_of(source.replace(old, new))


def test_a_translation_that_leaves_out_a_number_is_refused(translations: Mapping[str, Translation]) -> None:
    plain = Translation("nb", source_of("nb").replace("har minst { $target-score } poeng", "har mange poeng"))
    with pytest.raises(RuleSheetError, match=r"nb\.ftl: goal-match: leaves out \$target-score"):
        require_same_variables(plain, translations["en"].variables)
    more = Translation("nb", source_of("nb").replace("turn-heading = ", "turn-heading = { $first-meld } "))
    with pytest.raises(RuleSheetError, match=r"nb\.ftl: turn-heading: adds \$first-meld"):
        require_same_variables(more, translations["en"].variables)


def test_a_declared_language_without_file_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "LOCALES", (*LOCALES, "sv"))
    with pytest.raises(RuleSheetError, match=r"^sv\.ftl: cannot be read"):
        RuleSheets.load()


def test_a_text_without_its_variables_is_an_error(translations: Mapping[str, Translation]) -> None:
    with pytest.raises(RuleSheetError, match="goal-match"):
        translations["en"].text("goal-match", {})


def test_loading_twice_gives_the_same_texts(translations: Mapping[str, Translation]) -> None:
    again = load_translations()
    assert {locale: dict(again[locale].letters) for locale in again} == {
        locale: dict(translations[locale].letters) for locale in translations
    }
