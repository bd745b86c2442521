from rami_engine import (
    DRAW_DISCARD,
    DRAW_STOCK,
    Guards,
    Phase,
    RuleOptions,
    format_action,
    legal_actions,
    legal_plays,
    new_match,
)
from unit.engine.positions import mask, position

LAST_IS_DISCARDED = RuleOptions(discard_to_win=True)


def test_in_the_draw_phase_both_piles_can_be_drawn_from() -> None:
    match = position("5H 6H", "2C", phase=Phase.DRAW, discards="7H")
    assert legal_actions(match, 0) == (DRAW_STOCK, DRAW_DISCARD)


def test_an_empty_stock_can_still_be_asked() -> None:
    match = position("5H 6H", "2C", phase=Phase.DRAW, discards="7H", stock="")
    assert legal_actions(match, 0) == (DRAW_STOCK, DRAW_DISCARD)


def test_melds_come_first_then_lay_offs_then_discards() -> None:
    match = position("7C 7D 7H 6H 5H", "2C", melds=["8C 9C TC", "4S 5S 6S"], discards="KD")
    assert [format_action(action) for action in legal_actions(match, 0)] == [
        "meld 7C 7D 7H",
        "meld 5H 6H 7H",
        "lay-off 1 7C",
        "discard 7C",
        "discard 7D",
        "discard 5H",
        "discard 6H",
        "discard 7H",
    ]


def test_lay_offs_go_by_meld_number_and_not_by_cards() -> None:
    match = position("5H 9C TC 2D", "2C", melds=["6H 7H 8H", "6C 7C 8C", "5C 5D 5S"], discards="KD")
    lay_offs = [format_action(action) for action in legal_actions(match, 0) if action.meld]
    assert lay_offs == ["lay-off 1 5H", "lay-off 2 9C", "lay-off 2 9C TC", "lay-off 3 5H"]


def test_a_whole_hand_can_be_laid_unless_its_last_card_must_be_discarded() -> None:
    hand, melds = mask("5H 6H 7H"), [mask("8H 9H TH")]
    free = [format_action(action) for action in legal_plays(hand, melds, discard_to_win=False)]
    kept = [format_action(action) for action in legal_plays(hand, melds, discard_to_win=True)]
    assert free[:4] == ["meld 5H 6H 7H", "lay-off 1 7H", "lay-off 1 6H 7H", "lay-off 1 5H 6H 7H"]
    assert kept[:2] == ["lay-off 1 7H", "lay-off 1 6H 7H"]
    assert free[4:] == kept[2:] == ["discard 5H", "discard 6H", "discard 7H"]


def test_the_last_card_can_always_be_discarded() -> None:
    match = position("8H", "2C", melds=["5H 6H 7H"], discards="KD", options=LAST_IS_DISCARDED)
    assert [format_action(action) for action in legal_actions(match, 0)] == ["discard 8H"]


def test_the_list_is_empty_for_a_seat_not_to_move() -> None:
    match = position("5H 6H", "2C", phase=Phase.DRAW, discards="7H")
    assert legal_actions(match, 1) == legal_actions(match, 2) == legal_actions(match, -1) == ()


def test_the_list_is_empty_when_nothing_is_in_play() -> None:
    assert legal_actions(new_match(2, RuleOptions(), Guards()), 0) == ()
    for phase in (Phase.ROUND_OVER, Phase.MATCH_OVER):
        assert legal_actions(position("5H 6H", "2C", phase=phase, discards="7H"), 0) == ()
