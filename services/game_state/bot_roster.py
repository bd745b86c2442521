"""The bot profiles that may be seated: which there are, who decides for each, and what they are called.

Most are the AI service's. A profile can also be somebody else's, who runs a decision service of its own: the operator
registers its address, and it gets tokens that are good for that profile and for no Rami service. Names and
descriptions come from the services themselves, which may be away when a room is made: then there are only ids.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from rami.game.v1 import game_service_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from game_state.decision_client import DecisionClient
    from rami.ai.v1 import decision_service_pb2

REFRESH_SECONDS: Final = 30.0
RETRY_SECONDS: Final = 2.0
LIST_SECONDS: Final = 2.0
"""How long a service has to list its bots."""
MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 256
"""Characters of what a service says of a bot that are passed on."""


class BotRoster:
    """All profiles of a game service. `run` keeps what they are called current."""

    def __init__(
        self, own_profiles: Sequence[str], own: DecisionClient, third_parties: Mapping[str, DecisionClient]
    ) -> None:
        """`own` decides for every profile that is nobody else's, autopilot's included."""
        self.profiles: Final = (*own_profiles, *third_parties)
        """Their ids, in the order in which they are listed."""
        self._own = own
        self._third_parties = third_parties
        self._known: dict[str, pb.BotProfile] = {}

    def source(self, bot: str) -> DecisionClient:
        """Who decides for a profile."""
        return self._third_parties.get(bot, self._own)

    def describe(self, bot: str) -> pb.BotProfile:
        """What is known of a profile."""
        return self._known.get(bot) or pb.BotProfile(bot=bot, third_party=bot in self._third_parties)

    async def run(self) -> None:
        """Ask the services what their bots are called, for ever."""
        clients = [self._own, *self._third_parties.values()]
        while True:
            listed = await asyncio.gather(*(client.list_bots(LIST_SECONDS) for client in clients))
            for client, bots in zip(clients, listed, strict=True):
                self._note(client, bots)
            unknown = [bot for bot in self.profiles if bot not in self._known]
            await asyncio.sleep(RETRY_SECONDS if unknown else REFRESH_SECONDS)

    async def close(self) -> None:
        """End the connections to all services."""
        await asyncio.gather(self._own.close(), *(client.close() for client in self._third_parties.values()))

    def _note(self, client: DecisionClient, bots: Iterable[decision_service_pb2.Bot]) -> None:
        for bot in bots:
            if bot.bot in self.profiles and self.source(bot.bot) is client:
                self._known[bot.bot] = pb.BotProfile(
                    bot=bot.bot,
                    display_name=bot.display_name[:MAX_NAME],
                    description=bot.description[:MAX_DESCRIPTION],
                    third_party=bot.bot in self._third_parties,
                )


__all__ = ["BotRoster"]
