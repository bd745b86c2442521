"""The public history of a round, as a digest of fixed size: the latest of each kind of event, per card.

Everything here happened before everybody's eyes: discards, draws from the discard pile, draws from the stock
(and so which discard was passed over), melds and lay-offs. At most 52 entries, however long the round. Turns
are numbered over all seats from 1: the turn being played is the completed turns of the round plus one. The
card turned up at the deal has no discarder.

Encoding, per card with a trace and by ascending card index: the index (one byte), the seats (two bytes,
big-endian: bits 0-3 `passed_by`, then three bits each of 0 for none or seat + 1 for `discarded_by`,
`taken_by`, `laid_by`), then the turn of each event seen, in the order discarded, taken, laid, passed, as a
base-128 number, lowest group first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from rami_engine.cards import DECK_SIZE, Card, Mask, cards_of
from rami_engine.errors import HistoryError
from rami_engine.rules import MAX_PLAYERS

if TYPE_CHECKING:
    from collections.abc import Iterator

_SEAT_SHIFTS: Final = (4, 7, 10)
"""Where in its two bytes stand the seats that discarded, took and laid a card."""
_ALL: Final[Mask] = (1 << DECK_SIZE) - 1


class CardTrace(NamedTuple):
    """What the table has seen of one card in this round. A seat is None and a turn 0 where nothing was
    seen.
    """

    card: Card
    discarded_by: int | None = None
    """The seat that discarded it last."""
    discarded_turn: int = 0
    taken_by: int | None = None
    """The seat that took it from the discard pile last."""
    taken_turn: int = 0
    laid_by: int | None = None
    """The seat that melded it or laid it off."""
    laid_turn: int = 0
    passed_by: Mask = 0
    """The seats (bit s for seat s) that drew from the stock while it was the top discard."""
    passed_turn: int = 0
    """The latest turn on which a seat did so."""


@dataclass(slots=True)
class RoundHistory:
    """The traces of the cards that the table has seen in this round. Mutable; equal by value."""

    by_card: dict[Card, CardTrace] = field(default_factory=dict)
    """Only cards with a trace; in no order."""
    _encoded: list[bytes] = field(default_factory=lambda: [b""] * DECK_SIZE, repr=False, compare=False)
    """The encoding of each trace, by card, as `to_bytes` last made it: a step changes one card or a few."""
    _stale: Mask = field(default=_ALL, repr=False, compare=False)
    """The cards whose traces have changed since."""

    def copy(self) -> RoundHistory:
        """An independent history with the same traces."""
        return RoundHistory(self.by_card.copy(), self._encoded.copy(), self._stale)

    def trace(self, card: Card) -> CardTrace:
        """What was seen of a card; a trace without events when nothing was."""
        return self.by_card.get(card) or CardTrace(card)

    def traces(self) -> tuple[CardTrace, ...]:
        """The trace of every card that has one, by ascending card index."""
        by_card = self.by_card
        return tuple([by_card[card] for card in sorted(by_card)])

    def record_discard(self, card: Card, seat: int, turn: int) -> None:
        """A seat discarded a card."""
        _, _, _, taken_by, taken_turn, laid_by, laid_turn, passed_by, passed_turn = self.trace(card)
        self._put(CardTrace(card, seat, turn, taken_by, taken_turn, laid_by, laid_turn, passed_by, passed_turn))

    def record_taking(self, card: Card, seat: int, turn: int) -> None:
        """A seat took the top discard."""
        _, gone_by, gone_turn, _, _, laid_by, laid_turn, passed_by, passed_turn = self.trace(card)
        self._put(CardTrace(card, gone_by, gone_turn, seat, turn, laid_by, laid_turn, passed_by, passed_turn))

    def record_pass(self, card: Card, seat: int, turn: int) -> None:
        """A seat drew from the stock while `card` was the top discard."""
        _, gone_by, gone_turn, taken_by, taken_turn, laid_by, laid_turn, passed_by, _ = self.trace(card)
        seats = passed_by | 1 << seat
        self._put(CardTrace(card, gone_by, gone_turn, taken_by, taken_turn, laid_by, laid_turn, seats, turn))

    def record_laying(self, cards: Mask, seat: int, turn: int) -> None:
        """A seat melded cards, or laid them off."""
        for card in cards_of(cards):
            _, gone_by, gone_turn, taken_by, taken_turn, _, _, passed_by, passed_turn = self.trace(card)
            self._put(CardTrace(card, gone_by, gone_turn, taken_by, taken_turn, seat, turn, passed_by, passed_turn))

    def _put(self, trace: CardTrace) -> None:
        card = trace[0]
        self.by_card[card] = trace
        self._stale |= 1 << card

    def to_bytes(self) -> bytes:
        """The encoding described at the top of this file."""
        by_card, encoded = self.by_card, self._encoded
        if self._stale:
            for card in cards_of(self._stale):
                if card in by_card:
                    encoded[card] = _encoded_trace(by_card[card])
            self._stale = 0
        return b"".join(encoded)

    @classmethod
    def from_bytes(cls, encoded: bytes) -> RoundHistory:
        """The history of an encoding. Raises HistoryError for bytes that `to_bytes` does not make."""
        history = cls({trace.card: trace for trace in _decoded_traces(iter(encoded))})
        if history.to_bytes() != encoded:
            raise HistoryError("not the encoding of a round history")
        return history


def _encoded_trace(trace: CardTrace) -> bytes:
    card, discarded_by, discarded_turn, taken_by, taken_turn, laid_by, laid_turn, seats, passed_turn = trace
    if discarded_by is not None:
        seats |= discarded_by + 1 << 4
    if taken_by is not None:
        seats |= taken_by + 1 << 7
    if laid_by is not None:
        seats |= laid_by + 1 << 10
    turns = [turn for turn in (discarded_turn, taken_turn, laid_turn, passed_turn) if turn]
    if max(turns, default=0) <= 0x7F:
        return bytes((card, seats >> 8, seats & 0xFF, *turns))
    return bytes((card, seats >> 8, seats & 0xFF)) + b"".join([_base_128(turn) for turn in turns])


def _base_128(number: int) -> bytes:
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def _decoded_traces(encoded: Iterator[int]) -> Iterator[CardTrace]:
    for card in encoded:
        seats = _next_byte(encoded) << 8 | _next_byte(encoded)
        discarded_by, taken_by, laid_by = (_decoded_seat(seats >> shift) for shift in _SEAT_SHIFTS)
        passed_by = seats & 0xF
        if card >= DECK_SIZE or not seats:
            raise HistoryError("a card that does not exist, or to which nothing happened")
        yield CardTrace(
            card,
            discarded_by,
            _next_number(encoded) if discarded_by is not None else 0,
            taken_by,
            _next_number(encoded) if taken_by is not None else 0,
            laid_by,
            _next_number(encoded) if laid_by is not None else 0,
            passed_by,
            _next_number(encoded) if passed_by else 0,
        )


def _decoded_seat(bits: int) -> int | None:
    """The seat of the lowest three bits."""
    seat = (bits & 0x7) - 1
    if seat >= MAX_PLAYERS:
        raise HistoryError("a seat that does not exist")
    return seat if seat >= 0 else None


def _next_byte(encoded: Iterator[int]) -> int:
    byte = next(encoded, None)
    if byte is None:
        raise HistoryError("the encoding ends within a card")
    return byte


def _next_number(encoded: Iterator[int]) -> int:
    number = shift = 0
    while True:
        byte = _next_byte(encoded)
        number |= (byte & 0x7F) << shift
        if byte <= 0x7F:
            return number
        shift += 7
