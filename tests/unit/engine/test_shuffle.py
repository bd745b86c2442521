import hashlib

import pytest

from rami_engine import (
    CHAIN_LENGTH,
    MAX_ROUNDS,
    SeedChain,
    ShuffleError,
    commitment,
    deck_for_round,
    new_chain,
    seed_for_round,
    shuffle,
    shuffle_key,
    shuffled_deck,
    verify_link,
)

ROOT = bytes(range(32))


def test_each_seed_hashes_to_the_one_before_it_down_to_the_commitment() -> None:
    chain = new_chain(ROOT)
    previous = commitment(ROOT)
    for r in range(1, 200):
        seed = chain.seed(r)
        assert verify_link(seed, previous)
        assert not verify_link(previous, seed)
        previous = seed


def test_the_root_is_the_end_of_the_chain() -> None:
    value = ROOT
    for _ in range(CHAIN_LENGTH - MAX_ROUNDS):
        value = hashlib.sha256(value).digest()
    assert seed_for_round(ROOT, MAX_ROUNDS) == value


@pytest.mark.parametrize("r", [0, 1, 63, 64, 65, 128, 129, 1000, MAX_ROUNDS])
def test_a_chain_gives_the_seeds_of_its_root_in_any_order(r: int) -> None:
    chain = new_chain(ROOT)
    assert chain.seed(r) == seed_for_round(ROOT, r)
    assert chain.seed(0) == commitment(ROOT)
    assert chain.seed(r) == seed_for_round(ROOT, r)


@pytest.mark.parametrize("r", [1, 65, MAX_ROUNDS])
def test_a_chain_is_read_back_from_its_bytes(r: int) -> None:
    chain = new_chain(ROOT)
    chain.seed(r)
    again = SeedChain.from_bytes(chain.to_bytes())
    assert again == chain
    assert again.seed(r) == seed_for_round(ROOT, r)
    assert len(chain.to_bytes()) == 66


def test_successive_rounds_hash_little(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = 0
    hash_times = shuffle._hashed

    def counted(value: bytes, times: int) -> bytes:
        nonlocal hashes
        hashes += times
        return hash_times(value, times)

    chain = new_chain(ROOT)
    monkeypatch.setattr(shuffle, "_hashed", counted)
    for r in range(1, 65):
        hashes = 0
        chain.seed(r)
        assert hashes <= 64


def test_a_chain_tells_no_secret_in_its_text() -> None:
    assert repr(new_chain(ROOT)) == str(new_chain(ROOT)) == "<SeedChain>"


@pytest.mark.parametrize("root", [b"", bytes(31), bytes(33)])
def test_a_root_has_32_bytes(root: bytes) -> None:
    for refuse in (commitment, new_chain, lambda seed: shuffle_key(seed, 1, [])):
        with pytest.raises(ShuffleError):
            refuse(root)


@pytest.mark.parametrize("r", [-1, MAX_ROUNDS + 1])
def test_no_match_has_a_round_outside_the_chain(r: int) -> None:
    for refuse in (new_chain(ROOT).seed, lambda r: seed_for_round(ROOT, r), lambda r: shuffle_key(ROOT, r, [])):
        with pytest.raises(ShuffleError):
            refuse(r)


@pytest.mark.parametrize("encoded", [b"", bytes(65), bytes(67), bytes(64) + b"\x10\x01"])
def test_bytes_that_are_no_chain_are_refused(encoded: bytes) -> None:
    with pytest.raises(ShuffleError):
        SeedChain.from_bytes(encoded)


def test_an_entropy_has_32_bytes_at_most_and_the_message_does_not_repeat_it() -> None:
    shuffle_key(ROOT, 1, [bytes(32), b""])
    with pytest.raises(ShuffleError) as refused:
        shuffle_key(ROOT, 1, [b"", b"secretsecretsecretsecretsecretsec"])
    assert "secret" not in str(refused.value)


def test_a_deck_is_a_permutation_that_everything_in_its_key_changes() -> None:
    deck = deck_for_round(ROOT, 1, [b"a", b"b"])
    assert sorted(deck) == list(range(52))
    assert deck == deck_for_round(ROOT, 1, [b"a", b"b"]) == shuffled_deck(shuffle_key(ROOT, 1, [b"a", b"b"]))
    others = [
        deck_for_round(commitment(ROOT), 1, [b"a", b"b"]),
        deck_for_round(ROOT, 2, [b"a", b"b"]),
        deck_for_round(ROOT, 1, [b"b", b"a"]),
        deck_for_round(ROOT, 1, [b"ab", b""]),
        deck_for_round(ROOT, 1, [b"a", b"b", b""]),
    ]
    assert len({deck, *others}) == 6


def test_every_place_of_the_deck_gets_every_card() -> None:
    seen = [set() for _ in range(52)]  # type: list[set[int]]
    for number in range(1000):
        for place, card in enumerate(shuffled_deck(number.to_bytes(32, "big"))):
            seen[place].add(card)
    assert all(len(cards) == 52 for cards in seen)
