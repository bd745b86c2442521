"""What the edge refuses by itself, in the words of the services: too many, too often, nobody there."""

from __future__ import annotations

import asyncio

import grpc
import grpc.aio
import pytest

from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1 import game_service_pb2_grpc
from support.details import reason_and_pause, status_of
from support.edge_process import fake_services, running_edge
from support.grpc_web import call
from support.waiting import eventually

LIST_ROOMS = "/rami.game.v1.GameService/ListRooms"


async def test_calls_beyond_what_waits_are_refused_at_once_and_all_is_served_afterwards() -> None:
    async with (
        fake_services() as services,
        running_edge(services, MAX_CALLS="8", MAX_STREAMS="13") as edge,
        grpc.aio.insecure_channel(edge.target) as channel,
    ):
        (service,) = services
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        # Streams are no waiting calls, however many there are.
        streams = [stub.WatchRoom(pb.WatchRoomRequest(room_id="a")) for _ in range(12)]
        for stream in streams:
            await stream.read()

        service.gate.clear()
        waiting = [asyncio.create_task(_list_rooms(stub)) for _ in range(8)]
        await eventually(lambda: service.waiting == 8, "the service is full")
        refusals = await asyncio.gather(*(_list_rooms(stub) for _ in range(20)))
        for refusal in refusals:
            assert refusal is not None
            assert refusal.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert refusal.details() == "too many calls at once"
            assert reason_and_pause(status_of(refusal)) == ("OVERLOADED", 0.5)
            assert status_of(refusal).code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
        assert service.waiting == 8, "none of the refused calls has reached the service"
        late = stub.WatchRoom(pb.WatchRoomRequest(room_id="a"))
        await late.read()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.WatchRoom(pb.WatchRoomRequest(room_id="a")).read()
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert reason_and_pause(status_of(caught.value)) == ("OVERLOADED", 0.5)

        # A browser is told the same.
        async with call(edge.target, LIST_ROOMS, pb.ListRoomsRequest(), grpc_timeout="5S") as response:
            assert await response.message() is None
            assert (response.status, response.trailers["grpc-status"]) == (200, "8")
            assert reason_and_pause(response.details()) == ("OVERLOADED", 0.5)

        service.gate.set()
        assert await asyncio.gather(*waiting) == [None] * 8
        for _ in range(20):
            assert await _list_rooms(stub) is None
        for stream in (*streams, late):
            stream.cancel()


async def test_an_address_that_calls_too_often_is_told_when_to_come_back_and_others_are_not() -> None:
    async with (
        fake_services() as services,
        running_edge(services, CALLS_PER_SECOND="0.01", CALL_BURST="5") as edge,
        grpc.aio.insecure_channel(edge.target) as channel,
    ):
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        for _ in range(5):
            assert await _list_rooms(stub) is None
        # A header of the client's own does not make it somebody else.
        for metadata in ((), (("x-forwarded-for", "9.9.9.9"),)):
            refusal = await _list_rooms(stub, metadata)
            assert refusal is not None
            assert refusal.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert reason_and_pause(status_of(refusal)) == ("RATE_LIMITED", 1.0)
        stream = stub.WatchRoom(pb.WatchRoomRequest(room_id="a"))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stream.read()
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert len(services[0].calls) == 5

        async with call(edge.target, LIST_ROOMS, pb.ListRoomsRequest(), source="127.0.0.2") as response:
            assert await response.message() == b""
        assert services[0].calls[-1][1]["x-forwarded-for"] == "127.0.0.2"


async def test_without_a_service_callers_are_told_to_come_back() -> None:
    async with (
        fake_services() as services,
        running_edge(services) as edge,
        grpc.aio.insecure_channel(edge.target) as channel,
    ):
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        assert await _list_rooms(stub) is None
        await services[0].stop()
        refusal = await _list_rooms(stub)
        assert refusal is not None
        assert refusal.code() is grpc.StatusCode.UNAVAILABLE
        assert reason_and_pause(status_of(refusal)) == ("PEER_UNAVAILABLE", 0.5)


async def test_what_a_service_has_seen_is_never_sent_again() -> None:
    async with (
        fake_services(2) as services,
        running_edge(services) as edge,
        grpc.aio.insecure_channel(edge.target) as channel,
    ):
        stub = game_service_pb2_grpc.GameServiceStub(channel)
        for code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL, grpc.StatusCode.RESOURCE_EXHAUSTED):
            for service in services:
                service.calls.clear()
                service.refusal = code
            for number in range(10):
                refusal = await _list_rooms(stub)
                assert refusal is not None
                assert refusal.code() is code, "a service's own refusals pass as they are"
                assert refusal.details() == "as the test wants it"
                assert sum(len(service.calls) for service in services) == number + 1


async def _list_rooms(
    stub: game_service_pb2_grpc.GameServiceAsyncStub, metadata: tuple[tuple[str, str], ...] = ()
) -> grpc.aio.AioRpcError | None:
    """None for an answer, else the refusal."""
    try:
        await stub.ListRooms(pb.ListRoomsRequest(), timeout=30, metadata=metadata)
    except grpc.aio.AioRpcError as error:
        return error
    return None
