"""Asking several processes of a decision service: who is asked, and what of processes that come, go and fail."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

import grpc
import grpc.aio
import pytest

import game_state.decision_client
import game_state.decision_line
from game_state.config import GameSettings
from game_state.decision_client import DecisionClient, Place, format_address
from rami.ai.v1 import decision_service_pb2 as pb
from rami.ai.v1 import decision_service_pb2_grpc
from rami_kit.auth import ServiceTokens
from rami_kit.testing import make_settings
from support.ports import free_port
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Sequence

LONG = 20.0


class Bots(decision_service_pb2_grpc.DecisionServiceServicer):
    """A decision service that answers when it is told to, and always with its own number."""

    def __init__(self, number: int, *, streams: bool = True, takes_more: bool = False) -> None:
        self.number = number
        self.streams = streams
        self.takes_more = takes_more
        self.messages = 0
        self.go = asyncio.Event()
        self.go.set()
        self.asked = 0
        self.opened = 0
        self.port = 0
        self._server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
        decision_service_pb2_grpc.add_DecisionServiceServicer_to_server(self, self._server)

    async def __aenter__(self) -> Self:
        self.port = self._server.add_insecure_port(f"127.0.0.1:{self.port}")
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop(None)

    async def Decide(self, _request: pb.DecideRequest, _context: Any) -> pb.DecideResponse:  # noqa: N802 - the RPC
        self.asked += 1
        await self.go.wait()
        return pb.DecideResponse(action_index=self.number)

    async def ListBots(self, _request: pb.ListBotsRequest, _context: Any) -> pb.ListBotsResponse:  # noqa: N802 - the RPC
        return pb.ListBotsResponse()

    async def DecideMany(  # noqa: N802 - the RPC
        self, requests: AsyncIterator[pb.DecideManyRequest], context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[pb.DecideManyResponse]:
        if not self.streams:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "not here")
        self.opened += 1
        async for request in requests:
            together = (request, *request.more)
            self.messages += 1
            self.asked += len(together)
            await self.go.wait()
            decision = pb.DecideResponse(action_index=self.number)
            first, *others = [pb.DecideManyResponse(call_id=one.call_id, decision=decision) for one in together]
            first.takes_more = self.takes_more
            first.more.extend(others)
            yield first


@asynccontextmanager
async def client_of(target: str, resolve: Any = None) -> AsyncIterator[DecisionClient]:
    settings = make_settings(GameSettings, "redis://127.0.0.1:1/0")
    tokens = ServiceTokens(settings, "rami-ai")
    client = DecisionClient(target, settings, tokens, *([resolve] if resolve else []))
    looking_up = asyncio.create_task(client.run())
    try:
        yield client
    finally:
        looking_up.cancel()
        await client.close()


async def ask(client: DecisionClient, tried: set[str] | None = None, seconds: float = LONG) -> Any:
    request = pb.DecideRequest(bot="easy").SerializeToString()
    return await client.ask(request, seconds, set() if tried is None else tried)


def target_of(bots: Sequence[Bots]) -> str:
    return ",".join(f"127.0.0.1:{each.port}" for each in bots)


@pytest.mark.parametrize(
    ("target", "places"),
    [
        ("ai:7002", [Place("ai", 7002)]),
        ("dns:///ai-headless:7002", [Place("ai-headless", 7002)]),
        ("10.0.0.1:1, 10.0.0.2:2", [Place("10.0.0.1", 1), Place("10.0.0.2", 2)]),
        ("[::1]:7002", [Place("::1", 7002)]),
        ("unix:/run/ai.sock", [Place("unix:/run/ai.sock", 0)]),
        ("unix:///run/ai:1", [Place("unix:///run/ai:1", 0)]),
        ("dns://8.8.8.8/ai:7002", [Place("dns://8.8.8.8/ai:7002", 0)]),
        ("ipv4:10.0.0.1:7002", [Place("ipv4:10.0.0.1:7002", 0)]),
    ],
)
def test_targets_are_read_as_grpc_reads_them(target: str, places: list[Place]) -> None:
    assert Place.parse_all(target) == places


@pytest.mark.parametrize(("address", "target"), [("10.0.0.1", "ipv4:10.0.0.1:7"), ("::1", "ipv6:[::1]:7")])
def test_addresses_become_targets(address: str, target: str) -> None:
    assert format_address(address, 7) == target


@pytest.mark.parametrize("streams", [True, False], ids=["stream", "calls"])
async def test_equal_work_is_shared_equally(streams: bool) -> None:
    async with AsyncExitStack() as stack:
        bots = [await stack.enter_async_context(Bots(number, streams=streams)) for number in range(4)]
        client = await stack.enter_async_context(client_of(target_of(bots)))

        # Nobody is answered before everybody has asked: who is quicker for a moment gets no more.
        for asked in range(0, 100, 2):
            for each in bots:
                each.go.clear()
            asking = [asyncio.create_task(ask(client)) for _ in range(8)]
            # Bound to this turn of the loop; mypy infers no lambda with a default.
            await eventually(lambda asked=asked: all(each.asked > asked for each in bots), "all are asked")  # type: ignore[misc]
            for each in bots:
                each.go.set()
            assert [answer.outcome for answer in await asyncio.gather(*asking)] == ["ok"] * 8
        shares = [each.asked for each in bots]
    assert shares == [100] * 4
    assert [each.opened for each in bots] == [int(streams)] * 4, "one stream serves everything"


async def test_who_is_busy_is_not_asked() -> None:
    async with Bots(0) as busy, Bots(1) as idle, client_of(target_of([busy, idle])) as client:
        busy.go.clear()
        waiting = [asyncio.create_task(ask(client)) for _ in range(2)]
        await eventually(lambda: busy.asked == 1 and idle.asked == 1, "each is asked")
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)  # the idle one has answered
        found = Counter([(await ask(client)).place for _ in range(10)])
        busy.go.set()
        await asyncio.gather(*waiting)
    assert found == {1: 10}


async def test_another_try_goes_elsewhere() -> None:
    async with Bots(0) as first, Bots(1) as second, client_of(target_of([first, second])) as client:
        tried: set[str] = set()
        places = [(await ask(client, tried)).place for _ in range(2)]
        assert sorted(places) == [0, 1]
        assert (await ask(client, tried)).outcome == "ok", "when all were tried, any is better than none"


async def test_a_process_that_dies_loses_nothing_that_others_can_do() -> None:
    async with Bots(0) as stays, client_of("placeholder:1", _names([stays.port])) as client:
        assert (await ask(client)).place == 0
    dies = Bots(1)
    dies.port = free_port()  # nobody else listens there afterwards
    async with dies:
        pass
    async with Bots(0) as stays, client_of(target_of([stays, dies])) as client:
        for _ in range(20):
            tried: set[str] = set()
            answer = await ask(client, tried)
            if answer.outcome != "ok":
                assert answer.outcome == "unavailable"
                answer = await ask(client, tried)
            assert answer.place == 0


def _names(ports: list[int]) -> Any:
    """A resolver under which a name has as many addresses as there are ports."""

    async def resolve(_host: str, _port: int) -> Collection[str]:
        return [f"ipv4:127.0.0.1:{port}" for port in ports]

    return resolve


async def test_processes_come_and_go_under_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(game_state.decision_client, "LOOK_UP_SECONDS", 0.02)
    async with Bots(0) as first, Bots(1) as second:
        ports = [first.port]
        async with client_of("ai:7002", _names(ports)) as client:
            assert (await ask(client)).place == 0
            ports.append(second.port)
            await eventually(lambda: len(client.addresses) == 2, "the second has been found")
            assert {(await ask(client, set())).place for _ in range(40)} == {0, 1}

            first.go.clear()
            open_there = [asyncio.create_task(ask(client)) for _ in range(4)]
            await eventually(lambda: first.asked > 0 and second.asked > 0, "both are asked")
            ports.remove(first.port)
            await eventually(lambda: len(client.addresses) == 1, "the first has gone from the name")
            assert {(await ask(client)).place for _ in range(10)} == {1}
            first.go.set()
            assert {answer.outcome for answer in await asyncio.gather(*open_there)} == {"ok"}


async def test_a_name_that_cannot_be_looked_up_keeps_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(game_state.decision_client, "LOOK_UP_SECONDS", 0.02)
    looked_up = 0

    async with Bots(0) as bots:

        async def resolve(_host: str, _port: int) -> Collection[str]:
            nonlocal looked_up
            looked_up += 1
            if looked_up == 2:
                raise OSError("no such name")
            return [f"ipv4:127.0.0.1:{bots.port}"]

        async with client_of("ai:7002", resolve) as client:
            assert (await ask(client)).place == 0
            await eventually(lambda: looked_up > 2, "it was looked up again")
            assert (await ask(client)).place == 0
            assert bots.opened == 1


async def test_nobody_there_is_an_answer_too() -> None:
    async def resolve(_host: str, _port: int) -> Collection[str]:
        raise OSError("no such name")

    async with client_of("ai:7002", resolve) as client:
        assert (await ask(client)).outcome == "unavailable"


async def test_a_stream_is_followed_by_another_and_nothing_open_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream ends with the token that it was opened with."""
    monkeypatch.setattr(game_state.decision_line, "STREAM_SECONDS", 0.0)
    async with Bots(0) as bots, client_of(target_of([bots])) as client:
        bots.go.clear()
        waiting = [asyncio.create_task(ask(client)) for _ in range(5)]
        await eventually(lambda: bots.opened == 5, "each has a stream of its own")
        bots.go.set()
        assert [answer.outcome for answer in await asyncio.gather(*waiting)] == ["ok"] * 5


async def test_a_late_answer_is_given_up_and_the_stream_goes_on() -> None:
    async with Bots(0) as bots, client_of(target_of([bots])) as client:
        bots.go.clear()
        assert (await ask(client, seconds=0.05)).outcome == "deadline_exceeded"
        bots.go.set()
        assert (await ask(client)).outcome == "ok"
        assert bots.opened == 1


@pytest.mark.parametrize(("takes_more", "messages"), [(True, 2), (False, 6)])
async def test_what_is_asked_at_once_shares_a_message_where_the_service_says_so(
    takes_more: bool, messages: int
) -> None:
    async with Bots(4, takes_more=takes_more) as bots, client_of(target_of([bots])) as client:
        assert (await ask(client)).place == 4, "alone: nothing is known of the service before its first answer"
        answers = await asyncio.gather(*(ask(client) for _ in range(5)))
        assert [answer.place for answer in answers] == [4] * 5
        assert bots.asked == 6
        assert bots.messages == messages


async def test_no_message_brings_more_than_the_longest_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(game_state.decision_line, "MAX_MORE", 1)
    async with Bots(4, takes_more=True) as bots, client_of(target_of([bots])) as client:
        await ask(client)
        await asyncio.gather(*(ask(client) for _ in range(4)))
        assert bots.messages == 1 + 2


async def test_a_stream_that_is_to_end_sends_what_waits_before(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Bots(4, takes_more=True) as bots, client_of(target_of([bots])) as client:
        await ask(client)
        asked = [asyncio.create_task(ask(client)) for _ in range(3)]
        await asyncio.sleep(0)  # they have been put down, and nobody has sent them
        monkeypatch.setattr(game_state.decision_line, "STREAM_SECONDS", 0.0)
        answers = await asyncio.gather(*asked, ask(client))
        assert [answer.place for answer in answers] == [4] * 4
        assert bots.opened == 2
