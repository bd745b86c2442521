"""The order of strength, from few deals: far from measuring it, close enough to notice a bot that has lost its wits.

Everything follows from seeds, so a result changes with the bots only. The bounds leave room for that; `rami bench bots`
measures with as many deals as it takes.
"""

from dataclasses import replace

import pytest

from rami_bots import OutOfTime, Policy, find_bot
from rami_bots.arena import Player, Sample, duel, honest, mean_lead, win_rate
from rami_engine import Action, MatchState, RuleOptions, legal_actions, seat_view
from unit.bots.asking import time_for

EASY, NORMAL = (honest(find_bot(bot).policy) for bot in ("easy", "normal"))
ROUND = RuleOptions(target_score=1)
OPTIONS = (RuleOptions(ace_high=True), RuleOptions(discard_to_win=True))


def hurried(policy: Policy, deals: int) -> Player:
    """A policy with time for so many supposed deals at each decision."""

    def play(match: MatchState, seat: int, seed: int) -> Action:
        out_of_time: OutOfTime = time_for(deals)
        return policy(seat_view(match, seat), legal_actions(match, seat), seed, out_of_time)

    return play


HURRIED = hurried(find_bot("hard").policy, 24)


def samples(challenger: Player, other: Player, players: int, deals: int, options: RuleOptions) -> list[Sample]:
    return list(duel(challenger, other, range(deals), lambda: 0.0, players=players, seed=20, options=options))


@pytest.mark.parametrize(("players", "deals"), [(2, 24), (3, 24), (4, 30)])
def test_normal_beats_easy(players: int, deals: int) -> None:
    won = samples(NORMAL, EASY, players, deals, RuleOptions())
    assert win_rate(won).mean > 1.2 / players
    assert mean_lead(won).low > 0


@pytest.mark.parametrize("options", OPTIONS, ids=["ace high", "discard to win"])
@pytest.mark.parametrize(("players", "deals"), [(2, 24), (3, 36), (4, 24)])
def test_normal_beats_easy_under_other_options(players: int, deals: int, options: RuleOptions) -> None:
    won = samples(NORMAL, EASY, players, deals, options)
    assert win_rate(won).mean > 1.1 / players
    assert mean_lead(won).low > 0


@pytest.mark.parametrize("options", [ROUND, replace(ROUND, ace_high=True)], ids=["", "ace high"])
def test_hard_in_a_hurry_beats_easy(options: RuleOptions) -> None:
    assert mean_lead(samples(HURRIED, EASY, 4, 16, options)).low > 0


# Rounds of four seats hardly ever end by going out, so the last discard is of no account there.
@pytest.mark.parametrize(
    ("players", "deals", "options"),
    [(4, 10, replace(ROUND, ace_high=True)), (2, 20, replace(ROUND, discard_to_win=True))],
    ids=["ace high", "discard to win"],
)
def test_hard_in_a_hurry_beats_normal_under_other_options(players: int, deals: int, options: RuleOptions) -> None:
    assert mean_lead(samples(HURRIED, NORMAL, players, deals, options)).mean > 0
