"""The arena plays fair: paired deals, every seat once, the same result for the same seed."""

import itertools
from collections.abc import Callable

import pytest

from rami_bots import BOTS, UnknownBot, find_bot
from rami_bots.arena import Sample, deck_of, duel, estimate, honest, mean_lead, play_match, win_rate
from rami_bots.open_hand import play_open_hand
from rami_engine import Guards, RuleOptions

EASY, NORMAL = (honest(find_bot(bot).policy) for bot in ("easy", "normal"))
SHORT = RuleOptions(target_score=30)
ROUND = RuleOptions(target_score=1)


def ticking(step: float = 0.5) -> Callable[[], float]:
    ticks = itertools.count(0.0, step)
    return lambda: next(ticks)


def won(samples: list[Sample]) -> list[int]:
    return [sample.wins for sample in samples]


def test_a_bot_wins_its_share_against_itself() -> None:
    for players in (2, 3, 4):
        samples = list(duel(EASY, EASY, range(5), ticking(), players=players, options=SHORT))
        assert [sample.games for sample in samples] == [players] * 5
        assert won(samples) == [1] * 5
        assert mean_lead(samples).mean == pytest.approx(0)


def test_a_duel_follows_from_its_seed() -> None:
    first, again, other = (
        [(sample.wins, sample.lead) for sample in duel(NORMAL, EASY, range(6), ticking(), seed=seed, options=SHORT)]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_a_deal_does_not_depend_on_the_deals_before_it() -> None:
    together = [sample.lead for sample in duel(NORMAL, EASY, range(4), ticking(), options=SHORT)]
    alone = [next(duel(NORMAL, EASY, [deal], ticking(), options=SHORT)).lead for deal in range(4)]
    assert together == alone


def test_decks_differ_by_seed_match_and_round() -> None:
    decks = {deck_of(*numbers) for numbers in itertools.product(range(3), repeat=3)}
    assert len(decks) == 27
    assert all(sorted(deck) == list(range(52)) for deck in decks)


def test_every_decision_is_timed_by_the_clock_of_the_caller() -> None:
    seen = []
    played = play_match(
        [EASY, NORMAL],
        SHORT,
        Guards(),
        seed=3,
        match_number=0,
        clock=ticking(),
        watch=lambda match: seen.append(match.turns),
    )
    assert sum(len(times) for times in played.seconds) == len(seen)
    assert {seconds for times in played.seconds for seconds in times} == {0.5}
    assert played.scores[played.winner] >= 30
    assert played.turns == seen[-1]
    assert played.rounds >= 1


def test_a_match_to_one_point_is_a_round() -> None:
    samples = list(duel(NORMAL, EASY, range(4), ticking(), players=3, options=ROUND))
    assert [sample.rounds for sample in samples] == [3] * 4


def test_a_margin_is_that_of_independent_deals() -> None:
    mean, margin = estimate([0.0, 1.0, 1.0, 0.0])
    assert mean == 0.5
    assert margin == pytest.approx(1.96 * (1 / 3 / 4) ** 0.5)
    assert estimate([0.25]).margin == 0
    assert estimate([1.0, 1.0]).low == 1


def test_seeing_all_cards_helps_and_no_bot_does() -> None:
    samples = list(duel(play_open_hand, NORMAL, range(12), ticking(), options=ROUND))
    assert win_rate(samples).low > 0.5
    assert len(BOTS) == 3
    for name in ("open-hand", "open_hand"):
        with pytest.raises(UnknownBot):
            find_bot(name)
