"""Bots of other people's decision services, played by the example that the documentation shows."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import grpc.aio
import pytest

from game_state.config import GameSettings
from rami.ai.v1 import decision_service_pb2 as ai_pb
from rami.ai.v1.decision_service_pb2_grpc import DecisionServiceStub
from rami.game.v1 import event_pb2, room_pb2
from rami.game.v1 import game_service_pb2 as pb
from rami_engine import verify_replay
from rami_kit.auth import ServiceTokens, bot_audience, bot_key
from rami_kit.settings import SettingsError, load_settings
from rami_kit.testing import SERVICE_SECRET, make_settings
from rami_wire import replay_record
from support.game_cluster import CALL_SECONDS, game_cluster, room_options
from support.game_streams import Watch
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from support.game_bots import FakeBots
    from support.game_cluster import Cluster

EXAMPLE = Path(__file__).parents[3] / "examples" / "bot_service.py"


@asynccontextmanager
async def magpie(
    key: str = bot_key(SERVICE_SECRET, "magpie"), port: int = 0
) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """The example as a process of its own, and its address."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(EXAMPLE), str(port), stdout=asyncio.subprocess.PIPE, env={"RAMI_BOT_KEY": key}
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(CALL_SECONDS):
            served = (await process.stdout.readline()).split()[-1].decode()
        yield process, f"127.0.0.1:{served}"
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def play(cluster: Cluster) -> set[tuple[int, event_pb2.ActionSource.ValueType]]:
    """A match of an own bot and a magpie to its end: which seat acted, and why."""
    ann = cluster.player("ann")
    room = await ann.create(room_options(2, target=1), {0: "easy", 1: "magpie"}, observe=True)
    async with Watch(ann, room.room_id) as watch:
        await watch.read()
        await ann.start(room.room_id)
        await watch.until(lambda: watch.mirror.room.HasField("result"))
    assert (await ann.room(room.room_id)).status == room_pb2.ROOM_STATUS_OVER
    replay = await ann.replay(room.room_id)
    verify_replay(replay_record(replay.header, replay.rounds))
    return {
        (change.action_played.seat, change.action_played.source)
        for event in watch.events
        for change in event.changes
        if change.HasField("action_played")
    }


async def test_the_example_plays_a_match_and_is_listed(store_url: str, bots: FakeBots) -> None:
    async with (
        magpie() as (_, address),
        game_cluster(store_url, ai_address=bots.target, bot_services=f"magpie={address}") as cluster,
    ):
        assert await play(cluster) == {(0, event_pb2.ACTION_SOURCE_BOT), (1, event_pb2.ACTION_SOURCE_BOT)}
        assert {request.bot for request in bots.requests} == {"easy"}, "nobody else hears of the magpie's decisions"
        assert cluster.sample("rami_game_bot_decisions_total", level="magpie", outcome="ok") > 0
        ann = cluster.player("ann")

        async def listed() -> pb.BotProfile:
            return (await ann.call(ann.stub.ListBotProfiles, pb.ListBotProfilesRequest())).profiles[-1]

        async with asyncio.timeout(CALL_SECONDS):
            while not (profile := await listed()).display_name:  # noqa: ASYNC110 - the service is asked on its own time
                await asyncio.sleep(0.05)
        assert profile == pb.BotProfile(
            bot="magpie", display_name="Magpie", description="Takes whatever glitters.", third_party=True
        )


async def test_v7_a_bot_service_that_dies_is_made_up_for(store_url: str, bots: FakeBots) -> None:
    async with magpie(port=free_port()) as (process, address):  # where nobody else listens afterwards
        process.kill()
        await process.wait()
    async with game_cluster(
        store_url,
        ai_address=bots.target,
        bot_services=f"magpie={address}",
        decision_patience_seconds=0,
        max_turns_per_round=8,
        max_turns_per_match=8,
    ) as cluster:
        assert await play(cluster) == {(0, event_pb2.ACTION_SOURCE_BOT), (1, event_pb2.ACTION_SOURCE_FALLBACK)}
        assert cluster.sample("rami_game_fallbacks_total", cause="unavailable") > 0
        described = (
            await cluster.player("ann").call(cluster.player("ann").stub.ListBotProfiles, pb.ListBotProfilesRequest())
        ).profiles
        assert described[-1] == pb.BotProfile(bot="magpie", third_party=True)


async def test_the_key_of_a_bot_opens_nothing_else(store_url: str, bots: FakeBots) -> None:
    settings = make_settings(GameSettings, store_url)
    tokens = ServiceTokens(settings, "rami-game", secret=settings.bot_key("magpie"))
    async with game_cluster(store_url, ai_address=bots.target) as cluster:
        ann = cluster.player("ann")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ann.stub.ListBotProfiles(pb.ListBotProfilesRequest(), timeout=30, metadata=tokens.metadata())
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert bot_key(SERVICE_SECRET, "magpie") != bot_key(SERVICE_SECRET, "monk")


async def test_the_example_refuses_who_has_another_key(store_url: str) -> None:
    settings = make_settings(GameSettings, store_url)
    async with (
        magpie(bot_key("of another cluster", "magpie")) as (_, address),
        grpc.aio.insecure_channel(address) as channel,
    ):
        tokens = ServiceTokens(settings, bot_audience("magpie"), secret=settings.bot_key("magpie"))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await DecisionServiceStub(channel).ListBots(ai_pb.ListBotsRequest(), timeout=30, metadata=tokens.metadata())
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("value", ["magpie", "magpie=", "=host:1", "a=host:1;a=host:2", "easy=host:1", "a,b=host:1"])
def test_services_that_are_registered_wrongly_stop_the_start(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAMI_MODE", "development")
    monkeypatch.setenv("RAMI_REDIS_URL", "redis://127.0.0.1/0")
    monkeypatch.setenv("RAMI_BOT_SERVICES", value)
    with pytest.raises(SettingsError, match="RAMI_BOT_SERVICES"):
        load_settings(GameSettings)
