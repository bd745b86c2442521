"""What a match teaches about its players."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchmaking.ratings import PlayerRecord, RatedSeat, new_bot, new_player, quality_of, rate_match


def rated(*scores: int, winner: int = 0, **before: PlayerRecord) -> list[PlayerRecord]:
    names = [f"p{number}" for number in range(len(scores))]
    seats = [RatedSeat(name, name.title(), score) for name, score in zip(names, scores, strict=True)]
    records = {name: before.get(name, new_player(name)) for name in names}
    after = rate_match(seats, winner, records, 5)
    return [after[name] for name in names]


def test_everybody_starts_at_1000() -> None:
    beginner = new_player("Ann")
    assert (beginner.rating, beginner.skill) == (1000, 1000)
    assert beginner.deviation == pytest.approx(250)
    assert new_bot("hard", 1150.0).rating == pytest.approx(1150)
    assert new_bot("hard", 1150.0).skill == pytest.approx(1150)


def test_the_winner_gains_and_doubt_goes() -> None:
    winner, loser = rated(100, 20)
    assert winner.skill > 1000 > loser.skill
    assert winner.deviation < 250
    assert winner.deviation == pytest.approx(loser.deviation)
    assert (winner.matches, winner.wins, loser.wins) == (1, 1, 0)
    assert (winner.name, winner.update_ms) == ("P0", 5)


def test_the_winner_is_first_even_with_fewer_points_than_another() -> None:
    """A match that ends at the turn limit is won on points, one that ends by a rule of the room need not be."""
    first, second = rated(80, 80, winner=1)
    assert second.skill > first.skill


def test_the_others_follow_by_score_and_equal_scores_share_a_place() -> None:
    winner, last, second, also_second = rated(100, 5, 60, 60)
    assert winner.skill > second.skill > last.skill
    assert second.skill == pytest.approx(also_second.skill)


def test_a_win_against_a_better_player_counts_more() -> None:
    strong = PlayerRecord("strong", mu=35.0, sigma=2.0)
    weak = PlayerRecord("weak", mu=15.0, sigma=2.0)
    against_strong, _ = rated(100, 20, p1=strong)
    against_weak, _ = rated(100, 20, p1=weak)
    assert against_strong.skill > against_weak.skill


def test_a_player_in_several_seats_learns_the_mean_once() -> None:
    seats = [RatedSeat("ann", "Ann", 100), RatedSeat("bot:easy", "easy", 40), RatedSeat("bot:easy", "easy", 10)]
    after = rate_match(seats, 0, {"ann": new_player("Ann"), "bot:easy": new_bot("easy", 850.0)}, 5)
    assert set(after) == {"ann", "bot:easy"}
    assert (after["bot:easy"].matches, after["bot:easy"].wins, after["bot:easy"].bot) == (1, 0, True)
    apart = rated(100, 40, 10, p1=new_bot("easy", 850.0), p2=new_bot("easy", 850.0))
    assert after["bot:easy"].mu == pytest.approx((apart[1].mu + apart[2].mu) / 2)


@settings(deadline=None)
@given(st.lists(st.integers(0, 400), min_size=2, max_size=4), st.data())
def test_ratings_stay_finite_and_in_order(scores: list[int], data: st.DataObject) -> None:
    winner = data.draw(st.integers(0, len(scores) - 1))
    before = {
        f"p{number}": PlayerRecord("x", mu=data.draw(st.floats(-50, 100)), sigma=data.draw(st.floats(0.1, 9)))
        for number in range(len(scores))
    }
    after = rated(*scores, winner=winner, **before)
    for number, record in enumerate(after):
        assert record.matches == 1
        assert 0 < record.sigma < 12
        assert abs(record.mu - before[f"p{number}"].mu) < 200
    assert after[winner].mu >= before[f"p{winner}"].mu


def test_quality_is_twice_the_weakest_chance() -> None:
    assert quality_of(0) == 1
    assert quality_of(400) == pytest.approx(2 / 11)
    assert quality_of(100) > quality_of(101)
