"""Whatever the position, a bot answers with a legal action, and hidden cards have no say in it."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from rami_bots import BOTS, decide
from rami_engine import (
    Guards,
    MatchState,
    Phase,
    RuleOptions,
    apply,
    legal_actions,
    mask_of,
    new_match,
    seat_view,
    start_round,
)
from unit.bots.asking import time_for
from unit.engine.positions import play_greedy, play_match, play_random, round_of, shuffled

# The machines that run this are slower or faster, so no example has a deadline.
thorough = settings(deadline=None, max_examples=100)


@st.composite
def turns(draw: st.DrawFn) -> MatchState:
    """A match in which a seat is to move, reached by wild or greedy play."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    options = RuleOptions(ace_high=draw(st.booleans()), discard_to_win=draw(st.booleans()))
    guards = Guards(max_turns_per_round=draw(st.sampled_from([2, 40, 400])))
    match = new_match(draw(st.integers(2, 4)), options, guards)
    start_round(match, shuffled(rng))
    steps = draw(st.integers(0, 120))
    before = match.copy()
    for number, _ in enumerate(play_match(match, rng, draw(st.sampled_from([play_random, play_greedy])))):
        if match.phase in (Phase.DRAW, Phase.PLAY):
            before = match.copy()
        if number >= steps:
            break
    return before


def with_other_hidden_cards(match: MatchState, rng: random.Random) -> MatchState:
    """The match with all that the seat to move cannot see dealt anew, but for cards rivals took in public."""
    other = match.copy()
    current = round_of(other)
    public = [
        sum(1 << trace.card for trace in current.history.traces() if trace.taken_by == seat) & hand
        for seat, hand in enumerate(current.hands)
    ]
    stock = list(current.deck[current.stock_pos :])
    pool = stock.copy()
    for seat, hand in enumerate(current.hands):
        if seat != current.turn:
            pool += [card for card in range(52) if (hand & ~public[seat]) >> card & 1]
    rng.shuffle(pool)
    for seat, hand in enumerate(current.hands):
        if seat != current.turn:
            count = (hand & ~public[seat]).bit_count()
            current.hands[seat] = public[seat] | mask_of(pool[:count])
            del pool[:count]
    current.deck = current.deck[: current.stock_pos] + bytes(pool)
    return other


@thorough
@given(turns(), st.integers(0, 2**64 - 1), st.integers(0, 20))
def test_the_answer_is_legal_and_the_same_again(match: MatchState, seed: int, deals: int) -> None:
    seat = round_of(match).turn
    view, legal = seat_view(match, seat), legal_actions(match, seat)
    for bot in BOTS:
        answers = [bot.policy(view, legal, seed, time_for(deals)) for _ in range(2)]
        assert answers[0] in legal
        assert answers[0] == answers[1]
        apply(match.copy(), seat, answers[0])


@thorough
@given(turns(), st.integers(0, 2**64 - 1))
def test_hidden_cards_change_neither_a_decision_nor_its_reasons(match: MatchState, seed: int) -> None:
    seat = round_of(match).turn
    other = with_other_hidden_cards(match, random.Random(seed))
    legal = legal_actions(match, seat)
    for bot in BOTS:
        decisions = [
            decide(bot, seat_view(state, seat), legal, seed, time_for(12), explain=True) for state in (match, other)
        ]
        assert decisions[0] == decisions[1]
