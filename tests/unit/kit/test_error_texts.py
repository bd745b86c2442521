"""What players read when a call is refused, in every language."""

from __future__ import annotations

from importlib import resources

import pytest
from fluent.runtime import FluentBundle, FluentResource
from google.rpc import error_details_pb2

from rami_kit.error_texts import error_text, metadata_locale
from rami_kit.errors import InvalidRequest, reason_name, reasons, refused, to_status
from rami_kit.languages import DEFAULT_LOCALE, LOCALES, accepted_locale

REASONS = [reason_name(value) for value in reasons.ErrorReason.values() if value != reasons.ERROR_REASON_UNSPECIFIED]


def source(locale: str) -> str:
    return (resources.files("rami_kit") / "error_texts" / f"{locale}.ftl").read_text(encoding="utf-8")


@pytest.mark.parametrize("locale", LOCALES)
def test_every_reason_has_a_text_and_nothing_else_has(locale: str) -> None:
    keys = [line.partition(" = ")[0] for line in source(locale).splitlines() if line and not line.startswith("#")]
    assert keys == [name.lower().replace("_", "-") for name in REASONS]
    assert all(error_text(name, locale) for name in REASONS)


@pytest.mark.parametrize("locale", LOCALES)
def test_the_files_say_the_same_to_fluent(locale: str) -> None:
    bundle = FluentBundle([locale], use_isolating=False)
    bundle.add_resource(FluentResource(source(locale)))
    for name in REASONS:
        pattern = bundle.get_message(name.lower().replace("_", "-")).value
        assert pattern is not None
        assert bundle.format_pattern(pattern) == (error_text(name, locale), [])


@pytest.mark.parametrize("locale", [locale for locale in LOCALES if locale != DEFAULT_LOCALE])
def test_nothing_is_left_in_english(locale: str) -> None:
    assert [name for name in REASONS if error_text(name, locale) == error_text(name, DEFAULT_LOCALE)] == []


@pytest.mark.parametrize("locale", LOCALES)
def test_texts_are_sentences(locale: str) -> None:
    for name in REASONS:
        text = error_text(name, locale)
        assert text is not None
        assert text[0].isupper(), text
        assert text.endswith("."), text


@pytest.mark.parametrize(
    ("header", "locale"),
    [
        ("es-MX,es;q=0.9,en;q=0.8", "es"),
        ("de, cs;q=0.5, fr;q=0.7", "fr"),
        ("nn-NO", "nb"),
        ("no", "nb"),
        ("RU", "ru"),
        ("de", None),
        ("", None),
        ("*", None),
        ("es;q=0, cs;q=0.1", "cs"),
        ("es;q=x, cs", "cs"),
        ("es;q=nan, cs;q=0.1", "cs"),
        ("fr;q=0.5, es;q=0.5", "fr"),
        (";;;,,,;q=", None),
        ("\x00" * 10_000, None),
        (",".join(["de"] * 16 + ["es"]), None),
    ],
)
def test_a_header_leads_to_a_language(header: str, locale: str | None) -> None:
    assert accepted_locale(header) == locale


def test_the_first_header_of_the_metadata_counts() -> None:
    assert metadata_locale((("authorization", "x"), ("accept-language", "cs"), ("accept-language", "fr"))) == "cs"
    assert metadata_locale((("accept-language", b"cs"),)) is None
    assert metadata_locale(None) is None


def test_a_status_carries_the_text_for_who_asked_for_one() -> None:
    error = refused(reasons.ERROR_REASON_NOT_YOUR_TURN, "seat 2 is to move", turn=2)
    localized = error_details_pb2.LocalizedMessage()

    assert not any(detail.Is(localized.DESCRIPTOR) for detail in to_status(error).details)
    (detail,) = [detail for detail in to_status(error, "cs").details if detail.Is(localized.DESCRIPTOR)]
    assert detail.Unpack(localized)
    assert localized == error_details_pb2.LocalizedMessage(locale="cs", message="Na tahu je jiný hráč.")
    assert to_status(error, "cs").message == "seat 2 is to move", "programs and logs go by the one text"


def test_the_largest_status_still_fits_into_trailers() -> None:
    error = InvalidRequest("x" * 10_000, "ü" * 10_000)
    for locale in LOCALES:
        status = to_status(error, locale)
        assert len(status.SerializeToString()) * 4 / 3 + 3 * len(status.message.encode()) < 8192
