"""The order of strength, from few deals: far from measuring it, close enough to notice a bot that has lost its wits.

Everything follows from seeds, so a result changes with the bots only. The bounds leave room for that; `rami bench bots`
measures with as many deals as it takes.
"""

import pytest

from rami_bots import OutOfTime, Policy, find_bot
from rami_bots.arena import Player, Sample, duel, honest, mean_lead, win_rate
from rami_engine import Action, MatchState, RuleOptions, legal_actions, seat_view
from unit.bots.asking import time_for

EASY, NORMAL = (honest(find_bot(bot).policy) for bot in ("easy", "normal"))
ROUND = RuleOptions(target_score=1)


def hurried(policy: Policy, deals: int) -> Player:
    """A policy with time for so many supposed deals at each decision."""

    def play(match: MatchState, seat: int, seed: int) -> Action:
        out_of_time: OutOfTime = time_for(deals)
        return policy(seat_view(match, seat), legal_actions(match, seat), seed, out_of_time)

    return play


def samples(challenger: Player, other: Player, players: int, deals: int, options: RuleOptions) -> list[Sample]:
    return list(duel(challenger, other, range(deals), lambda: 0.0, players=players, seed=20, options=options))


@pytest.mark.parametrize(("players", "deals"), [(2, 24), (3, 24), (4, 30)])
def test_normal_beats_easy(players: int, deals: int) -> None:
    won = samples(NORMAL, EASY, players, deals, RuleOptions())
    assert win_rate(won).mean > 1.2 / players
    assert mean_lead(won).low > 0


@pytest.mark.parametrize("options", [RuleOptions(ace_high=True), RuleOptions(discard_to_win=True)], ids=str)
def test_normal_beats_easy_under_other_options(options: RuleOptions) -> None:
    won = samples(NORMAL, EASY, 2, 24, options)
    assert win_rate(won).low > 0.5
    assert mean_lead(won).low > 0


def test_hard_in_a_hurry_beats_easy() -> None:
    won = samples(hurried(find_bot("hard").policy, 24), EASY, 4, 16, ROUND)
    assert mean_lead(won).low > 0
