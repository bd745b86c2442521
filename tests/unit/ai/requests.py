"""Requests for decisions, from real positions."""

from __future__ import annotations

import random

from rami.ai.v1 import decision_service_pb2
from rami_engine import (
    Guards,
    MatchState,
    Phase,
    RuleOptions,
    apply,
    legal_actions,
    new_match,
    seat_view,
    start_round,
)
from rami_wire import action_to_proto, view_to_proto
from unit.engine.positions import play_random, round_of, shuffled

DecideRequest = decision_service_pb2.DecideRequest


def some_turn(seed: int = 1, *, players: int = 2, phase: Phase = Phase.PLAY) -> MatchState:
    """A match some turns on, in the given phase."""
    rng = random.Random(seed)
    match = new_match(players, RuleOptions(), Guards())
    start_round(match, shuffled(rng))
    while round_of(match).turns < 7 or match.phase != phase:
        seat = round_of(match).turn
        apply(match, seat, play_random(rng, legal_actions(match, seat)[-3:]))
    return match


def request_for(match: MatchState, bot: str, policy_seed: int = 5) -> DecideRequest:
    """What the game service asks for the seat to move."""
    seat = round_of(match).turn
    return DecideRequest(
        view=view_to_proto(seat_view(match, seat)),
        legal_actions=[action_to_proto(action) for action in legal_actions(match, seat)],
        bot=bot,
        policy_seed=policy_seed,
    )
