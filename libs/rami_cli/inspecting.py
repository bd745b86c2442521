"""`rami inspect`: a room at one version, from its record alone.

A record comes from the archive, from the game service as any spectator may have it, or, for the operator, from the
store itself: only that one has the seed of a round that is still played, without which no hidden card can be told.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from google.protobuf import json_format
from rich.text import Text

from rami.game.v1 import game_service_pb2 as game
from rami_cli.drawing import draw_card, draw_cards
from rami_cli.replays import replay_names
from rami_client import walk
from rami_wire import replay_record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rami_client import Moment


class InspectionError(Exception):
    """Why a room cannot be shown."""


async def read_from_store(room_id: str) -> game.GetReplayResponse:
    """The record with every seed, by the store that RAMI_REDIS_URL names. Raises InspectionError."""
    # The variables of the game service, and development where nothing else is said: `rami up` runs so.
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "game_state.inspect",
        room_id,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"RAMI_MODE": "development", **os.environ},
    )
    out, complaint = await process.communicate()
    if process.returncode != 0:
        lines = complaint.decode(errors="replace").strip().splitlines()
        raise InspectionError(lines[-1] if lines else "the record of the room cannot be read")
    return json_format.Parse(out, game.GetReplayResponse())


def position_lines(replay: game.GetReplayResponse, version: int | None) -> list[Text]:
    """The table right after the last step up to a version, the newest when None, with all hands face up.

    Raises InspectionError when there is no such step whose cards are known.
    """
    found: tuple[int, Moment] | None = None
    names = replay_names(replay)
    for moment_version, moment in _moments(replay):
        if version is not None and moment_version > version:
            if found is None:
                raise InspectionError(
                    f"no cards were dealt at version {version}: the first deal is version {moment_version}"
                )
            break
        # The walk goes on changing its match.
        found = moment_version, moment._replace(match=moment.match.copy())
    if found is None:
        raise InspectionError("no cards can be shown at this version: the seed of its round is not revealed")
    return list(_draw(*found, names))


def _moments(replay: game.GetReplayResponse) -> Iterator[tuple[int, Moment]]:
    """Every moment of the record and the version it belongs to; a deal belongs to the one before its first action."""
    rounds = {played.round_number: played for played in replay.rounds}
    version = 0
    for moment in walk(replay_record(replay.header, replay.rounds)):
        actions = rounds[moment.place.round_number or 0].actions
        if moment.place.action_number is not None:
            version = actions[moment.place.action_number - 1].version
        elif actions:
            version = max(version, actions[0].version - 1)
        yield version, moment


def _draw(version: int, moment: Moment, names: list[str]) -> Iterator[Text]:
    match = moment.match
    current = match.round
    assert current is not None, "a walk begins with a deal"
    yield Text(f"Version {version}: round {current.number}, turn {current.turns + 1}, {match.phase.name}", style="bold")
    for seat, (name, hand, score) in enumerate(zip(names, current.hands, match.scores, strict=True)):
        mark = "▸" if seat == current.turn else " "
        yield Text.assemble(f"{mark} {name:<18} {score:>4}  ", draw_cards(hand))
    for number, meld in enumerate(current.melds, 1):
        yield Text.assemble(f"  meld {number:<18}  ", draw_cards(meld))
    top = draw_card(current.discards[-1]) if current.discards else Text("none")
    yield Text.assemble("  discard pile ", top, f" on {max(0, len(current.discards) - 1)} more")
    next_card = draw_card(current.deck[current.stock_pos]) if current.stock_count else Text("none")
    yield Text.assemble(f"  stock {current.stock_count}, next card ", next_card)


__all__ = ["InspectionError", "position_lines", "read_from_store"]
