"""DecisionService over real gRPC and real worker processes: what it answers and every way in which it refuses."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest

from integration.ai.serving import CALL_SECONDS, Served, caller, serving
from rami.ai.v1 import decision_service_pb2 as messages
from rami.errors.v1 import error_reason_pb2 as reasons
from rami_bots import BOTS, find_bot, time_enough
from rami_engine import RULES_ID, RULES_VERSION, Phase, legal_actions, seat_view
from rami_kit.errors import PeerError, from_rpc_error
from rami_kit.testing import bearer, player, service, service_token
from unit.ai.requests import DecideRequest, request_for, some_turn
from unit.ai.wrong_requests import SPOILED
from unit.engine.positions import round_of


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serving() as running:
        yield running


async def refusal(served: Served, request: DecideRequest, metadata: Any = ()) -> PeerError:
    """How a decision is refused; the test fails when it is not."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await served.stub.Decide(request, timeout=CALL_SECONDS, metadata=caller() if metadata == () else metadata)
    return from_rpc_error(caught.value)


async def test_every_bot_decides_as_its_policy_does(served: Served) -> None:
    for players in (2, 3, 4):
        for phase in (Phase.DRAW, Phase.PLAY):
            match = some_turn(players, players=players, phase=phase)
            seat = round_of(match).turn
            legal = legal_actions(match, seat)
            for bot in BOTS:
                answer = await served.stub.Decide(
                    request_for(match, bot.id, 9), timeout=CALL_SECONDS, metadata=caller()
                )
                expected = find_bot(bot.id).policy(seat_view(match, seat), legal, 9, time_enough)
                assert answer.action_index == legal.index(expected)


async def test_asked_why_it_answers_with_what_it_considered(served: Served) -> None:
    request = request_for(some_turn(), "hard", 9)
    silent = await served.stub.Decide(request, timeout=CALL_SECONDS, metadata=caller())
    request.explain = True
    told = await served.stub.Decide(request, timeout=CALL_SECONDS, metadata=caller())
    assert not silent.candidates
    assert told.action_index == silent.action_index
    assert told.action_index in [one.action_index for one in told.candidates]
    assert all(one.action_index < len(request.legal_actions) for one in told.candidates)
    tried = [one for one in told.candidates if one.HasField("points")]
    assert tried
    assert all(one.deals for one in tried)
    assert [one.points for one in tried] == sorted([one.points for one in tried], reverse=True)


async def test_decisions_are_counted_by_bot_and_outcome(served: Served) -> None:
    request = request_for(some_turn(), "easy")
    await served.stub.Decide(request, timeout=CALL_SECONDS, metadata=caller())
    request.legal_actions.pop()
    await refusal(served, request)
    registry = served.app.metrics.registry

    def decisions(outcome: str) -> float | None:
        return registry.get_sample_value("rami_ai_decisions_total", {"level": "easy", "outcome": outcome})

    assert (decisions("ok"), decisions("invalid")) == (1, 1)
    assert registry.get_sample_value("rami_ai_decision_seconds_count", {"level": "easy"}) == 2
    assert registry.get_sample_value("rami_ai_workers", {"state": "idle"}) == 1
    assert registry.get_sample_value("rami_ai_queue_depth") == 0


async def test_every_wrong_request_is_invalid_and_the_field_named(served: Served) -> None:
    for spoiled in SPOILED:
        request = request_for(some_turn(), "easy")
        spoiled.spoil(request)
        error = await refusal(served, request)
        assert error.code is grpc.StatusCode.INVALID_ARGUMENT, spoiled.what
        assert error.reason == reasons.ERROR_REASON_INVALID_REQUEST
        assert error.metadata["field"] == spoiled.field.format(last=len(request.legal_actions) - 1)


async def test_a_request_without_a_view_is_invalid(served: Served) -> None:
    error = await refusal(served, DecideRequest(bot="easy"))
    assert (error.code, error.metadata["field"]) == (grpc.StatusCode.INVALID_ARGUMENT, "view")


async def test_r7_a_decision_for_other_rules_is_a_failed_precondition(served: Served) -> None:
    for field, value in (("rules_version", "1.0.9"), ("rules_version", ""), ("rules_id", "gin")):
        request = request_for(some_turn(), "easy")
        setattr(request.view, field, value)
        error = await refusal(served, request)
        assert error.code is grpc.StatusCode.FAILED_PRECONDITION
        assert error.reason == reasons.ERROR_REASON_RULES_VERSION_MISMATCH
        assert error.metadata == {"rules_id": RULES_ID, "rules_version": RULES_VERSION}


async def test_an_unknown_bot_is_not_found(served: Served) -> None:
    for bot in ("", "expert", "EASY"):
        error = await refusal(served, request_for(some_turn(), bot))
        assert (error.code, error.reason) == (grpc.StatusCode.NOT_FOUND, reasons.ERROR_REASON_BOT_NOT_FOUND)
        assert error.metadata == {"bot": bot}


async def test_only_services_with_a_token_for_this_one_may_call(served: Served) -> None:
    expired = bearer(service_token("rami-ai", lifetime_seconds=-30))
    cases: tuple[tuple[Any, grpc.StatusCode, int], ...] = (
        (None, grpc.StatusCode.UNAUTHENTICATED, reasons.ERROR_REASON_TOKEN_MISSING),
        (player("ann"), grpc.StatusCode.PERMISSION_DENIED, reasons.ERROR_REASON_SCOPE_MISSING),
        (service("rami-game"), grpc.StatusCode.UNAUTHENTICATED, reasons.ERROR_REASON_TOKEN_INVALID),
        (expired, grpc.StatusCode.UNAUTHENTICATED, reasons.ERROR_REASON_TOKEN_EXPIRED),
    )
    for metadata, code, reason in cases:
        error = await refusal(served, request_for(some_turn(), "easy"), metadata)
        assert (error.code, error.reason) == (code, reason)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await served.stub.ListBots(messages.ListBotsRequest(), timeout=CALL_SECONDS, metadata=metadata)
        assert caught.value.code() is code


async def test_a_decision_without_a_deadline_is_refused(served: Served) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await served.stub.Decide(request_for(some_turn(), "easy"), metadata=caller())
    assert from_rpc_error(caught.value).reason == reasons.ERROR_REASON_DEADLINE_REQUIRED


async def test_the_bots_are_listed_weakest_first_and_in_pages(served: Served) -> None:
    async def page(size: int, token: str) -> messages.ListBotsResponse:
        request = messages.ListBotsRequest(page_size=size, page_token=token)
        return await served.stub.ListBots(request, timeout=CALL_SECONDS, metadata=caller())

    whole = await page(0, "")
    assert [bot.bot for bot in whole.bots] == [bot.id for bot in BOTS]
    assert all(bot.display_name and bot.description for bot in whole.bots)
    assert whole.next_page_token == ""
    first = await page(2, "")
    rest = await page(2, first.next_page_token)
    assert [*first.bots, *rest.bots] == list(whole.bots)
    assert rest.next_page_token == ""


async def test_pages_that_do_not_exist_are_invalid(served: Served) -> None:
    tokens = [(1, token, "page_token") for token in ("x", "0", "3", "-1", "²", "9" * 99)]
    for size, token, field in [(-1, "", "page_size"), (101, "", "page_size"), *tokens]:
        request = messages.ListBotsRequest(page_size=size, page_token=token)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await served.stub.ListBots(request, timeout=CALL_SECONDS, metadata=caller())
        error = from_rpc_error(caught.value)
        assert (error.code, error.metadata["field"]) == (grpc.StatusCode.INVALID_ARGUMENT, field)


async def test_two_processes_decide_the_same() -> None:
    request = request_for(some_turn(4, players=3), "hard", 123456789)
    async with serving(workers=2) as one, serving() as other:
        answers = await asyncio.gather(
            *[served.stub.Decide(request, timeout=CALL_SECONDS, metadata=caller()) for served in (one, one, one, other)]
        )
    assert len({answer.action_index for answer in answers}) == 1
