"""What a seat knows of the cards it does not see, and the deals it supposes."""

import random
from itertools import islice

import pytest

from rami_bots.knowledge import knowledge_of
from rami_bots.patterns import outs
from rami_bots.worlds import worlds
from rami_engine import FULL_DECK, Guards, Phase, RuleOptions, mask_of, new_match, seat_view, start_round
from unit.bots.asking import play
from unit.engine.positions import mask, play_greedy, play_match, position, round_of, shuffled


def test_a_card_taken_in_public_is_known_until_it_is_discarded_again() -> None:
    match = position("2C 7D 9S", "3S 9H QC", phase=Phase.DRAW, discards="KD", stock="4H 5H 6S 8S")
    play(match, "discard-pile", "discard 7D")
    known = knowledge_of(seat_view(match, 1))
    assert known.held == (mask("KD"), 0)
    assert known.unseen & mask("KD 7D 3S") == 0
    play(match, "stock", "discard 3S")
    play(match, "stock", "discard KD")
    assert knowledge_of(seat_view(match, 1)).held == (0, 0)


def test_a_laid_card_is_held_no_more() -> None:
    match = position("QD JD 9S", "3S 9H QC", phase=Phase.DRAW, discards="KD", stock="4H 5H")
    play(match, "discard-pile")
    assert knowledge_of(seat_view(match, 1)).held == (mask("KD"), 0)
    play(match, "meld JD QD KD")
    assert knowledge_of(seat_view(match, 1)).held == (0, 0)


def test_what_a_seat_discarded_or_passed_over_it_refused() -> None:
    match = position("2C 7D 9S", "3S 9H QC", phase=Phase.DRAW, discards="KD", stock="4H 5H 6S 8S")
    play(match, "stock", "discard 7D")
    play(match, "stock")
    view = seat_view(match, 1)
    assert knowledge_of(view).refused == (mask("KD 7D"), mask("7D"))


@pytest.mark.parametrize("players", [2, 3, 4])
def test_supposed_deals_fit_all_that_is_known(players: int) -> None:
    rng = random.Random(players)
    match = new_match(players, RuleOptions(), Guards())
    start_round(match, shuffled(rng))
    for number, _ in enumerate(play_match(match, rng, play_greedy)):
        if number == 60 or match.phase != Phase.PLAY:
            if number >= 60:
                break
            continue
        view = seat_view(match, round_of(match).turn)
        knowledge = knowledge_of(view)
        seen = mask_of(view.discards)
        for meld in view.melds:
            seen |= meld
        for world in islice(worlds(view, knowledge, seed=5), 3):
            assert tuple(hand.bit_count() for hand in world.hands) == view.hand_sizes
            assert world.hands[round_of(match).turn] == view.hand
            assert all(held & ~hand == 0 for held, hand in zip(knowledge.held, world.hands, strict=True))
            assert sum(world.hands) + mask_of(world.stock) + seen == FULL_DECK
            assert len(world.stock) == view.stock_count


def test_the_true_hands_are_never_contradicted_by_what_is_known() -> None:
    rng = random.Random(8)
    match = new_match(3, RuleOptions(target_score=200), Guards())
    for _ in play_match(match, rng, play_greedy):
        view = seat_view(match, 0)
        hands = round_of(match).hands
        for seat, held in enumerate(knowledge_of(view).held):
            assert held & ~hands[seat] == 0


def test_supposed_deals_follow_from_the_seed_and_avoid_hands_that_refused_a_meld() -> None:
    match = position("2C 7D 9S", "8D 8H 3S", phase=Phase.DRAW, discards="8C", stock="4H 5H 6S 9C TC JC QC KC")
    play(match, "stock", "discard 9S")
    play(match, "stock", "discard 3S")
    view = seat_view(match, 0)
    knowledge = knowledge_of(view)

    def sample(seed: int) -> list[int]:
        return [world.hands[1] for world in islice(worlds(view, knowledge, seed), 50)]

    assert sample(1) == sample(1)
    assert sample(1) != sample(2)
    doubtful = sum(bool(outs(hand) & knowledge.refused[1]) for hand in sample(1))
    assert doubtful < 5
