"""Queueing under faults: players who want a table, processes that die while it is made, and who checks the tables.

Every player must get one seat in one room, every room its players and nobody else, and no room may be left over. In
every round two players are a party, who must sit in the same room.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from enum import StrEnum
from itertools import product
from typing import TYPE_CHECKING, Any

from matchmaking.claim_scripts import ASSIGN, CLAIM
from rami.game.v1 import game_service_pb2 as game
from rami.matchmaking.v1 import matchmaking_service_pb2 as pb
from support.chaos_faults import Deed, Fault, FaultTrap, Point, Striker
from support.chaos_journal import Assigned, Queued, RoomRead, RoomsCounted
from support.chaos_loop import bring_back
from support.chaos_players import PAUSE_SECONDS, Caller
from support.game_cluster import id_of, request_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from support.chaos_journal import Record
    from support.chaos_resp import ScriptCall
    from support.chaos_site import Mode, Replica, Site

TABLES = 2
"""Tables of two that are wanted at once."""
ASSIGN_SECONDS = 60.0
"""Far longer than any table takes, the recovery included."""


def plan_queue(seed: int, mode: Mode, faults: int) -> list[Fault]:
    """So many faults while tables are made; the same for the same seed."""
    chance = random.Random(f"queue-{mode.name}-{seed}")
    deeds = [Deed.KILL_GAME] * 4 + [Deed.CUT] * 2 + [Deed.STALL_STORE]
    if mode.store_may_die:
        deeds += [Deed.KILL_STORE] * 2
    points = [Point.BEFORE_SCRIPT, Point.AFTER_SCRIPT, Point.BEFORE_REPLY, Point.BEFORE_ANSWER]
    # Four tickets, two claims, two rooms, two assignments, and now and then a return.
    return [
        Fault(chance.randint(1, 10), chance.choice(points), chance.choice(deeds), chance.uniform(0, 0.3))
        for _ in range(faults)
    ]


class Step(StrEnum):
    """A step on the way of a table, and who dies at it."""

    CLAIM = "the matchmaker dies at the claim"
    ROOM = "the game replica dies at the creation of the room"
    ASKED = "the matchmaker dies at the creation of the room"
    ASSIGNMENT = "the matchmaker dies at the assignment"


def plan_steps() -> list[tuple[Step, Fault]]:
    """Every step, and at each a kill before its script, after it, and before its reply."""
    points = (Point.BEFORE_SCRIPT, Point.AFTER_SCRIPT, Point.BEFORE_REPLY)
    return [(step, Fault(1, point, Deed.KILL_GAME, 0.0)) for step, point in product(Step, points)]


class StepStriker(Striker):
    """Puts a fault in at a step that is named, rather than after so many scripts."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.step = Step.CLAIM
        self.strikes = 0
        self._claimer: Replica | None = None
        self._rooms: set[bytes] = set()

    def _set_trap(self, replica: Replica, call: ScriptCall) -> FaultTrap | None:
        here = self._step_of(replica, call)
        fault = self._fault
        if fault is None or self.step not in here:
            return None
        self._fault = None
        self.strikes += 1
        self.victim = self._claimer if self.step is Step.ASKED else replica
        assert self.victim is not None, "a room without a claim"
        self._site.struck(f"{self.step}, {fault.point}")
        return FaultTrap(self._site, self, self.victim, fault)

    def _step_of(self, replica: Replica, call: ScriptCall) -> tuple[Step, ...]:
        """Which steps a script is."""
        if call.sha == CLAIM.sha.decode():
            self._claimer = replica
            return (Step.CLAIM,)
        if call.sha == ASSIGN.sha.decode():
            return (Step.ASSIGNMENT,)
        if call.changes_room and call.keys[0] not in self._rooms:
            self._rooms.add(call.keys[0])
            return (Step.ROOM, Step.ASKED)
        return ()


class QueueRun:
    """Rounds of players who queue, with a fault in each."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._striker = Striker(site)
        self._rounds = 0

    async def run_steps(self, steps: list[tuple[Step, Fault]]) -> int:
        """Play a round for every step, and write down in the end what rooms there are; how many faults happened."""
        self._striker = striker = StepStriker(self._site)
        for step, fault in steps:
            striker.step = step
            await self._round(fault)
        await self._count_rooms()
        return striker.strikes

    async def run(self, faults: list[Fault]) -> None:
        """Play every round, and write down in the end what rooms there are."""
        for fault in faults:
            await self._round(fault)
        await self._count_rooms()

    async def _count_rooms(self) -> None:
        site = self._site
        names = await site.store.ask("KEYS", "*:room:*")
        rooms = sum(not name.endswith(b":log") for name in names)
        site.journal.write(RoomsCounted(site.journal.now(), rooms))

    async def _round(self, fault: Fault) -> None:
        self._rounds += 1
        names = [f"queuer{self._rounds}-{number}" for number in range(2 * TABLES)]
        addresses = [matchmaker.front.address for matchmaker in self._site.matchmakers]
        players = [Caller(name, addresses, self._site.journal) for name in names]
        self._striker.arm(fault)
        async with asyncio.TaskGroup() as tasks:
            pair = tasks.create_task(self._pair(players[0], players[1]))
            seats = [tasks.create_task(self._follow(player, pair)) for player in players[:2]]
            seats += [tasks.create_task(self._queue(player)) for player in players[2:]]
            tasks.create_task(self._recover(fault, seats))
        for player in players:
            await player.close()
        await self._read({task.result(): name for task, name in zip(seats, names, strict=True)})

    async def _queue(self, player: Caller) -> str:
        """Queue until there is a seat; its room, or nothing when there is none in time."""
        criteria = pb.TicketCriteria(player_counts=[2])
        wanted = pb.CreateTicketRequest(request_id=request_id(), criteria=criteria)
        return await self._wait(player, (await player.call_queue("CreateTicket", wanted)).ticket)

    async def _pair(self, leader: Caller, member: Caller) -> pb.Ticket:
        """Queue two as a party that fills a table; its ticket."""
        criteria = pb.TicketCriteria(player_counts=[2])
        wanted = pb.CreateTicketRequest(
            request_id=request_id(), criteria=criteria, party_player_ids=[id_of(member.name)]
        )
        ticket: pb.Ticket = (await leader.call_queue("CreateTicket", wanted)).ticket
        confirmed = pb.ConfirmTicketRequest(request_id=request_id(), ticket_id=ticket.ticket_id)
        whole: pb.Ticket = (await member.call_queue("ConfirmTicket", confirmed)).ticket
        return whole

    async def _follow(self, player: Caller, pair: asyncio.Task[pb.Ticket]) -> str:
        """Wait for the seat of a member of a party; its room, or nothing when there is none in time."""
        ticket = await pair
        asked = pb.GetTicketRequest(ticket_id=ticket.ticket_id)
        return await self._wait(player, (await player.call_queue("GetTicket", asked)).ticket)

    async def _wait(self, player: Caller, ticket: pb.Ticket) -> str:
        journal = self._site.journal
        journal.write(Queued(journal.now(), player.name, ticket.ticket_id))
        try:
            async with asyncio.timeout(ASSIGN_SECONDS):
                while ticket.state in (pb.TICKET_STATE_WAITING, pb.TICKET_STATE_CLAIMED):
                    await asyncio.sleep(PAUSE_SECONDS)
                    asked = pb.GetTicketRequest(ticket_id=ticket.ticket_id)
                    ticket = (await player.call_queue("GetTicket", asked)).ticket
        except TimeoutError:
            pass  # the state that it is left in says so
        state, place = pb.TicketState.Name(ticket.state), ticket.assignment
        journal.write(Assigned(journal.now(), player.name, ticket.ticket_id, state, place.room_id, place.seat))
        return place.room_id

    async def _recover(self, fault: Fault, seats: list[asyncio.Task[str]]) -> None:
        """Bring back what the fault ends, while the players wait."""
        site, striker = self._site, self._striker
        struck = asyncio.create_task(striker.struck.wait())
        everybody = asyncio.create_task(asyncio.wait(seats))
        waits: set[asyncio.Future[Any]] = {struck, everybody}
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        everybody.cancel()
        if striker.disarm():
            struck.cancel()  # everybody had a seat before there were so many scripts
            return
        await struck
        await bring_back(site, striker.victim, fault)

    async def _read(self, rooms: dict[str, str]) -> None:
        """Write down who sits in the rooms, each as one of its players sees it."""
        journal = self._site.journal
        for name, who in rooms.items():
            if not name:
                continue
            reader = Caller(who, self._site.addresses, journal)
            room = (await reader.call("GetRoom", game.GetRoomRequest(room_id=name))).room
            seats = [seat.player.player_id for seat in room.seats]
            journal.write(RoomRead(journal.now(), name, seats))
            await reader.close()


def check_queue(records: Iterable[Record]) -> list[str]:
    """Everything that is wrong with the tables of a run."""
    tables = _Tables()
    for record in records:
        tables.take(record)
    return [*tables.wrong, *tables.contradictions()]


class _Tables:
    """Who was sent where, and who sits where."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self._tickets: dict[str, str] = {}
        self._places: dict[tuple[str, int], str] = {}
        self._rooms: dict[str, list[str]] = {}
        self._counted = -1

    def take(self, record: Record) -> None:
        """Take the next record; what it shows to be wrong is in `wrong`."""
        match record:
            case Queued():
                if self._tickets.setdefault(record.who, record.ticket) != record.ticket:
                    self.wrong.append(f"{record.who} has two tickets")
            case Assigned() if record.room:
                holder = self._places.setdefault((record.room, record.seat), record.who)
                if holder != record.who:
                    self.wrong.append(f"{record.who} and {holder} have seat {record.seat} of {record.room}")
            case Assigned():
                self.wrong.append(f"{record.who} has no seat: the ticket is {record.state}")
            case RoomRead():
                self._rooms[record.room] = record.seats
            case RoomsCounted():
                self._counted = record.rooms
            case _:
                pass

    def contradictions(self) -> Iterator[str]:
        """What does not fit together in the end."""
        seats = Counter(self._places.values())
        yield from (f"{who} has {count} seats" for who, count in seats.items() if count > 1)
        for room, seated in self._rooms.items():
            sent = [self._places.get((room, seat), "") for seat in range(len(seated))]
            if seated != [id_of(who) if who else "" for who in sent]:
                yield f"{room} holds others than {sent}, who were sent there"
        if self._counted != len(self._rooms):
            yield f"there are {self._counted} rooms for {len(self._rooms)} tables"
