"""More asked than can be decided: who is decided for, who is sent away, and what an autoscaler reads."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from integration.ai.serving import caller, held_workers, serving
from rami.ai.v1 import decision_service_pb2 as pb
from rami_kit.errors import error_info, retry_seconds
from support.waiting import eventually
from unit.ai.requests import request_for, some_turn

if TYPE_CHECKING:
    from integration.ai.serving import Served

LONG = 60


def one(call_id: int, service_class: pb.ServiceClass.ValueType) -> pb.DecideManyRequest:
    request = request_for(some_turn(), "hard")
    request.service_class = service_class
    message = pb.DecideManyRequest(call_id=call_id, request=request)
    message.timeout.seconds = LONG
    return message


def sample(served: Served, name: str, **labels: str) -> float:
    return served.app.metrics.registry.get_sample_value(name, labels) or 0.0


def sent_away(served: Served) -> float:
    return sample(served, "rami_ai_decisions_total", level="hard", outcome="queue_full")


async def test_people_are_decided_for_and_bots_alone_sent_away_for_a_moment() -> None:
    async with serving(workers=1, queue_limit=6) as served:
        stream = served.stub.DecideMany(metadata=caller())
        with held_workers():
            for number in range(20):
                await stream.write(one(number, pb.SERVICE_CLASS_BOTS_ONLY))
            await eventually(lambda: sent_away(served) == 20 - 1 - 6, "one is decided, six wait")
            assert sample(served, "rami_ai_queue_depth") == 6
            assert sample(served, "rami_ai_queue_age_seconds") > 0
            for number in range(100, 105):
                await stream.write(one(number, pb.SERVICE_CLASS_PEOPLE))
            await eventually(lambda: sent_away(served) == 20 - 1 - 6 + 5, "people have the places of bots")
        await stream.done_writing()
        decided, refused = set(), set()
        async with asyncio.timeout(LONG):
            async for response in stream:
                if response.HasField("decision"):
                    decided.add(response.call_id)
                    continue
                info = error_info(response.error)
                assert info is not None
                assert info.reason == "DECISION_QUEUE_FULL"
                assert retry_seconds(response.error) > 0
                refused.add(response.call_id)

        assert decided | refused == {*range(20), *range(100, 105)}
        assert {number for number in decided if number >= 100} == set(range(100, 105)), "all people were decided for"
        assert len(decided) == 1 + 6
        assert sent_away(served) == len(refused)
        assert sample(served, "rami_ai_worker_busy_seconds_total") > 0
        await eventually(lambda: sample(served, "rami_ai_queue_age_seconds") == 0, "nobody waits any more")
