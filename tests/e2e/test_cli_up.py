"""`rami up`: one line with every address, processes that come back where they were, and a clean end."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import signal
import socket
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from rami.game.v1 import room_pb2, rules_pb2
from rami_client import Bot, Client, Receipt, RetryPolicy, UnavailableError, play_match, verify
from rami_engine import Action, SeatView, fallback_action
from support.commands import Command, names_in, rami
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

LONG_MATCH = room_pb2.RoomOptions(seats=3, rules=rules_pb2.RuleOptions(target_score=1000))
"""Not over while processes are still being killed."""
PATIENT = RetryPolicy(attempts=240, first_backoff_seconds=0.05, max_backoff_seconds=0.5)


class FallbackBot(Bot):
    """Plays what the engine plays for those who are away."""

    def choose(self, view: SeatView, legal: tuple[Action, ...]) -> Action:  # noqa: ARG002 - the view suffices
        return fallback_action(view)


async def addresses_of(up: Command) -> dict[str, object]:
    text = await up.read_until("\n")
    return json.loads(text)  # type: ignore[no-any-return]  # an object


async def test_up_serves_until_it_is_told_to_stop_and_its_clients_give_up(tmp_path: Path) -> None:
    retry = RetryPolicy(attempts=2, first_backoff_seconds=0.01, give_up_after_seconds=0.2)
    async with rami("up", "--json", "--ports", "auto", "--game-replicas", "2", folder=tmp_path) as up:
        addresses = await addresses_of(up)
        assert set(addresses) == {"game", "game_replicas", "ai", "matchmaking", "edge", "redis", "metrics"}
        assert set(dict(addresses["metrics"])) == {"game", "game-2", "ai", "matchmaking"}  # type: ignore[call-overload]
        assert isinstance(addresses["game_replicas"], list)
        for target in addresses["game_replicas"]:
            async with Client.connect(game=target, matchmaking=str(addresses["matchmaking"])) as client:
                await client.sign_in_as_guest("Ada")
                assert await client.list_rooms() == []
        logs = {path.name for path in (tmp_path / "build" / "logs").iterdir()}
        assert logs == {"store.log", "ai.log", "game.log", "game-2.log", "matchmaking.log"}
        game, matchmaking = str(addresses["game"]), str(addresses["matchmaking"])
        async with Client.connect(game=game, matchmaking=matchmaking, retry=retry) as client:
            await client.sign_in_as_guest("Ada")
            room = await client.create_room(room_pb2.RoomOptions(seats=2), bots={1: "easy"})
            async with client.table(room.room_id, seat=0) as table:
                up.process.send_signal(signal.SIGTERM)
                assert await up.finish() == 0
                await eventually(lambda: table.ended, "the table gives up")
                assert isinstance(table.error, UnavailableError)
        assert up.output.endswith("Stopping everything …\n")
        assert up.descendants() == []
    assert names_in(tmp_path) == ["build"]


async def test_a_match_goes_on_while_every_process_is_killed_in_turn(tmp_path: Path) -> None:
    receipt = Receipt()
    async with rami("up", "--json", "--ports", "auto", folder=tmp_path) as up:
        addresses = await addresses_of(up)
        game, matchmaking = str(addresses["game"]), str(addresses["matchmaking"])
        async with Client.connect(game=game, matchmaking=matchmaking, retry=PATIENT) as client:
            await client.sign_in_as_guest("Ada")
            room = await client.create_room(LONG_MATCH, bots={1: "easy", 2: "easy"})
            async with client.table(room.room_id, seat=0, receipt=receipt) as table:
                await eventually(lambda: table.room.seats[0].entropy_set, "entropy is brought")
                await client.start_match(room.room_id)
                playing = asyncio.create_task(play_match(table, FallbackBot(), pace_seconds=0.1))

                def went_on(version: int) -> bool:
                    assert not playing.done(), playing.exception()
                    return table.version > version

                for module in ("ai_decision", "game_state", "matchmaking"):
                    version = table.version
                    (pid,) = up.running(module)
                    os.kill(pid, signal.SIGKILL)
                    await up.read_until("is back")
                    await eventually(functools.partial(went_on, version + 3), "the match goes on")
                playing.cancel()
                await asyncio.gather(playing, return_exceptions=True)
                await client.leave_room(room.room_id)
                await eventually(lambda: table.over, "the match is abandoned")
            replay = await client.replay(room.room_id)
            assert verify(replay, receipt).sightings == len(receipt.sightings)
        up.process.send_signal(signal.SIGTERM)
        assert await up.finish() == 0
    assert up.output.count("is back") == 3


async def test_a_taken_port_is_refused_and_nothing_is_started(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with suppress(OSError):  # taken by somebody else: as good
            stack.enter_context(socket.create_server(("127.0.0.1", 7001)))
        async with rami("up", "--json", folder=tmp_path) as refused:
            assert await refused.finish() == 1
    assert "port 7001 (game) is taken" in refused.output
    assert names_in(tmp_path) == []


async def test_wrong_settings_end_the_start_with_the_service_own_words(tmp_path: Path) -> None:
    async with rami("up", "--ports", "auto", folder=tmp_path, RAMI_KEPT_ROOMS="none") as up:
        assert await up.finish() == 1
        assert "RAMI_KEPT_ROOMS" in up.output
        assert up.descendants() == []
