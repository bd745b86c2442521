"""What a seat makes of what its rivals did: who lays melds at once, and which hands fit."""

import random
from itertools import islice

import pytest

from rami_bots import find_bot
from rami_bots.arena import honest, play_match
from rami_bots.beliefs import doubts_at_once, doubts_holding, lays_at_once
from rami_bots.knowledge import knowledge_of
from rami_bots.patterns import melded
from rami_bots.worlds import worlds
from rami_engine import FULL_DECK, Guards, MatchState, Phase, RuleOptions, cards_of, parse_card, seat_view
from unit.bots.asking import play, view_of_turn
from unit.engine.positions import mask, position, round_of


def test_a_rival_of_whom_nothing_was_seen_lays_at_once_as_likely_as_not() -> None:
    view = view_of_turn(position("2C 7D 9S", "3S 9H QC", phase=Phase.DRAW, discards="KD"))
    assert lays_at_once(view, 1) == pytest.approx(0.5)


def test_who_lays_a_meld_that_could_wait_lays_at_once() -> None:
    match = position("2C 7D 9S 4S", "3S 9H QC QD QH JS 2H", phase=Phase.DRAW, discards="KD", turn=1)
    play(match, "stock", "meld QC QD QH", "discard JS")
    assert lays_at_once(view_of_turn(match), 1) == 1


def test_who_lays_nothing_for_long_hardly_lays_at_once() -> None:
    match = position("2C 7D 9S 4S", "3S 9H QC 7H QH JS 2H", phase=Phase.DRAW, discards="KD")
    round_of(match).turns = 20
    assert 0 < lays_at_once(view_of_turn(match), 1) < 0.1


def test_who_holds_a_card_that_it_took_does_not_lay_at_once() -> None:
    match = position("2C 7D 9S 4S", "3S 9H QC QH JS 2H", phase=Phase.DRAW, discards="QD", stock="4H 5H", turn=1)
    play(match, "discard-pile", "discard JS")
    assert lays_at_once(view_of_turn(match), 1) == 0


def test_a_meld_that_had_to_be_laid_tells_nothing() -> None:
    few_cards = position("2C 7D 9S", "3S 9H QC QD QH JS 2H", phase=Phase.DRAW, discards="KD", turn=1)
    low_stock = position("2C 7D 9S 4S", "3S 9H QC QD QH JS 2H", phase=Phase.DRAW, discards="KD", stock="4H 5H", turn=1)
    for match in (few_cards, low_stock):
        play(match, "stock", "meld QC QD QH", "discard JS")
        assert lays_at_once(view_of_turn(match), 1) <= 0.5


def test_with_four_seats_only_the_stock_makes_who_holds_melds_back_lay() -> None:
    match = position("2C", "3S 9H QC QD QH JS 2H", "8C 9C", "KC 2D", phase=Phase.DRAW, discards="KD", turn=1)
    play(match, "stock", "meld QC QD QH", "discard JS")
    assert lays_at_once(view_of_turn(match), 1) == 1


def test_melds_without_a_history_tell_nothing() -> None:
    match = position("2C 7D 9S 4S", "3S 9H", phase=Phase.DRAW, discards="KD", melds=["QC QD QH"])
    assert lays_at_once(view_of_turn(match), 1) == pytest.approx(0.5)


def after_discards() -> MatchState:
    """Seat 0 is to draw; seat 1 has discarded a 6 and, before it, a jack, and passed over the 8 of hearts."""
    match = position("2C 7D 9S 4S", "3S 9H QC QD", phase=Phase.DRAW, discards="8H JD 6S", melds=["KC KD KH"])
    history = round_of(match).history
    history.record_pass(parse_card("8H"), 1, 2)
    history.record_discard(parse_card("JD"), 1, 2)
    history.record_discard(parse_card("6S"), 1, 4)
    return match


@pytest.mark.parametrize(
    ("fitting", "doubtful"),
    [
        ("3S 2H 5D AC", "3S 2H 5D 7C"),  # rather than the 6 it would have discarded the 7
        ("TC 2H 5D AC", "TC 2H 9D AC"),  # one such card may have come since the jack, for all it discarded
        ("3S 2H 5D AC", "3S 4H 5D AC QC QS QD"),  # a meld it would have laid
        ("3S 2H 5D AC", "3S 2H 5D KS"),  # the king it would have laid off
        ("3S 2H 5D 5C", "3S 2H 6H 7H"),  # it waits for the 8 that it passed over
    ],
)
def test_a_hand_that_easy_would_have_played_otherwise_is_doubtful(fitting: str, doubtful: str) -> None:
    view = view_of_turn(after_discards())
    doubts = doubts_at_once(view, knowledge_of(view), 1)
    assert doubts(mask(fitting)) < doubts(mask(doubtful))


@pytest.mark.parametrize(
    ("fitting", "doubtful"),
    [
        ("3S 2H 5D AC", "3S 2H 9D AC"),
        ("3S 2H 9D 9C", "3S 2H 9D JC"),  # of a pair it thinks more
        ("3S 2H QC QD", "3S 2H QC JC"),  # but not of one that waits for a king on the table
        ("3S 2H 5D 5C", "3S 2H 6H 7H"),
    ],
)
def test_so_is_one_of_who_holds_melds_back(fitting: str, doubtful: str) -> None:
    view = view_of_turn(after_discards())
    doubts = doubts_holding(view, knowledge_of(view), 1)
    assert doubts(mask(fitting)) < doubts(mask(doubtful))


def test_a_hand_in_which_a_taken_card_stands_in_no_meld_is_doubtful() -> None:
    match = position("2C 7D 9S 4S", "3S 9H QC QH JS 2H", phase=Phase.DRAW, discards="QD", stock="4H 5H", turn=1)
    play(match, "discard-pile", "discard JS")
    view = view_of_turn(match)
    doubts = doubts_holding(view, knowledge_of(view), 1)
    assert doubts(mask("QD QC QH 3S 5C 2H")) == doubts(mask("QD KD JD 3S 5C 2H")) == 0
    assert doubts(mask("QD QC TH 3S 5C 2H")) > 0


def test_who_holds_melds_back_may_have_any() -> None:
    view = view_of_turn(after_discards())
    assert doubts_holding(view, knowledge_of(view), 1)(mask("3H 4H 5H AC")) == 0


def test_hands_of_who_is_seen_to_lay_at_once_hardly_ever_hold_a_meld() -> None:
    match = position("2C 7D 9S 4S", "3S 9H QC QD QH JS 2H 6D", phase=Phase.DRAW, discards="KD", turn=1)
    play(match, "stock", "meld QC QD QH", "discard JS")
    view = view_of_turn(match)
    deals = list(islice(worlds(view, knowledge_of(view), 3), 200))
    assert {deal.at_once for deal in deals} == {0b10}
    assert sum(bool(melded(deal.hands[1])) for deal in deals) <= 20


def test_rivals_lay_at_once_in_as_many_deals_as_that_is_probable() -> None:
    match = position("2C 7D 9S 4S", "3S 9H QC 7H", "JS 2H TD 8C", phase=Phase.DRAW, discards="KD")
    round_of(match).turns = 3
    view = view_of_turn(match)
    deals = list(islice(worlds(view, knowledge_of(view), 3), 100))
    for seat in (1, 2):
        share = sum(deal.at_once >> seat & 1 for deal in deals) / len(deals)
        assert share == pytest.approx(lays_at_once(view, seat), abs=0.02)
    assert not any(deal.at_once & 1 for deal in deals)


@pytest.mark.parametrize("rival", ["easy", "normal"])
def test_cards_that_a_rival_holds_are_supposed_more_often_than_by_chance(rival: str) -> None:
    found: list[float] = []
    rng = random.Random(5)

    def look(match: MatchState) -> None:
        if match.phase != Phase.PLAY or round_of(match).turn or rng.random() > 0.25 or round_of(match).turns < 4:
            return
        view = seat_view(match, 0)
        knowledge = knowledge_of(view)
        held = round_of(match).hands[1] & ~knowledge.held[1]
        deals = islice(worlds(view, knowledge, len(found)), 30)
        right = sum((deal.hands[1] & held).bit_count() for deal in deals) / 30
        found.append(right - held.bit_count() ** 2 / knowledge.unseen.bit_count())

    players = [honest(find_bot(bot).policy) for bot in ("normal", rival)]
    for number in range(12):
        play_match(players, RuleOptions(1), Guards(), seed=6, match_number=number, clock=lambda: 0.0, watch=look)
    assert len(found) > 20
    assert sum(found) / len(found) > 0.1


def test_beliefs_rest_on_what_the_seat_sees() -> None:
    match = position("2C 7D 9S 4S", "3S 9H QC 7H", phase=Phase.DRAW, discards="KD")
    other = position("2C 7D 9S 4S", "JS JH JD JC", phase=Phase.DRAW, discards="KD")
    assert list(cards_of(FULL_DECK & ~knowledge_of(view_of_turn(match)).unseen)) != []
    deals = [list(islice(worlds(view_of_turn(one), knowledge_of(view_of_turn(one)), 3), 10)) for one in (match, other)]
    assert deals[0] == deals[1]
