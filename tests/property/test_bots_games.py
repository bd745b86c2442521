"""Whole games of the bots: nothing they choose is refused, no card is lost, no bot stalls, every game ends."""

import random
from collections import deque
from itertools import product

import pytest

from rami_bots import BOTS, find_bot
from rami_bots.stalling import MAX_FRUITLESS_TAKES
from rami_engine import (
    FULL_DECK,
    Action,
    ActionKind,
    Guards,
    MatchState,
    Phase,
    RuleOptions,
    SeatView,
    apply,
    legal_actions_for,
    mask_of,
    new_match,
    seat_view,
    start_round,
)
from unit.bots.asking import is_in, time_for
from unit.engine.positions import round_of, shuffled

GAMES = 84
"""A table; the twelve tables together play 1,008 games."""
DEALS = 2
"""Supposed deals that Hard has time for here: enough to try everything, and a thousand games stay short."""
TABLES = tuple(product((2, 3, 4), (False, True), (False, True)))


def decide(bot: str, view: SeatView, seed: int) -> Action:
    return find_bot(bot).policy(view, legal_actions_for(view), seed, time_for(DEALS))


def all_cards(match: MatchState) -> list[int]:
    """Each place where cards are, as a mask."""
    current = round_of(match)
    return [*current.hands, *current.melds, mask_of(current.discards), mask_of(current.deck[current.stock_pos :])]


def conserved(match: MatchState) -> bool:
    places = all_cards(match)
    together = 0
    for cards in places:
        together |= cards
    return together == FULL_DECK and sum(cards.bit_count() for cards in places) == 52


@pytest.mark.parametrize(("players", "ace_high", "discard_to_win"), TABLES)
def test_r2_r4_bots_are_never_refused_and_no_card_is_lost(players: int, ace_high: bool, discard_to_win: bool) -> None:
    options = RuleOptions(target_score=20, ace_high=ace_high, discard_to_win=discard_to_win)
    for game in range(GAMES):
        rng = random.Random(f"{players} {ace_high} {discard_to_win} {game}")
        seated = [rng.choice(BOTS).id for _ in range(players)]
        match = new_match(players, options, Guards())
        while not is_in(match, Phase.MATCH_OVER):
            start_round(match, shuffled(rng))
            takes: list[deque[bool]] = [deque(maxlen=MAX_FRUITLESS_TAKES) for _ in range(players)]
            took, laid = False, False
            while is_in(match, Phase.DRAW, Phase.PLAY):
                seat = round_of(match).turn
                before = round_of(match).hands.copy()
                action = decide(seated[seat], seat_view(match, seat), rng.getrandbits(64))
                # An action that the rules refuse raises here.
                outcome = apply(match, seat, action)
                assert conserved(match)
                changed = [place for place, hand in enumerate(round_of(match).hands) if hand != before[place]]
                assert changed in ([seat], []), "an action changes the acting hand alone"
                if action.kind <= ActionKind.DRAW_DISCARD:
                    grown = round_of(match).hands[seat].bit_count() - before[seat].bit_count()
                    assert grown == (outcome.drawn is not None)
                    took, laid = action.kind == ActionKind.DRAW_DISCARD, False
                    assert not (took and takes[seat].count(True) == MAX_FRUITLESS_TAKES), "bots do not stall"
                elif action.kind == ActionKind.DISCARD:
                    takes[seat].append(took and not laid)
                else:
                    laid = True
        assert max(match.scores) >= options.target_score


def test_every_bot_ends_its_games_long_before_the_turn_limit() -> None:
    for bot in BOTS:
        rng = random.Random(bot.id)
        for players in (2, 3, 4):
            match = new_match(players, RuleOptions(target_score=1000), Guards())
            for _ in range(6):
                start_round(match, shuffled(rng))
                while is_in(match, Phase.DRAW, Phase.PLAY):
                    seat = round_of(match).turn
                    apply(match, seat, decide(bot.id, seat_view(match, seat), rng.getrandbits(64)))
                assert round_of(match).turns < 200


def test_games_are_the_same_again() -> None:
    def actions(limit: int) -> list[Action]:
        rng = random.Random(6)
        match = new_match(2, RuleOptions(), Guards())
        start_round(match, shuffled(rng))
        played: list[Action] = []
        while is_in(match, Phase.DRAW, Phase.PLAY) and len(played) < limit:
            seat = round_of(match).turn
            played.append(decide("hard", seat_view(match, seat), rng.getrandbits(64)))
            apply(match, seat, played[-1])
        return played

    assert actions(40) == actions(40)
