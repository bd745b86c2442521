"""The part `ai`: what a decision costs, and whether workers and processes add up.

Easy decisions cost the AI service hardly more than their call, so the call is what is measured: over Decide, and over
the stream of DecideMany that game services use, beside an echo of as many bytes. A bot-only match shows the whole:
game service, AI service and store. Hard decisions are search: two workers are measured against two processes that do
nothing but search the same positions.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from rami.ai.v1 import decision_service_pb2 as ai_pb
from rami.ai.v1 import decision_service_pb2_grpc
from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1 import game_service_pb2_grpc
from rami_cli import bench_search
from rami_cli.bench_echo_load import CALL_SECONDS, channels_to, cpu_of_calls, cpu_of_messages
from rami_cli.bench_figures import Figure
from rami_cli.bench_harness import BenchError, Site
from rami_cli.bench_part import MICRO, Part
from rami_cli.bench_search import positions
from rami_cli.bench_tables import new_id, options_of
from rami_engine import MatchState, legal_actions, seat_view
from rami_kit.testing import player, service
from rami_wire import action_to_proto, view_to_proto

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rami_cli.bench_harness import Server
    from rami_cli.bench_part import Bench

AUDIENCE: Final = "rami-ai"
CALLERS: Final = 16
BOT_MATCHES: Final = {"easy": (16, 60), "normal": (16, 1), "hard": (4, 1)}
"""Tables, and the points that win them: as long as there is time for. With 1 a match is a single round."""
SPREADS: Final = (1, 2, 4)
MATCH_SECONDS: Final = 120.0
ANSWER_BYTES: Final = 4
SEARCH_TIMES: Final = 4
"""A measurement of searches is so many times as long as others: one takes a good while."""
LOOK_SECONDS: Final = 0.5
"""Between two looks at whether the matches are over: a metrics page costs the service some milliseconds."""


async def measure(bench: Bench) -> list[Figure]:
    """The figures."""
    unary = Figure("Easy decision over Decide", "us of AI service", "us, unary echo")
    stream = Figure("Easy decision over DecideMany", "us of AI service", "us, unary echo")
    stream_beside = Figure("Easy decision over DecideMany, beside a stream", "us of AI service", "us, stream echo")
    whole = {
        bot: Figure(f"an action of a bot-only match, {bot}", "us of game, AI and store", "us, unary echo")
        for bot in BOT_MATCHES
    }
    whole["easy"].goal = 2.5
    hard = Figure("Hard decisions, 2 workers", "1/s", "1/s, 2 bare searches", more_is_better=True)
    fair = {
        count: Figure(f"busiest of {count} AI processes", "share of decisions", "fair share") for count in SPREADS[1:]
    }
    many = {
        count: Figure(f"bot actions with {count} AI processes", "1/s", "1/s with one", more_is_better=True)
        for count in SPREADS[1:]
    }
    requests = [request_for(match, number) for number, match in enumerate(positions())]
    size = sum(request.ByteSize() for request in requests) // len(requests)
    async with Site(apart=False) as site:
        echo, store = await site.echo(), await site.store()
        services = [await site.ai(2), *[await site.ai(1) for _ in range(max(SPREADS) - 1)]]
        games = {
            count: await site.game(store.ready["url"], ",".join(one.target for one in services[:count]))
            for count in SPREADS
        }
        front = services[0]
        await ask_many(front, 0.5, requests, "easy")
        await ask_many(front, 0.5, requests, "hard")
        for _ in bench.rounds("echo", "decide", "many", *BOT_MATCHES, "hard", *map(str, SPREADS[1:])):
            bench.step("echoes")
            call = await cpu_of_calls(echo, bench.seconds, length=size, answer_length=ANSWER_BYTES, callers=CALLERS)
            talk, _ = await cpu_of_messages(
                echo, bench.seconds, length=size, answer_length=ANSWER_BYTES, streams=CALLERS
            )
            bench.step("Decide")
            unary.add(await decide_cost(front, bench.seconds, requests) * MICRO, call * MICRO)
            bench.step("DecideMany")
            before = front.cpu_seconds()
            done, _ = await ask_many(front, bench.seconds, requests, "easy")
            cost = (front.cpu_seconds() - before) / done
            stream.add(cost * MICRO, call * MICRO)
            stream_beside.add(cost * MICRO, talk * MICRO)
            alone = 0.0
            for bot in BOT_MATCHES:
                bench.step(f"a bot-only match, {bot}")
                used, rate, _ = await bot_matches(games[1], [front], store, bot)
                whole[bot].add(used * MICRO, call * MICRO)
                if bot == "easy":
                    alone = rate
            bench.step("Hard, 2 workers")
            searched = SEARCH_TIMES * bench.seconds
            bare = await bare_searches(site, searched)
            done, lasted = await ask_many(front, searched, requests, "hard", at_once=4)
            hard.add(done / lasted, bare)
            for count in SPREADS[1:]:
                bench.step(f"{count} AI processes")
                _, rate, shares = await bot_matches(games[count], services[:count], store, "easy")
                fair[count].add(max(shares) / sum(shares), 1 / count)
                many[count].add(rate, alone)
    unary.note = stream.note = f"{size} B in"
    return [unary, stream, stream_beside, *whole.values(), hard, *fair.values(), *many.values()]


def request_for(match: MatchState, policy_seed: int) -> ai_pb.DecideRequest:
    """What a game service asks for the seat to move, but for the bot."""
    assert match.round is not None
    seat = match.round.turn
    return ai_pb.DecideRequest(
        view=view_to_proto(seat_view(match, seat)),
        legal_actions=[action_to_proto(action) for action in legal_actions(match, seat)],
        policy_seed=policy_seed,
    )


async def decide_cost(server: Server, seconds: float, requests: Sequence[ai_pb.DecideRequest]) -> float:
    """Processor seconds of the service, front and workers, for one Easy decision over Decide."""
    done = 0
    until = time.monotonic() + seconds
    token = service(AUDIENCE)

    async def ask(stub: Any, number: int) -> None:
        nonlocal done
        while time.monotonic() < until:
            request = ai_pb.DecideRequest()
            request.CopyFrom(requests[(done + number) % len(requests)])
            request.bot = "easy"
            await stub.Decide(request, metadata=token, timeout=CALL_SECONDS)
            done += 1

    async with channels_to(server.target, 1) as channels:
        stub = decision_service_pb2_grpc.DecisionServiceStub(channels[0])
        before = server.cpu_seconds()
        await asyncio.gather(*(ask(stub, number) for number in range(CALLERS)))
        return (server.cpu_seconds() - before) / done


async def ask_many(
    server: Server, seconds: float, requests: Sequence[ai_pb.DecideRequest], bot: str, at_once: int = CALLERS
) -> tuple[int, float]:
    """Decisions over one stream, so many of them under way for so long; how many, and seconds until the last."""
    sent = done = 0
    async with channels_to(server.target, 1) as channels:
        stub: Any = decision_service_pb2_grpc.DecisionServiceStub(channels[0])
        call = stub.DecideMany(metadata=service(AUDIENCE))
        began = time.monotonic()
        while done < sent or not sent:
            while sent < done + at_once and time.monotonic() - began < seconds:
                message = ai_pb.DecideManyRequest(call_id=sent, request=requests[sent % len(requests)])
                message.request.bot = bot
                message.timeout.FromSeconds(10)
                sent += 1
                await call.write(message)
            answer = await call.read()
            if answer.WhichOneof("result") != "decision":
                raise BenchError(f"a decision failed: {answer}")
            done += 1
        lasted = time.monotonic() - began
        call.cancel()
    return done, lasted


async def bot_matches(
    game: Server, services: Sequence[Server], store: Server, bot: str
) -> tuple[float, float, list[float]]:
    """Bots play each other to the end: processor seconds of everybody for an action, actions a second, and how many
    decisions each AI service made.
    """
    servers = [game, store, *services]
    tables, target = BOT_MATCHES[bot]
    async with channels_to(game.target, 1) as channels:
        stub = game_service_pb2_grpc.GameServiceStub(channels[0])
        me = [player(f"host-{new_id()}") for _ in range(tables)]
        made = [
            await stub.CreateRoom(
                pb.CreateRoomRequest(
                    request_id=new_id(),
                    options=options_of(2, target),
                    bots=[pb.BotSeat(seat=seat, bot=bot) for seat in range(2)],
                    observe=True,
                ),
                metadata=host,
                timeout=CALL_SECONDS,
            )
            for host in me
        ]
        decided = [await one.counted("rami_ai_decisions_total") for one in services]
        acted = await game.counted("rami_game_actions_total")
        before, began = sum(server.cpu_seconds() for server in servers), time.monotonic()
        rooms = [answer.room.room_id for answer in made]
        await asyncio.gather(
            *(
                stub.StartMatch(
                    pb.StartMatchRequest(request_id=new_id(), room_id=room_id), metadata=host, timeout=CALL_SECONDS
                )
                for room_id, host in zip(rooms, me, strict=True)
            )
        )
        async with asyncio.timeout(MATCH_SECONDS):
            while await game.counted("rami_game_rooms", state="in_match"):  # noqa: ASYNC110 - a page is all
                await asyncio.sleep(LOOK_SECONDS)
        seconds = time.monotonic() - began
        used = sum(server.cpu_seconds() for server in servers) - before
        actions = await game.counted("rami_game_actions_total") - acted
        shares = [
            await one.counted("rami_ai_decisions_total") - old for one, old in zip(services, decided, strict=True)
        ]
    return used / actions, actions / seconds, shares


async def bare_searches(site: Site, seconds: float) -> float:
    """Hard decisions a second of two processes that do nothing else."""
    searches = await asyncio.gather(*(site.start("search", bench_search.__name__, str(seconds)) for _ in range(2)))
    for search in searches:
        await search.stop()
    return sum(float(search.ready["rate"]) for search in searches)


AI: Final = Part("ai", measure)

__all__ = ["AI"]
