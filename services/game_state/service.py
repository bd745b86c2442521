"""The game service put together: which part knows which, and what runs in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

from game_state.actions import ActionPlayer
from game_state.archive import Archivist, open_archive
from game_state.bot_roster import BotRoster
from game_state.chains import ChainPool
from game_state.changes import RoomChanger
from game_state.config import GameSettings
from game_state.creation import RoomMaker
from game_state.decider import Decider
from game_state.decision_client import DecisionClient
from game_state.driver import Driver, Sweeper
from game_state.feeds import FeedHub
from game_state.game_servicer import GameParts, GameServicer
from game_state.guessing import CodeGuard
from game_state.hosting import HostedRooms
from game_state.listing import RoomLister
from game_state.match_room_servicer import MatchRoomServicer
from game_state.observation import StepObserver
from game_state.own_rooms import OwnRooms
from game_state.preparing import prepare
from game_state.repository import RoomRepository
from game_state.rule_sheet_servicer import RuleSheetServicer
from game_state.rule_sheets import RuleSheets
from game_state.streams import StreamParts
from game_state.stuck import StuckRooms
from rami.game.v1 import game_service_pb2_grpc, match_room_service_pb2_grpc, rule_sheet_service_pb2_grpc
from rami_kit.access import Access
from rami_kit.admission import make_rate
from rami_kit.auth import bot_audience
from rami_kit.metrics import GameMetrics
from rami_kit.subscriber import Subscriber

if TYPE_CHECKING:
    from rami_kit.app import App


async def build(app: App) -> None:
    """Serve rooms: GameService for players, MatchRoomService for services, RuleSheetService for everybody."""
    settings = app.settings
    assert isinstance(settings, GameSettings), "main was given the settings of this service"
    store = app.require_store()
    metrics = GameMetrics(app.metrics.registry)
    prepare(metrics, (*settings.bot_profiles, settings.autopilot_bot))
    times = settings.times

    chains = ChainPool()
    app.spawn("seed-chains", chains.refill)

    subscriber = Subscriber(store)
    app.add_closer(subscriber.close)

    repository = RoomRepository(store, metrics, kept_rooms=settings.kept_rooms, lease_ms=times.lease_ms)
    changer = RoomChanger(repository, times)
    hub = FeedHub(repository, subscriber, metrics)

    decisions = DecisionClient(settings.ai_address, settings, app.service_tokens("rami-ai"))
    third_parties = {
        bot: DecisionClient(address, settings, app.service_tokens(bot_audience(bot), secret=settings.bot_key(bot)))
        for bot, address in settings.third_party_bots.items()
    }
    for client in (decisions, *third_parties.values()):
        app.spawn("look-up-bots", client.run)
    roster = BotRoster(settings.bot_profiles, decisions, third_parties)
    app.spawn("list-bots", roster.run)
    decider = Decider(
        roster,
        metrics,
        settings.derived_key("policy-seed"),
        settings.decision_timeout_seconds,
        settings.decision_patience_seconds,
    )
    driver = Driver(
        repository,
        changer,
        decider,
        autopilot_bot=settings.autopilot_bot,
        lease_ms=times.lease_ms,
        stuck=StuckRooms(metrics),
    )
    repository.add_listener(hub)
    repository.add_listener(driver)
    repository.add_listener(StepObserver(metrics))
    hosted = HostedRooms(store, repository, limit=settings.max_rooms_per_player, partitions=settings.partitions)
    repository.add_listener(hosted)
    own_rooms = OwnRooms(store, repository, settings.partitions)
    repository.add_listener(own_rooms)
    sweeper = Sweeper(
        store,
        driver,
        metrics,
        partitions=settings.partitions,
        lease_ms=times.lease_ms,
        seconds=settings.sweep_seconds,
    )
    app.spawn("sweeper", sweeper.run)

    if settings.archive_url is not None:
        archivist = Archivist(
            open_archive(settings.archive_url),
            store,
            repository,
            metrics,
            partitions=settings.partitions,
            redeliver_seconds=settings.archive_redeliver_seconds,
        )
        app.spawn("archivist", archivist.run)

    async def wake_streams_to_drain() -> None:
        await app.draining.wait()
        hub.wake_all()

    app.spawn("drain-streams", wake_streams_to_drain)

    async def close() -> None:
        await driver.close()
        await roster.close()
        chains.close()

    app.add_closer(close)

    maker = RoomMaker(
        repository,
        chains,
        times,
        settings.guards,
        id_key=settings.derived_key("room-id"),
        partitions=settings.partitions,
    )
    streams = StreamParts(repository, hub, own_rooms, metrics, app.draining, settings.heartbeat_seconds)
    parts = GameParts(
        repository=repository,
        changer=changer,
        maker=maker,
        hosted=hosted,
        codes=CodeGuard(make_rate(settings.wrong_codes_per_address, settings.wrong_codes_per_address_burst)),
        own_rooms=own_rooms,
        lister=RoomLister(store, repository, settings.partitions),
        actions=ActionPlayer(changer, metrics),
        streams=streams,
        roster=roster,
        partitions=settings.partitions,
    )
    app.add_servicer(
        game_service_pb2_grpc.add_GameServiceServicer_to_server, GameServicer(parts), "rami.game.v1.GameService"
    )
    app.add_servicer(
        match_room_service_pb2_grpc.add_MatchRoomServiceServicer_to_server,
        MatchRoomServicer(maker, roster.profiles),
        "rami.game.v1.MatchRoomService",
        access=Access.SERVICE,
    )
    app.add_servicer(
        rule_sheet_service_pb2_grpc.add_RuleSheetServiceServicer_to_server,
        RuleSheetServicer(RuleSheets.load(settings.guards)),
        "rami.game.v1.RuleSheetService",
        access=Access.PUBLIC,
    )
