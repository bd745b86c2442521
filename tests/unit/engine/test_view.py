import pytest

from rami_engine import (
    RULES_ID,
    RULES_VERSION,
    Guards,
    Phase,
    RuleOptions,
    SeatError,
    apply,
    fallback_action,
    format_action,
    legal_actions_for,
    new_match,
    parse_action,
    seat_view,
)
from rami_engine.errors import IllegalAction, Reason
from unit.engine.positions import mask, position, round_of


def test_before_the_first_deal_a_view_is_empty() -> None:
    view = seat_view(new_match(3, RuleOptions(target_score=50), Guards()), 1)
    assert (view.rules_id, view.rules_version) == (RULES_ID, RULES_VERSION)
    assert (view.phase, view.round_number, view.turn, view.turn_number) == (Phase.NOT_STARTED, 0, None, 0)
    assert (view.hand, view.hand_sizes, view.stock_count) == (0, (0, 0, 0), 0)
    assert (view.discards, view.melds, view.history) == ((), (), ())
    assert (view.scores, view.last_result, view.winner) == ((0, 0, 0), None, None)
    assert legal_actions_for(view) == ()


def test_a_seat_sees_its_own_hand_and_the_table() -> None:
    match = position("5H 6H 7H", "KC 8H", phase=Phase.DRAW, melds=["8C 9C TC"], discards="2D", stock="QS JS")
    apply(match, 0, parse_action("stock"))
    apply(match, 0, parse_action("discard 5H"))
    view = seat_view(match, 1)
    assert view.viewer == 1
    assert view.hand == mask("KC 8H")
    assert view.hand_sizes == (3, 2)
    assert view.stock_count == 1
    assert view.discards == (13, 29)
    assert view.melds == (mask("8C 9C TC"),)
    assert (view.turn, view.turn_number, view.match_turns) == (1, 2, 1)
    assert view.history == round_of(match).history.traces()
    assert [trace.card for trace in view.history] == [13, 29]


def test_a_spectator_sees_no_hand_and_has_no_action() -> None:
    match = position("5H 6H", "KC", phase=Phase.DRAW, discards="2D")
    view = seat_view(match, None)
    assert view.viewer is None
    assert view.hand == 0
    assert view.hand_sizes == (2, 1)
    assert legal_actions_for(view) == ()


@pytest.mark.parametrize("viewer", [-1, 2])
def test_a_seat_that_is_not_there_sees_nothing(viewer: int) -> None:
    with pytest.raises(SeatError):
        seat_view(position("5H", "KC"), viewer)


def test_only_the_seat_to_move_has_actions() -> None:
    match = position("5H 6H 7H", "KC", melds=["8H 9H TH"], discards="2D")
    texts = [format_action(action) for action in legal_actions_for(seat_view(match, 0))]
    assert texts[:2] == ["meld 5H 6H 7H", "lay-off 1 7H"]
    assert legal_actions_for(seat_view(match, 1)) == ()


def test_a_view_of_a_finished_match_tells_how_it_ended() -> None:
    match = position("5H", "KC", discards="2D", options=RuleOptions(target_score=10))
    outcome = apply(match, 0, parse_action("discard 5H"))
    view = seat_view(match, 1)
    assert (view.phase, view.winner, view.turn) == (Phase.MATCH_OVER, 0, 0)
    assert view.last_result == outcome.round_end
    assert legal_actions_for(view) == legal_actions_for(seat_view(match, 0)) == ()


def test_views_are_equal_by_value_and_can_be_keys() -> None:
    match = position("5H 6H", "KC", discards="2D")
    assert seat_view(match, 0) == seat_view(match.copy(), 0)
    assert hash(seat_view(match, 0)) == hash(seat_view(match.copy(), 0))
    assert seat_view(match, 0) != seat_view(match, 1)


def test_the_text_of_a_view_shows_no_hand() -> None:
    view = seat_view(position("5H 6H", "KC", discards="2D"), 0)
    assert "hand=" not in repr(view)
    assert str(view.hand) not in repr(view)


@pytest.mark.parametrize(
    ("hand", "ace_high", "discard"),
    [
        ("KC QC 9D 5S", False, "9D"),
        ("KC KD 9D 8D 4S AS", False, "4S"),
        ("KC KD AS 2S", True, "AS"),
        ("JC KD", False, "KD"),
        ("TC TD", False, "TD"),
        ("9C JC KC", False, "KC"),
        ("7S", False, "7S"),
    ],
    ids=[
        "isolated before dearer ones",
        "an ace is no neighbour of a two",
        "ace high",
        "higher rank among equals",
        "higher index without an isolated card",
        "two ranks apart is near",
        "last card",
    ],
)
def test_the_fallback_discards_the_dearest_isolated_card(hand: str, ace_high: bool, discard: str) -> None:
    match = position(hand, "3C", discards="2D", options=RuleOptions(ace_high=ace_high, discard_to_win=True))
    assert format_action(fallback_action(seat_view(match, 0))) == f"discard {discard}"


def test_the_fallback_draws_from_the_stock() -> None:
    match = position("5H 6H", "KC", phase=Phase.DRAW, discards="2D")
    assert format_action(fallback_action(seat_view(match, 0))) == "stock"


def test_there_is_no_fallback_for_who_is_not_to_move() -> None:
    match = position("5H 6H", "KC", phase=Phase.DRAW, discards="2D")
    over = position("5H 6H", "KC", phase=Phase.ROUND_OVER, discards="2D")
    for view in (seat_view(match, 1), seat_view(match, None), seat_view(over, 0)):
        with pytest.raises(IllegalAction) as refused:
            fallback_action(view)
        assert refused.value.reason == Reason.NOT_YOUR_TURN
