"""A decision service for chaos tests, as a process of its own: plays any legal action, at once.

    python chaos_bots.py

Listens on the port that RAMI_PORT names, or on a free one, and says so in one line as the services do.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from typing import TYPE_CHECKING, Any

import grpc.aio

from rami.ai.v1 import decision_service_pb2 as pb
from rami.ai.v1.decision_service_pb2_grpc import DecisionServiceServicer, add_DecisionServiceServicer_to_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Bots(DecisionServiceServicer):
    """Lays what can be laid more often than not, so that rounds come to an end."""

    async def Decide(  # noqa: N802 - an RPC
        self, request: pb.DecideRequest, _context: grpc.aio.ServicerContext[Any, Any]
    ) -> pb.DecideResponse:
        return decide(request)

    async def DecideMany(  # noqa: N802 - an RPC
        self, requests: AsyncIterator[pb.DecideManyRequest], _context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[pb.DecideManyResponse]:
        async for request in requests:
            yield pb.DecideManyResponse(call_id=request.call_id, decision=decide(request.request))

    async def ListBots(  # noqa: N802 - an RPC
        self, _request: pb.ListBotsRequest, _context: grpc.aio.ServicerContext[Any, Any]
    ) -> pb.ListBotsResponse:
        return pb.ListBotsResponse()


def decide(request: pb.DecideRequest) -> pb.DecideResponse:
    """The same for the same policy seed."""
    chance = random.Random(request.policy_seed)
    kinds = [action.WhichOneof("kind") for action in request.legal_actions]
    laying = [place for place, kind in enumerate(kinds) if kind in ("meld", "lay_off")]
    places = laying if laying and chance.random() < 0.7 else range(len(kinds))
    return pb.DecideResponse(action_index=chance.choice(places))


async def serve() -> None:
    """Serve until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
    add_DecisionServiceServicer_to_server(Bots(), server)
    port = server.add_insecure_port(f"127.0.0.1:{os.environ.get('RAMI_PORT', '0')}")
    await server.start()
    sys.stdout.write(json.dumps({"service": "ai", "port": port}) + "\n")
    sys.stdout.flush()
    await stop.wait()
    await server.stop(None)


if __name__ == "__main__":
    asyncio.run(serve())
