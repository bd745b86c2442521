"""What callers of an overloaded service see without an edge before it, and what the SDK makes of it."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import grpc
import grpc.aio

from rami.game.v1 import game_service_pb2 as pb
from rami.game.v1 import game_service_pb2_grpc
from rami_client import Client, OverloadedError, RetryPolicy
from rami_client.errors import error_from_call
from rami_kit.testing import player_token
from support.game_process import GameProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

CALLS = 300


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """A process that does nothing for a while: what is sent to it meanwhile comes at once afterwards."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def test_what_a_full_service_drops_ends_as_cancelled_and_the_sdk_repeats_it(store_url: str) -> None:
    async with GameProcess(store_url, max_pending_calls=4) as game:
        assert game.channel is not None
        stub = game_service_pb2_grpc.GameServiceStub(game.channel)
        metadata = (("authorization", f"Bearer {player_token('ann')}"),)

        async def bare() -> grpc.aio.AioRpcError | None:
            try:
                await stub.ListRooms(pb.ListRoomsRequest(), timeout=30, metadata=metadata)
            except grpc.aio.AioRpcError as error:
                return error
            return None

        assert await bare() is None
        dropped: list[grpc.aio.AioRpcError] = []
        async with asyncio.timeout(60):
            while not dropped:  # again where the machine was too busy to send them while the service was frozen
                with frozen(game.pid):
                    calls = [asyncio.create_task(bare()) for _ in range(CALLS)]
                    await asyncio.sleep(0.2)
                dropped = [error for error in await asyncio.gather(*calls) if error is not None]
        assert len(dropped) < CALLS
        for error in dropped:
            assert error.code() is grpc.StatusCode.CANCELLED
            assert not any(key == "grpc-status-details-bin" for key, _ in error.trailing_metadata() or ())
            assert isinstance(error_from_call(error), OverloadedError)

        retry = RetryPolicy(attempts=200, first_backoff_seconds=0.01, max_backoff_seconds=0.2)
        async with Client.connect(game=game.target, token=player_token("ann"), retry=retry) as client:
            assert await client.list_rooms() == []
            with frozen(game.pid):
                listings = [asyncio.create_task(client.list_rooms()) for _ in range(CALLS)]
                await asyncio.sleep(0.2)
            assert await asyncio.gather(*listings) == [[]] * CALLS


async def test_a_call_that_its_caller_gives_up_is_no_overload(store_url: str) -> None:
    async with GameProcess(store_url) as game:
        async with Client.connect(game=game.target, token=player_token("ann")) as client:
            assert await client.list_rooms() == []
            with frozen(game.pid):
                call = asyncio.create_task(client.list_rooms())
                await asyncio.sleep(0)
                call.cancel()
                ended = await asyncio.gather(call, return_exceptions=True)
        assert isinstance(ended[0], asyncio.CancelledError)
