"""Whole matches for client tests: a fake room played to its end, and what one seat wrote down of it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from rami.game.v1 import event_pb2
from rami.game.v1 import game_service_pb2 as game
from rami_client import Receipt
from rami_client.state import RoomMirror
from rami_engine import Action, Guards, RuleOptions, fallback_action, legal_actions, seat_view
from support.fake_room import FakeRoom

if TYPE_CHECKING:
    from rami.game.v1 import replay_pb2

ENTROPY = bytes(range(100, 132))
ROOT = bytes(range(32))


def new_room(names: list[str], *, options: RuleOptions | None = None, root: bytes = ROOT) -> FakeRoom:
    """A room outside any server."""
    guards = Guards(max_turns_per_round=60)
    return FakeRoom("p0-abcdefgh23456723", names, options or RuleOptions(target_score=60), guards, root)


def lively_choice(room: FakeRoom, chance: random.Random) -> tuple[int, Action]:
    """The seat to move, and a legal action: often melds and lay-offs, else at random."""
    assert room.match is not None
    assert room.match.round is not None
    seat = room.match.round.turn
    legal = legal_actions(room.match, seat)
    laying = [action for action in legal if action.kind in (3, 4)]
    return seat, chance.choice(laying) if laying and chance.random() < 0.7 else chance.choice(legal)


def played_match(
    names: list[str], *, options: RuleOptions | None = None, seed: int = 1, root: bytes = ROOT
) -> tuple[FakeRoom, game.GetReplayResponse, Receipt]:
    """A room whose match is over, its replay, and the receipt of seat 0."""
    room = new_room(names, options=options, root=root)
    receipt = Receipt()
    mirror = RoomMirror(player_id=names[0])
    receipt.saw(mirror.take_snapshot(room.snapshot(0, rewound=False)), mirror.seat)
    receipt.brings(ENTROPY)
    room.bring_entropy(0, ENTROPY)
    room.start()
    chance = random.Random(seed)
    while room.match is not None and room.match.winner is None:
        seat, action = lively_choice(room, chance)
        source = event_pb2.ACTION_SOURCE_PLAYER if room.names[seat] else event_pb2.ACTION_SOURCE_BOT
        room.play(seat, action, source)
    for event in room.events_after(mirror.version, 0):
        update = mirror.take_event(event)
        assert update is not None
        receipt.saw(update, mirror.seat)
    replay = game.GetReplayResponse(header=room.replay_header(), rounds=room.rounds)
    return room, replay, receipt


def fallback(room: FakeRoom) -> tuple[int, Action]:
    """The seat to move, and what the fallback plays for it."""
    assert room.match is not None
    assert room.match.round is not None
    seat = room.match.round.turn
    return seat, fallback_action(seat_view(room.match, seat))


def copy_of(replay: game.GetReplayResponse) -> game.GetReplayResponse:
    """A replay that may be tampered with."""
    copied = game.GetReplayResponse()
    copied.CopyFrom(replay)
    return copied


def discard_of(played: replay_pb2.ReplayRound) -> int:
    """The place (from 0) of the first discard of a round."""
    return next(place for place, action in enumerate(played.actions) if action.action.HasField("discard"))
