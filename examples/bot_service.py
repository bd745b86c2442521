"""A bot service of your own: everything that Rami needs to let your program play at its tables.

RAMI_BOT_KEY=$(rami bot-key magpie) python examples/bot_service.py 7100
RAMI_BOT_SERVICES=magpie=127.0.0.1:7100 rami up
"""

from __future__ import annotations

import asyncio
import os
import sys

import grpc.aio
import jwt

from rami.ai.v1 import decision_service_pb2 as pb
from rami.ai.v1 import decision_service_pb2_grpc

BOT = "magpie"


class Magpie(decision_service_pb2_grpc.DecisionServiceServicer):
    """Takes what lies open, lays melds as soon as it can, and throws the dearest card away."""

    async def Decide(self, request, context):
        """Only legal actions are offered: whatever is chosen can be played."""
        await self._check(context)
        kinds = [action.WhichOneof("kind") for action in request.legal_actions]
        for wanted in ("draw_discard", "meld", "lay_off", "draw_stock"):
            if wanted in kinds:
                return pb.DecideResponse(action_index=kinds.index(wanted))
        # Discards are all that is left. A suit has 13 cards, from two to ace.
        ranks = [(action.discard.card - 1) % 13 for action in request.legal_actions]
        return pb.DecideResponse(action_index=ranks.index(max(ranks)))

    async def ListBots(self, request, context):
        """The name is what people see when they choose a bot."""
        await self._check(context)
        bot = pb.Bot(bot=BOT, display_name="Magpie", description="Takes whatever glitters.")
        return pb.ListBotsResponse(bots=[bot])

    async def _check(self, context):
        """Only your cluster may ask: its tokens are signed with the key of this bot."""
        token = dict(context.invocation_metadata()).get("authorization", "").removeprefix("Bearer ")
        try:
            jwt.decode(token, os.environ["RAMI_BOT_KEY"], algorithms=["HS256"], audience=f"rami-bot:{BOT}")
        except jwt.InvalidTokenError:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "a token of the cluster is needed")


async def main(port: str) -> None:
    """Serve until the process is ended."""
    server = grpc.aio.server()
    decision_service_pb2_grpc.add_DecisionServiceServicer_to_server(Magpie(), server)
    print("serving on", server.add_insecure_port(f"127.0.0.1:{port}"), flush=True)
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
