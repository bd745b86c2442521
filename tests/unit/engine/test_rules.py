import pytest

from rami_engine import (
    RULES_ID,
    RULES_VERSION,
    Guards,
    OptionsError,
    RuleOptions,
    hand_size,
    new_match,
    starting_seat,
    starting_stock,
)


def test_the_rules_have_a_name_and_a_version() -> None:
    assert (RULES_ID, RULES_VERSION) == ("cardverse.rami", "1.1.0")


def test_defaults_of_options_and_guards() -> None:
    assert RuleOptions() == RuleOptions(target_score=100, ace_high=False, discard_to_win=False)
    assert Guards() == Guards(max_turns_per_round=400, max_turns_per_match=10_000)


@pytest.mark.parametrize("target", [1, 1000])
def test_a_target_at_the_edge_of_its_range(target: int) -> None:
    assert RuleOptions(target_score=target).target_score == target


@pytest.mark.parametrize("target", [-1, 0, 1001])
def test_a_target_outside_its_range_is_refused(target: int) -> None:
    with pytest.raises(OptionsError) as refused:
        RuleOptions(target_score=target)
    assert refused.value.field == "target_score"
    assert "1..1000" in refused.value.description


@pytest.mark.parametrize("field", ["max_turns_per_round", "max_turns_per_match"])
def test_a_guard_below_one_is_refused(field: str) -> None:
    assert Guards(**{field: 1}) != Guards()
    with pytest.raises(OptionsError) as refused:
        Guards(**{field: 0})
    assert refused.value.field == field


@pytest.mark.parametrize(("players", "hand", "stock"), [(2, 7, 37), (3, 10, 21), (4, 10, 11)])
def test_hands_and_stock_by_player_count(players: int, hand: int, stock: int) -> None:
    assert hand_size(players) == hand
    assert starting_stock(players) == stock


@pytest.mark.parametrize("players", [0, 1, 5])
def test_other_player_counts_are_refused(players: int) -> None:
    for refuse in (hand_size, starting_stock, lambda count: new_match(count, RuleOptions(), Guards())):
        with pytest.raises(OptionsError) as refused:
            refuse(players)
        assert refused.value.field == "players"


def test_the_start_of_a_round_goes_round_the_table() -> None:
    assert [starting_seat(number, 3) for number in (1, 2, 3, 4)] == [0, 1, 2, 0]
