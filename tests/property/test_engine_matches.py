"""What holds for every match, whatever is dealt and played."""

import random
from itertools import chain, combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from rami_engine import (
    DECK_MELDS,
    DISCARDS,
    DRAW_DISCARD,
    DRAW_STOCK,
    FULL_DECK,
    Action,
    ActionKind,
    Guards,
    MalformedAction,
    MatchState,
    Phase,
    RuleOptions,
    apply,
    cards_of,
    check,
    is_meld,
    legal_actions,
    legal_actions_for,
    mask_of,
    new_match,
    seat_view,
    start_round,
)
from unit.engine.positions import play_greedy, play_random, round_of, shuffled

# The machines that run this are slower or faster, so no example has a deadline.
thorough = settings(deadline=None, max_examples=150)


@st.composite
def matches(draw: st.DrawFn, *, started: bool = True) -> MatchState:
    """A match somewhere on its way: any options, decks and actions."""
    options = st.builds(RuleOptions, st.integers(1, 200), st.booleans(), st.booleans())
    guards = st.builds(Guards, st.integers(1, 60), st.integers(1, 200))
    match = new_match(draw(st.integers(2, 4)), draw(options), draw(guards))
    rng = random.Random(draw(st.integers(0, 2**32)))
    policy = draw(st.sampled_from([play_random, play_greedy]))
    for _ in range(draw(st.integers(int(started), 250))):
        if match.phase == Phase.MATCH_OVER:
            break
        if match.phase in (Phase.NOT_STARTED, Phase.ROUND_OVER):
            start_round(match, shuffled(rng))
            continue
        seat = round_of(match).turn
        apply(match, seat, policy(rng, legal_actions(match, seat)))
    return match


def arbitrary_actions(match: MatchState) -> st.SearchStrategy[Action]:
    """Actions of any kind, well formed or not; their cards often from a hand, or making a meld."""
    hands = match.round.hands if match.round else []
    melds = match.round.melds if match.round else []
    held = [1 << card for hand in hands for card in cards_of(hand)]
    masks = st.one_of(
        st.integers(-1, FULL_DECK + 1),
        st.sampled_from([0, *DECK_MELDS, *(1 << card for card in range(52)), *held]),
        st.lists(st.sampled_from(held or [1]), unique=True, max_size=4).map(sum),
    )
    return st.builds(Action, st.sampled_from(ActionKind), masks, st.integers(-1, len(melds) + 1))


@thorough
@given(matches(started=False))
def test_each_card_is_in_exactly_one_place(match: MatchState) -> None:
    if match.round is None:
        assert match.phase == Phase.NOT_STARTED
        return
    current = match.round
    stock = mask_of(current.deck[current.stock_pos :])
    places = [*current.hands, *current.melds, mask_of(current.discards), stock]
    assert sum(place.bit_count() for place in places) == 52
    assert sum(places) == FULL_DECK
    assert current.stock_count == stock.bit_count()
    assert all(is_meld(meld) for meld in current.melds)


@thorough
@given(st.data(), matches(started=False))
def test_an_action_is_accepted_exactly_when_it_is_in_the_list(data: st.DataObject, match: MatchState) -> None:
    seat = data.draw(
        st.sampled_from([*range(-1, match.players + 1), *[round_of(match).turn if match.round else 0] * 6])
    )
    legal = legal_actions(match, seat)
    candidates = data.draw(st.lists(arbitrary_actions(match), min_size=5, max_size=20))
    for action in (*candidates, *legal):
        before = match.copy()
        try:
            reason = check(match, seat, action)
        except MalformedAction:
            assert action not in legal
        else:
            assert (reason is None) == (action in legal)
        assert match == before


def all_actions(match: MatchState) -> set[Action]:
    """Every draw, meld and discard there is, and every lay-off of up to three cards of the hand or of all of it."""
    current = round_of(match)
    hand = cards_of(current.hands[current.turn])
    parts = chain(*(combinations(hand, size) for size in (1, 2, 3, len(hand))))
    masks = {mask_of(part) for part in parts if part}
    melds = {Action(ActionKind.MELD, cards) for cards in {*DECK_MELDS, *masks}}
    numbers = range(len(current.melds) + 2)
    lay_offs = {Action(ActionKind.LAY_OFF, cards, number) for cards in masks for number in numbers}
    return {DRAW_STOCK, DRAW_DISCARD, *DISCARDS, *melds, *lay_offs}


@settings(deadline=None, max_examples=40)
@given(matches())
def test_the_list_holds_every_action_that_is_accepted(match: MatchState) -> None:
    seat = round_of(match).turn
    accepted = {action for action in all_actions(match) if check(match, seat, action) is None}
    long_lay_offs = {
        action
        for action in legal_actions(match, seat)
        if action.kind == ActionKind.LAY_OFF and action.cards.bit_count() > 3
    }
    assert accepted | long_lay_offs == set(legal_actions(match, seat))
    assert all(check(match, seat, action) is None for action in long_lay_offs)


@thorough
@given(matches())
def test_the_list_is_in_canonical_order(match: MatchState) -> None:
    for seat in range(match.players):
        legal = legal_actions(match, seat)
        assert list(legal) == sorted(legal, key=lambda action: (action.kind, action.meld, action.cards))
        assert len(set(legal)) == len(legal)
    in_play = match.phase in (Phase.DRAW, Phase.PLAY)
    movers = [seat for seat in range(match.players) if legal_actions(match, seat)]
    assert movers == ([round_of(match).turn] if in_play else [])


@thorough
@given(matches(started=False))
def test_a_seat_view_gives_the_same_list_as_the_match(match: MatchState) -> None:
    for seat in range(match.players):
        assert legal_actions_for(seat_view(match, seat)) == legal_actions(match, seat)
    assert legal_actions_for(seat_view(match, None)) == ()


def with_other_hidden_cards(match: MatchState, viewer: int | None, rng: random.Random) -> MatchState:
    """The same match to the eyes of the viewer: all cards that it cannot see are dealt anew to their places."""
    other = match.copy()
    current = round_of(other)
    others = [seat for seat in range(match.players) if seat != viewer]
    stock = list(current.deck[current.stock_pos :])
    hidden = [card for seat in others for card in cards_of(current.hands[seat])] + stock
    rng.shuffle(hidden)
    for seat in others:
        size = current.hands[seat].bit_count()
        current.hands[seat] = mask_of(hidden[:size])
        del hidden[:size]
    gone = list(current.deck[: current.stock_pos])
    rng.shuffle(gone)
    current.deck = bytes(gone + hidden)
    return other


@thorough
@given(matches(), st.randoms(use_true_random=False))
def test_states_that_differ_in_hidden_cards_alone_look_the_same(match: MatchState, rng: random.Random) -> None:
    for viewer in (*range(match.players), None):
        other = with_other_hidden_cards(match, viewer, rng)
        view, other_view = seat_view(match, viewer), seat_view(other, viewer)
        assert view == other_view
        assert repr(view) == repr(other_view)
        assert legal_actions_for(view) == legal_actions_for(other_view)
        assert repr(match) == repr(other)


@thorough
@given(st.integers(2, 4), st.permutations(range(52)), st.booleans(), st.integers(0, 2**32))
def test_a_round_replayed_from_its_deck_and_actions_is_the_same(
    players: int, cards: list[int], discard_to_win: bool, seed: int
) -> None:
    rng = random.Random(seed)
    options = RuleOptions(target_score=1000, discard_to_win=discard_to_win)
    match, again = (new_match(players, options, Guards(max_turns_per_round=40)) for _ in range(2))
    start_round(match, bytes(cards))
    start_round(again, bytes(cards))
    played = []
    while match.phase != Phase.ROUND_OVER:
        seat = round_of(match).turn
        action = play_random(rng, legal_actions(match, seat))
        played.append((seat, action, apply(match, seat, action)))
    assert match != again
    for seat, action, outcome in played:
        assert apply(again, seat, action) == outcome
    assert again == match


@thorough
@given(matches())
def test_playing_on_from_a_copy_leaves_the_match_alone(match: MatchState) -> None:
    seat = round_of(match).turn
    before = match.copy()
    for action in legal_actions(match, seat):
        after = match.copy()
        apply(after, seat, action)
        assert after != match
    assert match == before


@thorough
@given(matches())
def test_scores_are_the_points_of_rivals_and_decide_the_match(match: MatchState) -> None:
    result = match.results
    if result is None:
        return
    assert result.points == sum(result.hand_points) - result.hand_points[result.winner]
    assert result.hand_points[result.winner] == min(result.hand_points)
    assert list(result.scores) == match.scores
    is_decided = result.scores[result.winner] >= match.options.target_score
    is_spent = match.turns >= match.guards.max_turns_per_match
    if match.phase == Phase.MATCH_OVER:
        assert is_decided or is_spent
        assert match.winner == (result.winner if is_decided else match.scores.index(max(match.scores)))
    else:
        assert not is_decided
        assert match.winner is None
