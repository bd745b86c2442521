"""`python -m game_state.inspect ROOM`: the whole record of a room, for the operator, straight from the store.

Prints the JSON of a rami.game.v1.GetReplayResponse as GetReplay gives it, and in it also the seed of the round that is
still played, from which every hidden card follows. Whoever may read the store may see that: there is no other way to
get here, and nothing of this is ever served.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Final

from google.protobuf import json_format

from game_state.config import GameSettings
from game_state.replays import whole_replay
from game_state.repository import RoomRepository
from rami_kit.errors import RamiError
from rami_kit.metrics import GameMetrics, Metrics
from rami_kit.redis_store import Store
from rami_kit.settings import SettingsError, load_settings

USAGE: Final = "usage: python -m game_state.inspect ROOM (RAMI_REDIS_URL names the store)"


async def inspect(room_id: str, settings: GameSettings) -> str:
    """The record as JSON. Raises RamiError."""
    metrics = Metrics()
    store = await Store.connect(settings, metrics)
    try:
        repository = RoomRepository(store, GameMetrics(metrics.registry), kept_rooms=1, lease_ms=1)
        room = await repository.get(room_id)
        replay = await whole_replay(repository, room)
    finally:
        await store.close()
    for played in replay.rounds:
        if not played.seed:
            played.seed = room.chain.seed(played.round_number)
    return json_format.MessageToJson(replay, indent=1)


def main() -> int:
    """The process: 0, 1 when the room cannot be read, 2 for wrong usage."""
    if len(sys.argv) != 2:
        print(USAGE, file=sys.stderr)  # noqa: T201 - a command
        return 2
    try:
        print(asyncio.run(inspect(sys.argv[1], load_settings(GameSettings))))  # noqa: T201 - a command
    except (RamiError, SettingsError) as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
