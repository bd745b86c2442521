"""The RPCs of rami.game.v1.RuleSheetService: which languages there are, and the sheet of one.

Needs no token and no store. Sheets hold nothing but the rules, so every caller may read every one.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from game_state.rule_sheets import negotiate
from rami.game.v1 import rule_sheet_service_pb2 as pb
from rami.game.v1.rule_sheet_service_pb2_grpc import RuleSheetServiceServicer
from rami_engine import RuleOptions
from rami_kit.languages import is_well_formed
from rami_kit.paging import page_size, wrong_page_token
from rami_wire.rules import options_from_proto

if TYPE_CHECKING:
    import grpc.aio

    from game_state.rule_sheets import RuleSheets

MAX_PAGE_SIZE: Final = 100

_DEFAULT_OPTIONS: Final = RuleOptions()


class RuleSheetServicer(RuleSheetServiceServicer):
    """Serves sheets that were loaded and checked at the start."""

    def __init__(self, sheets: RuleSheets) -> None:
        self._sheets = sheets

    async def ListRuleSheets(
        self,
        request: pb.ListRuleSheetsRequest,
        _context: grpc.aio.ServicerContext[pb.ListRuleSheetsRequest, pb.ListRuleSheetsResponse],
    ) -> pb.ListRuleSheetsResponse:
        """Lists the languages.

        A page token is the last locale of the page before, so it stays good when languages are added.
        Raises InvalidRequest for a page size outside 0..100 and for a token that no answer has given out.
        """
        size = page_size(request.page_size, MAX_PAGE_SIZE, MAX_PAGE_SIZE)
        if request.page_token and not is_well_formed(request.page_token):
            raise wrong_page_token()
        infos = self._sheets.infos
        start = bisect_right(infos, request.page_token, key=lambda info: info.locale)
        end = min(len(infos), start + size)
        token = infos[end - 1].locale if end < len(infos) else ""
        return pb.ListRuleSheetsResponse(sheets=infos[start:end], next_page_token=token)

    async def GetRuleSheet(
        self,
        request: pb.GetRuleSheetRequest,
        _context: grpc.aio.ServicerContext[pb.GetRuleSheetRequest, pb.GetRuleSheetResponse],
    ) -> pb.GetRuleSheetResponse:
        """Reads the sheet that fits best.

        Raises InvalidRequest for malformed locales and OptionsError for options outside their range.
        """
        locale, fallback = negotiate(request.locales)
        options = options_from_proto(request.options, "options") if request.HasField("options") else _DEFAULT_OPTIONS
        response = pb.GetRuleSheetResponse(sheet=self._sheets.sheet(locale, options))
        response.sheet.fallback = fallback
        return response
