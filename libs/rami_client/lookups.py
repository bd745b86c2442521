"""Looking things up: players and their places, and the rules as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rami.game.v1 import rule_sheet_service_pb2 as sheets
from rami.matchmaking.v1 import player_service_pb2 as players

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rami.game.v1 import rules_pb2
    from rami.game.v1.rule_sheet_service_pb2_grpc import RuleSheetServiceAsyncStub
    from rami.matchmaking.v1.player_service_pb2_grpc import PlayerServiceAsyncStub
    from rami_client.calls import Calls


class Lookups:
    """The part of a client that looks things up."""

    def __init__(
        self, rule_sheets: RuleSheetServiceAsyncStub, player_stub: PlayerServiceAsyncStub, calls: Calls
    ) -> None:
        self._sheets = rule_sheets
        self._players = player_stub
        self._calls = calls

    async def list_rule_sheets(self) -> list[sheets.RuleSheetInfo]:
        """The languages that there are rule sheets in.

        >>> [sheet.locale for sheet in await client.list_rule_sheets()]
        ['cs', 'en', 'es', 'fr', 'nb', 'ru']
        """
        request = sheets.ListRuleSheetsRequest()
        found: list[sheets.RuleSheetInfo] = []
        while True:
            page = await self._calls.unary(self._sheets.ListRuleSheets, request)
            found.extend(page.sheets)
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    async def rule_sheet(
        self, locales: Iterable[str] = (), options: rules_pb2.RuleOptions | None = None
    ) -> sheets.RuleSheet:
        """The rules in the language that fits best (BCP 47 tags in order of preference).

        >>> sheet = await client.rule_sheet(["es-MX", "en"])
        >>> sheet.locale, sheet.fallback
        ('es', False)
        """
        request = sheets.GetRuleSheetRequest(locales=locales, options=options)
        return (await self._calls.unary(self._sheets.GetRuleSheet, request)).sheet

    async def player(self, player_id: str = "") -> players.Player:
        """A player's rating and record; the own one without an id.

        >>> player = await client.player()
        >>> player.display_name, player.rating, player.matches
        ('Ada', 1000.0, 0)
        """
        request = players.GetPlayerRequest(player_id=player_id)
        return (await self._calls.unary(self._players.GetPlayer, request)).player

    async def leaderboard(self, *, limit: int = 20, around_me: bool = False) -> list[players.RankedPlayer]:
        """At most `limit` players by rating, from the best on, or from some places above this player on.

        >>> places = [line.rank for line in await client.leaderboard(limit=5)]
        >>> places == list(range(1, len(places) + 1))
        True
        """
        request = players.ListLeaderboardRequest(page_size=min(limit, 100), around_me=around_me)
        ranked: list[players.RankedPlayer] = []
        while len(ranked) < limit:
            page = await self._calls.unary(self._players.ListLeaderboard, request)
            ranked.extend(page.players)
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
            request.around_me = False
        return ranked[:limit]

    async def own_rank(self) -> players.RankedPlayer | None:
        """The own line of the leaderboard; None before the first rated match.

        >>> await client.own_rank() is None
        True
        """
        request = players.ListLeaderboardRequest(page_size=1)
        page = await self._calls.unary(self._players.ListLeaderboard, request)
        return page.own if page.HasField("own") else None
