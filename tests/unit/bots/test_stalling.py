"""No bot draws from the discard pile five times running without laying anything."""

import random
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from rami_bots.stalling import MAX_FRUITLESS_TAKES, must_draw_stock
from rami_engine import (
    DRAW_DISCARD,
    DRAW_STOCK,
    Action,
    ActionKind,
    Guards,
    MatchState,
    Phase,
    RuleOptions,
    SeatView,
    apply,
    legal_actions,
    new_match,
    seat_view,
    start_round,
)
from unit.bots.asking import BOT_IDS, ask, is_in
from unit.engine.positions import round_of, shuffled


class Draw(NamedTuple):
    """A draw that is to come."""

    view: SeatView
    bound: bool
    """Whether the seat has drawn from the discard pile in four own turns running and laid nothing."""


def dealt(players: int, rng: random.Random) -> MatchState:
    match = new_match(players, RuleOptions(), Guards(max_turns_per_round=60))
    start_round(match, shuffled(rng))
    return match


def fond_of_taking(match: MatchState, rng: random.Random, taking: float, laying: float) -> Iterator[Draw]:
    """A round of seats that take the discard with probability `taking`, lay what they can with probability
    `laying`, and mostly give back what they took.
    """
    runs: list[deque[bool]] = [deque(maxlen=MAX_FRUITLESS_TAKES) for _ in range(match.players)]
    while is_in(match, Phase.DRAW):
        seat = round_of(match).turn
        yield Draw(seat_view(match, seat), runs[seat].count(True) == MAX_FRUITLESS_TAKES)
        top = round_of(match).discards[-1]
        takes = rng.random() < taking
        apply(match, seat, DRAW_DISCARD if takes else DRAW_STOCK)
        laid = False
        while is_in(match, Phase.PLAY):
            legal = legal_actions(match, seat)
            lays = [action for action in legal if action.kind in (ActionKind.MELD, ActionKind.LAY_OFF)]
            if lays and rng.random() < laying:
                laid = True
                apply(match, seat, rng.choice(lays))
                continue
            back = Action(ActionKind.DISCARD, 1 << top)
            discards = [action for action in legal if action.kind == ActionKind.DISCARD]
            apply(match, seat, back if back in legal and rng.random() < 0.7 else rng.choice(discards))
        runs[seat].append(takes and not laid)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_rule_is_never_late_and_rarely_early(players: int) -> None:
    rng = random.Random(players)
    bound = early = free = 0
    for _ in range(150):
        for draw in fond_of_taking(dealt(players, rng), rng, taking=rng.choice([0.5, 0.8, 0.95]), laying=0.2):
            if draw.bound:
                bound += 1
                assert must_draw_stock(draw.view)
            else:
                free += 1
                early += must_draw_stock(draw.view)
    assert bound > 100
    assert early < free / 20


def test_seats_that_hand_the_same_card_to_and_fro_are_bound() -> None:
    rng = random.Random(11)
    match = dealt(2, rng)
    for turn in range(2 * MAX_FRUITLESS_TAKES):
        seat = round_of(match).turn
        assert not must_draw_stock(seat_view(match, seat)), f"turn {turn + 1}"
        card = round_of(match).discards[-1]
        apply(match, seat, DRAW_DISCARD)
        apply(match, seat, Action(ActionKind.DISCARD, 1 << card))
    assert must_draw_stock(seat_view(match, round_of(match).turn))


def test_seats_that_only_draw_from_the_stock_are_free() -> None:
    rng = random.Random(12)
    match = dealt(2, rng)
    while match.phase == Phase.DRAW and round_of(match).stock_count:
        seat = round_of(match).turn
        assert not must_draw_stock(seat_view(match, seat))
        apply(match, seat, DRAW_STOCK)
        apply(match, seat, legal_actions(match, seat)[-1])


@pytest.mark.parametrize("bot", BOT_IDS)
def test_a_bound_bot_draws_from_the_stock_even_when_the_discard_makes_a_meld(bot: str) -> None:
    # Both seats pass one card to and fro: a third card of a pair that the first seat holds.
    match = new_match(2, RuleOptions(), Guards())
    first = (0, 13, 4, 21, 31, 41, 51)
    second = (2, 16, 7, 24, 35, 45, 10)
    rest = [card for card in range(52) if card not in (*first, *second, 26)]
    start_round(match, bytes([card for pair in zip(first, second, strict=True) for card in pair] + [26] + rest))
    assert ask(bot, match) == "discard-pile"
    for _ in range(2 * MAX_FRUITLESS_TAKES):
        seat = round_of(match).turn
        apply(match, seat, DRAW_DISCARD)
        apply(match, seat, Action(ActionKind.DISCARD, 1 << 26))
    assert ask(bot, match) == "stock"
