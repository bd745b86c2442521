"""The arena plays fair: paired deals, every seat once, the same result for the same seed."""

import itertools

from rami_bots import find_bot
from rami_bots.arena import deck_of, duel, play_match
from rami_engine import Guards, RuleOptions

EASY, NORMAL = find_bot("easy").policy, find_bot("normal").policy
SHORT = RuleOptions(target_score=30)


def ticking() -> float:
    return next(TICKS)


TICKS = itertools.count(0.0, 0.5)


def test_a_bot_wins_its_share_against_itself() -> None:
    for players in (2, 3, 4):
        tally = duel(EASY, EASY, range(5), ticking, players=players, options=SHORT)
        assert tally.matches == 5 * players
        assert tally.wins == 5
        assert tally.lead == 0


def test_normal_beats_easy() -> None:
    tally = duel(NORMAL, EASY, range(60), ticking, options=SHORT)
    assert tally.win_rate > 0.5
    assert tally.lead > 0


def test_a_duel_follows_from_its_seed() -> None:
    first = duel(NORMAL, EASY, range(4), ticking, seed=1, options=SHORT)
    again = duel(NORMAL, EASY, range(4), ticking, seed=1, options=SHORT)
    other = duel(NORMAL, EASY, range(4), ticking, seed=2, options=SHORT)
    assert (first.wins, first.lead) == (again.wins, again.lead)
    assert (first.wins, first.lead) != (other.wins, other.lead)


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
        clock=ticking,
        watch=lambda match: seen.append(match.turns),
    )
    assert sum(len(times) for times in played.seconds) == len(seen)
    assert {seconds for times in played.seconds for seconds in times} == {0.5}
    assert played.scores[played.winner] >= 30
    assert played.turns == seen[-1]
    assert played.rounds >= 1


def test_an_empty_tally_has_no_win_rate() -> None:
    assert duel(EASY, EASY, range(0), ticking).win_rate == 0.0
