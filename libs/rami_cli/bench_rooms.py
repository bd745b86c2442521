"""The part `rooms`: what it costs to make a room, and how soon two tickets that fit become one table.

A seed chain is 4,096 hashes, made ahead in a thread of the game service: what that thread uses is told apart. The
yardstick of the wait for a table is a round trip of a bare call.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1 import game_service_pb2_grpc
from rami.matchmaking.v1 import matchmaking_service_pb2 as queue_pb
from rami.matchmaking.v1 import matchmaking_service_pb2_grpc
from rami_cli.bench_echo import SERVICE, echo_request
from rami_cli.bench_echo_load import CALL_SECONDS, channels_to, cpu_of_calls
from rami_cli.bench_figures import Figure
from rami_cli.bench_harness import BenchError, Site
from rami_cli.bench_part import MICRO, Part
from rami_cli.bench_report import quantile
from rami_cli.bench_tables import new_id, options_of
from rami_kit.testing import player

if TYPE_CHECKING:
    import grpc.aio

    from rami_cli.bench_harness import Server
    from rami_cli.bench_part import Bench
    from rami_cli.bench_tables import Metadata

CALLERS: Final = 32
CHAINS: Final = "seed-chains"
"""The thread that makes them."""
PAIRS: Final = 15
"""One after the other, for the wait."""
CROWD: Final = 100
"""Pairs at once, for the cost: the passes over the queue are shared by all who wait."""
MILLI: Final = 1000


async def measure(bench: Bench) -> list[Figure]:
    """The figures."""
    create = Figure("CreateRoom, seed chain apart", "us of server", "us, unary echo", goal=3.0)
    whole = Figure("CreateRoom, seed chain included", "us of server", "us, unary echo")
    chain = Figure("a seed chain", "us", "us, unary echo", note="in a thread, ahead")
    table = Figure("CreateTicket to assignment, p50", "ms", "ms, echo round trip", 60.0, goal_of_value=True)
    ticket = Figure("a ticket until its table", "us of matchmaking", "us, unary echo")
    seat = Figure("a ticket until its table, game service", "us of game", "us, unary echo")
    async with Site() as site:
        echo, store = await site.echo(), await site.store()
        game = await site.game(store.ready["url"])
        matchmaking = await site.matchmaking(store.ready["url"], game.target)
        await _create_rooms(game, 0.3, "warm")
        for run in bench.rounds("echo", "rooms", "tickets", "crowd"):
            bench.step("unary echo")
            unary = await cpu_of_calls(echo, bench.seconds, length=70, answer_length=200)
            hop = await _round_trip(echo)
            bench.step("rooms")
            await asyncio.sleep(0.3)  # the pool of chains is full
            before, before_chains = game.cpu_seconds(), game.thread_seconds(CHAINS)
            rooms = await _create_rooms(game, bench.seconds, str(run))
            await asyncio.sleep(0.3)  # and full again
            used = (game.cpu_seconds() - before) / rooms
            chain_seconds = (game.thread_seconds(CHAINS) - before_chains) / rooms
            whole.add(used * MICRO, unary * MICRO)
            create.add((used - chain_seconds) * MICRO, unary * MICRO)
            chain.add(chain_seconds * MICRO, unary * MICRO)
            bench.step("tickets")
            waits = sorted(await _waits(matchmaking, run))
            table.add(quantile(waits, 0.5) * MILLI, hop * MILLI)
            bench.step("a crowd of tickets")
            before, before_game = matchmaking.cpu_seconds(), game.cpu_seconds()
            await _seat_crowd(matchmaking, run)
            ticket.add((matchmaking.cpu_seconds() - before) / (2 * CROWD) * MICRO, unary * MICRO)
            seat.add((game.cpu_seconds() - before_game) / (2 * CROWD) * MICRO, unary * MICRO)
    return [create, whole, chain, table, ticket, seat]


async def _create_rooms(game: Server, seconds: float, name: str) -> int:
    """Rooms made in so long. Everybody makes one room and is somebody else for the next."""
    made = 0
    until = time.monotonic() + seconds

    async def create(caller: int, channel: grpc.aio.Channel) -> None:
        nonlocal made
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        number, me = 0, player(f"maker-{name}-{caller}-0")
        while time.monotonic() < until:
            if number % 50 == 49:  # a player may host a hundred
                me = player(f"maker-{name}-{caller}-{number}")
            request = pb.CreateRoomRequest(request_id=new_id(), options=options_of(2))
            await stub.CreateRoom(request, metadata=me, timeout=CALL_SECONDS)
            made, number = made + 1, number + 1

    async with channels_to(game.target) as channels:
        await asyncio.gather(*(create(caller, channels[caller % len(channels)]) for caller in range(CALLERS)))
    return made


async def _round_trip(echo: Server) -> float:
    """The median of bare calls, one after the other."""
    taken = []
    async with channels_to(echo.target, 1) as channels:
        call: Any = channels[0].unary_unary(f"/{SERVICE}/Call")
        for _ in range(100):
            began = time.monotonic()
            await call(echo_request(70, 200), timeout=CALL_SECONDS)
            taken.append(time.monotonic() - began)
    return quantile(sorted(taken), 0.5)


async def _waits(matchmaking: Server, run: int) -> list[float]:
    """Seconds from the second ticket's creation to its assignment on the stream; the first one waits already."""
    waits = []
    async with channels_to(matchmaking.target, 1) as channels:
        stub: Any = matchmaking_service_pb2_grpc.MatchmakingServiceStub(channels[0])
        for pair in range(PAIRS):
            first, second = (player(f"queue-{run}-{pair}-{number}") for number in range(2))
            await _queue(stub, first)
            began = time.monotonic()
            await _assigned(stub, await _queue(stub, second), second)
            waits.append(time.monotonic() - began)
    return waits


async def _seat_crowd(matchmaking: Server, run: int) -> None:
    """Many queue at once and are told of their tables."""
    async with channels_to(matchmaking.target) as channels:
        stubs: list[Any] = [matchmaking_service_pb2_grpc.MatchmakingServiceStub(channel) for channel in channels]

        async def seat(number: int) -> None:
            me, stub = player(f"crowd-{run}-{number}"), stubs[number % len(stubs)]
            await _assigned(stub, await _queue(stub, me), me)

        await asyncio.gather(*(seat(number) for number in range(2 * CROWD)))


async def _assigned(stub: Any, ticket_id: str, me: Metadata) -> None:
    """Returns when the stream says where the ticket's table is. Raises BenchError when it says that there is none."""
    call = stub.WatchTicket(queue_pb.WatchTicketRequest(ticket_id=ticket_id), metadata=me, timeout=CALL_SECONDS)
    async for message in call:
        if message.ticket.state == queue_pb.TICKET_STATE_MATCHED:
            return
    raise BenchError("a ticket ended without a table")


async def _queue(stub: Any, me: Metadata) -> str:
    criteria = queue_pb.TicketCriteria(player_counts=[2])
    request = queue_pb.CreateTicketRequest(request_id=new_id(), criteria=criteria)
    answer = await stub.CreateTicket(request, metadata=me, timeout=CALL_SECONDS)
    return str(answer.ticket.ticket_id)


ROOMS: Final = Part("rooms", measure)

__all__ = ["ROOMS"]
