"""Names that players show each other, from guests and from identity providers."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rami_kit.errors import InvalidRequest
from rami_kit.names import checked_name, display_name


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        (None, "Player"),
        (7, "Player"),
        ("", "Player"),
        (" \u200b\x00\n", "Player"),
        ("\u202e\u200b\u3164", "Player"),
        ("\u2800 \u115f", "Player"),
        ("\ufe0f\u0301", "Player"),
        ("A\u3164da", "Ada"),
        ("\u2665\ufe0f", "\u2665\ufe0f"),
        ("x" * 100, "x" * 32),
        ("a\x1b[31mb", "a[31mb"),
        ("Łukasz 🃏", "Łukasz 🃏"),
        ("\ud800x", "x"),
        ("y" * 31 + " z", "y" * 31),
    ],
)
def test_names_are_safe_to_show(claim: object, name: str) -> None:
    assert display_name(claim) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" Ada ", "Ada"),
        ("x" * 32, "x" * 32),
        ("\u0645\u0631\u062d\u0628\u0627", "\u0645\u0631\u062d\u0628\u0627"),
        ("a\u0300\u0300", "a\u0300\u0300"),
        ("\u2665\ufe0f", "\u2665\ufe0f"),
    ],
)
def test_a_name_that_can_be_shown_is_kept(text: str, name: str) -> None:
    assert checked_name(text, "display_name") == name


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "must have 1 to 32 characters"),
        (" \u00a0 ", "must have 1 to 32 characters"),
        ("x" * 33, "must have 1 to 32 characters"),
        ("\u200b", "must not have control characters"),
        ("\u202eAda", "must not have control characters"),
        ("Ada\u2028Eve", "must not have control characters"),
        ("\u3164", "must not have characters that show nothing"),
        ("Ada\u3164", "must not have characters that show nothing"),
        ("\u2800\u2800", "must not have characters that show nothing"),
        ("\u115f\u1160", "must not have characters that show nothing"),
        ("\u034f", "must not have characters that show nothing"),
        ("\ufe0f", "must not have characters that show nothing"),
    ],
)
def test_a_name_that_cannot_be_shown_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        checked_name(text, "display_name")
    assert str(caught.value) == f"display_name: {complaint}"


@settings(deadline=None)
@given(st.text(max_size=40))
def test_whatever_is_typed_a_name_shows_something(text: str) -> None:
    names = [display_name(text)]
    try:
        names.append(checked_name(text, "display_name"))
    except InvalidRequest:
        assert text not in names, "what was changed to be shown could have been kept"
    for name in names:
        assert 1 <= len(name) <= 32
        assert name == name.strip()
        assert name.isprintable() or any(character.isspace() for character in name)
        assert any(unicodedata.category(character)[0] in "LNPS" for character in name)
