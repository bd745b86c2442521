"""A queue: players and parties want tables through the storm; each gets one seat in one room, and plays there.

Where the store has lost acknowledged commits, a table that was being made may be made twice, one of them with nobody
who knows of it: only there is that no fault.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rami.matchmaking.v1 import matchmaking_service_pb2 as queue
from rami_client.errors import FailedPreconditionError, NotFoundError, RpcError, TicketEndedError
from rami_kit import keys
from sim.players import PAUSE_SECONDS, Player
from sim.rooms import finish_rooms, stored_rooms
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


class Party:
    """Two players who only sit down together: the first one queues for both, the other one confirms."""

    def __init__(self, leader: Queuer, friend: Queuer) -> None:
        self.leader = leader
        self.friend = friend
        leader.party = friend.party = self
        self._tickets: list[str] = []
        self._news = asyncio.Event()

    def tell(self, ticket_id: str) -> None:
        """The leader has a ticket."""
        self._tickets = [ticket_id]
        self._news.set()

    def dissolve(self) -> None:
        """One of the two queues no more: the other one is alone from now on."""
        self.leader.party = self.friend.party = None
        self._news.set()

    async def next_ticket(self) -> str:
        """The latest ticket that the friend has not seen; empty when there will be none."""
        while not self._tickets and self.friend.party is not None:
            self._news.clear()
            await self._news.wait()
        return self._tickets.pop() if self.friend.party is not None else ""


class Queuer(Player):
    """A player who queues, alone or in a party."""

    def __init__(self, site: Site, journal: Journal, name: str, *, seats: int, think_seconds: float) -> None:
        super().__init__(site, journal, name, think_seconds=think_seconds)
        self.rooms: dict[str, set[str]] = {}
        """By ticket: the rooms that it was ever said to have a seat in."""
        self.withdrawn = False
        """It has left the queue, as it was told."""
        self.party: Party | None = None
        self._seats = seats
        self._leaves = self.chance.random() < LEAVERS

    async def queue_and_play(self) -> None:
        """Queue, and play the match; queue again when the ticket or the room is lost."""
        await asyncio.sleep(self.chance.random() * 0.3)
        while not self.withdrawn:
            try:
                await self._get_seat()
                if not self.withdrawn:
                    await self.play_on_stream()
            except (NotFoundError, TicketEndedError, FailedPreconditionError):
                await asyncio.sleep(PAUSE_SECONDS)

    async def _get_ticket(self) -> str:
        party = self.party
        if party is not None and party.friend is self:
            ticket_id = await party.next_ticket()
            if ticket_id:
                await self.insist_on("ConfirmTicket", queue.ConfirmTicketRequest(ticket_id=ticket_id))
                return ticket_id
        others = [id_of(party.friend.name)] if party is not None and party.leader is self else []
        criteria = queue.TicketCriteria(player_counts=[self._seats], bots_allowed=True)
        request = queue.CreateTicketRequest(criteria=criteria, party_player_ids=others)
        ticket_id = str((await self.insist_on("CreateTicket", request)).ticket.ticket_id)
        if party is not None and others:
            party.tell(ticket_id)
        return ticket_id

    async def _get_seat(self) -> None:
        self.over = False
        ticket_id = await self._get_ticket()
        rooms = self.rooms.setdefault(ticket_id, set())
        if self._leaves:
            self._leaves = False
            await asyncio.sleep(self.chance.random() * 0.8)
            if await self._is_out(ticket_id, rooms):
                self.withdrawn = self.over = True
                if self.party is not None:
                    self.party.dissolve()
                return
        while True:
            try:
                assignment = await self.client.wait_for_match(ticket_id)
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
            await self.insist_on("CancelTicket", queue.CancelTicketRequest(ticket_id=ticket_id))
        except FailedPreconditionError as refusal:
            rooms.add(refusal.metadata["room_id"])
            return False
        except NotFoundError:
            return False
        return True


async def queue_story(site: Site, plan: Plan, journal: Journal, storm: Storm) -> list[str]:
    """Play it; what is wrong with it besides what the journal shows."""
    names = [f"p{number}" for number in range(plan.people)]
    players = [Queuer(site, journal, name, seats=plan.seats, think_seconds=plan.think) for name in names]
    parties = [Party(players[2 * number], players[2 * number + 1]) for number in range(plan.parties)]
    storm.players = {player.name: player for player in players}
    for player in players:
        player.begin(player.queue_and_play())
    await storm.blow()
    await until(lambda: all(player.room_id or player.withdrawn for player in players), QUEUE_SECONDS)
    lost = storm.lost_acknowledged
    # A friend whose ticket is lost with the store hears of no other one where its leader has a seat already.
    waiting = [player for player in players if not (lost and player.party) and not player.withdrawn]
    findings = [f"{player.name} has no seat" for player in waiting if not player.room_id]
    seated = {player.room_id: player for player in players if player.room_id}
    playing = [player for player in players if player.room_id]
    findings += await finish_rooms(site, journal, playing, seated, may_be_gone=lost)
    if not lost:
        findings += _check_seats(players, stored_rooms(site)) + _check_parties(parties) + _check_queue(site)
    return findings


def _check_seats(players: list[Queuer], rooms: dict[str, Room]) -> list[str]:
    wrong = []
    named = {id_of(player.name): player for player in players}
    for player in players:
        for ticket, places in player.rooms.items():
            if len(places) > 1:
                wrong.append(f"{player.name}'s ticket {ticket} was said to have seats in {sorted(places)}")
        if player.withdrawn and any(player.rooms.values()):
            wrong.append(f"{player.name} was told to be out of the queue and to have a seat")
        room = rooms.get(player.room_id)
        if room is not None and room.seat_of(id_of(player.name)) is None:
            wrong.append(f"{player.name} does not sit in {player.room_id}")
    for room_id, room in rooms.items():
        people = [named[seat.player_id] for seat in room.seats if seat.player_id]
        wrong += [f"{who.name} sits in {room_id} and was never told" for who in people if who.room_id != room_id]
    return wrong


def _check_parties(parties: list[Party]) -> list[str]:
    """Who has queued together sits together, on the ticket of both."""
    wrong = []
    for party in parties:
        leader, friend = party.leader, party.friend
        for ticket in leader.rooms.keys() & friend.rooms.keys():
            places = leader.rooms[ticket] | friend.rooms[ticket]
            if len(places) > 1:
                wrong.append(f"the party of {leader.name} and {friend.name} has seats in {sorted(places)}")
        if friend.party is not None and leader.room_id != friend.room_id:
            wrong.append(f"{leader.name} sits in {leader.room_id} and {friend.name} of its party in {friend.room_id}")
    return wrong


def _check_queue(site: Site) -> list[str]:
    """Nothing waits any more, and no claim is left."""
    data = site.store.holder(keys.waiting_key())
    waiting = data.run(b"ZCARD", [keys.waiting_key().encode()])
    claims = data.run(b"ZCARD", [keys.claims_key().encode()])
    return [f"{waiting} tickets and {claims} claims are left"] if waiting or claims else []


__all__ = ["queue_story"]
