"""A queue: players want tables through the storm; each gets one seat in one room, and plays the match there.

Where the store has lost acknowledged commits, a table that was being made may be made twice, one of them with nobody
who knows of it: only there is such a room no fault.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from game_state.codec import decode_room
from rami_client.errors import FailedPreconditionError, NotFoundError, RpcError, TicketEndedError
from rami_kit import keys
from sim.players import PAUSE_SECONDS, Player
from sim.rooms import finish_rooms
from sim.world import until
from support.game_cluster import id_of

if TYPE_CHECKING:
    from game_state.room import Room
    from sim.faults import Storm
    from sim.journal import Journal
    from sim.plan import Plan
    from sim.site import Site

QUEUE_SECONDS = 60.0
"""Long enough for everybody to get a seat once everything works."""
LEAVERS = 0.25
"""So many players think better of it, at some moment."""


class Queuer(Player):
    """A player who queues for a table of two."""

    def __init__(self, site: Site, journal: Journal, name: str, *, think_seconds: float) -> None:
        super().__init__(site, journal, name, think_seconds=think_seconds)
        self.rooms: dict[str, set[str]] = {}
        """By ticket: the rooms that it was ever said to have a seat in."""
        self.gone = False
        """It has left the queue, as it was told."""
        self.bots_allowed = True
        self._leaves = self.chance.random() < LEAVERS

    async def queue_and_play(self) -> None:
        """Queue, and play the match; queue again when the ticket or the room is lost."""
        await asyncio.sleep(self.chance.random() * 0.3)
        while not self.gone:
            try:
                await self._get_seat()
                if not self.gone:
                    await self.play_on_stream()
            except (NotFoundError, TicketEndedError):
                await asyncio.sleep(PAUSE_SECONDS)

    async def _get_seat(self) -> None:
        client = self.client
        ticket = await self.insist(lambda: client.join_queue(player_counts=[2], bots_allowed=self.bots_allowed))
        rooms = self.rooms.setdefault(ticket.ticket_id, set())
        if self._leaves:
            self._leaves = False
            await asyncio.sleep(self.chance.random() * 0.8)
            if await self._is_out(ticket.ticket_id, rooms):
                self.gone = self.over = True
                return
        while True:
            try:
                assignment = await client.wait_for_match(ticket.ticket_id)
            except RpcError as error:
                if error.code.name not in {"UNAVAILABLE", "DEADLINE_EXCEEDED"}:
                    raise
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            break
        rooms.add(assignment.room_id)
        self.sit(assignment.room_id, assignment.seat)

    async def _is_out(self, ticket_id: str, rooms: set[str]) -> bool:
        """Leave the queue, if it is not too late."""
        try:
            await self.insist(lambda: self.client.leave_queue(ticket_id))
        except FailedPreconditionError as refusal:
            rooms.add(refusal.metadata["room_id"])
            return False
        except NotFoundError:
            return False
        return True


async def queue_story(site: Site, plan: Plan, journal: Journal, storm: Storm) -> list[str]:
    """Play it; what is wrong with it besides what the journal shows."""
    players = [Queuer(site, journal, f"p{number}", think_seconds=plan.think) for number in range(plan.people)]
    storm.players = {player.name: player for player in players}
    for player in players:
        player.begin(player.queue_and_play())
    await storm.blow()
    await until(lambda: all(player.room_id or player.gone for player in players), QUEUE_SECONDS)
    findings = [f"{player.name} has no seat" for player in players if not player.room_id and not player.gone]
    seated = {player.room_id: player for player in players if player.room_id}
    lost = storm.lost_acknowledged
    playing = [player for player in players if player.room_id]
    findings += await finish_rooms(site, journal, playing, seated, may_be_gone=lost)
    return findings + _check_seats(players, _rooms(site), lost=lost) + ([] if lost else _check_queue(site))


def _rooms(site: Site) -> dict[str, Room]:
    """All rooms of the store."""
    data, prefix = site.store.data, keys.room_key(0, "").encode()
    tokens = [key.removeprefix(prefix).decode() for key in data.all_keys() if key.startswith(prefix)]
    stored = {token: data.run(b"GET", [prefix + token.encode()]) for token in tokens if ":" not in token}
    names = {token: keys.format_room_id(0, token) for token in stored}
    return {names[token]: decode_room(names[token], room) for token, room in stored.items()}


def _check_seats(players: list[Queuer], rooms: dict[str, Room], *, lost: bool) -> list[str]:
    wrong = []
    named = {id_of(player.name): player for player in players}
    for player in players:
        for ticket, places in player.rooms.items():
            if len(places) > 1 and not lost:
                wrong.append(f"{player.name}'s ticket {ticket} was said to have seats in {sorted(places)}")
        if player.gone and any(player.rooms.values()) and not lost:
            wrong.append(f"{player.name} was told to be out of the queue and to have a seat")
        room = rooms.get(player.room_id)
        if room is not None and room.seat_of(id_of(player.name)) is None:
            wrong.append(f"{player.name} does not sit in {player.room_id}")
    for room_id, room in rooms.items():
        if lost:
            continue
        people = [named[seat.player_id] for seat in room.seats if seat.player_id]
        wrong += [f"{who.name} sits in {room_id} and was never told" for who in people if who.room_id != room_id]
    return wrong


def _check_queue(site: Site) -> list[str]:
    """Nothing waits any more, and no claim is left."""
    data = site.store.data
    waiting = data.run(b"ZCARD", [keys.waiting_key().encode()])
    claims = data.run(b"ZCARD", [keys.claims_key().encode()])
    return [f"{waiting} tickets and {claims} claims are left"] if waiting or claims else []


__all__ = ["queue_story"]
