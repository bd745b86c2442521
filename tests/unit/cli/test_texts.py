"""The terminal in six languages: every text in each, plural forms, nothing left in English, and which is chosen."""

from __future__ import annotations

import io
import re
from importlib import resources

import pytest
import typer
from babel import Locale
from fluent.syntax import FluentParser, ast
from fluent.syntax.visitor import Visitor
from rich.console import Console
from rich.text import Text
from typer.testing import CliRunner

from rami.game.v1 import event_pb2
from rami_cli.app import app
from rami_cli.drawing import draw_change
from rami_cli.screen import HEIGHT, WIDTH, Screen
from rami_cli.texts import choose_language, current_language, own_name, rich_text, text
from rami_client.state import RoomMirror
from rami_kit.languages import LOCALES
from support.matches import new_room

OTHERS = [locale for locale in LOCALES if locale != "en"]


@pytest.fixture(autouse=True)
def english_afterwards() -> object:
    yield
    choose_language("en")


class Found(Visitor):
    """What a text refers to, and the plural categories of each variable in it."""

    def __init__(self) -> None:
        self.variables: set[str] = set()
        self.plurals: list[set[str]] = []

    def visit_VariableReference(self, node: ast.VariableReference) -> None:  # noqa: N802 - called by this name
        self.variables.add(node.id.name)

    def visit_SelectExpression(self, node: ast.SelectExpression) -> None:  # noqa: N802 - called by this name
        keys = {variant.key.name for variant in node.variants if isinstance(variant.key, ast.Identifier)}
        if keys != {"yes", "no"}:
            self.plurals.append(keys)
        self.generic_visit(node)


def messages(locale: str) -> dict[str, Found]:
    source = (resources.files("rami_cli") / "texts" / f"{locale}.ftl").read_text(encoding="utf-8")
    found = {}
    for entry in FluentParser().parse(source).body:
        assert not isinstance(entry, ast.Junk), entry.content
        if isinstance(entry, ast.Message):
            found[entry.id.name] = Found()
            found[entry.id.name].visit(entry.value)
    return found


ENGLISH = messages("en")


@pytest.mark.parametrize("locale", OTHERS)
def test_every_text_is_there_with_the_same_variables(locale: str) -> None:
    found = messages(locale)
    assert found.keys() == ENGLISH.keys()
    # A name that a sentence does not need in one language may be needed in another.
    differing = {
        key for key in found if found[key].variables - {"name", "own"} != ENGLISH[key].variables - {"name", "own"}
    }
    assert differing == set()


@pytest.mark.parametrize("locale", LOCALES)
def test_plurals_have_the_forms_that_the_language_has(locale: str) -> None:
    forms = set(Locale(locale).plural_form.rules) | {"other"}
    for key, found in messages(locale).items():
        for categories in found.plurals:
            # Numbers here are whole: a form that is for fractions alone may be left to the default.
            assert categories <= forms, key
            assert {Locale(locale).plural_form(number) for number in range(200)} <= categories, key


@pytest.mark.parametrize("locale", OTHERS)
def test_nothing_is_left_in_english(locale: str) -> None:
    values = {"number": 1, "cards": "5", "meld": 2, "name": "X", "own": "no", "card": "7", "round": 1, "size": 11,
              "points": 5, "scores": "1", "room": "r", "turn": 3, "count": 5, "error": "e", "words": "w",
              "rounds": 5, "actions": 5, "steps": 5, "versions": "v", "version": "9", "first": "1", "last": "2",
              "some": "a", "more": "b", "replay": "r", "receipt": "q",
              "address": "h:1", "note": "n", "seconds": 20}  # fmt: skip
    choose_language("en")
    english = {key: text(key, **values) for key in ENGLISH}
    choose_language(locale)
    same = {key for key in ENGLISH if text(key, **values) == english[key]}
    assert same <= {"by-autopilot", "column-cards", "column-score", "hand-points"}, "words that are the same"


@pytest.mark.parametrize("locale", LOCALES)
def test_the_screen_fits_in_every_language(locale: str) -> None:
    choose_language(locale)
    room = new_room(["ann", "bob", "", ""])
    room.start()
    mirror = RoomMirror(player_id="ann")
    mirror.take_snapshot(room.snapshot(0, rewound=False))
    screen = Screen(mirror.room, mirror.view)
    help_lines = text("help").splitlines()
    assert max(map(len, help_lines)) < WIDTH
    assert len(help_lines) <= 5
    for key in ("your-move", "waiting", "end-turn", "wrong-no-list"):
        assert len(text(key)) < 100
    for key in ("choose-match", "choose-to-go-on", "sit-down", "matches-to-watch", "match-goes-on", "goes-on-later"):
        assert len(text(key)) < WIDTH
    out = io.StringIO()
    Console(width=WIDTH, file=out).print(screen.draw(HEIGHT))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert own_name() in "\n".join(lines)


def test_sentences_about_oneself_are_spoken_so() -> None:
    names = ["", "Bob"]
    played = event_pb2.ActionPlayed(seat=0)
    played.action.draw_stock.SetInParent()
    for locale, mine, other in [
        ("en", "You draw from the stock", "Bob draws from the stock"),
        ("es", "Robas del mazo", "Bob roba del mazo"),
        ("cs", "Lížete z talonu", "Bob líže z talonu"),
    ]:
        choose_language(locale)
        names[0] = own_name()
        played.seat = 0
        drawn = draw_change(event_pb2.Change(action_played=played), names)
        assert drawn is not None
        assert drawn.plain == mine
        played.seat = 1
        drawn = draw_change(event_pb2.Change(action_played=played), names)
        assert drawn is not None
        assert drawn.plain == other


def test_drawn_parts_keep_their_colours() -> None:
    line = rich_text("action-meld", cards=Text("5♥", style="red"))
    assert line.plain == "meld 5♥"
    assert [(span.start, span.end, span.style) for span in line.spans] == [(5, 7, "red")]


@pytest.mark.parametrize(
    ("wanted", "environment", "locale"),
    [
        ("es-MX", {"LANG": "cs_CZ.UTF-8"}, "es"),
        (None, {"LANG": "cs_CZ.UTF-8"}, "cs"),
        (None, {"LANG": "cs_CZ.UTF-8", "LC_ALL": "fr_FR"}, "fr"),
        (None, {"LANG": "nn_NO.UTF-8@euro"}, "nb"),
        (None, {"LANG": "C.UTF-8"}, "en"),
        (None, {"LANG": "C"}, "en"),
        (None, {}, "en"),
        ("de", {"LANG": "cs_CZ.UTF-8"}, "en"),
    ],
)
def test_the_language_is_the_one_asked_for_or_the_terminals(
    wanted: str | None, environment: dict[str, str], locale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    choose_language(wanted)
    assert current_language() == locale


def test_what_is_no_language_is_refused() -> None:
    with pytest.raises(typer.BadParameter):
        choose_language("!")
    result = CliRunner().invoke(app, ["replay", "--language", "?", "x"])
    assert result.exit_code == 2
    assert "language tag" in re.sub(r"\s+", " ", result.output)
