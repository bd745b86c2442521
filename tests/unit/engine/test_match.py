import random

import pytest

from rami_engine import (
    DRAW_DISCARD,
    DRAW_STOCK,
    Action,
    ActionKind,
    DealError,
    EndReason,
    Guards,
    IllegalAction,
    MalformedAction,
    MatchEndReason,
    MatchResult,
    MatchState,
    Phase,
    Reason,
    RoundResult,
    RoundStarted,
    RuleOptions,
    apply,
    cards_of,
    check,
    format_cards,
    match_result,
    new_match,
    parse_action,
    start_round,
)
from unit.engine.positions import mask, position, round_of, shuffled

IN_ORDER = bytes(range(52))
LAST_IS_DISCARDED = RuleOptions(discard_to_win=True)


def play(match: MatchState, seat: int, *texts: str) -> None:
    for text in texts:
        apply(match, seat, parse_action(text))


def test_a_new_match_waits_for_its_first_deal() -> None:
    match = new_match(3, RuleOptions(), Guards())
    assert match.phase == Phase.NOT_STARTED
    assert match.scores == [0, 0, 0]
    assert match.round is None
    assert match_result(match) is None
    assert check(match, 0, DRAW_STOCK) == Reason.MATCH_NOT_STARTED


def test_the_deal_goes_card_by_card_from_the_starting_seat() -> None:
    match = new_match(3, RuleOptions(), Guards())
    assert start_round(match, IN_ORDER) == RoundStarted(number=1, turn=0, turned_up=30)
    dealt = round_of(match)
    assert [cards_of(hand) for hand in dealt.hands] == [tuple(range(seat, 30, 3)) for seat in range(3)]
    assert dealt.discards == [30]
    assert dealt.stock_count == 21
    assert match.phase == Phase.DRAW
    assert apply(match, 0, DRAW_STOCK).drawn == 31


def test_a_later_round_begins_with_the_next_seat_and_an_empty_table() -> None:
    match = position("5H 6H 7H", "KC", melds=["8C 9C TC"], discards="2D")
    play(match, 0, "meld 5H 6H 7H")
    assert start_round(match, IN_ORDER) == RoundStarted(number=2, turn=1, turned_up=14)
    dealt = round_of(match)
    assert [cards_of(hand) for hand in dealt.hands] == [tuple(range(1, 14, 2)), tuple(range(0, 14, 2))]
    assert dealt.melds == []
    assert (dealt.turn, dealt.turns) == (1, 0)
    assert match.scores == [10, 0]


@pytest.mark.parametrize("phase", [Phase.DRAW, Phase.PLAY, Phase.MATCH_OVER])
def test_no_round_is_dealt_while_one_is_in_play_or_after_the_match(phase: Phase) -> None:
    match = position("5H", "KC", phase=phase, discards="2D")
    before = match.copy()
    with pytest.raises(DealError):
        start_round(match, IN_ORDER)
    assert match == before


@pytest.mark.parametrize("deck", [b"", IN_ORDER[:51], IN_ORDER + b"\0", IN_ORDER[:51] + b"\0", IN_ORDER[:51] + b"\x34"])
def test_a_deck_is_a_permutation_of_all_cards(deck: bytes) -> None:
    match = new_match(2, RuleOptions(), Guards())
    with pytest.raises(DealError):
        start_round(match, deck)
    assert match == new_match(2, RuleOptions(), Guards())


def test_a_draw_from_the_stock_brings_its_top_card() -> None:
    match = position("5H", "KC", phase=Phase.DRAW, discards="2D", stock="9S 3C")
    outcome = apply(match, 0, DRAW_STOCK)
    assert outcome.drawn == 46
    assert outcome.round_end is None
    assert round_of(match).hands == [mask("5H 9S"), mask("KC")]
    assert round_of(match).stock_count == 1
    assert match.phase == Phase.PLAY


def test_a_draw_from_the_discard_pile_takes_its_top_alone() -> None:
    match = position("5H", "KC", phase=Phase.DRAW, discards="2D 9S")
    assert apply(match, 0, DRAW_DISCARD).drawn == 46
    assert round_of(match).hands[0] == mask("5H 9S")
    assert format_cards(round_of(match).discards) == "2D"


def test_a_card_taken_from_the_discard_pile_may_go_back_at_once() -> None:
    match = position("5H", "KC", phase=Phase.DRAW, discards="2D 9S")
    play(match, 0, "discard-pile", "discard 9S")
    assert format_cards(round_of(match).discards) == "2D 9S"
    assert round_of(match).turn == 1


def test_a_discard_passes_the_turn_on_around_the_table() -> None:
    match = position("5H 6H", "KC QC", phase=Phase.DRAW, turn=1, discards="2D", stock="9S 3C")
    play(match, 1, "stock", "discard KC")
    assert (round_of(match).turn, match.phase) == (0, Phase.DRAW)
    assert (round_of(match).turns, match.turns) == (1, 1)


def test_a_seat_melds_and_lays_off_as_often_as_it_wants() -> None:
    match = position("5H 6H 7H 8H 7C 7D 7S 2C", "KC", melds=["9C TC JC"], discards="2D")
    play(match, 0, "meld 5H 6H 7H", "lay-off 2 8H", "meld 7C 7D 7S")
    assert round_of(match).melds == [mask("9C TC JC"), mask("5H 6H 7H 8H"), mask("7C 7D 7S")]
    assert round_of(match).hands[0] == mask("2C")
    assert match.phase == Phase.PLAY


@pytest.mark.parametrize("way", ["meld 5H 6H 7H", "lay-off 1 5H 6H 7H"])
def test_a_round_ends_the_moment_a_hand_is_empty(way: str) -> None:
    match = position("5H 6H 7H", "KC AC", "2D", melds=["8H 9H TH"], discards="QD")
    outcome = apply(match, 0, parse_action(way))
    assert outcome.round_end == RoundResult(1, EndReason.WENT_OUT, 0, 13, (0, 11, 2), (13, 0, 0))
    assert outcome.match_end is None
    assert match.phase == Phase.ROUND_OVER
    assert round_of(match).turn == 0
    assert match.turns == 0


def test_going_out_with_a_discard_completes_the_turn() -> None:
    match = position("5H", "KC AC", discards="QD", options=RuleOptions(ace_high=True, discard_to_win=True))
    outcome = apply(match, 0, parse_action("discard 5H"))
    assert outcome.round_end == RoundResult(1, EndReason.WENT_OUT, 0, 21, (0, 21), (21, 0))
    assert match.turns == 1


def test_the_empty_stock_ends_the_round_for_the_lightest_hand() -> None:
    match = position("5H 6H", "KC", "TS", phase=Phase.DRAW, turn=2, discards="2D", stock="")
    before = round_of(match).copy()
    outcome = apply(match, 2, DRAW_STOCK)
    assert outcome.drawn is None
    assert outcome.round_end == RoundResult(1, EndReason.STOCK_EXHAUSTED, 1, 21, (11, 10, 10), (0, 21, 0))
    assert round_of(match) == before
    assert match.turns == 0


def test_unlaid_melds_count_in_full() -> None:
    match = position("5H 6H 7H", "KC 7D", phase=Phase.DRAW, discards="2D", stock="")
    outcome = apply(match, 0, DRAW_STOCK)
    assert outcome.round_end is not None
    assert outcome.round_end.winner == 1
    assert outcome.round_end.hand_points == (18, 17)


def test_the_last_allowed_turn_of_a_round_ends_it() -> None:
    match = position("5H 6H", "KC", discards="2D", guards=Guards(max_turns_per_round=1))
    outcome = apply(match, 0, parse_action("discard 5H"))
    assert outcome.round_end == RoundResult(1, EndReason.TURN_LIMIT, 0, 10, (6, 10), (10, 0))


def test_going_out_with_the_last_allowed_turn_is_going_out() -> None:
    match = position("5H", "KC", discards="2D", guards=Guards(max_turns_per_round=1))
    outcome = apply(match, 0, parse_action("discard 5H"))
    assert outcome.round_end is not None
    assert outcome.round_end.reason == EndReason.WENT_OUT


def test_a_match_ends_when_the_winner_of_a_round_has_reached_the_target() -> None:
    match = position("5H", "KC", discards="2D", options=RuleOptions(target_score=25))
    match.scores = [15, 24]
    outcome = apply(match, 0, parse_action("discard 5H"))
    assert outcome.match_end == MatchResult(0, (25, 24), MatchEndReason.TARGET_SCORE)
    assert match_result(match) == outcome.match_end
    assert (match.phase, match.winner) == (Phase.MATCH_OVER, 0)
    assert check(match, 1, DRAW_STOCK) == check(match, 5, DRAW_STOCK) == Reason.MATCH_OVER


@pytest.mark.parametrize(("scores", "winner"), [([0, 30], 1), ([20, 30], 0), ([0, 10], 0)])
def test_a_match_that_completed_its_turns_ends_with_the_round(scores: list[int], winner: int) -> None:
    match = position("5H", "KC", discards="2D", guards=Guards(max_turns_per_match=7))
    match.scores = scores
    match.turns = 6
    outcome = apply(match, 0, parse_action("discard 5H"))
    assert match.winner == winner
    assert outcome.match_end == MatchResult(winner, (scores[0], scores[1]), MatchEndReason.TURN_LIMIT)


def test_a_match_that_completed_its_turns_plays_its_round_to_the_end() -> None:
    match = position("5H 6H", "KC QC", phase=Phase.DRAW, discards="2D", guards=Guards(max_turns_per_match=1))
    play(match, 0, "stock", "discard 5H")
    assert (match.turns, match.phase) == (1, Phase.DRAW)
    round_of(match).stock_pos = 52
    outcome = apply(match, 1, DRAW_STOCK)
    assert outcome.match_end is not None
    assert outcome.match_end.reason == MatchEndReason.TURN_LIMIT


def test_the_target_decides_a_match_that_also_completed_its_turns() -> None:
    match = position("5H", "KC", discards="2D", options=RuleOptions(target_score=10), guards=Guards(1, 1))
    outcome = apply(match, 0, parse_action("discard 5H"))
    assert outcome.match_end == MatchResult(0, (10, 0), MatchEndReason.TARGET_SCORE)


@pytest.mark.parametrize(
    ("seat", "text", "reason"),
    [
        (1, "stock", Reason.NOT_YOUR_TURN),
        (1, "meld 2H 3H 4S", Reason.NOT_YOUR_TURN),
        (2, "discard 5H", Reason.NOT_YOUR_TURN),
        (-1, "discard 5H", Reason.NOT_YOUR_TURN),
        (0, "stock", Reason.WRONG_PHASE),
        (0, "discard-pile", Reason.WRONG_PHASE),
        (0, "discard KC", Reason.CARD_NOT_IN_HAND),
        (0, "meld 7H 8H 9H", Reason.CARD_NOT_IN_HAND),
        (0, "lay-off 9 KC", Reason.CARD_NOT_IN_HAND),
        (0, "lay-off 0 5H", Reason.MELD_NOT_FOUND),
        (0, "lay-off 2 5H", Reason.MELD_NOT_FOUND),
        (0, "meld 5H", Reason.INVALID_MELD),
        (0, "meld 5H 6H", Reason.INVALID_MELD),
        (0, "meld 5H 6H 9S", Reason.INVALID_MELD),
        (0, "lay-off 1 5H", Reason.INVALID_LAY_OFF),
        (0, "lay-off 1 5H 6H 7H 9S", Reason.INVALID_LAY_OFF),
    ],
)
def test_a_refusal_names_its_reason_and_changes_nothing(seat: int, text: str, reason: Reason) -> None:
    match = position("5H 6H 7H 9S", "KC", melds=["8C 9C TC"], discards="2D", options=LAST_IS_DISCARDED)
    before = match.copy()
    assert check(match, seat, parse_action(text)) == reason
    with pytest.raises(IllegalAction) as refused:
        apply(match, seat, parse_action(text))
    assert refused.value.reason == reason
    assert str(refused.value) == reason.value
    assert match == before


@pytest.mark.parametrize("text", ["discard 5H", "meld 5H 6H 7H", "lay-off 1 5H", "discard KC"])
def test_nothing_is_laid_or_discarded_before_the_draw(text: str) -> None:
    match = position("5H 6H 7H", "KC", phase=Phase.DRAW, melds=["8C 9C TC"], discards="2D")
    assert check(match, 0, parse_action(text)) == Reason.WRONG_PHASE


@pytest.mark.parametrize("text", ["meld 5H 6H 7H", "lay-off 1 5H 6H 7H"])
def test_the_last_card_is_kept_for_the_discard_where_the_rules_want_it(text: str) -> None:
    match = position("5H 6H 7H", "KC", melds=["8H 9H TH"], discards="2D", options=LAST_IS_DISCARDED)
    assert check(match, 0, parse_action(text)) == Reason.MUST_KEEP_DISCARD
    assert check(match, 0, parse_action("lay-off 1 8H")) == Reason.CARD_NOT_IN_HAND
    assert check(match, 0, parse_action("meld 5H 6H")) == Reason.INVALID_MELD
    assert check(match, 0, parse_action("lay-off 1 6H 7H")) is None


@pytest.mark.parametrize("seat", [0, 1, 9])
def test_between_rounds_no_action_is_possible(seat: int) -> None:
    match = position("5H", "KC", phase=Phase.ROUND_OVER, discards="2D")
    assert check(match, seat, DRAW_STOCK) == check(match, seat, parse_action("discard 5H")) == Reason.WRONG_PHASE


@pytest.mark.parametrize("phase", list(Phase))
def test_a_malformed_action_is_malformed_whatever_the_state(phase: Phase) -> None:
    match = position("5H", "KC", phase=phase, discards="2D")
    before = match.copy()
    two_cards = Action(ActionKind.DISCARD, mask("5H 6H"))
    for judge in (check, apply):
        with pytest.raises(MalformedAction):
            judge(match, 1, two_cards)
    assert match == before


def test_the_same_deck_deals_the_same_round() -> None:
    deck = shuffled(random.Random(5))
    one, other = (new_match(4, RuleOptions(), Guards()) for _ in range(2))
    start_round(one, deck)
    start_round(other, deck)
    assert one == other
