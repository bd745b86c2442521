"""Bots under the options of a room: every round is played to its end by its rules, whoever sits at the table."""

import random
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from rami_bots import BOTS
from rami_engine import (
    ActionKind,
    EndReason,
    Guards,
    Phase,
    RuleOptions,
    apply,
    legal_actions_for,
    mask_points,
    new_match,
    start_round,
)
from unit.bots.asking import time_for, view_of_turn
from unit.engine.positions import shuffled

BOTH = RuleOptions(target_score=1000, ace_high=True, discard_to_win=True)
OPTIONS = (replace(BOTH, discard_to_win=False), replace(BOTH, ace_high=False), BOTH)
ROUNDS = 9


@pytest.mark.parametrize("options", OPTIONS, ids=["ace high", "discard to win", "both"])
def test_rounds_end_by_the_options(options: RuleOptions) -> None:
    rng = random.Random(7)
    went_out: Counter[str] = Counter()
    for players, number in product((2, 3, 4), range(ROUNDS)):
        bots = [BOTS[(seat + number) % len(BOTS)] for seat in range(players)]
        match = new_match(players, options, Guards())
        start_round(match, shuffled(rng))
        while True:
            view = view_of_turn(match)
            seat = view.viewer
            assert seat is not None
            legal = legal_actions_for(view)
            action = bots[seat].policy(view, legal, rng.getrandbits(64), time_for(8))
            assert action in legal
            end = apply(match, seat, action).round_end
            if end is not None:
                break
        assert match.phase == Phase.ROUND_OVER
        assert match.round is not None
        assert end.hand_points == tuple(mask_points(hand, options.ace_high) for hand in match.round.hands)
        assert end.points == sum(end.hand_points) - end.hand_points[end.winner]
        if end.reason == EndReason.WENT_OUT:
            went_out[bots[end.winner].id] += 1
            assert not options.discard_to_win or action.kind == ActionKind.DISCARD
    # None is kept from going out by a rule that it does not understand.
    assert set(went_out) == {bot.id for bot in BOTS}
