"""Shuffles and least deadwoods that an independent implementation worked out by the same rules."""

from typing import Any

import pytest

from golden.vectors import cards_from, lines_of
from rami_engine import (
    SeedChain,
    best_split,
    commitment,
    deadwood_points,
    deck_for_round,
    is_meld,
    mask_of,
    mask_points,
    new_chain,
    seed_for_round,
    verify_link,
)

SHUFFLES = lines_of("shuffles.jsonl")
HANDS = lines_of("deadwood.jsonl")


@pytest.mark.parametrize("shuffle", SHUFFLES, ids=[f"{line['root'][:6]}-{line['round']}" for line in SHUFFLES])
def test_a_recorded_shuffle_is_made_alike(shuffle: dict[str, Any]) -> None:
    root, r = bytes.fromhex(shuffle["root"]), shuffle["round"]
    seed, previous = bytes.fromhex(shuffle["seed"]), bytes.fromhex(shuffle["previous_seed"])
    entropies = [bytes.fromhex(entropy) for entropy in shuffle["entropies"]]
    assert commitment(root).hex() == shuffle["commitment"]
    assert seed_for_round(root, r) == seed
    assert new_chain(root).seed(r) == SeedChain.from_bytes(new_chain(root).to_bytes()).seed(r) == seed
    assert seed_for_round(root, r - 1) == previous
    assert verify_link(seed, previous)
    assert list(deck_for_round(seed, r, entropies)) == cards_from(shuffle["deck"].split())


def test_every_recorded_hand_keeps_as_little_deadwood() -> None:
    for line in HANDS:
        hand, ace_high = mask_of(cards_from(line["hand"].split())), line["ace_high"]
        split = best_split(hand, ace_high)
        assert split.points == deadwood_points(hand, ace_high) == line["deadwood"], line["hand"]
        assert split.points == mask_points(split.deadwood, ace_high)
        assert sum(split.melds) + split.deadwood == hand
        assert all(is_meld(meld) for meld in split.melds)


def test_the_recorded_shuffles_and_hands_are_all_there() -> None:
    assert (len(SHUFFLES), len(HANDS)) == (24, 300)
