"""Through the edge with real services: a browser's match, rooms that stay on one replica, and a replica that dies."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import signal
import urllib.request
import uuid
from typing import TYPE_CHECKING

import grpc
import grpc.aio
import pytest
from google.protobuf.duration_pb2 import Duration

from rami.ai.v1 import decision_service_pb2, decision_service_pb2_grpc
from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1 import match_room_service_pb2, match_room_service_pb2_grpc, room_pb2, rules_pb2
from rami.matchmaking.v1 import player_service_pb2
from rami_client import Bot, Client, Receipt, RetryPolicy, play_match, verify
from rami_engine import Action, SeatView, fallback_action
from support.commands import names_in, rami
from support.grpc_web import call
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from google.protobuf.message import Message

    from support.cluster import Cluster

GAME = "/rami.game.v1.GameService"
LONG_MATCH = room_pb2.RoomOptions(seats=3, rules=rules_pb2.RuleOptions(target_score=1000))
"""Not over while processes are still being killed."""
PATIENT = RetryPolicy(attempts=240, first_backoff_seconds=0.05, max_backoff_seconds=0.5)
"""Waits for longer than it takes a killed process to be back, however busy the machine is."""


async def unary(target: str, path: str, message: Message, **metadata: str) -> bytes:
    """The answer to a gRPC-Web call; fails when it is refused."""
    async with call(target, path, message, grpc_timeout="20S", **metadata) as response:
        answer = await response.message()
        assert answer is not None, response.trailers
        assert await response.message() is None
        assert response.trailers["grpc-status"] == "0"
        return answer


async def test_a_browser_plays_a_match_with_watching_and_submitting(whole_cluster: Cluster) -> None:
    target = whole_cluster.edge
    assert target is not None
    guest = player_service_pb2.CreateGuestResponse.FromString(
        await unary(
            target,
            "/rami.matchmaking.v1.PlayerService/CreateGuest",
            player_service_pb2.CreateGuestRequest(display_name="Ada"),
        )
    )
    me = {"authorization": f"Bearer {guest.token}"}
    create = pb.CreateRoomRequest(
        request_id=str(uuid.uuid4()),
        options=room_pb2.RoomOptions(seats=2, rules=rules_pb2.RuleOptions(target_score=1), bot_pace=Duration()),
        bots=[pb.BotSeat(seat=1, bot="easy")],
    )
    room = pb.CreateRoomResponse.FromString(await unary(target, f"{GAME}/CreateRoom", create, **me)).room
    me["rami_room_id"] = room.room_id
    start = pb.StartMatchRequest(request_id=str(uuid.uuid4()), room_id=room.room_id)
    await unary(target, f"{GAME}/StartMatch", start, **me)

    played: list[pb.SubmitActionRequest] = []
    watch = pb.WatchRoomRequest(room_id=room.room_id, legal_actions=True)
    async with call(target, f"{GAME}/WatchRoom", watch, **me) as stream:
        over = False
        while not over:
            message = await stream.message()
            assert message is not None, stream.trailers
            news = pb.WatchRoomResponse.FromString(message)
            changes = [change for event in news.events for change in event.changes]
            over = any(change.HasField("match_ended") for change in changes)
            if news.legal_actions.actions and not over:
                submit = pb.SubmitActionRequest(
                    request_id=str(uuid.uuid4()),
                    room_id=room.room_id,
                    expected_version=news.legal_actions.version,
                    action=news.legal_actions.actions[-1],
                )
                answer = await unary(target, f"{GAME}/SubmitAction", submit, **me)
                assert pb.SubmitActionResponse.FromString(answer).event.version == submit.expected_version + 1
                played.append(submit)
    assert len(played) > 2

    # What is refused has its reason in the trailers.
    late = pb.SubmitActionRequest(
        request_id=str(uuid.uuid4()), room_id=room.room_id, expected_version=1, action=played[-1].action
    )
    async with call(target, f"{GAME}/SubmitAction", late, grpc_timeout="20S", **me) as refused:
        assert await refused.message() is None
        assert int(refused.trailers["grpc-status"]) == refused.details().code
        assert refused.details().details


async def test_what_services_call_among_themselves_is_not_reached(whole_cluster: Cluster) -> None:
    assert whole_cluster.edge is not None
    async with grpc.aio.insecure_channel(whole_cluster.edge) as channel:
        rooms = match_room_service_pb2_grpc.MatchRoomServiceStub(channel)
        bots = decision_service_pb2_grpc.DecisionServiceStub(channel)
        for hidden in (
            rooms.CreateMatchRoom(match_room_service_pb2.CreateMatchRoomRequest(), timeout=20),
            bots.Decide(decision_service_pb2.DecideRequest(), timeout=20),
            bots.ListBots(decision_service_pb2.ListBotsRequest(), timeout=20),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await hidden
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def handled(metrics: str, method: str) -> int:
    """How many calls of a method a process has answered."""
    with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=20) as page:
        text = page.read().decode()
    pattern = rf'^rami_grpc_handled_total{{[^}}]*{re.escape(method)}"[^}}]*}} (\S+)$'
    return round(sum(float(number) for number in re.findall(pattern, text, re.MULTILINE)))


async def test_the_calls_of_a_room_reach_one_replica(whole_cluster: Cluster) -> None:
    assert whole_cluster.edge is not None
    replicas = [whole_cluster.metrics[name] for name in ("game", "game-2")]

    async def counted() -> list[int]:
        return [await asyncio.to_thread(handled, each, "GameService/GetRoom") for each in replicas]

    async with Client.connect(game=whole_cluster.edge, matchmaking=whole_cluster.edge) as client:
        await client.sign_in_as_guest("Ada")
        used: list[int] = []
        # Rooms are spread by their ids, so a dozen may be on one replica by chance: then more are made.
        while len(used) < 12 or (set(used) != {0, 1} and len(used) < 60):
            room = await client.create_room(room_pb2.RoomOptions(seats=2))
            before = await counted()
            for _ in range(6):
                await client.get_room(room.room_id)
            went = [after - earlier for after, earlier in zip(await counted(), before, strict=True)]
            assert sorted(went) == [0, 6]
            used.append(went.index(6))
            await client.leave_room(room.room_id)
    assert set(used) == {0, 1}


class FallbackBot(Bot):
    """Plays what the engine plays for those who are away."""

    def choose(self, view: SeatView, legal: tuple[Action, ...]) -> Action:  # noqa: ARG002 - the view suffices
        return fallback_action(view)


async def test_a_match_goes_on_when_a_replica_or_the_edge_is_killed_and_the_end_is_clean(tmp_path: Path) -> None:
    receipt = Receipt()
    async with rami("up", "--edge", "--json", "--ports", "auto", folder=tmp_path) as up:
        addresses = json.loads(await up.read_until("\n"))
        edge = addresses["edge"]
        assert set(addresses["metrics"]) == {"game", "game-2", "ai", "matchmaking", "edge"}
        async with Client.connect(game=edge, matchmaking=edge, retry=PATIENT) as client:
            await client.sign_in_as_guest("Ada")
            room = await client.create_room(LONG_MATCH, bots={1: "easy", 2: "easy"})
            async with client.table(room.room_id, seat=0, receipt=receipt) as table:
                await eventually(lambda: table.room.seats[0].entropy_set, "entropy is brought")
                await client.start_match(room.room_id)
                playing = asyncio.create_task(play_match(table, FallbackBot(), pace_seconds=0.05))

                def went_on(version: int) -> bool:
                    assert not playing.done(), playing.exception()
                    return table.version > version

                for pid in (*up.running("game_state"), *up.running("rami_cli.edge_process")):
                    await eventually(functools.partial(went_on, 3), "the match has begun")
                    version = table.version
                    os.kill(pid, signal.SIGKILL)
                    await eventually(functools.partial(went_on, version + 3), "the match goes on")
                    await up.read_until("is back")
                playing.cancel()
                await asyncio.gather(playing, return_exceptions=True)
                await client.leave_room(room.room_id)
                await eventually(lambda: table.over, "the match is abandoned")
            replay = await client.replay(room.room_id)
            assert verify(replay, receipt).sightings == len(receipt.sightings)
        up.process.send_signal(signal.SIGTERM)
        assert await up.finish() == 0
        assert up.descendants() == []
    assert names_in(tmp_path) == ["build"]
