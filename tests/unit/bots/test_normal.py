"""Normal: keeps useful combinations, weighs what it gives away, holds melds back while that is safe."""

import pytest

from rami_engine import Guards, Phase
from unit.bots.asking import DISCARD_TO_WIN, ask, play
from unit.engine.positions import position

SEVEN = "AS 7D 9C QH 2S 6C JC"
TEN = "AS 7D 9C QH 2S 6C JC KS 4S 8S"


def test_holds_a_meld_back_while_rivals_have_many_cards_and_the_stock_is_deep() -> None:
    match = position("2D 3D 4D 9H TH QC KD 5S", SEVEN, discards="6D")
    assert ask("normal", match).startswith("discard ")


@pytest.mark.parametrize(
    ("rivals", "stock", "guards"),
    [
        ([SEVEN], "3C 4C 5C 7C", None),  # the stock runs low
        (["AS 7D 9C"], None, None),  # a rival is about to go out
        ([SEVEN], None, Guards(max_turns_per_round=4)),  # the round is about to be ended
        ([TEN, "3C 4C 5C"], None, None),
        ([TEN, TEN.translate(str.maketrans("SDCH", "DCHS"))], "7C 8C TC", None),
    ],
)
def test_lays_all_where_holding_back_is_unsafe(rivals: list[str], stock: str | None, guards: Guards | None) -> None:
    match = position("2D 3D 4D 9H TH QC KD 5H", *rivals, discards="6D", stock=stock, guards=guards)
    assert ask("normal", match) == "meld 2D 3D 4D"


def test_with_four_seats_only_the_stock_counts() -> None:
    hand = "2D 3D 4D 9H TH QC KD 5H"
    rivals = ["AS 7D 9C", "2S 6C JC", "KS 4S 8S"]
    deep = position(hand, *rivals, discards="6D", stock="3C 4C 5C 7C 8C")
    assert ask("normal", deep).startswith("discard ")
    low = position(hand, *rivals, discards="6D", stock="3C 4C 5C 7C")
    assert ask("normal", low) == "meld 2D 3D 4D"


def test_goes_out_with_melds_that_it_held_back() -> None:
    match = position("2D 3D 4D 9H TH JH QH KC", SEVEN, discards="6D")
    for expected in ("meld 2D 3D 4D", "meld 9H TH JH QH", "discard KC"):
        assert ask("normal", match) == expected
        play(match, expected)
    assert match.phase == Phase.ROUND_OVER


def test_lays_off_at_once_what_no_meld_of_its_own_wants() -> None:
    match = position("2D 3D 4D 9H TH QC KD 5S", SEVEN, discards="6D", melds=["5C 5D 5H"])
    assert ask("normal", match) == "lay-off 1 5S"


def test_keeps_cards_that_are_one_draw_away_from_a_meld() -> None:
    # The pair of kings and the nine and ten of hearts wait for cards; the queen waits for none.
    match = position("KD KC 9H TH QS 2C 6D 4S", SEVEN.replace("QH", "3H"), discards="8C")
    assert ask("normal", match) == "discard QS"


def test_a_combination_whose_cards_have_gone_is_not_kept() -> None:
    # No king and no third card of the run can come any more: the kings are ten points each.
    gone = "KS KH 7C 5C 6C 8C"
    match = position("KD KC 9H TH 2C 6D 6S 2S", "AS 7D 9C 3H 4D JC 5S", discards=gone + " 3S")
    assert ask("normal", match) == "discard KD"


def test_does_not_discard_onto_the_table_what_else_is_equal() -> None:
    match = position("8H 8S 3C", SEVEN.replace("2S", "2H"), discards="8C", melds=["9S TS JS QS", "8D 9D TD"])
    assert ask("normal", match).startswith("lay-off ")
    play(match, "lay-off 1 8S")
    assert ask("normal", match) == "discard 8H"


def test_takes_the_discard_for_a_meld_and_not_for_a_pair() -> None:
    assert ask("normal", position("5D 6D KC 2S", SEVEN, phase=Phase.DRAW, discards="4D")) == "discard-pile"
    assert ask("normal", position("5D 6D KC 2S", SEVEN, phase=Phase.DRAW, discards="KH")) == "stock"


def test_with_discard_to_win_it_keeps_a_card() -> None:
    match = position("2C 3C 4C 5C", "AS 7D", discards="6D", options=DISCARD_TO_WIN)
    play(match, ask("normal", match))
    text = ask("normal", match)
    assert text.startswith("discard ")
    play(match, text)
    assert match.phase == Phase.ROUND_OVER
