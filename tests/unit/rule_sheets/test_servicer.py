"""RuleSheetService answers in the reader's language, pages its list, and names what is wrong with a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from game_state.rule_sheet_servicer import RuleSheetServicer
from rami.game.v1 import rule_sheet_service_pb2 as pb
from rami.game.v1.rules_pb2 import RuleOptions
from rami_engine import OptionsError
from rami_kit.errors import InvalidRequest, from_engine_error
from rami_kit.languages import LOCALES

if TYPE_CHECKING:
    import grpc.aio

    from game_state.rule_sheets import RuleSheets

CONTEXT = cast("grpc.aio.ServicerContext[Any, Any]", object())
"""The handlers leave the context alone."""


@pytest.fixture(scope="module")
def servicer(sheets: RuleSheets) -> RuleSheetServicer:
    return RuleSheetServicer(sheets)


async def sheet(servicer: RuleSheetServicer, *locales: str, options: RuleOptions | None = None) -> pb.RuleSheet:
    response = await servicer.GetRuleSheet(pb.GetRuleSheetRequest(locales=locales, options=options), CONTEXT)
    return response.sheet


async def pages(servicer: RuleSheetServicer, size: int) -> list[list[str]]:
    found: list[list[str]] = []
    token = ""
    while True:
        request = pb.ListRuleSheetsRequest(page_size=size, page_token=token)
        response = await servicer.ListRuleSheets(request, CONTEXT)
        found.append([info.locale for info in response.sheets])
        token = response.next_page_token
        if not token:
            return found


async def test_a_sheet_comes_in_the_language_asked_for(servicer: RuleSheetServicer) -> None:
    norwegian = await sheet(servicer, "de", "nn-NO", "en")
    assert (norwegian.locale, norwegian.fallback) == ("nb", False)
    assert norwegian.title == "Rami: spilleregler"


async def test_an_unknown_language_gets_english_and_is_told_so(servicer: RuleSheetServicer) -> None:
    german = await sheet(servicer, "de")
    assert (german.locale, german.fallback) == ("en", True)


async def test_asking_for_nothing_or_for_english_is_no_fallback(servicer: RuleSheetServicer) -> None:
    await sheet(servicer, "de")
    for locales in ((), ("en",), ("de", "en")):
        english = await sheet(servicer, *locales)
        assert (english.locale, english.fallback) == ("en", False)


async def test_options_left_out_are_the_defaults(servicer: RuleSheetServicer) -> None:
    plain = await sheet(servicer, "ru")
    assert await sheet(servicer, "ru", options=RuleOptions()) == plain
    assert await sheet(servicer, "ru", options=RuleOptions(target_score=100)) == plain
    assert await sheet(servicer, "ru", options=RuleOptions(ace_high=True)) != plain


@pytest.mark.parametrize("target", [0, 1001, 4_294_967_295])
async def test_options_outside_their_range_are_refused(servicer: RuleSheetServicer, target: int) -> None:
    with pytest.raises(OptionsError) as caught:
        await sheet(servicer, "fr", options=RuleOptions(target_score=target))
    assert from_engine_error(caught.value).metadata == {"field": "options.target_score"}


async def test_malformed_locales_are_refused(servicer: RuleSheetServicer) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await sheet(servicer, "fr", "fr_CA")
    assert caught.value.metadata == {"field": "locales[1]"}


async def test_an_answer_can_be_changed_without_changing_the_next(servicer: RuleSheetServicer) -> None:
    first = await sheet(servicer, "cs")
    title = first.title
    first.title = "changed"
    del first.sections[:]
    second = await sheet(servicer, "cs")
    assert second.title == title
    assert len(second.sections) == 8


@pytest.mark.parametrize("size", [0, 1, 2, 4, 5, 6, 7, 100])
async def test_every_language_is_listed_once_in_order(servicer: RuleSheetServicer, size: int) -> None:
    found = await pages(servicer, size)
    assert [locale for page in found for locale in page] == list(LOCALES) == sorted(LOCALES)
    assert all(page for page in found)
    if size:
        assert all(len(page) <= size for page in found)
    else:
        assert len(found) == 1


async def test_the_list_has_the_title_of_each_sheet(servicer: RuleSheetServicer) -> None:
    response = await servicer.ListRuleSheets(pb.ListRuleSheetsRequest(), CONTEXT)
    for info in response.sheets:
        assert info.title == (await sheet(servicer, info.locale)).title


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (pb.ListRuleSheetsRequest(page_size=-1), "page_size"),
        (pb.ListRuleSheetsRequest(page_size=101), "page_size"),
        (pb.ListRuleSheetsRequest(page_token="?"), "page_token"),
        (pb.ListRuleSheetsRequest(page_token="e" * 5000), "page_token"),
    ],
)
async def test_bad_pages_are_refused(
    servicer: RuleSheetServicer, request_: pb.ListRuleSheetsRequest, field: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await servicer.ListRuleSheets(request_, CONTEXT)
    assert caught.value.metadata == {"field": field}


async def test_a_token_past_the_last_language_gives_an_empty_last_page(servicer: RuleSheetServicer) -> None:
    response = await servicer.ListRuleSheets(pb.ListRuleSheetsRequest(page_token="zu"), CONTEXT)
    assert (list(response.sheets), response.next_page_token) == ([], "")
