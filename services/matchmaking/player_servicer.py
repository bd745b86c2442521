"""PlayerService: guests sign in, and everybody sees ratings."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Final

from matchmaking.criteria import timestamp
from matchmaking.page_tokens import format_page_token, parse_page_token
from matchmaking.ratings import BOT_PREFIX, new_player
from rami.matchmaking.v1 import player_service_pb2 as messages
from rami.matchmaking.v1 import player_service_pb2_grpc
from rami_kit.auth import GUEST_SUBJECT, PLAYER_ISSUER, current_caller, player_id
from rami_kit.errors import InvalidRequest, reasons, refused
from rami_kit.names import checked_name
from rami_kit.paging import page_size
from rami_kit.rates import Buckets

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    import grpc.aio

    from matchmaking.player_store import PlayerStore
    from matchmaking.ratings import PlayerRecord
    from rami_kit.auth import GuestSigner
    from rami_kit.metrics import MatchmakingMetrics
    from rami_kit.rates import Rate

    Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]

MAX_PLAYER_ID_LENGTH: Final = 64
DEFAULT_PAGE_SIZE: Final = 20
MAX_PAGE_SIZE: Final = 100
RENEWALS: Final = "renewals_per_player"


class PlayerServicer(player_service_pb2_grpc.PlayerServiceServicer):
    """The servicer."""

    def __init__(
        self,
        players: PlayerStore,
        signer: GuestSigner,
        metrics: MatchmakingMetrics,
        *,
        guests_allowed: bool,
        guest_seconds: float,
        renewal_rate: Rate | None,
    ) -> None:
        """`guest_seconds`: how long a guest's token lives; `renewal_rate` of None: guests renew it as they like."""
        self._players = players
        self._signer = signer
        self._metrics = metrics
        self._guests_allowed = guests_allowed
        self._guest_seconds = guest_seconds
        self._renewals = Buckets(renewal_rate) if renewal_rate is not None else None

    async def CreateGuest(
        self, request: messages.CreateGuestRequest, _context: Context
    ) -> messages.CreateGuestResponse:
        """Signs in a new guest. Nothing is stored: the token is all there is."""
        self._require_guests()
        name = checked_name(request.display_name, "display_name")
        subject = f"{GUEST_SUBJECT}{secrets.token_urlsafe(18)}"
        token, expires_at = self._signer.sign(subject, name, self._guest_seconds)
        self._metrics.guests.labels().inc()
        return messages.CreateGuestResponse(
            player_id=player_id(PLAYER_ISSUER, subject),
            token=token,
            expire_time=timestamp(int(expires_at * 1000)),
        )

    async def RenewGuest(self, request: messages.RenewGuestRequest, context: Context) -> messages.RenewGuestResponse:
        """Signs a guest in once more as the same player. Nothing is stored here either."""
        self._require_guests()
        caller = current_caller()
        name = checked_name(request.display_name, "display_name") if request.display_name else caller.name
        wait = self._renewals.take(caller.player_id) if self._renewals is not None else 0.0
        if wait:
            message = "the guest renews its token too often"
            raise refused(reasons.ERROR_REASON_RATE_LIMITED, message, retry_after_seconds=wait, limit=RENEWALS)
        token, expires_at = self._signer.renew(context.invocation_metadata(), name, self._guest_seconds)
        return messages.RenewGuestResponse(
            player_id=caller.player_id,
            token=token,
            expire_time=timestamp(int(expires_at * 1000)),
            display_name=name,
        )

    async def GetPlayer(self, request: messages.GetPlayerRequest, _context: Context) -> messages.GetPlayerResponse:
        """What is known of a player. The caller is always known, at least as a beginner."""
        caller = current_caller()
        wanted = request.player_id or caller.player_id
        record = await self._players.find(wanted) if _may_be_an_id(wanted) else None
        if record is None and wanted == caller.player_id:
            record = new_player(caller.name)
        if record is None:
            raise refused(reasons.ERROR_REASON_PLAYER_NOT_FOUND, "nothing is known of this player")
        rank = await self._players.rank_of(wanted)
        return messages.GetPlayerResponse(player=player_message(wanted, record), rank=rank or 0)

    async def ListLeaderboard(
        self, request: messages.ListLeaderboardRequest, _context: Context
    ) -> messages.ListLeaderboardResponse:
        """A page of the leaderboard as it is now; a rank that changes between pages may show twice or not
        at all.
        """
        size = page_size(request.page_size, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)
        if request.around_me and request.page_token:
            raise InvalidRequest("around_me", "must not be set with a page_token, which goes on from its page")
        caller = current_caller().player_id
        rank, record = await asyncio.gather(self._players.rank_of(caller), self._players.find(caller))
        first = parse_page_token(request.page_token) if request.page_token else 0
        if request.around_me and rank is not None:
            first = max(0, rank - 1 - size // 2)
        page = await self._players.leaderboard(first, size)
        response = messages.ListLeaderboardResponse()
        for row in page.players:
            response.players.add(rank=row.rank, player=player_message(row.player_id, row.record))
        if page.more:
            response.next_page_token = format_page_token(first + size)
        if rank is not None and record is not None:
            response.own.CopyFrom(messages.RankedPlayer(rank=rank, player=player_message(caller, record)))
        return response

    def _require_guests(self) -> None:
        if not self._guests_allowed:
            message = "this cluster signs in no guests: use your identity provider"
            raise refused(reasons.ERROR_REASON_GUESTS_DISABLED, message)


def player_message(player: str, record: PlayerRecord) -> messages.Player:
    """A player as everybody sees one."""
    return messages.Player(
        player_id=player,
        display_name=record.name,
        rating=record.rating,
        rating_deviation=record.deviation,
        matches=record.matches,
        wins=record.wins,
        bot=record.bot,
    )


def _may_be_an_id(text: str) -> bool:
    """Whether a text can be the id of a player or a bot; nothing else gets into a key."""
    name = text.removeprefix(BOT_PREFIX)
    return len(text) <= MAX_PLAYER_ID_LENGTH and name.isascii() and name.replace("-", "").replace("_", "").isalnum()


__all__ = ["PlayerServicer", "checked_name", "player_message"]
