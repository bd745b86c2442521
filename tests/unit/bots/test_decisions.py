"""Asked why, a bot tells what it considered, and decides as it would have."""

import random
from itertools import pairwise

import pytest

from rami_bots import BOTS, Bot, Considered, decide, find_bot
from rami_bots.hard import STAGES
from rami_engine import Guards, MatchState, Phase, RuleOptions, apply, legal_actions_for, new_match, start_round
from unit.bots.asking import is_in, time_for, view_of_turn
from unit.engine.positions import position, shuffled

SEVEN = "AS 7D 9C QH 2S 6C JC"


def explained(bot: str, match: MatchState, deals: int = 24) -> tuple[Considered, ...]:
    view = view_of_turn(match)
    return decide(find_bot(bot), view, legal_actions_for(view), 1, time_for(deals), explain=True).considered


@pytest.mark.parametrize("bot", BOTS, ids=lambda bot: bot.id)
@pytest.mark.parametrize("players", [2, 3, 4])
def test_reasons_are_legal_actions_with_the_choice_among_them_and_change_nothing(bot: Bot, players: int) -> None:
    rng = random.Random(players)
    match = new_match(players, RuleOptions(target_score=1), Guards(max_turns_per_round=60))
    start_round(match, shuffled(rng))
    while is_in(match, Phase.DRAW, Phase.PLAY):
        view = view_of_turn(match)
        legal = legal_actions_for(view)
        seed = rng.getrandbits(64)
        silent = decide(bot, view, legal, seed, time_for(8))
        told = decide(bot, view, legal, seed, time_for(8), explain=True)
        assert silent.considered == ()
        assert told.action == silent.action
        actions = [one.action for one in told.considered]
        assert told.action in actions
        assert set(actions) <= set(legal)
        estimates = [one.points for one in told.considered if one.points is not None]
        assert all(better >= worse for better, worse in pairwise(estimates))
        assert view.viewer is not None
        apply(match, view.viewer, told.action)


def test_easy_weighs_isolated_cards_by_their_points() -> None:
    match = position("KD QD 9H 5C 5S 2H 2C", SEVEN, discards="8C")
    assert [(one.points, one.deals) for one in explained("easy", match)] == [(9, 0)]


def test_a_draw_is_weighed_by_the_points_it_is_known_to_save() -> None:
    match = position("5D 6D KC 2S", SEVEN, phase=Phase.DRAW, discards="4D")
    for bot in ("easy", "normal"):
        assert [one.points for one in explained(bot, match)] == [11, 0]


def test_hard_tells_in_how_many_deals_it_tried_what() -> None:
    match = position("KD KC 9H TH QS 2C 6D 4S", SEVEN.replace("QH", "3H"), discards="8C")
    considered = explained("hard", match, deals=30)
    assert {one.deals for one in considered} == {STAGES[2][0].deals, 30}
    assert all(one.points is not None for one in considered)


def test_what_could_not_be_tried_has_no_estimate() -> None:
    match = position("KD KC 9H TH QS 2C 6D 4S", SEVEN.replace("QH", "3H"), discards="8C")
    assert {(one.points, one.deals) for one in explained("hard", match, deals=0)} == {(None, 0)}
    forced = position("2D 3D 4D 9H TH JH QH KC", SEVEN, discards="6D")
    assert [one.points for one in explained("hard", forced)] == [None]
