"""The provably fair shuffle: seed chains, commitments, keys and decks.

Source: the rule sheet, section "Provably fair shuffle". With H = SHA-256 the seed of round r is H^(4096 -
r)(root), so that H(seed of r) is the seed of r - 1, and the seed of round 0 is the commitment that is
published first. The key of a round mixes its seed with the entropy of every seat; the deck follows from the
key alone.

Errors and texts (`repr`) never show a root or a seed.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

from rami_engine.cards import DECK_SIZE
from rami_engine.errors import ShuffleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHAIN_LENGTH: Final = 4096
MAX_ROUNDS: Final = 1999
"""A round adds one point at least, so a match of two with the highest target has no more rounds."""
SHUFFLE_LABEL: Final = b"cardverse.rami.v1/shuffle"
SEED_SIZE: Final = 32
"""Bytes of a root and of every seed."""
MAX_ENTROPY_SIZE: Final = 32
"""Bytes that a seat may bring."""

_CHECKPOINT_STRIDE: Final = 64


def seed_for_round(root: bytes, r: int) -> bytes:
    """The seed of round `r`, hashed from the root: 4096 - r hashes. Round 0 gives the commitment.

    Raises ShuffleError for a root that is not 32 bytes and a round outside 0..MAX_ROUNDS.
    """
    _require_seed(root)
    _require_round(r)
    return _hashed(root, CHAIN_LENGTH - r)


def commitment(root: bytes) -> bytes:
    """What is published before any entropy is accepted. Raises ShuffleError for a root that is not 32
    bytes.
    """
    return seed_for_round(root, 0)


def verify_link(seed: bytes, previous: bytes) -> bool:
    """Whether `seed` is the one that was committed to by `previous`, the seed of the round before (or the
    commitment).
    """
    return hashlib.sha256(seed).digest() == previous


@dataclass(slots=True, repr=False)
class SeedChain:
    """The seeds of one room. Keeps the seed of a round ahead, so that successive rounds cost few hashes each.

    Trusts that `checkpoint` is the seed of round `checkpoint_round`. Raises ShuffleError for a root or
    checkpoint that is not 32 bytes and for a round outside 0..4096.
    """

    root: bytes
    checkpoint: bytes
    checkpoint_round: int

    def __post_init__(self) -> None:
        _require_seed(self.root)
        _require_seed(self.checkpoint)
        if not 0 <= self.checkpoint_round <= CHAIN_LENGTH:
            raise ShuffleError(f"no checkpoint has the round {self.checkpoint_round}")

    def __repr__(self) -> str:
        return "<SeedChain>"

    def seed(self, r: int) -> bytes:
        """The seed of round `r`: at most 64 hashes for rounds asked in order, now and then once from the
        root.

        Raises ShuffleError for a round outside 0..MAX_ROUNDS.
        """
        _require_round(r)
        if r > self.checkpoint_round:
            self.checkpoint_round = r + _CHECKPOINT_STRIDE
            self.checkpoint = _hashed(self.root, CHAIN_LENGTH - self.checkpoint_round)
        return _hashed(self.checkpoint, self.checkpoint_round - r)

    def to_bytes(self) -> bytes:
        """The root (32 bytes), the checkpoint (32 bytes) and its round (2 bytes, big-endian). A secret."""
        return self.root + self.checkpoint + self.checkpoint_round.to_bytes(2, "big")

    @classmethod
    def from_bytes(cls, encoded: bytes) -> SeedChain:
        """The chain of such bytes. Raises ShuffleError for bytes that are none."""
        if len(encoded) != 2 * SEED_SIZE + 2:
            raise ShuffleError("not the encoding of a seed chain")
        return cls(
            encoded[:SEED_SIZE],
            encoded[SEED_SIZE : 2 * SEED_SIZE],
            int.from_bytes(encoded[2 * SEED_SIZE :], "big"),
        )


def new_chain(root: bytes) -> SeedChain:
    """The chain of a root (about 4,000 hashes). Raises ShuffleError for a root that is not 32 bytes."""
    return SeedChain(root, seed_for_round(root, _CHECKPOINT_STRIDE), _CHECKPOINT_STRIDE)


def shuffle_key(seed: bytes, r: int, entropies: Sequence[bytes]) -> bytes:
    """The key of round `r` (32 bytes) from its seed and the entropy of each seat in order, empty where none
    was brought.

    Raises ShuffleError for a seed that is not 32 bytes, a round outside 0..MAX_ROUNDS or an entropy above 32
    bytes.
    """
    _require_seed(seed)
    _require_round(r)
    if any(len(entropy) > MAX_ENTROPY_SIZE for entropy in entropies):
        raise ShuffleError(f"an entropy is longer than {MAX_ENTROPY_SIZE} bytes")
    message = SHUFFLE_LABEL + r.to_bytes(4, "big")
    for entropy in entropies:
        message += len(entropy).to_bytes(1, "big") + entropy
    return hmac.digest(seed, message, "sha256")


def shuffled_deck(key: bytes) -> bytes:
    """The 52 card indexes in the order of the deal. Each place i from the last down is swapped with one of
    0..i.
    """
    deck = bytearray(range(DECK_SIZE))
    stream = _stream(key)
    for place in range(DECK_SIZE - 1, 0, -1):
        choices = place + 1
        # Bytes beyond the last whole multiple of `choices` would favour low places: they are passed over.
        fair = 256 - 256 % choices
        other = next(byte for byte in stream if byte < fair) % choices
        deck[place], deck[other] = deck[other], deck[place]
    return bytes(deck)


def deck_for_round(seed: bytes, r: int, entropies: Sequence[bytes]) -> bytes:
    """The deck of round `r`; see `shuffle_key` for what it raises."""
    return shuffled_deck(shuffle_key(seed, r, entropies))


def _stream(key: bytes) -> Iterator[int]:
    for block in count():
        yield from hmac.digest(key, block.to_bytes(4, "big"), "sha256")


def _hashed(value: bytes, times: int) -> bytes:
    # A copy spares looking for the algorithm each time.
    begin = hashlib.sha256().copy
    for _ in range(times):
        block = begin()
        block.update(value)
        value = block.digest()
    return value


def _require_seed(seed: bytes) -> None:
    if len(seed) != SEED_SIZE:
        raise ShuffleError(f"a root or seed has {SEED_SIZE} bytes, not {len(seed)}")


def _require_round(r: int) -> None:
    if not 0 <= r <= MAX_ROUNDS:
        raise ShuffleError(f"no match has a round {r}")
