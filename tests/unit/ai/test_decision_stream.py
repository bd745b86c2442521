"""Which answers of a stream share a message."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from ai_decision import decision_stream
from ai_decision.decision_stream import DecisionStream
from rami.ai.v1 import decision_service_pb2 as pb
from rami_kit.errors import InvalidRequest
from support.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def answer(one: pb.DecideManyRequest) -> pb.DecideManyResponse:
    return pb.DecideManyResponse(call_id=one.call_id, decision=pb.DecideResponse(action_index=0))


async def asked(*messages: pb.DecideManyRequest) -> AsyncIterator[pb.DecideManyRequest]:
    for message in messages:
        yield message


def message_of(*call_ids: int, takes_more: bool) -> pb.DecideManyRequest:
    first, *others = [pb.DecideManyRequest(call_id=call_id) for call_id in call_ids]
    first.more.extend(others)
    first.takes_more = takes_more
    return first


async def answered(*messages: pb.DecideManyRequest) -> list[list[int]]:
    """The calls that each message answers."""
    async with asyncio.timeout(WAIT_SECONDS):
        responses = [response async for response in DecisionStream(answer).responses(asked(*messages))]
    assert all(response.takes_more for response in responses)
    return [[one.call_id for one in (response, *response.more)] for response in responses]


async def test_who_reads_several_answers_in_a_message_gets_what_is_ready_in_one() -> None:
    assert await answered(message_of(1, 2, 3, takes_more=True)) == [[1, 2, 3]]


async def test_who_has_not_said_so_gets_one_at_a_time() -> None:
    assert await answered(message_of(1, 2, 3, takes_more=False)) == [[1], [2], [3]]


async def test_no_message_brings_more_answers_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_stream, "MAX_MORE", 1)
    assert await answered(message_of(1, 2, 3, takes_more=True)) == [[1, 2], [3]]


async def test_requests_of_one_message_have_ids_of_their_own_too() -> None:
    with pytest.raises(InvalidRequest, match="call_id"):
        await answered(message_of(1, 1, takes_more=True))
