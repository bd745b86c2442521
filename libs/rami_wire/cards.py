"""Cards on the wire: the enum rami.cards.v1.Card is the engine's card index plus one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rami.cards.v1 import card_pb2
from rami_engine import DECK_SIZE, MalformedAction, cards_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from rami_engine import Card, Mask

WIRE_CARDS: Final[tuple[card_pb2.Card.ValueType, ...]] = tuple(
    card_pb2.Card.ValueType(card + 1) for card in range(DECK_SIZE)
)
"""The enum value of each card, by card index."""
_BITS: Final[dict[int, Mask]] = {value: 1 << card for card, value in enumerate(WIRE_CARDS)}
"""The mask of each card alone, by enum value."""


def to_cards(mask: Mask) -> list[card_pb2.Card.ValueType]:
    """The cards of a mask as enum values, ascending by card index."""
    return [WIRE_CARDS[card] for card in cards_of(mask)]


def to_card(value: int, field: str) -> Card:
    """The card index of an enum value. Raises MalformedAction, naming `field`, for none of the 52."""
    if not 1 <= value <= DECK_SIZE:
        raise _no_card(field)
    return value - 1


def to_mask(values: Collection[int], field: str) -> Mask:
    """The mask of enum values, which may stand in any order; 0 for none.

    Raises MalformedAction, naming `field`, for an unspecified or unknown card, or a card named twice.
    """
    try:
        mask = sum(map(_BITS.__getitem__, values))
    except KeyError:
        raise _no_card(field) from None
    # A card that is added twice makes one bit of two.
    if mask.bit_count() != len(values):
        raise MalformedAction(field, "names the same card twice")
    return mask


def _no_card(field: str) -> MalformedAction:
    return MalformedAction(field, "must be one of the 52 cards")
