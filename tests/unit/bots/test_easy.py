"""Easy: lays all at once, discards the highest isolated card, takes what it can lay."""

import pytest

from rami_engine import Phase
from unit.bots.asking import ACE_HIGH, DISCARD_TO_WIN, ask, play
from unit.engine.positions import position


def test_lays_every_meld_at_once_then_discards() -> None:
    match = position("2C 3C 4C 9D 9H 9S KD 5H", "AS 7D", discards="6D")
    texts: list[str] = []
    while not texts or not texts[-1].startswith("discard"):
        texts.append(ask("easy", match))
        play(match, texts[-1])
    assert texts == ["meld 2C 3C 4C", "meld 9D 9H 9S", "discard KD"]


def test_lays_off_on_any_meld() -> None:
    match = position("8D KD 2H", "AS 7D", discards="6D", melds=["5D 6D 7D", "3C 3D 3S"])
    assert ask("easy", match) == "lay-off 1 8D"


@pytest.mark.parametrize(
    ("hand", "discarded"),
    [
        ("KD QD 9S 2H", "9S"),  # the king and the queen are linked by suit
        ("KD KC 9S 2H", "9S"),  # and the kings by rank
        ("KD JD 9S 2H", "9S"),  # two ranks apart are linked
        ("KD TD 9S 2H", "KD"),  # three are not
        ("QC TD JS 2H", "QC"),  # ten points each: the higher rank
        ("TC 2D TS 5H", "5H"),
        ("KD QD 3C 3D", "KD"),  # none is isolated: the highest of all
        ("7C 7D 7H 8H 9H 2S", "2S"),
        ("AD 2S", "2S"),
    ],
)
def test_discards_the_highest_isolated_card(hand: str, discarded: str) -> None:
    match = position(hand, "AS 6D", discards="6C", options=DISCARD_TO_WIN if "7C" in hand else None)
    text = ask("easy", match)
    while not text.startswith("discard "):
        play(match, text)
        text = ask("easy", match)
    assert text == f"discard {discarded}"


def test_a_high_ace_is_worth_most() -> None:
    assert ask("easy", position("AD KC 2S", "3C", discards="6C", options=ACE_HIGH)) == "discard AD"
    assert ask("easy", position("AD KC 2S", "3C", discards="6C")) == "discard KC"


def test_takes_the_discard_exactly_when_it_can_lay_it() -> None:
    assert ask("easy", position("5D 6D KC", "3C", phase=Phase.DRAW, discards="7D")) == "discard-pile"
    assert ask("easy", position("5D 6D KC", "3C", phase=Phase.DRAW, discards="8D")) == "stock"
    on_table = position("5D KC", "3C", phase=Phase.DRAW, discards="7D", melds=["8D 9D TD"])
    assert ask("easy", on_table) == "discard-pile"


def test_splits_a_card_of_two_melds_so_that_it_goes_out() -> None:
    match = position("9D 9H 9S TS JS QS KC", "AS 7D", discards="6D")
    for _ in range(3):
        play(match, ask("easy", match))
    assert match.phase == Phase.ROUND_OVER


def test_with_discard_to_win_it_keeps_a_card() -> None:
    match = position("2C 3C 4C 5C", "AS 7D", discards="6D", options=DISCARD_TO_WIN)
    text = ask("easy", match)
    assert text in ("meld 2C 3C 4C", "meld 3C 4C 5C")
    play(match, text)
    assert ask("easy", match).startswith("discard ")


def test_with_discard_to_win_a_meld_that_would_empty_the_hand_stays() -> None:
    match = position("2C 3C 4C", "AS 7D", discards="6D", options=DISCARD_TO_WIN)
    assert ask("easy", match) == "discard 4C"
