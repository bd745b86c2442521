"""Rooms for chaos: set up while all is quiet, played through every fault, and read out when they are over.

Two people, one of them streaming; a person with two bots; bots alone, watched; a person who is often too slow. Each
has a spectator at another replica than its host.
"""

from __future__ import annotations

import random
from enum import Enum, auto
from typing import TYPE_CHECKING

import grpc.aio

from rami.game.v1 import game_service_pb2 as pb
from support.chaos_journal import AtRest, Replayed
from support.chaos_players import Spectator
from support.chaos_seats import SeatedPlayer, StreamPlayer, UnaryPlayer
from support.game_cluster import request_id, room_options

if TYPE_CHECKING:
    from rami.game.v1 import room_pb2
    from support.chaos_watched import Watched

TARGET_SCORE = 40
BOT_PACE_SECONDS = 0.02
SLOW_SECONDS = 0.15
"""How long a slow person takes over an action, on average; a turn of at least two has twice as long."""
REST_SECONDS = 6.0
"""Far longer than any last step takes to its last watcher."""
END_SECONDS = 60.0
OPEN_SECONDS = 60.0


class Kind(Enum):
    """Who sits at a table."""

    DUEL = auto()
    MIXED = auto()
    BOTS = auto()
    SLOW = auto()
    """A person who often lets the clock run out, with a bot; rounds pause between each other."""


_BOT_SEATS = {Kind.DUEL: (), Kind.MIXED: (1, 2), Kind.BOTS: (0, 1), Kind.SLOW: (1,)}


class Table:
    """One room and everybody who has to do with it."""

    def __init__(
        self,
        site: Watched,
        kind: Kind,
        name: str,
        seed: str,
        *,
        people: tuple[type[SeatedPlayer], type[SeatedPlayer]] = (UnaryPlayer, StreamPlayer),
        watched_at: int | None = None,
    ) -> None:
        """`name` is part of the names of its players; `seed` decides what they do. `people` are the host and the
        guest. With `watched_at` all watch at that replica for ever, else the host at the first, others at the next.
        """
        self.kind = kind
        self._people = people
        self._watched_at = watched_at
        self.target_score = TARGET_SCORE
        """Points that end the match."""
        self.think_seconds: float | None = None
        """How long its people take over an action, on average; None for what is usual."""
        self.room = ""
        self.name = name
        self._site = site
        self._seed = seed
        self.players: list[Spectator] = []

    @property
    def over(self) -> bool:
        """Whether the match has ended, as far as its host was told."""
        return self.players[0].over

    @property
    def steps(self) -> int:
        """Steps since the match began, its start among them, that its players were told of."""
        room = self._site.evidence.rooms.get(self.room)
        return len(room.news) if room is not None else 0

    async def open(self) -> None:
        """Create the room, let everybody sit down, and start the match."""
        seats = 3 if self.kind is Kind.MIXED else 2
        slow = self.kind is Kind.SLOW
        host = self._add(Spectator if self.kind is Kind.BOTS else self._people[0], "host", 0)
        if slow and isinstance(host, SeatedPlayer):
            host.think_seconds = SLOW_SECONDS
        request = pb.CreateRoomRequest(
            request_id=request_id(),
            options=room_options(
                seats,
                target=self.target_score,
                turn_limit=2 * SLOW_SECONDS if slow else 0,
                bot_pace=BOT_PACE_SECONDS,
                round_interval=SLOW_SECONDS if slow else None,
            ),
            observe=self.kind is Kind.BOTS,
        )
        request.bots.extend(pb.BotSeat(seat=seat, bot="easy") for seat in _BOT_SEATS[self.kind])
        room: room_pb2.Room = (await host.call("CreateRoom", request)).room
        self.room = room.room_id
        if self.kind is Kind.DUEL:
            guest = self._add(self._people[1], "guest", 1)
            await guest.call("JoinRoom", pb.JoinRoomRequest(request_id=request_id(), room_id=self.room))
        self._add(Spectator, "spectator", 1)
        for seat, player in enumerate(self.players):
            if isinstance(player, SeatedPlayer):
                if self.think_seconds is not None:
                    player.think_seconds = self.think_seconds
                player.sit(self.room, seat)
            else:
                player.sit(self.room)
        watching = await self._site.journal.until(lambda: all(player.version for player in self.players), OPEN_SECONDS)
        assert watching, f"not everybody at {self.name} was told what there is"
        await host.call("StartMatch", pb.StartMatchRequest(request_id=request_id(), room_id=self.room))

    async def finish(self) -> None:
        """Bring the match to its end: people get up and leave, bots play on to the end."""
        if self.over:
            return
        people = [player for player in self.players if isinstance(player, SeatedPlayer)]
        for player in people:
            await player.rest()
        for player in people:
            request = pb.LeaveRoomRequest(request_id=request_id(), room_id=self.room)
            await player.call("LeaveRoom", request)
        await self._site.journal.until(lambda: self.over, END_SECONDS)

    async def close(self) -> None:
        """Write down what the service says of the room in the end, and let everybody go.

        Writes nothing where the service refuses to say: the checker misses it then.
        """
        journal, host = self._site.journal, self.players[0]
        try:
            room = (await host.call("GetRoom", pb.GetRoomRequest(room_id=self.room))).room
            journal.write(AtRest(journal.now(), self.room, room.version))
            await journal.until(lambda: all(player.version == room.version for player in self.players), REST_SECONDS)
            replay = await self._replay()
            journal.write(Replayed(journal.now(), self.room, replay.SerializeToString()))
        except grpc.aio.AioRpcError as error:
            self._site.struck(f"the record of {self.room} cannot be read: {error.code().name}")
        for player in self.players:
            await player.get_up()

    async def _replay(self) -> pb.GetReplayResponse:
        whole = pb.GetReplayResponse()
        token = ""
        while True:
            request = pb.GetReplayRequest(room_id=self.room, page_token=token)
            page: pb.GetReplayResponse = await self.players[0].call("GetReplay", request)
            whole.header.CopyFrom(page.header)
            whole.rounds.extend(page.rounds)
            token = page.next_page_token
            if not token:
                return whole

    def _add(self, kind: type[Spectator], role: str, watched_at: int) -> Spectator:
        site = self._site
        chance = random.Random(f"{self._seed}-{role}")
        replica = (watched_at if self._watched_at is None else self._watched_at) % len(site.addresses)
        player = kind(f"{self.name}-{role}", site.addresses, site.journal, chance, replica=replica)
        player.roaming = self._watched_at is None
        self.players.append(player)
        return player
