"""Names that players show each other, from guests and from identity providers."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rami_kit.errors import InvalidRequest
from rami_kit.names import checked_name, display_name

JOINERS = "\u200c\u200d"
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
"""Three emoji that are one picture."""
WILL = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
"""A Persian word in which two letters must not be joined."""


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
        (f"A\u200dda {FAMILY}", f"Ada {FAMILY}"),
        (WILL, WILL),
        ("\u200c" + WILL + "\u200c", WILL),
        ("x" * 31 + FAMILY, "x" * 31 + FAMILY[0]),
        ("\u200d" * 300, "Player"),
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
        (FAMILY, FAMILY),
        ("\u2764\ufe0f\u200d\U0001f525", "\u2764\ufe0f\u200d\U0001f525"),
        ("\U0001f469\U0001f3fd\u200d\U0001f4bb", "\U0001f469\U0001f3fd\u200d\U0001f4bb"),
        (WILL, WILL),
        ("\u0915\u094d\u200d\u0937", "\u0915\u094d\u200d\u0937"),
        ("\u0915\u094d\u200c\u0937", "\u0915\u094d\u200c\u0937"),
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
        ("A\u200dda", "must not have control characters"),
        ("A\u200cda", "must not have control characters"),
        (FAMILY + "\u200d", "must not have control characters"),
        ("\u200d" + FAMILY, "must not have control characters"),
        ("\ufe0f\u200d" + FAMILY, "must not have control characters"),
        ("\U0001f469\u200d\u200d\U0001f467", "must not have control characters"),
        ("\u0627\u200c\u0645", "must not have control characters"),
        ("\u0645\u200d\u062e", "must not have control characters"),
        ("\u0915\u094d\u200d", "must not have control characters"),
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
@given(
    st.text(max_size=40)
    | st.text("Ae \u0301\u0645\u0627\u0915\u094d\U0001f469\U0001f3fd\ufe0f\u200c\u200d\u200b", max_size=40)
)
def test_whatever_is_typed_a_name_shows_something(text: str) -> None:
    names = [display_name(text)]
    try:
        names.append(checked_name(text, "display_name"))
    except InvalidRequest:
        assert text not in names, "what was changed to be shown could have been kept"
    assert checked_name(names[0], "display_name") == names[0]
    for name in names:
        assert 1 <= len(name) <= 32
        assert name == name.strip()
        shown = "".join(character for character in name if not character.isspace() and character not in JOINERS)
        assert shown.isprintable()
        assert any(unicodedata.category(character)[0] in "LNPS" for character in name)
