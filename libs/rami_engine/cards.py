"""Cards and sets of cards: indexes, masks, texts and points.

Source: the rule sheet, sections "Cards" and "Points". A card is its index, suit * 13 + rank with C=0 D=1 H=2
S=3 and 2=0 ... A=12 ("2C" is 0, "AS" is 51). A set of cards (a hand, a meld) is a mask: bit i stands for the
card of index i.

Functions that take masks trust them: every bit lies within the deck.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from rami_engine.errors import CardError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Card: TypeAlias = int
Mask: TypeAlias = int
_T = TypeVar("_T")

RANKS: Final = "23456789TJQKA"
SUITS: Final = "CDHS"
RANK_COUNT: Final = 13
DECK_SIZE: Final = 52
FULL_DECK: Final[Mask] = (1 << DECK_SIZE) - 1
SUIT_PATTERN: Final = (1 << RANK_COUNT) - 1
"""The 13 bits of one suit, moved to the lowest place: a *suit pattern* has bit r set for rank r."""

ACE: Final = 12
_RANK_POINTS: Final = (2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10)
_POINTS: Final[tuple[tuple[int, ...], tuple[int, ...]]] = ((*_RANK_POINTS, 1), (*_RANK_POINTS, 11))
"""Points of a rank, by `ace_high`."""

_CARD_TEXTS: Final = tuple(rank + suit for suit in SUITS for rank in RANKS)
_CARD_BY_TEXT: Final = {text: card for card, text in enumerate(_CARD_TEXTS)}


def pattern_points(ace_high: bool) -> tuple[int, ...]:
    """Points of each of the 8,192 suit patterns."""
    table = [0]
    for points in _POINTS[ace_high]:
        table += [lower + points for lower in table]
    return tuple(table)


class PatternTable(dict[int, _T]):
    """Something for each suit pattern, made when it is first asked for: of 8,192 patterns, play shows few."""

    def __init__(self, make: Callable[[int], _T]) -> None:
        """`make`: gives the entry of a pattern."""
        super().__init__()
        self._make = make

    def __missing__(self, pattern: int) -> _T:
        made = self[pattern] = self._make(pattern)
        return made


def table_by_card(suit: int, of_card: Sequence[_T]) -> PatternTable[tuple[_T, ...]]:
    """What belongs to the cards of a pattern of the suit, ascending. `of_card`: what belongs to each card."""
    of_rank = of_card[suit * RANK_COUNT : (suit + 1) * RANK_COUNT]
    return PatternTable(lambda pattern: tuple([one for rank, one in enumerate(of_rank) if pattern >> rank & 1]))


PATTERN_POINTS: Final = (pattern_points(ace_high=False), pattern_points(ace_high=True))
"""Points of a suit pattern, by `ace_high`, then by pattern."""

_CLUBS, _DIAMONDS, _HEARTS, _SPADES = (table_by_card(suit, range(DECK_SIZE)) for suit in range(len(SUITS)))


def parse_card(text: str) -> Card:
    """Index of a card written rank then suit, as in "7H" or "TD".

    Raises CardError for any other text.
    """
    card = _CARD_BY_TEXT.get(text)
    if card is None:
        raise CardError(f"no card is written {text!r}")
    return card


def format_card(card: Card) -> str:
    """The text of a card. Raises CardError for an index outside 0..51."""
    if not 0 <= card < DECK_SIZE:
        raise CardError(f"no card has the index {card}")
    return _CARD_TEXTS[card]


def parse_cards(text: str) -> tuple[Card, ...]:
    """Cards of a text such as "5H 6H 7H", in its order. Raises CardError for a word that is no card."""
    return tuple(parse_card(word) for word in text.split())


def format_cards(cards: Iterable[Card]) -> str:
    """The texts of cards in their order, with a space between. Raises CardError for an index outside
    0..51.
    """
    return " ".join(format_card(card) for card in cards)


def mask_of(cards: Iterable[Card]) -> Mask:
    """The set of these cards. Raises CardError for an index outside 0..51 and for a card named twice."""
    mask = 0
    for card in cards:
        if not 0 <= card < DECK_SIZE:
            raise CardError(f"no card has the index {card}")
        bit = 1 << card
        if mask & bit:
            raise CardError(f"{_CARD_TEXTS[card]} is named twice")
        mask |= bit
    return mask


def cards_of(mask: Mask) -> tuple[Card, ...]:
    """The cards of a set by ascending index."""
    return (
        _CLUBS[mask & SUIT_PATTERN]
        + _DIAMONDS[mask >> 13 & SUIT_PATTERN]
        + _HEARTS[mask >> 26 & SUIT_PATTERN]
        + _SPADES[mask >> 39]
    )


def card_points(card: Card, ace_high: bool) -> int:
    """Points of a card in hand: ace 1, or 11 with `ace_high`; J, Q and K 10; number cards their number."""
    return _POINTS[ace_high][card % RANK_COUNT]


def mask_points(mask: Mask, ace_high: bool) -> int:
    """Points of all cards of a set."""
    points = PATTERN_POINTS[ace_high]
    return (
        points[mask & SUIT_PATTERN]
        + points[mask >> 13 & SUIT_PATTERN]
        + points[mask >> 26 & SUIT_PATTERN]
        + points[mask >> 39]
    )
