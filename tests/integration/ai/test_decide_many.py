"""Decisions over one stream."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

import grpc
import grpc.aio

from integration.ai.serving import caller, held_workers, serving
from rami.ai.v1 import decision_service_pb2 as pb
from rami_engine import Phase
from rami_kit.errors import error_info
from support.waiting import eventually
from unit.ai.requests import request_for, some_turn

if TYPE_CHECKING:
    from integration.ai.serving import Served

Stream: TypeAlias = "grpc.aio.StreamStreamCall[pb.DecideManyRequest, pb.DecideManyResponse]"

LONG = 60


def one(call_id: int, request: pb.DecideRequest, seconds: float = LONG) -> pb.DecideManyRequest:
    message = pb.DecideManyRequest(call_id=call_id, request=request)
    message.timeout.FromNanoseconds(round(seconds * 1e9))
    return message


def open_stream(served: Served) -> Stream:
    return served.stub.DecideMany(metadata=caller())


async def answers(stream: Stream, count: int) -> dict[int, pb.DecideManyResponse]:
    found: dict[int, pb.DecideManyResponse] = {}
    async with asyncio.timeout(LONG):
        while len(found) < count:
            response = await stream.read()
            assert isinstance(response, pb.DecideManyResponse), "the stream goes on"
            found[response.call_id] = response
    return found


async def to_the_end(stream: Stream) -> tuple[list[pb.DecideManyResponse], grpc.StatusCode]:
    """What a stream still says, and what it ends with."""
    found = []
    async with asyncio.timeout(LONG):
        try:
            while isinstance(response := await stream.read(), pb.DecideManyResponse):
                found.append(response)
        except grpc.aio.AioRpcError as error:
            return found, error.code()
    return found, await stream.code()


def names_of_tasks() -> set[str]:
    """Those of all tasks of this loop, the service's own as well."""
    return {task.get_name() for task in asyncio.all_tasks()}


def reason(response: pb.DecideManyResponse) -> str:
    info = error_info(response.error)
    assert info is not None
    return str(info.reason)


async def test_a_stream_decides_what_a_call_decides() -> None:
    async with serving(workers=1) as served:
        requests = [
            request_for(some_turn(seed, phase=phase), "normal") for seed in (1, 2) for phase in (Phase.DRAW, Phase.PLAY)
        ]
        expected = [
            (await served.stub.Decide(request, timeout=LONG, metadata=caller())).action_index for request in requests
        ]
        stream = open_stream(served)
        for number, request in enumerate(requests):
            await stream.write(one(number, request))
        found = await answers(stream, len(requests))
        await stream.done_writing()

        assert [found[number].decision.action_index for number in range(len(requests))] == expected
        assert await stream.read() is grpc.aio.EOF
        assert await stream.code() is grpc.StatusCode.OK


async def test_half_closing_lets_what_is_open_be_answered() -> None:
    async with serving(workers=1) as served:
        stream = open_stream(served)
        for number in range(4):
            await stream.write(one(number, request_for(some_turn(), "hard")))
        await stream.done_writing()

        assert {response.WhichOneof("result") for response in (await answers(stream, 4)).values()} == {"decision"}
        assert await stream.read() is grpc.aio.EOF


async def test_a_refusal_is_an_answer_and_not_the_end_of_the_stream() -> None:
    good = request_for(some_turn(), "easy")
    wrong_bot = request_for(some_turn(), "nobody")
    no_actions = request_for(some_turn(), "easy")
    del no_actions.legal_actions[:]
    async with serving(workers=1) as served:
        stream = open_stream(served)
        huge = one(4, good)
        huge.timeout.seconds = 1 << 62
        for message in (one(1, wrong_bot), one(2, no_actions), one(3, good, 0), huge, one(5, good, 61), one(6, good)):
            await stream.write(message)
        found = await answers(stream, 6)

        assert reason(found[1]) == "BOT_NOT_FOUND"
        assert [reason(found[number]) for number in (2, 3, 4, 5)] == ["INVALID_REQUEST"] * 4
        assert found[6].HasField("decision")
        stream.cancel()


async def test_an_id_that_is_open_ends_the_stream() -> None:
    async with serving(workers=1) as served:
        stream = open_stream(served)
        registry = served.app.metrics.registry
        with held_workers():
            for _ in range(2):
                await stream.write(one(7, request_for(some_turn(), "hard")))
            await eventually(
                lambda: registry.get_sample_value("rami_ai_workers", {"state": "busy"}) == 1, "one is open"
            )
            await eventually(lambda: "decide-many" not in names_of_tasks(), "nothing more is read")
        _, code = await to_the_end(stream)
        assert code is grpc.StatusCode.INVALID_ARGUMENT


async def test_who_leaves_takes_its_decisions_along() -> None:
    async with serving(workers=1, queue_limit=50) as served:
        stream = open_stream(served)
        registry = served.app.metrics.registry
        with held_workers():
            for number in range(20):
                await stream.write(one(number, request_for(some_turn(), "hard")))
            await eventually(lambda: registry.get_sample_value("rami_ai_queue_depth") == 19, "all but one wait")
            stream.cancel()
            await eventually(lambda: registry.get_sample_value("rami_ai_queue_depth") == 0, "none waits")


async def test_a_draining_service_answers_what_it_has_taken() -> None:
    async with serving(workers=1) as served:
        stream = open_stream(served)
        registry = served.app.metrics.registry
        with held_workers():
            for number in range(3):
                await stream.write(one(number, request_for(some_turn(), "hard")))
            await eventually(lambda: registry.get_sample_value("rami_ai_queue_depth") == 2, "all are taken")
        first = await answers(stream, 1)
        draining = asyncio.create_task(served.app.drain())
        rest, code = await to_the_end(stream)
        await draining

        assert code is grpc.StatusCode.UNAVAILABLE
        assert sorted([*first, *(response.call_id for response in rest)]) == [0, 1, 2]
        assert all(response.HasField("decision") for response in rest)
