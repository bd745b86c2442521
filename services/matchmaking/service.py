"""Puts the matchmaking service together: stores, index, loops, servicers, checks and closers."""

from __future__ import annotations

import secrets
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from matchmaking.claim_store import ClaimStore
from matchmaking.claims import ClaimFinisher
from matchmaking.config import MatchmakingSettings
from matchmaking.expiry import expire_forever
from matchmaking.finished_reader import FinishedReader
from matchmaking.game_rooms import GameRooms
from matchmaking.matcher import Matcher
from matchmaking.matching import MatchingLoop
from matchmaking.matchmaking_servicer import MatchmakingServicer
from matchmaking.player_servicer import PlayerServicer
from matchmaking.player_store import PlayerStore
from matchmaking.queue_index import QueueIndex
from matchmaking.queue_report import QueueReport
from matchmaking.ticket_store import TicketStore
from matchmaking.watchers import TicketWatchers
from rami.matchmaking.v1 import matchmaking_service_pb2_grpc, player_service_pb2_grpc
from rami_kit import keys
from rami_kit.access import Access
from rami_kit.admission import make_rate
from rami_kit.auth import GuestSigner
from rami_kit.channels import close_channels, open_channel
from rami_kit.errors import StoreUnavailable
from rami_kit.metrics import MatchmakingMetrics
from rami_kit.subscriber import Subscriber

if TYPE_CHECKING:
    from matchmaking.tickets import BotProfile
    from rami_kit.app import App

SERVICE_NAME: Final = "matchmaking"
BOTS_SECONDS: Final = 10.0
"""How often the skills of the bots are read."""


class BotSkills:
    """The bot profiles with their skills, read now and then."""

    def __init__(self, players: PlayerStore) -> None:
        self._players = players
        self._profiles: list[BotProfile] = []
        self._read_at = -BOTS_SECONDS

    async def __call__(self) -> list[BotProfile]:
        """The profiles. Raises what the store raises when it is time to read and that fails."""
        now = time.monotonic()
        if now - self._read_at >= BOTS_SECONDS:
            self._profiles = await self._players.bots()
            self._read_at = now
        return self._profiles


async def build(app: App) -> None:
    """Builds the service on an app whose settings are MatchmakingSettings."""
    settings = app.settings
    assert isinstance(settings, MatchmakingSettings)
    store = app.require_store()
    metrics = MatchmakingMetrics(app.metrics.registry)
    metrics.prepare()

    tickets = TicketStore(store, settings.times)
    claims = ClaimStore(store, settings.times, owner=secrets.token_hex(8))
    players = PlayerStore(
        store,
        settings.bot_skills,
        player_days=settings.player_keep_days,
        rated_days=settings.rated_keep_days,
        leaderboard_size=settings.leaderboard_size,
    )
    matcher = Matcher(settings.policy)
    index = QueueIndex(tickets, matcher, metrics.unreadable.labels("ticket"))

    channel = open_channel(settings.game_address, settings)
    app.add_closer(lambda: close_channels(channel))
    rooms = GameRooms(channel, app.service_tokens("rami-game"), timeout_seconds=settings.room_timeout_seconds)

    def tell_loop() -> None:
        loop.claim_ended()

    finisher = ClaimFinisher(
        claims,
        rooms,
        metrics,
        give_up_seconds=settings.room_give_up_seconds,
        on_finished=tell_loop,
    )
    app.add_closer(finisher.close)
    loop = MatchingLoop(
        claims=claims,
        index=index,
        finisher=finisher,
        rooms=rooms,
        bots=BotSkills(players),
        clock=app.clock,
        metrics=metrics,
        pass_seconds=settings.match_pass_seconds,
        dead_seconds=settings.match_dead_seconds,
    )
    watchers = TicketWatchers(metrics.watchers.labels())
    subscriber = Subscriber(store)
    app.add_closer(subscriber.close)
    reader = FinishedReader(
        store,
        players,
        metrics,
        partitions=settings.partitions,
        redeliver_seconds=settings.rating_redeliver_seconds,
        matched_only=settings.rated_rooms == "matched",
    )

    async def listen() -> None:
        while True:
            try:
                await subscriber.subscribe(keys.ticket_channel(), watchers.on_message)
            except StoreUnavailable:
                continue  # the subscription itself waits for as long as the store's timeout
            watchers.on_message(None)  # whatever was published before is lost
            return

    async def end_watches() -> None:
        await app.draining.wait()
        watchers.wake_all()

    app.spawn("listen", listen)
    app.spawn("end-watches", end_watches)
    app.spawn("matching", loop.run)
    app.spawn("expire-tickets", partial(expire_forever, tickets, metrics))
    app.spawn("resume-claims", finisher.resume_forever)
    app.spawn("ratings", reader.run)
    app.add_check("matching", lambda: loop.alive)

    app.add_servicer(
        matchmaking_service_pb2_grpc.add_MatchmakingServiceServicer_to_server,
        MatchmakingServicer(
            store=tickets,
            players=players,
            report=QueueReport(index, tickets, app.clock),
            watchers=watchers,
            on_arrival=loop.wake,
            bot_fill_ms=settings.policy.bot_fill_ms,
            draining=app.draining,
            metrics=metrics,
        ),
        "rami.matchmaking.v1.MatchmakingService",
    )
    app.interceptor.limit_method(
        "/rami.matchmaking.v1.PlayerService/CreateGuest",
        make_rate(settings.guest_rate_per_address, settings.guest_rate_per_address_burst),
    )
    app.add_servicer(
        player_service_pb2_grpc.add_PlayerServiceServicer_to_server,
        PlayerServicer(
            players,
            GuestSigner(settings),
            metrics,
            guests_allowed=settings.signs_in_guests,
            guest_seconds=settings.guest_token_seconds,
            renewal_rate=make_rate(settings.guest_renewals_per_player, settings.guest_renewals_per_player_burst),
        ),
        "rami.matchmaking.v1.PlayerService",
        overrides={"CreateGuest": Access.PUBLIC},
    )


__all__ = ["SERVICE_NAME", "BotSkills", "build"]
