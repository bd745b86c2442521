"""Rooms as stored bytes, one for each state that a room can be in, and what is in them.

`python -m support.stored_rooms` (in tests/) writes those of the layout of today, and the fields that the layout has. It
is done once for each layout: what is kept in tests/golden/data/rooms-<layout>.jsonl was written by the build that
brought the layout, and every later build must read it.
"""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from game_state.codec import SCHEMA, encode_room, room_header
from rami.store.v1 import room_state_pb2
from rami_engine import RuleOptions
from support.game_tables import ROOM_ID, Table, table_options

if TYPE_CHECKING:
    from game_state.room import Room
    from rami_engine import MatchState


def tables() -> dict[str, Table]:
    """A table in each state, by what it shows."""
    lobby = Table(["ann", "", "bot:hard"], join_code="p0-ABCDEFGH")
    lobby.entropy("ann")

    playing = Table(["ann", "bot:easy", "bob"], options=table_options(bot_pace_ms=0, turn_limit_ms=30_000))
    playing.entropy("bob", b"more entropy")
    playing.start()
    playing.play_turn("ann")
    playing.play_on(random.Random(5), 30)

    away = Table(["ann", "bob"], options=table_options(turn_limit_ms=10_000))
    away.start()
    away.wait(10_000)
    away.tick()
    away.leave("bob")

    matched = Table(["ann", "bob"], options=table_options(auto_start=True), match_id=b"0123456789abcdef")

    over = Table(["ann", "bob"], options=table_options(rules=RuleOptions(1, True, True), public=True))
    over.start()
    over.play_on(random.Random(7))
    return {
        "a lobby": lobby,
        "a match of people and a bot": playing,
        "a player who is away": away,
        "a matched room": matched,
        "a match that is over": over,
    }


def summary(room: Room) -> dict[str, Any]:
    """What a room holds, as JSON: enough to tell that nothing is lost or misread."""
    match = room.match
    return {
        "version": room.version,
        "status": room.status.name,
        "host": room.host,
        "seats": [[seat.player_id, seat.bot, seat.missed, seat.left, seat.entropy.hex()] for seat in room.seats],
        "times": [room.create_ms, room.expire_ms, room.turn_deadline_ms, room.bot_ms, room.advance_ms, room.start_ms],
        "options": repr(room.options),
        "guards": repr(room.guards),
        "commitment": room.commitment.hex(),
        "seed": room.chain.seed(3).hex(),
        "match": None if match is None else _match(match),
        "other": [room.join_code, room.match_id.hex(), room.autopilot, room.abandoned, room.rematch_room_id],
    }


def layout_fields() -> list[str]:
    """Every field of a stored room, as message.field number: what a number of a layout stands for."""
    found: dict[str, None] = {}
    open_messages = [room_state_pb2.RoomState.DESCRIPTOR]
    for message in open_messages:
        for field in message.fields:
            found[f"{message.name}.{field.name} {field.number}"] = None
            if field.message_type is not None and field.message_type not in open_messages:
                open_messages.append(field.message_type)
    return sorted(found)


def _match(match: MatchState) -> dict[str, Any]:
    current = match.round
    assert current is not None
    return {
        "phase": match.phase.name,
        "scores": match.scores,
        "turns": [match.turns, current.number, current.turns, current.turn],
        "hands": current.hands,
        "melds": current.melds,
        "discards": list(current.discards),
        "stock": list(current.deck[current.stock_pos :]),
        "history": sorted(map(repr, current.history.by_card.values())),
        "winner": match.winner,
    }


def main() -> None:
    lines = [
        json.dumps(
            {
                "about": about,
                "room_id": ROOM_ID,
                "stored": base64.b64encode(room_header(table.room) + encode_room(table.room)).decode(),
                "holds": summary(table.room),
            }
        )
        for about, table in tables().items()
    ]
    file = Path(__file__).parent.parent / "golden" / "data" / f"rooms-{SCHEMA}.jsonl"
    file.write_text("\n".join(lines) + "\n")
    file.with_suffix(".fields").write_text("\n".join(layout_fields()) + "\n")


if __name__ == "__main__":
    main()
