"""A room from its creation to the rematch, all of it in the storm: seats change hands, a match, and another one.

Where the store has lost acknowledged commits the room itself may be gone, or be as it was before; only there is that
no fault.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from rami.game.v1 import game_service_pb2 as game
from rami.game.v1 import room_pb2
from rami_client.errors import FailedPreconditionError, NotFoundError, RpcError
from sim.plan import Deed
from sim.players import PAUSE_SECONDS
from sim.rooms import finish_rooms, let_news_arrive, stored_rooms
from sim.table_story import acts_by_calls, options_of, players_of
from sim.world import until

if TYPE_CHECKING:
    from sim.faults import Storm
    from sim.journal import Journal
    from sim.plan import Plan
    from sim.players import Player
    from sim.site import Site

PATIENCE_SECONDS = 60.0
"""Long enough for a match to begin, and to end, once everything works."""
BOTS = ("easy", "normal")


class Host:
    """The player who has made the room: sees to it that its seats are filled and that the match begins."""

    def __init__(self, player: Player, friends: list[Player], plan: Plan) -> None:
        self._player = player
        self._friends = friends
        self._plan = plan
        self._chance = random.Random(f"host-{plan.seed}")
        self._private = self._chance.random() < 0.5
        self._by_itself = self._chance.random() < 0.5

    async def open_room(self) -> str:
        """Make the room; its id."""
        options = options_of(self._plan)
        options.auto_start = self._by_itself
        if self._private:
            options.visibility = room_pb2.VISIBILITY_PRIVATE
        answer = await self._player.insist_on("CreateRoom", game.CreateRoomRequest(options=options))
        self._player.sit(answer.room.room_id, 0)
        return str(answer.room.room_id)

    async def fill(self) -> None:
        """Friends come in, and one goes out and in again; bots take the other seats, after some changes of mind."""
        room = await self._look()
        for friend in self._friends:
            await self._let_in(friend, room)
        if self._friends and self._chance.random() < 0.4:
            undecided = self._chance.choice(self._friends)
            await _try(undecided, "LeaveRoom", game.LeaveRoomRequest(room_id=room.room_id))
            await self._let_in(undecided, room)
        for _ in range(self._chance.randrange(3)):
            empty = await self._seats_for_bots()
            if empty:
                await self._put_bots({self._chance.choice(empty): self._chance.choice((*BOTS, ""))})

    async def begin(self) -> None:
        """Whatever is still missing is brought until the match has begun."""
        while True:
            room = await self._look()
            if room.status != room_pb2.ROOM_STATUS_LOBBY:
                return
            for friend in self._friends:
                await self._let_in(friend, room)
            await self._put_bots({seat: BOTS[seat % 2] for seat in await self._seats_for_bots(empty=True)})
            if not self._by_itself:
                await _try(self._player, "StartMatch", game.StartMatchRequest(room_id=room.room_id))
            await asyncio.sleep(PAUSE_SECONDS)

    async def _look(self) -> room_pb2.Room:
        player = self._player
        room: room_pb2.Room = await player.insist(lambda: player.client.get_room(player.room_id))
        return room

    async def _let_in(self, friend: Player, room: room_pb2.Room) -> None:
        request = game.JoinRoomRequest()
        if self._private:
            request.join_code = room.join_code
        else:
            request.room_id = room.room_id
        try:
            answer = await friend.insist_on("JoinRoom", request)
        except FailedPreconditionError:
            return  # for now somebody else sits there, or the match has begun
        friend.sit(answer.room.room_id, answer.seat)

    async def _seats_for_bots(self, *, empty: bool = False) -> list[int]:
        """The seats that no person holds, as far as as many are left for the friends who are not there."""
        room = await self._look()
        people = sum(seat.HasField("player") for seat in room.seats)
        free = [
            seat.seat for seat in room.seats if not seat.HasField("player") and not (empty and seat.HasField("bot"))
        ]
        return free[max(0, 1 + len(self._friends) - people) :]

    async def _put_bots(self, bots: dict[int, str]) -> None:
        if bots:
            changes = [game.BotSeat(seat=seat, bot=bot) for seat, bot in bots.items()]
            await _try(
                self._player, "UpdateSeats", game.UpdateSeatsRequest(room_id=self._player.room_id, changes=changes)
            )


async def _try(
    player: Player, method: str, request: game.StartMatchRequest | game.UpdateSeatsRequest | game.LeaveRoomRequest
) -> None:
    """Ask for what may not be possible any more; or, once the store has lost something, not permitted."""
    try:
        await player.insist_on(method, request)
    except NotFoundError:
        raise
    except FailedPreconditionError:
        return
    except RpcError:
        if not player.journal.lost:
            raise


async def room_story(site: Site, plan: Plan, journal: Journal, storm: Storm) -> list[str]:
    """Play it; what is wrong with it besides what the journal shows."""
    people, watching = players_of(site, plan, journal)
    storm.players = {player.name: player for player in people}
    blowing = asyncio.create_task(storm.blow())
    rooms: dict[str, Player] = {}
    try:
        room_id = await _first_match(people, watching, plan, rooms)
        if any(fault.deed is Deed.FAIL_OVER for fault in plan.faults) and plan.durability == "memory":
            # The end itself may be lost, and who has gone on to another room is not told; or the beginning.
            await blowing
            await let_news_arrive(site)
            await Host(people[0], people[1:], plan).begin()
        findings = await _rematch(people, plan, room_id, rooms)
    except NotFoundError as error:
        findings = [f"a room is gone: {error}"]
        for player in (*people, *watching):
            player.gone = True
    finally:
        await blowing
    if storm.lost_acknowledged:
        findings = []
    findings += await finish_rooms(site, journal, [*people, *watching], rooms, may_be_gone=storm.lost_acknowledged)
    if not storm.lost_acknowledged:
        findings += [f"nobody has asked for {room_id}" for room_id in stored_rooms(site).keys() - rooms.keys()]
    return findings


async def _first_match(people: list[Player], watching: list[Player], plan: Plan, rooms: dict[str, Player]) -> str:
    """Open the room and begin the match; the id of the room, which is added to `rooms` with who can read it."""
    host = Host(people[0], people[1:], plan)
    room_id = await host.open_room()
    rooms[room_id] = people[0]
    for player in watching:
        player.sit(room_id)
    await host.fill()
    await host.begin()
    for player in watching:
        player.begin(player.watch())
    for number, player in enumerate(people):
        player.play(by_calls=acts_by_calls(plan, number))
    return room_id


async def _rematch(people: list[Player], plan: Plan, room_id: str, rooms: dict[str, Player]) -> list[str]:
    """Play another match once the first one is over."""
    if not await until(lambda: all(player.over or player.gone for player in people), PATIENCE_SECONDS):
        return [f"{player.name} does not know the end of the first match" for player in people if not player.over]
    answers = [await _ask_again(player, room_id) for player in people]
    again = {answer.room.room_id for answer in answers}
    rooms.update((other, people[0]) for other in again)
    if len(again) > 1:
        return [f"there are {len(again)} rematches of {room_id}"]
    for number, (player, answer) in enumerate(zip(people, answers, strict=True)):
        player.sit(answer.room.room_id, answer.seat)
        player.over = False
        player.play(by_calls=acts_by_calls(plan, number))
    await Host(people[0], [], plan).begin()
    return []


async def _ask_again(player: Player, room_id: str) -> game.RematchResponse:
    """Ask for the rematch; whoever is still told that the match is played asks once more."""
    await player.stop_playing()
    while True:
        try:
            answer: game.RematchResponse = await player.insist_on("Rematch", game.RematchRequest(room_id=room_id))
        except FailedPreconditionError:
            await asyncio.sleep(PAUSE_SECONDS)
        except RpcError as error:
            if error.reason != "NOT_SEATED":
                raise
            await asyncio.sleep(PAUSE_SECONDS)
        else:
            return answer


__all__ = ["room_story"]
