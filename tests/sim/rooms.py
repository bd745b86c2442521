"""The end of a story: every match comes to its end, everybody is told, and the records are read."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rami.game.v1 import room_pb2
from rami.store.v1 import finished_pb2
from rami_client.errors import NotFoundError, RamiClientError
from rami_kit import keys
from sim.world import until
from support.chaos_journal import AtRest, FinishedMatches, Lost, Replayed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sim.journal import Journal
    from sim.players import Player
    from sim.site import Site

END_SECONDS = 60.0
"""Long enough for any match to end once everything works, every turn of it played by autopilot."""
QUIET_SECONDS = 0.5
"""Long enough for every watcher to learn of the end."""


async def finish_rooms(
    site: Site, journal: Journal, players: Sequence[Player], rooms: Mapping[str, Player], *, may_be_gone: bool = False
) -> list[str]:
    """Wait for the end of the matches in these rooms, each of which a player can read, and write down their records.

    `may_be_gone`: the store may have lost whole rooms.
    """
    findings = []
    loop = site.loop
    end = loop.now + END_SECONDS
    while await until(lambda: all(player.over for player in players), end - loop.now):
        # A stream whose server has gone without a word is noticed late, and with it that the end was lost.
        await asyncio.sleep(max(QUIET_SECONDS, site.silent_until + QUIET_SECONDS - loop.now))
        if all(player.over for player in players):
            break
    findings += [f"{player.name} does not know that the match is over" for player in players if not player.over]
    for room_id, reader in rooms.items():
        try:
            room = await reader.insist(lambda: reader.client.get_room(room_id))  # noqa: B023 - awaited here
            journal.write(AtRest(loop.now, room_id, room.version))
            if room.status != room_pb2.ROOM_STATUS_OVER:
                findings.append(f"{room_id} is not over but {room_pb2.RoomStatus.Name(room.status)}")
            replay = await reader.insist(lambda: reader.client.replay(room_id))  # noqa: B023 - as above
            journal.write(Replayed(loop.now, room_id, replay.SerializeToString()))
        except RamiClientError as error:
            if may_be_gone and isinstance(error, NotFoundError):
                continue
            findings.append(f"{room_id} cannot be read: {error!r}")
    entries = site.store.data.run(b"XRANGE", [keys.finished_key(0).encode(), b"-", b"+"])
    finished = [finished_pb2.FinishedMatch.FromString(fields[1]).room_id for _, fields in entries]
    journal.write(FinishedMatches(loop.now, finished))
    if not any(isinstance(record, Lost) for record in journal.records):
        # After a loss another step may have the number that an action was chosen on.
        findings += [f"{player.name}: {player.trouble}" for player in players if player.trouble]
    for player in players:
        await player.leave()
    await asyncio.sleep(0.1)
    return findings


__all__ = ["finish_rooms"]
