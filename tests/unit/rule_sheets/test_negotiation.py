"""Which language a reader gets, and which tags are refused."""

from __future__ import annotations

import pytest

from game_state.rule_sheets import negotiate
from rami_kit.errors import InvalidRequest
from rami_kit.languages import MAX_TAG_LENGTH, MAX_TAGS, is_well_formed


@pytest.mark.parametrize(
    ("requested", "locale", "fallback"),
    [
        ((), "en", False),
        (("en",), "en", False),
        (("en-GB",), "en", False),
        (("es-MX",), "es", False),
        (("es-419",), "es", False),
        (("ES-mx",), "es", False),
        (("no",), "nb", False),
        (("no-NO",), "nb", False),
        (("no-bok",), "nb", False),
        (("nn",), "nb", False),
        (("nn-NO",), "nb", False),
        (("nb-SJ",), "nb", False),
        (("nob",), "nb", False),
        (("nno",), "nb", False),
        (("nor",), "nb", False),
        (("spa",), "es", False),
        (("ces",), "cs", False),
        (("cze-CZ",), "cs", False),
        (("fr-Latn-CA",), "fr", False),
        (("ru-Cyrl-RU-u-ca-gregory",), "ru", False),
        (("cs-x-table",), "cs", False),
        (("de",), "en", True),
        (("sk-SK",), "en", True),
        (("x-klingon",), "en", True),
        (("i-klingon",), "en", True),
        (("zzz",), "en", True),
        (("de", "it"), "en", True),
        (("de", "ru"), "ru", False),
        (("fr", "ru"), "fr", False),
        (("nn", "fr"), "nb", False),
        (("de", "en"), "en", False),
        (("de-CH-1996", "fr-CH"), "fr", False),
    ],
)
def test_the_first_language_that_has_a_sheet_is_taken(requested: tuple[str, ...], locale: str, fallback: bool) -> None:
    assert negotiate(requested) == (locale, fallback)


@pytest.mark.parametrize(
    "tag",
    [
        "",
        " ",
        "*",
        "e",
        "es_MX",
        "es-",
        "-es",
        "es--MX",
        "es MX",
        "es-MX ",
        "es\n",
        "es-MXX-ES-abcdefghi",
        "абв",
        "ru\u212a",
        "en-a",
        "en-x",
        "toolonglang",
        "123",
        "i-unheardof",
        "e\x00n",
    ],
)
def test_malformed_tags_are_refused_by_their_place(tag: str) -> None:
    assert not is_well_formed(tag)
    with pytest.raises(InvalidRequest) as caught:
        negotiate(("en", tag))
    assert caught.value.metadata == {"field": "locales[1]"}
    assert [violation.field for violation in caught.value.field_violations] == ["locales[1]"]


def test_a_kelvin_sign_is_no_letter_of_a_tag() -> None:
    # Lower-casing turns U+212A into an ASCII k.
    assert not is_well_formed("s\u212a")


def test_a_fitting_tag_does_not_excuse_a_malformed_one() -> None:
    with pytest.raises(InvalidRequest):
        negotiate(("es", "fr", "!"))


def test_tags_of_the_greatest_length_pass_and_longer_ones_do_not() -> None:
    longest = "es-x-" + "a" * 8 + "-" + "b" * 8 + "-" + "c" * 8 + "-dde"
    assert len(longest) == MAX_TAG_LENGTH
    assert negotiate((longest,)) == ("es", False)
    with pytest.raises(InvalidRequest) as caught:
        negotiate((longest + "f",))
    assert caught.value.metadata == {"field": "locales[0]"}


def test_sixteen_tags_pass_and_seventeen_do_not() -> None:
    assert negotiate(["de"] * (MAX_TAGS - 1) + ["cs"]) == ("cs", False)
    with pytest.raises(InvalidRequest) as caught:
        negotiate(["cs"] * (MAX_TAGS + 1))
    assert caught.value.metadata == {"field": "locales"}
