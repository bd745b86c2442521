"""Lobbies and rematches under faults: every accepted change of a room is one step, however often it was asked for."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest

from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1 import room_pb2
from support.chaos_faults import KILLS, Deed, Fault, Point, Striker
from support.chaos_loop import bring_back
from support.chaos_players import Caller
from support.chaos_site import FSYNC, Site
from support.game_cluster import request_id, room_options

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from support.chaos_processes import Nursery

SEED = 1
SHORT_FAULTS, LONG_FAULTS = 4, 60
LAST_STEP = 8
"""Create, join, two entropies, start, two leaves, and the note of the rematch."""


def plan_lobby(seed: int, faults: int) -> list[Fault]:
    """A fault for each room, upon one of its steps."""
    chance = random.Random(f"lobby-{seed}")
    deeds = [Deed.KILL_GAME, Deed.KILL_STORE, Deed.CUT, Deed.CUT_PLAYERS, Deed.STALL_STORE, Deed.FORGET_SCRIPTS]
    points = [Point.BEFORE_SCRIPT, Point.AFTER_SCRIPT, Point.BEFORE_REPLY, Point.BEFORE_ANSWER]
    return [
        Fault(chance.randint(1, LAST_STEP + 1), chance.choice(points), chance.choice(deeds), chance.uniform(0, 0.2))
        for _ in range(faults)
    ]


class Lobby:
    """A host and a guest who make a room, start, leave, and want a rematch."""

    def __init__(self, site: Site, number: int) -> None:
        self._host, self._guest = (Caller(f"{who}{number}", site.addresses, site.journal) for who in ("host", "guest"))

    async def close(self) -> None:
        await self._host.close()
        await self._guest.close()

    async def play(self) -> None:
        """Everything from the first room to the rematch's, one call after the other but for the last two."""
        host, guest = self._host, self._guest
        options = room_options(2)
        room: room_pb2.Room = (
            await host.call("CreateRoom", pb.CreateRoomRequest(request_id=request_id(), options=options))
        ).room
        await self._each(pb.JoinRoomRequest, guest.call, "JoinRoom", room.room_id)
        for player in (host, guest):
            await self._each(pb.SetEntropyRequest, player.call, "SetEntropy", room.room_id, entropy=b"entropy")
        started = await self._each(pb.StartMatchRequest, host.call, "StartMatch", room.room_id)
        assert started.version == LAST_STEP - 3
        for player in (host, guest):
            await self._each(pb.LeaveRoomRequest, player.call, "LeaveRoom", room.room_id)
        again = await asyncio.gather(
            *(self._each(pb.RematchRequest, player.call, "Rematch", room.room_id) for player in (host, guest))
        )
        old: room_pb2.Room = (await host.call("GetRoom", pb.GetRoomRequest(room_id=room.room_id))).room
        assert old.version == LAST_STEP
        assert old.status == room_pb2.ROOM_STATUS_OVER
        assert {answer.room.room_id for answer in again} == {old.rematch_room_id}
        assert [answer.seat for answer in again] == [0, 1]
        new = (await guest.call("GetRoom", pb.GetRoomRequest(room_id=old.rematch_room_id))).room
        assert [seat.player.player_id for seat in new.seats] == [seat.player.player_id for seat in old.seats]

    @staticmethod
    async def _each(
        kind: Callable[..., Any], call: Callable[..., Awaitable[Any]], method: str, room_id: str, **values: Any
    ) -> Any:
        return await call(method, kind(request_id=request_id(), room_id=room_id, **values))


async def play_lobbies(site: Site, faults: list[Fault]) -> int:
    """A lobby for each fault; how many faults happened in time."""
    striker = Striker(site)
    struck = 0
    for number, fault in enumerate(faults):
        lobby = Lobby(site, number)
        striker.arm(fault)
        recovery = asyncio.create_task(_recover(site, striker, fault))
        try:
            await lobby.play()
        finally:
            if striker.disarm():
                recovery.cancel()
            else:
                struck += 1
            await asyncio.gather(recovery, return_exceptions=True)
            await lobby.close()
    return struck


async def _recover(site: Site, striker: Striker, fault: Fault) -> None:
    await striker.struck.wait()
    if fault.deed in KILLS:
        await bring_back(site, striker.victim, fault)


async def test_every_change_of_a_lobby_is_one_step(tmp_path: Path, nursery: Nursery) -> None:
    async with Site(FSYNC, tmp_path, nursery, bots=None) as site:
        assert await play_lobbies(site, plan_lobby(SEED, SHORT_FAULTS)) > 0


@pytest.mark.chaos_long
@pytest.mark.timeout(900)
async def test_every_change_of_a_lobby_is_one_step_for_long(tmp_path: Path, nursery: Nursery) -> None:
    async with Site(FSYNC, tmp_path, nursery, bots=None) as site:
        assert await play_lobbies(site, plan_lobby(SEED, LONG_FAULTS)) > LONG_FAULTS // 2
