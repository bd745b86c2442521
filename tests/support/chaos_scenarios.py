"""Scenes for chaos: one dangerous moment each, brought about on purpose, with players who act when told to.

A healthy service comes through each without a finding. Each is also the one moment in which a service that is broken
in a certain way must be found out.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import grpc.aio

from rami.game.v1 import game_service_pb2 as pb
from support.chaos_checker import check_file
from support.chaos_faults import Deed, Fault, Point, Striker
from support.chaos_players import PAUSE_SECONDS
from support.chaos_seats import UnaryPlayer
from support.chaos_tables import Kind, Table
from support.game_cluster import request_id
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from rami.game.v1 import action_pb2, event_pb2
    from support.chaos_checker import Report
    from support.chaos_resp import ScriptCall
    from support.chaos_site import Replica, Site
    from support.chaos_store_proxy import Trap

MEETING_SECONDS = 15.0
"""Longer than any call of a scene takes, its repeats included."""
BROKEN_OFF = "scenes broken off"


class HandPlayer(UnaryPlayer):
    """Watches by itself and acts when it is told to."""

    impatience = 0.0

    async def live(self) -> None:
        await self.follow()

    async def look(self, replica: int) -> pb.GetViewResponse:
        """What the player sees and may do, read at a replica, which a busy machine may keep from its store for once."""
        request = pb.GetViewRequest(room_id=self.room)
        view: pb.GetViewResponse = await self._call([self.stubs[replica]], "GetView", request, MEETING_SECONDS)
        return view

    async def do(self, version: int, action: action_pb2.Action, replica: int = 0) -> None:
        """Ask for an action, at one replica only, until it is clear what became of it."""
        request = request_id()
        async with asyncio.timeout(MEETING_SECONDS):
            while True:
                if await self.submit(request, version, action, replica):
                    return
                await asyncio.sleep(PAUSE_SECONDS)


class Duel(Table):
    """Two people who act when told to, both watching at one replica."""

    def __init__(self, site: Site, name: str, *, watched_at: int) -> None:
        super().__init__(site, Kind.DUEL, name, name, people=(HandPlayer, HandPlayer), watched_at=watched_at)

    async def mover(self, replica: int = 0) -> tuple[HandPlayer, event_pb2.LegalActions]:
        """Who is to move, and what that player may do."""
        for player in self.players:
            if isinstance(player, HandPlayer):
                legal = (await player.look(replica)).legal_actions
                if legal.actions:
                    return player, legal
        raise AssertionError("nobody is to move")

    async def play(self, actions: int, replica: int = 0) -> None:
        """So many actions, one after the other: draws from the stock, and the first discard."""
        for _ in range(actions):
            player, legal = await self.mover(replica)
            await player.do(legal.version, plain(legal), replica)


def plain(legal: event_pb2.LegalActions) -> action_pb2.Action:
    """To draw from the stock, or the first discard."""
    return next(action for action in legal.actions if action.WhichOneof("kind") in ("draw_stock", "discard"))


async def rivals(site: Site, table: Duel) -> None:
    """Two actions on one version reach two replicas, both are judged, and only then do both reach the store."""
    await table.play(1, replica=1)
    for _ in range(3):
        await table.play(1)
        player, legal = await table.mover()
        meeting = Meeting(2)
        site.set_trap = meeting.trap
        await asyncio.gather(
            player.do(legal.version, legal.actions[0], 0), player.do(legal.version, legal.actions[1], 1)
        )
        site.set_trap = no_trap


async def lost_commit(site: Site, table: Duel) -> None:
    """The store loses a step that one replica still holds; the other has gone on when that one acts again."""
    player, legal = await table.mover()
    hand = set((await player.look(0)).snapshot.view.hand)
    from_stock, from_pile = legal.actions
    await eventually(lambda: player.version == legal.version, "the player has been told of the turn")
    await player.do(legal.version, from_stock, 0)
    await eventually(lambda: player.version > legal.version, "the player holds what is going to be lost")
    await site.kill_store(lose=1)
    await site.start_store()
    await eventually(lambda: player.version == legal.version, "the player is told that the step is lost")
    await player.do(legal.version, from_pile, 1)
    held = (await player.look(1)).legal_actions
    discard = next(each for each in held.actions if each.HasField("discard") and each.discard.card in hand)
    # The past that this replica knows ends in the step that was lost, under the same number.
    await player.do(held.version, discard, 0)
    await table.play(4)


async def lost_reply(site: Site, table: Duel) -> None:
    """A step is committed and the store's reply is lost; the player asks again."""
    striker = Striker(site)
    for _ in range(2):
        striker.arm(Fault(1, Point.BEFORE_REPLY, Deed.CUT, 0))
        await table.play(1)
    await table.play(2)


async def lost_script(site: Site, table: Duel) -> None:
    """A step never reaches the store; the player asks again."""
    striker = Striker(site)
    for _ in range(2):
        striker.arm(Fault(1, Point.BEFORE_SCRIPT, Deed.CUT, 0))
        await table.play(1)
    await table.play(2)


async def missed_events(site: Site, table: Duel) -> None:
    """The watchers' replica hears nothing while the other commits; then it hears again, and little more happens."""
    await table.play(1)
    deaf = site.replicas[1].back
    deaf.subscribers_allowed = False
    deaf.cut_subscribers()
    await table.play(3)
    deaf.subscribers_allowed = True
    await eventually(lambda: deaf.has_subscriber, "the replica listens again")
    await table.play(1)


async def alternating_seats(_site: Site, table: Duel) -> None:
    """Each action is read at one replica and played at the other, which knows the room from its own last commit."""
    for number in range(8):
        player, legal = await table.mover(number % 2)
        await player.do(legal.version, plain(legal), 1 - number % 2)


async def orphaned_bots(site: Site, _table: Table) -> None:
    """A replica dies while it moves bots: another goes on, or, alone, it does so itself when it is back."""
    striker = Striker(site)
    striker.arm(Fault(3, Point.BEFORE_REPLY, Deed.KILL_GAME, 0))
    await striker.struck.wait()
    victim = striker.victim
    assert victim is not None
    if len(site.replicas) == 1:
        await site.start_replica(victim)
    assert await site.goes_on("the replica that moved the bots was killed"), "nobody moves the bots"
    if not victim.process.running:
        await site.start_replica(victim)


class Meeting:
    """Holds commits until so many of them, from different replicas, have come."""

    late = False

    def __init__(self, parties: int) -> None:
        self._barrier = asyncio.Barrier(parties)
        self._seen: set[str] = set()

    def trap(self, replica: Replica, _call: ScriptCall) -> Trap | None:
        """The first commit of each replica waits for the others."""
        name = replica.process.name
        if name in self._seen:
            return None
        self._seen.add(name)
        return self

    async def before_script(self) -> bool:
        async with asyncio.timeout(MEETING_SECONDS):
            await self._barrier.wait()
        return True

    async def after_script(self) -> bool:
        return True

    async def before_reply(self) -> bool:
        return True

    async def before_late_script(self) -> None:
        """Nothing is late here."""


def no_trap(_replica: Replica, _call: ScriptCall) -> Trap | None:
    """Let everything pass."""
    return None


DUELS: Final[Mapping[str, tuple[Callable[[Site, Duel], Awaitable[None]], int]]] = {
    act.__name__: (act, watched_at)
    for act, watched_at in (
        (rivals, 0),
        (lost_commit, 1),
        (lost_reply, 0),
        (lost_script, 0),
        (missed_events, 1),
        (alternating_seats, 0),
    )
}
"""Scenes of two people, by name, with the replica that both watch at."""

SCENES: Final = (*DUELS, orphaned_bots.__name__)
"""The names of all scenes."""


async def play_scene(site: Site, name: str) -> Report:
    """Play a scene through and judge. A scene that cannot be played through is counted as broken off."""
    broken = ""
    if name in DUELS:
        act, watched_at = DUELS[name]
        duel = Duel(site, name, watched_at=watched_at)
        table: Table = duel
        playing = act(site, duel)
    else:
        table = Table(site, Kind.BOTS, name, name)
        playing = orphaned_bots(site, table)
    await table.open()
    try:
        await playing
        site.set_trap = no_trap
        await table.finish()
    except (AssertionError, TimeoutError, grpc.aio.AioRpcError) as error:
        broken = f"{type(error).__name__} {error}"
    site.set_trap = no_trap
    await table.close()
    report = check_file(site.journal.path)
    if broken:
        report.counts[f"{BROKEN_OFF}: {broken[:200]}"] += 1
    return report
