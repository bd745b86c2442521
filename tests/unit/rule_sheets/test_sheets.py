"""What the rendered sheets say: every section, the numbers of the room, the right plural, and no foreign text."""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING

import pytest
from fluent.runtime.types import fluent_number

from game_state.rule_sheets import RuleSheets
from game_state.rule_sheets.figures import EXAMPLES, fixed_variables, room_variables, show_cards
from game_state.rule_sheets.layout import KEYS, SECTIONS
from game_state.rule_sheets.sheets import CACHED_SHEETS
from rami.game.v1 import rule_sheet_service_pb2 as pb
from rami_engine import RULES_ID, RULES_VERSION, Guards, RuleOptions, parse_cards
from rami_kit.languages import LOCALES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from game_state.rule_sheets.catalog import Translation

ALL_OPTIONS = [
    RuleOptions(target, ace_high, discard_to_win)
    for target, ace_high, discard_to_win in product((1, 2, 5, 21, 100, 1000), (False, True), (False, True))
]


def text_of(sheet: pb.RuleSheet) -> str:
    return "\n".join(paragraph for section in sheet.sections for paragraph in section.paragraphs)


def section_of(sheet: pb.RuleSheet, kind: pb.RuleSectionKind.ValueType) -> str:
    return next("\n".join(section.paragraphs) for section in sheet.sections if section.kind == kind)


@pytest.mark.parametrize("locale", LOCALES)
def test_every_section_is_there_in_order(locale: str, sheets: RuleSheets) -> None:
    sheet = sheets.sheet(locale, RuleOptions())
    kinds = [value for value in pb.RuleSectionKind.values() if value != pb.RULE_SECTION_KIND_UNSPECIFIED]
    assert [section.kind for section in sheet.sections] == kinds
    assert all(section.heading and section.paragraphs for section in sheet.sections)
    assert (sheet.rules_id, sheet.rules_version, sheet.locale) == (RULES_ID, RULES_VERSION, locale)


@pytest.mark.parametrize("locale", LOCALES)
def test_paragraphs_are_plain_lines_without_gaps(locale: str, sheets: RuleSheets) -> None:
    for options in ALL_OPTIONS:
        sheet = sheets.sheet(locale, options)
        lines = [sheet.title, *(section.heading for section in sheet.sections), *text_of(sheet).split("\n")]
        assert len(lines) == len(KEYS) - 5  # the letters of the cards are no lines of their own
        for line in lines:
            assert line == line.strip()
            assert not re.search(r"[{}$\u2066-\u2069]|\?\?\?|  ", line), line
            assert not re.search(r"\s[.,]", line), line


@pytest.mark.parametrize("locale", LOCALES)
def test_paragraphs_end_as_sentences(locale: str, sheets: RuleSheets) -> None:
    for options in ALL_OPTIONS:
        assert all(line.endswith(".") for line in text_of(sheets.sheet(locale, options)).split("\n"))


@pytest.mark.parametrize("locale", [locale for locale in LOCALES if locale != "en"])
def test_nothing_is_left_in_english(locale: str, sheets: RuleSheets) -> None:
    for options in ALL_OPTIONS:
        sheet, english = sheets.sheet(locale, options), sheets.sheet("en", options)
        assert sheet.title != english.title
        for section, original in zip(sheet.sections, english.sections, strict=True):
            assert section.heading != original.heading
            assert not set(section.paragraphs) & set(original.paragraphs)


def test_no_two_languages_share_a_paragraph(sheets: RuleSheets) -> None:
    lines = [line for locale in LOCALES for line in text_of(sheets.sheet(locale, RuleOptions())).split("\n")]
    assert len(set(lines)) == len(lines)


@pytest.mark.parametrize("locale", LOCALES)
def test_the_figures_of_the_rules_are_in_their_sections(locale: str, sheets: RuleSheets) -> None:
    sheet = sheets.sheet(locale, RuleOptions())
    expected = {
        pb.RULE_SECTION_KIND_GOAL: ("2", "4", "100"),
        pb.RULE_SECTION_KIND_SET_UP: ("52", "7", "10", "37", "21", "11", "0"),
        pb.RULE_SECTION_KIND_LEGAL_ACTIONS: ("3", "4", "13", "2", "1"),
        pb.RULE_SECTION_KIND_SCORING: ("10", "1", "20"),
        pb.RULE_SECTION_KIND_GAME_END: ("100",),
        pb.RULE_SECTION_KIND_SPECIAL_CASES: ("1", "1000", "100", "11", "51", "400", "10000"),
        pb.RULE_SECTION_KIND_BOTS: ("2", "4"),
    }
    for kind, numbers in expected.items():
        grouped = re.sub(r"(?<=\d\d)[.,\u00a0\u202f](?=\d{3}\b)", "", section_of(sheet, kind))
        assert set(numbers) <= set(re.findall(r"\d+", grouped)), kind


@pytest.mark.parametrize("locale", LOCALES)
def test_every_example_is_shown_in_the_letters_of_the_language(
    locale: str, sheets: RuleSheets, translations: Mapping[str, Translation]
) -> None:
    text = text_of(sheets.sheet(locale, RuleOptions()))
    for cards in EXAMPLES.values():
        assert show_cards(parse_cards(cards), translations[locale].letters) in text


@pytest.mark.parametrize("locale", LOCALES)
def test_changed_options_change_the_text_and_nothing_else(locale: str, sheets: RuleSheets) -> None:
    def changed(options: RuleOptions) -> set[str]:
        plain, other = sheets.sheet(locale, RuleOptions()), sheets.sheet(locale, options)
        assert plain.title == other.title
        keys = [key for section in SECTIONS for key in section.paragraphs]
        pairs = zip(text_of(plain).split("\n"), text_of(other).split("\n"), strict=True)
        return {key for key, (before, after) in zip(keys, pairs, strict=True) if before != after}

    assert changed(RuleOptions()) == set()
    assert changed(RuleOptions(target_score=321)) == {"goal-match", "end-match", "special-room"}
    assert changed(RuleOptions(ace_high=True)) == {"scoring-cards", "scoring-example", "special-room"}
    assert changed(RuleOptions(discard_to_win=True)) == {"legal-last-card", "end-out", "special-room"}


@pytest.mark.parametrize("locale", LOCALES)
def test_the_numbers_follow_the_options_and_the_limits(locale: str) -> None:
    sheet = RuleSheets.load(Guards(77, 888)).sheet(locale, RuleOptions(654, ace_high=True))
    assert "654" in section_of(sheet, pb.RULE_SECTION_KIND_GOAL)
    assert "654" in section_of(sheet, pb.RULE_SECTION_KIND_GAME_END)
    scoring = re.findall(r"\d+", section_of(sheet, pb.RULE_SECTION_KIND_SCORING))
    assert {"11", "30"} <= set(scoring)
    assert "1" not in scoring
    special = re.findall(r"\d+", section_of(sheet, pb.RULE_SECTION_KIND_SPECIAL_CASES))
    assert {"77", "888", "654"} <= set(special)
    assert not {"400", "10"} & set(special)


@pytest.mark.parametrize(
    ("locale", "written"),
    [
        ("cs", "10\u00a0000 tahů"),
        ("en", "10,000 turns"),
        ("es", "10.000 turnos"),
        ("fr", "10\u202f000 tours"),
        ("nb", "10\u00a0000 turer"),
        ("ru", "10\u00a0000 ходов"),
    ],
)
def test_long_numbers_are_grouped_as_the_language_does_and_four_digits_are_not(
    locale: str, written: str, sheets: RuleSheets
) -> None:
    special = section_of(sheets.sheet(locale, RuleOptions(1000)), pb.RULE_SECTION_KIND_SPECIAL_CASES)
    assert written in special
    assert "1000" in special


@pytest.mark.parametrize(
    ("locale", "expected"),
    [
        ("cs", ("1 bod.", "2 body.", "5 bodů.", "21 bodů.")),
        ("en", ("1 point or", "2 points or", "5 points or", "21 points or")),
        ("es", ("1 punto o", "2 puntos o", "5 puntos o", "21 puntos o")),
        ("fr", ("1 point gagne", "2 points gagne", "5 points gagne", "21 points gagne")),
        ("nb", ("1 poeng,", "2 poeng,", "5 poeng,", "21 poeng,")),
        ("ru", ("1 очко или", "2 очка или", "5 очков или", "21 очко или")),
    ],
)
def test_target_scores_take_the_right_plural(locale: str, expected: tuple[str, ...], sheets: RuleSheets) -> None:
    for target, words in zip((1, 2, 5, 21), expected, strict=True):
        goal = section_of(sheets.sheet(locale, RuleOptions(target)), pb.RULE_SECTION_KIND_GOAL)
        assert f" {words}" in goal


@pytest.mark.parametrize(
    ("locale", "key", "variable", "expected"),
    [
        ("cs", "set-up-deal", "hand-two", ("1 kartu", "2 karty", "5 karet", "21 karet")),
        ("cs", "set-up-stock", "stock-two", ("1 karta", "2 karty", "5 karet", "21 karet")),
        ("cs", "special-room", "target-score", ("do 1 bodu,", "do 2 bodů,", "do 5 bodů,", "do 21 bodů,")),
        ("cs", "special-round-limit", "round-turns", ("1 tah,", "2 tahy,", "5 tahů,", "21 tahů,")),
        (
            "cs",
            "special-match-limit",
            "match-turns",
            ("byl dokončen 1 tah,", "byly dokončeny 2 tahy,", "bylo dokončeno 5 tahů,", "bylo dokončeno 21 tahů,"),
        ),
        ("en", "set-up-deal", "hand-two", ("1 card,", "2 cards,", "5 cards,", "21 cards,")),
        ("en", "special-match-limit", "match-turns", ("1 turn has", "2 turns have", "5 turns have", "21 turns have")),
        ("es", "set-up-deal", "hand-two", ("1 carta;", "2 cartas;", "5 cartas;", "21 cartas;")),
        (
            "es",
            "special-match-limit",
            "match-turns",
            (
                "se ha completado 1 turno",
                "se han completado 2 turnos",
                "se han completado 5 turnos",
                "se han completado 21 turnos",
            ),
        ),
        ("fr", "set-up-deal", "hand-two", ("1 carte\u00a0;", "2 cartes\u00a0;", "5 cartes\u00a0;", "21 cartes\u00a0;")),
        (
            "fr",
            "special-match-limit",
            "match-turns",
            (
                "1 tour a été achevé",
                "2 tours ont été achevés",
                "5 tours ont été achevés",
                "21 tours ont été achevés",
            ),
        ),
        ("nb", "special-round-limit", "round-turns", ("1 tur,", "2 turer,", "5 turer,", "21 turer,")),
        ("ru", "set-up-deal", "hand-two", ("по 1 карте,", "по 2 карты,", "по 5 карт,", "по 21 карте,")),
        ("ru", "set-up-stock", "stock-two", ("1 карта", "2 карты", "5 карт", "21 карта")),
        ("ru", "special-room", "target-score", ("до 1 очка,", "до 2 очков,", "до 5 очков,", "до 21 очка,")),
        ("ru", "special-round-limit", "round-turns", ("1 хода,", "2 ходов,", "5 ходов,", "21 хода,")),
        (
            "ru",
            "special-match-limit",
            "match-turns",
            ("завершён 1 ход,", "завершено 2 хода,", "завершено 5 ходов,", "завершён 21 ход,"),
        ),
    ],
)
def test_counts_take_the_right_form(
    locale: str, key: str, variable: str, expected: tuple[str, ...], translations: Mapping[str, Translation]
) -> None:
    translation = translations[locale]
    variables = fixed_variables(Guards(), translation.letters) | room_variables(RuleOptions())
    for count, words in zip((1, 2, 5, 21), expected, strict=True):
        assert words in translation.text(key, variables | {variable: fluent_number(count)})


@pytest.mark.parametrize("locale", LOCALES)
def test_any_count_gives_a_whole_text(locale: str, translations: Mapping[str, Translation]) -> None:
    translation = translations[locale]
    variables = fixed_variables(Guards(), translation.letters) | room_variables(RuleOptions())
    for count in (0, 1, 2, 5, 11, 21, 101, 1_000_000):
        numbers = {name: fluent_number(count) if isinstance(value, int) else value for name, value in variables.items()}
        for key in KEYS:
            assert translation.text(key, numbers)


def test_few_sheets_are_kept(sheets: RuleSheets) -> None:
    first = sheets.sheet("en", RuleOptions(17))
    assert sheets.sheet("en", RuleOptions(17)) is first
    for target in range(1, CACHED_SHEETS + 20):
        sheets.sheet("en", RuleOptions(target))
    assert sheets._cached.cache_info().currsize == CACHED_SHEETS
