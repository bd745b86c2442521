"""No answer says that something is done before it is durable, not even to who asks a second time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import grpc.aio
import pytest

from rami.game.v1 import game_service_pb2 as pb
from rami.matchmaking.v1 import matchmaking_service_pb2 as queue
from rami_client.calls import new_request_id
from rami_wire import action_to_proto
from sim.plan import Kind, plan_for
from sim.players import Player
from sim.run import Run
from sim.table_story import options_of

if TYPE_CHECKING:
    from typing import Any

    from sim.site import Site

PLAN = replace(plan_for(0), kind=Kind.TABLE, masters=1, seats=2, people=1, turn_limit=0, bot_pace=30.0, faults=())


async def ask(player: Player, method: str, request: Any) -> Any:
    """The answer to a call that is made once, or the name of the code that it is refused with."""
    try:
        client, call = player.client, player.client._calls
        stub = getattr(client._game, method, None) or getattr(client._matchmaking, method)
        return await stub(request, timeout=1.4, metadata=call.metadata())
    except grpc.aio.AioRpcError as error:
        return error.code().name


@pytest.mark.parametrize("durability", ["replica", "fsync"])
def test_a_repeat_waits_for_what_the_first_answer_waited_for(durability: str) -> None:
    run = Run(replace(PLAN, durability=durability), story=lambda site: story(run, site))
    assert not run.outcome().findings


@pytest.mark.parametrize("durability", ["replica", "fsync"])
def test_the_end_of_a_ticket_is_told_only_once_it_is_durable(durability: str) -> None:
    run = Run(replace(PLAN, kind=Kind.QUEUE, durability=durability), story=lambda site: ticket_story(run, site))
    assert not run.outcome().findings


async def ticket_story(run: Run, site: Site) -> None:
    await run.start_hosts(site)
    store = site.store.servers[0]
    player = Player(site, run.journal, "p0", think_seconds=0)
    criteria = queue.TicketCriteria(player_counts=[2], bots_allowed=False)
    create = queue.CreateTicketRequest(request_id=new_request_id(), criteria=criteria)
    ticket_id = (await ask(player, "CreateTicket", create)).ticket.ticket_id
    cancel = queue.CancelTicketRequest(request_id=new_request_id(), ticket_id=ticket_id)
    read = queue.GetTicketRequest(ticket_id=ticket_id)
    store.stop_replicating()
    assert await ask(player, "CancelTicket", cancel) == "UNAVAILABLE"
    assert await ask(player, "GetTicket", read) == "UNAVAILABLE"
    store.catch_up()
    assert (await ask(player, "GetTicket", read)).ticket.state == queue.TICKET_STATE_CANCELLED
    await player.leave()
    await run.close_hosts(site)


async def story(run: Run, site: Site) -> None:
    await run.start_hosts(site)
    store = site.store.servers[0]
    player = Player(site, run.journal, "p0", think_seconds=0)
    create = pb.CreateRoomRequest(
        request_id=new_request_id(), options=options_of(run.plan), bots=[pb.BotSeat(seat=1, bot="easy")]
    )
    store.stop_replicating()
    assert [await ask(player, "CreateRoom", create) for _ in range(2)] == ["UNAVAILABLE", "UNAVAILABLE"]
    store.catch_up()
    room_id = (await ask(player, "CreateRoom", create)).room.room_id
    player.sit(room_id, 0)
    async with player.client.table(room_id) as table:
        while not table.legal_actions:
            async with asyncio.timeout(5):
                await table.changed()
        submit = pb.SubmitActionRequest(
            request_id=new_request_id(),
            room_id=room_id,
            expected_version=table.version,
            action=action_to_proto(table.legal_actions[0]),
        )
    store.stop_replicating()
    assert [await ask(player, "SubmitAction", submit) for _ in range(3)] == ["UNAVAILABLE"] * 3
    store.catch_up()
    answer = await ask(player, "SubmitAction", submit)
    assert answer.event.version == submit.expected_version + 1
    await player.leave()
    await run.close_hosts(site)
