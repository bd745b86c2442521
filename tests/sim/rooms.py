"""The end of a story: every match comes to its end, everybody is told, and the records are read."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from game_state.codec import decode_room
from rami.game.v1 import room_pb2
from rami.store.v1 import finished_pb2
from rami_client.errors import NotFoundError, RamiClientError
from rami_kit import keys
from sim.cluster import PARTITIONS
from sim.world import until
from support.chaos_journal import AtRest, FinishedMatches, Replayed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from game_state.room import Room
    from sim.journal import Journal
    from sim.players import Player
    from sim.site import Site

END_SECONDS = 60.0
"""Long enough for any match to end once everything works, every turn of it played by autopilot."""
QUIET_SECONDS = 0.5
"""Long enough for every watcher to learn of the end."""
_ROOM_KEY = re.compile(r"\{p(\d+)\}:room:([^:]+)")


async def finish_rooms(
    site: Site, journal: Journal, players: Sequence[Player], rooms: Mapping[str, Player], *, may_be_gone: bool = False
) -> list[str]:
    """Wait for the end of the matches in these rooms, each of which a player can read, and write down their records.

    `may_be_gone`: the store may have lost whole rooms.
    """
    findings = await _wait_for_the_end(site, players, may_be_gone)
    for room_id, reader in rooms.items():
        try:
            findings += await _read_record(journal, room_id, reader)
        except RamiClientError as error:
            if not (may_be_gone and isinstance(error, NotFoundError)):
                findings.append(f"{room_id} cannot be read: {error!r}")
    journal.write(FinishedMatches(journal.now(), list(_finished(site))))
    if not journal.lost:
        # After a loss another step may have the number that an action was chosen on.
        findings += [f"{player.name}: {player.trouble}" for player in players if player.trouble]
    for player in players:
        await player.leave()
    await asyncio.sleep(0.1)
    return findings


async def _wait_for_the_end(site: Site, players: Sequence[Player], may_be_gone: bool) -> list[str]:
    """Who has not been told of the end once there must be one."""

    def all_know() -> bool:
        return all(player.over or player.gone for player in players)

    end = site.loop.now + END_SECONDS
    while await until(all_know, end - site.loop.now):
        await let_news_arrive(site)
        if all_know():
            break
    findings = []
    for player in players:
        if player.gone and not may_be_gone:
            findings.append(f"the room of {player.name} is gone")
        elif not (player.over or player.gone):
            findings.append(f"{player.name} does not know that the match is over")
    return findings


async def _read_record(journal: Journal, room_id: str, reader: Player) -> list[str]:
    """Write down the last version of a room and the record of its match."""
    room = await reader.insist(lambda: reader.client.get_room(room_id))
    journal.write(AtRest(journal.now(), room_id, room.version))
    replay = await reader.insist(lambda: reader.client.replay(room_id))
    journal.write(Replayed(journal.now(), room_id, replay.SerializeToString()))
    if room.status == room_pb2.ROOM_STATUS_OVER:
        return []
    return [f"{room_id} is not over but {room_pb2.RoomStatus.Name(room.status)}"]


async def let_news_arrive(site: Site) -> None:
    """Wait until every watcher must know what has happened by now: of an end that was lost, for example."""
    # A stream whose server has gone without a word is noticed late.
    await asyncio.sleep(max(QUIET_SECONDS, site.silent_until + QUIET_SECONDS - site.loop.now))


def _finished(site: Site) -> Iterator[str]:
    """The rooms of the matches that the store passes on as finished."""
    for partition in range(PARTITIONS):
        key = keys.finished_key(partition)
        for _, fields in site.store.holder(key).run(b"XRANGE", [key.encode(), b"-", b"+"]):
            yield finished_pb2.FinishedMatch.FromString(fields[1]).room_id


def stored_rooms(site: Site) -> dict[str, Room]:
    """All rooms of the store, by id."""
    rooms = {}
    for server in site.store.servers:
        for key in server.data.all_keys():
            place = _ROOM_KEY.fullmatch(key.decode())
            if place is not None:
                room_id = keys.format_room_id(int(place[1]), place[2])
                rooms[room_id] = decode_room(room_id, server.data.run(b"GET", [key]))
    return rooms


__all__ = ["finish_rooms", "let_news_arrive", "stored_rooms"]
