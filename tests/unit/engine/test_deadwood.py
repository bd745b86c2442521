import pytest

from rami_engine import best_split, deadwood_points, is_meld, mask_points
from unit.engine.positions import mask


@pytest.mark.parametrize(
    ("hand", "melds", "deadwood", "points"),
    [
        ("", [], "", 0),
        ("7H", [], "7H", 7),
        ("5H 6H 7H 8H", ["5H 6H 7H 8H"], "", 0),
        ("7C 7D 7H 7S", ["7C 7D 7H 7S"], "", 0),
        ("5H 6H 7H 7C 7D", ["7C 7D 7H"], "5H 6H", 11),
        ("5H 6H 7H 8H 7C 7D", ["5H 6H 7H 8H"], "7C 7D", 14),
        ("2H 3H 4H 4C 4D", ["4C 4D 4H"], "2H 3H", 5),
        ("7H 8H 9H TH JH 9C 9D", ["7H 8H 9H TH JH"], "9C 9D", 18),
        ("6H 7H 8H 9H 9C 9D 9S", ["6H 7H 8H 9H", "9C 9D 9S"], "", 0),
        ("6H 7H 8H 9H 9C 9D", ["6H 7H 8H", "9C 9D 9H"], "", 0),
        ("KC AC 2C QD KD AD", ["QD KD AD"], "2C KC AC", 13),
    ],
)
def test_the_best_split_of_a_small_hand(hand: str, melds: list[str], deadwood: str, points: int) -> None:
    split = best_split(mask(hand), ace_high=False)
    assert split.melds == tuple(mask(meld) for meld in melds)
    assert split.deadwood == mask(deadwood)
    assert split.points == deadwood_points(mask(hand), ace_high=False) == points


def test_what_an_ace_counts_decides_what_is_laid() -> None:
    hand = mask("QH KH AH AC AD")
    low, high = best_split(hand, ace_high=False), best_split(hand, ace_high=True)
    assert low.melds == (mask("QH KH AH"),)
    assert low.points == 2
    assert high.melds == (mask("AC AD AH"),)
    assert high.points == 20


def test_two_long_runs_of_a_suit_stay_apart() -> None:
    split = best_split(mask("2S 3S 4S 6S 7S 8S TS JS"), ace_high=False)
    assert split.melds == (mask("2S 3S 4S"), mask("6S 7S 8S"))
    assert split.deadwood == mask("TS JS")


def test_the_parts_of_a_split_make_up_the_hand() -> None:
    hand = mask("4C 4D 4H 4S 5C 5D 5H 5S 6C 6D 6H")
    split = best_split(hand, ace_high=False)
    assert sum(split.melds) + split.deadwood == hand
    assert all(is_meld(meld) for meld in split.melds)
    assert split.points == mask_points(split.deadwood, ace_high=False) == 0
