"""Hard: what it sees in public decides, its search is bounded, and a lack of time never costs a legal answer."""

import random
from itertools import islice

import pytest

from rami_bots import find_bot, time_enough
from rami_bots.hard import STAGES
from rami_bots.knowledge import knowledge_of
from rami_bots.normal import play_normal
from rami_bots.patterns import outs
from rami_bots.worlds import worlds
from rami_engine import Guards, Phase, RuleOptions, legal_actions_for, new_match, parse_card, start_round
from unit.bots.asking import DISCARD_TO_WIN, ask, play, time_for, view_of_turn
from unit.engine.positions import position, round_of, shuffled

SEVEN = "AS 7D 9C QH 2S 6C JC"


def test_without_any_time_it_plays_what_normal_plays() -> None:
    rng = random.Random(2)
    for _ in range(20):
        match = new_match(2, RuleOptions(), Guards())
        start_round(match, shuffled(rng))
        for _ in range(2):
            view = view_of_turn(match)
            legal = legal_actions_for(view)
            hurried = find_bot("hard").policy(view, legal, 3, lambda: True)
            assert hurried == play_normal(view, legal, 3, time_enough)
            play(match, ask("normal", match))


def test_time_is_asked_for_once_a_deal_and_the_search_is_bounded() -> None:
    match = position("KD KC 9H TH QS 2C 6D 4S", SEVEN.replace("QH", "3H"), discards="8C")
    asked = 0

    def out_of_time() -> bool:
        nonlocal asked
        asked += 1
        return False

    ask("hard", match, out_of_time=out_of_time)
    assert 0 < asked <= STAGES[2][-1].deals


@pytest.mark.parametrize("deals", [1, 8, 9, 16])
def test_a_search_cut_short_still_gives_a_legal_answer(deals: int) -> None:
    match = position("KD KC 9H TH QS 2C 6D 4S", SEVEN.replace("QH", "3H"), discards="8C")
    assert ask("hard", match, out_of_time=time_for(deals)).startswith("discard ")


def test_goes_out_when_it_can() -> None:
    match = position("2D 3D 4D 9H TH JH QH KC", SEVEN, discards="6D")
    for _ in range(3):
        play(match, ask("hard", match))
    assert match.phase == Phase.ROUND_OVER


def test_does_not_feed_a_rival_what_it_took_in_public() -> None:
    # With the 9D and the TD that it took before everybody's eyes, and one card more, seat 1 waits for the JD.
    match = position("JD TC 2H 5S 7C AC 3S 9H", "9D TD 3C", discards="6S")
    assert ask("normal", match) == "discard JD"
    history = round_of(match).history
    for turn, text in ((1, "9D"), (3, "TD")):
        history.record_taking(parse_card(text), 1, turn)
    for seed in range(5):
        assert ask("hard", match, seed=seed) != "discard JD"


def test_a_card_passed_over_in_public_is_safer_to_discard() -> None:
    unknown = position("JD TC 2H 5S 7C AC 3S 9H", "9D TD 3C", discards="6S JS")
    view = view_of_turn(unknown)
    assert knowledge_of(view).refused == (0, 0)
    round_of(unknown).history.record_pass(parse_card("JS"), 1, 2)
    refused = knowledge_of(view_of_turn(unknown)).refused[1]
    waiting = [
        outs(world.hands[1]) & refused
        for world in islice(worlds(view_of_turn(unknown), knowledge_of(view_of_turn(unknown)), 1), 40)
    ]
    assert not any(waiting)


def test_with_discard_to_win_it_keeps_a_card() -> None:
    match = position("2C 3C 4C 5C", "AS 7D", discards="6D", options=DISCARD_TO_WIN)
    play(match, ask("hard", match))
    play(match, ask("hard", match))
    assert match.phase == Phase.ROUND_OVER
