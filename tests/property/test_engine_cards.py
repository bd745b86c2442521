"""Round trips of cards, actions and histories; melds and deadwood against the slow and obvious way."""

import random
from collections.abc import Iterator
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from rami_engine import (
    DRAW_DISCARD,
    DRAW_STOCK,
    Action,
    CardTrace,
    RoundHistory,
    best_split,
    cards_of,
    deadwood_points,
    discard_action,
    format_action,
    format_cards,
    is_meld,
    lay_off_action,
    lay_offs_on,
    mask_of,
    mask_points,
    meld_action,
    melds_in,
    parse_action,
    parse_cards,
    require_well_formed,
)

thorough = settings(deadline=None, max_examples=200)

cards = st.integers(0, 51)
hands = st.sets(cards, max_size=11)


@st.composite
def close_hands(draw: st.DrawFn) -> set[int]:
    """Hands of few ranks and neighbouring suits, which are full of melds that compete for cards."""
    low = draw(st.integers(0, 9))
    near = [suit * 13 + rank for suit in range(4) for rank in range(low, low + 4)]
    return draw(st.sets(st.sampled_from(near), max_size=11))


@given(st.lists(cards, unique=True))
def test_cards_read_back_as_they_were_written(some: list[int]) -> None:
    assert parse_cards(format_cards(some)) == tuple(some)
    assert cards_of(mask_of(some)) == tuple(sorted(some))


@given(
    st.one_of(
        st.sampled_from([DRAW_STOCK, DRAW_DISCARD]),
        st.builds(discard_action, cards),
        st.builds(meld_action, st.sets(cards, min_size=1)),
        st.builds(lay_off_action, st.integers(0, 10**9 - 1), st.sets(cards, min_size=1)),
    )
)
def test_actions_read_back_as_they_were_written(action: Action) -> None:
    require_well_formed(action)
    assert parse_action(format_action(action)) == action


turns = st.integers(1, 2**40)
seats = st.integers(0, 3)


@st.composite
def histories(draw: st.DrawFn) -> RoundHistory:
    history = RoundHistory()
    for card in draw(st.sets(cards)):
        for record in draw(
            st.sets(st.sampled_from([history.record_discard, history.record_taking, history.record_pass]), min_size=1)
        ):
            record(card, draw(seats), draw(turns))
    history.record_laying(mask_of(draw(st.sets(cards, max_size=5))), draw(seats), draw(turns))
    return history


@thorough
@given(histories())
def test_histories_read_back_from_their_bytes(history: RoundHistory) -> None:
    encoded = history.to_bytes()
    assert RoundHistory.from_bytes(encoded) == history
    assert RoundHistory.from_bytes(encoded).to_bytes() == encoded == history.copy().to_bytes()


@thorough
@given(st.lists(st.tuples(st.sampled_from(["discard", "taking", "pass", "laying"]), cards, seats), max_size=60))
def test_a_history_keeps_the_latest_of_each_event(events: list[tuple[str, int, int]]) -> None:
    history = RoundHistory()
    for turn, (kind, card, seat) in enumerate(events, 1):
        if kind == "laying":
            history.record_laying(1 << card, seat, turn)
        else:
            getattr(history, f"record_{kind}")(card, seat, turn)
        if turn % 3 == 0:
            history = history.copy()
            history.to_bytes()

    def latest(kind: str, card: int) -> tuple[int | None, int]:
        found = [(seat, turn) for turn, (what, of, seat) in enumerate(events, 1) if (what, of) == (kind, card)]
        return found[-1] if found else (None, 0)

    for card in {card for _, card, _ in events}:
        passes = {seat for kind, of, seat in events if (kind, of) == ("pass", card)}
        passed_by = sum(1 << seat for seat in passes)
        assert history.trace(card) == CardTrace(
            card,
            *latest("discard", card),
            *latest("taking", card),
            *latest("laying", card),
            passed_by,
            latest("pass", card)[1],
        )
    assert RoundHistory.from_bytes(history.to_bytes()) == history


def is_meld_by_the_book(some: tuple[int, ...]) -> bool:
    ranks = sorted(card % 13 for card in some)
    suits = {card // 13 for card in some}
    is_set = len(some) in (3, 4) and len(set(ranks)) == 1 and len(suits) == len(some)
    is_run = len(some) >= 3 and len(suits) == 1 and ranks == list(range(ranks[0], ranks[0] + len(ranks)))
    return is_set or is_run


def parts_of(hand: set[int]) -> Iterator[tuple[int, ...]]:
    for size in range(1, len(hand) + 1):
        yield from combinations(sorted(hand), size)


@settings(deadline=None, max_examples=60)
@given(st.one_of(hands, close_hands()))
def test_melds_are_those_of_the_book(hand: set[int]) -> None:
    expected = sorted(mask_of(part) for part in parts_of(hand) if is_meld_by_the_book(part))
    assert list(melds_in(mask_of(hand))) == expected
    assert all(is_meld(meld) for meld in expected)


@settings(deadline=None, max_examples=60)
@given(close_hands(), st.randoms(use_true_random=False))
def test_lay_offs_are_those_of_the_book(near: set[int], rng: random.Random) -> None:
    melds = melds_in(mask_of(near))
    if not melds:
        return
    meld = rng.choice(melds)
    hand = near - set(cards_of(meld))
    expected = sorted(mask_of(part) for part in parts_of(hand) if is_meld_by_the_book((*cards_of(meld), *part)))
    assert list(lay_offs_on(meld, mask_of(hand))) == expected


def least_points(hand: int, ace_high: bool, melds: tuple[int, ...]) -> int:
    """The fewest points over every way to lay disjoint melds, each tried and left out."""
    best = mask_points(hand, ace_high)
    for place, meld in enumerate(melds):
        if meld & hand == meld:
            best = min(best, least_points(hand & ~meld, ace_high, melds[place + 1 :]))
    return best


@thorough
@given(st.one_of(hands, close_hands()), st.booleans())
def test_no_split_leaves_less_than_the_best(hand: set[int], ace_high: bool) -> None:
    cards_held = mask_of(hand)
    split = best_split(cards_held, ace_high)
    assert split.points == least_points(cards_held, ace_high, melds_in(cards_held))
    assert split.points == deadwood_points(cards_held, ace_high) == mask_points(split.deadwood, ace_high)
    assert sum(split.melds) + split.deadwood == cards_held
    assert all(is_meld(meld) for meld in split.melds)
    assert list(split.melds) == sorted(split.melds)
