"""A table: people and bots sit down and play a short match through the storm, to the end and past it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf.duration_pb2 import Duration

from rami.game.v1 import room_pb2, rules_pb2
from sim.players import Player
from sim.rooms import finish_rooms

if TYPE_CHECKING:
    from sim.faults import Storm
    from sim.journal import Journal
    from sim.plan import Plan
    from sim.site import Site


def duration(seconds: float) -> Duration:
    message = Duration()
    message.FromMilliseconds(round(seconds * 1000))
    return message


def options_of(plan: Plan) -> room_pb2.RoomOptions:
    """The options of the room that a plan names."""
    return room_pb2.RoomOptions(
        seats=plan.seats,
        visibility=room_pb2.VISIBILITY_PUBLIC,
        spectators_allowed=True,
        auto_start=True,
        rules=rules_pb2.RuleOptions(target_score=plan.target),
        turn_time_limit=duration(plan.turn_limit),
        bot_pace=duration(plan.bot_pace),
        round_interval=duration(0.02),
    )


def players_of(site: Site, plan: Plan, journal: Journal) -> tuple[list[Player], list[Player]]:
    """Those who play, and those who watch."""
    names = [f"p{number}" for number in range(plan.people)], [f"w{number}" for number in range(plan.spectators)]
    people, watching = ([Player(site, journal, name, think_seconds=plan.think) for name in part] for part in names)
    return people, watching


def acts_by_calls(plan: Plan, number: int) -> bool:
    """Whether a player acts by single calls; else on a stream."""
    return (number + 0.5) / plan.people < plan.by_calls


async def table_story(site: Site, plan: Plan, journal: Journal, storm: Storm) -> list[str]:
    """Play it; what is wrong with it besides what the journal shows."""
    people, watching = players_of(site, plan, journal)
    storm.players = {player.name: player for player in people}
    host = people[0]
    bots = {seat: ("easy", "normal")[seat % 2] for seat in range(plan.people, plan.seats)}
    room = await host.client.create_room(options_of(plan), bots=bots)
    host.sit(room.room_id, 0)
    for player in people[1:]:
        seat = (await player.client.join_room(room.room_id)).seat
        player.sit(room.room_id, seat)
    for player in watching:
        player.sit(room.room_id)
        player.begin(player.watch())
    for number, player in enumerate(people):
        player.play(by_calls=acts_by_calls(plan, number))
    await storm.blow()
    return await finish_rooms(site, journal, [*people, *watching], {room.room_id: host})


__all__ = ["table_story"]
