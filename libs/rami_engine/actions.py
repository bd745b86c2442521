"""The five actions of a turn, their constructors, and their text form.

Source: the rule sheet, sections "A turn" and "Errors". An `Action` is *well formed* when its parts fit its
kind; whether it may be played is for the state of the match to say. The texts, one action each:

    stock    discard-pile    meld 5H 6H 7H    lay-off 1 8H    discard 7H
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from rami_engine.cards import DECK_SIZE, FULL_DECK, Card, Mask, cards_of, format_cards, mask_of, parse_card
from rami_engine.errors import CardError, MalformedAction

if TYPE_CHECKING:
    from collections.abc import Iterable


class ActionKind(IntEnum):
    """What an action does."""

    DRAW_STOCK = 1
    DRAW_DISCARD = 2
    MELD = 3
    LAY_OFF = 4
    DISCARD = 5


class Action(NamedTuple):
    """One action of a seat. Use the constants and constructors below: they make well-formed actions only."""

    kind: ActionKind
    cards: Mask = 0
    """The cards melded, laid off or discarded; 0 for a draw."""
    meld: int = 0
    """Number of the table meld that is laid off on; 0 for other kinds."""


DRAW_STOCK: Final = Action(ActionKind.DRAW_STOCK)
DRAW_DISCARD: Final = Action(ActionKind.DRAW_DISCARD)
DISCARDS: Final = tuple(Action(ActionKind.DISCARD, 1 << card) for card in range(DECK_SIZE))
"""The discard of each card, by card index."""

_DRAWS_AND_DISCARDS: Final = frozenset({DRAW_STOCK, DRAW_DISCARD, *DISCARDS})
"""All well-formed actions of these kinds."""
_NUMBER: Final = re.compile("[0-9]{1,9}")
_WORDS: Final = {
    ActionKind.DRAW_STOCK: "stock",
    ActionKind.DRAW_DISCARD: "discard-pile",
    ActionKind.MELD: "meld",
    ActionKind.LAY_OFF: "lay-off",
    ActionKind.DISCARD: "discard",
}


def meld_action(cards: Iterable[Card]) -> Action:
    """Lay these cards as a new meld. Raises MalformedAction for no card, an unknown one, or one named
    twice.
    """
    return Action(ActionKind.MELD, _named_cards(cards))


def lay_off_action(meld: int, cards: Iterable[Card]) -> Action:
    """Add these cards to table meld number `meld`, which need not exist: playing the action tells.

    Raises MalformedAction for no card, an unknown one, or one named twice.
    """
    return Action(ActionKind.LAY_OFF, _named_cards(cards), meld)


def discard_action(card: Card) -> Action:
    """Discard a card. Raises MalformedAction for an unknown one."""
    if not 0 <= card < DECK_SIZE:
        raise MalformedAction("card", f"no card has the index {card}")
    return DISCARDS[card]


def require_well_formed(action: Action) -> None:
    """Raise MalformedAction unless the parts of an action, however it was made, fit its kind."""
    if action in _DRAWS_AND_DISCARDS:
        return
    kind, cards, meld = action
    if kind not in _WORDS:
        raise MalformedAction("action", "no action is set")
    if kind <= ActionKind.DRAW_DISCARD:
        raise MalformedAction("cards", "a draw names neither cards nor a meld")
    if kind == ActionKind.DISCARD:
        raise MalformedAction("card", "a discard names exactly one card and no meld")
    if not 0 < cards <= FULL_DECK:
        raise MalformedAction("cards", "at least one card of the deck must be named")
    if meld and kind == ActionKind.MELD:
        raise MalformedAction("meld", "only a lay-off names a meld")


def format_action(action: Action) -> str:
    """The text of a well-formed action, its cards by ascending index."""
    words = [_WORDS[action.kind]]
    if action.kind == ActionKind.LAY_OFF:
        words.append(str(action.meld))
    if action.cards:
        words.append(format_cards(cards_of(action.cards)))
    return " ".join(words)


def parse_action(text: str) -> Action:
    """The action of a text; its cards may stand in any order. Raises MalformedAction for any other text."""
    match text.split():
        case ["stock"]:
            return DRAW_STOCK
        case ["discard-pile"]:
            return DRAW_DISCARD
        case ["meld", *cards]:
            return meld_action(_parsed_cards("cards", cards))
        case ["lay-off", number, *cards] if _NUMBER.fullmatch(number):
            return lay_off_action(int(number), _parsed_cards("cards", cards))
        case ["lay-off", *_]:
            raise MalformedAction("meld", "a lay-off names the number of a meld, then its cards")
        case ["discard", card]:
            return discard_action(*_parsed_cards("card", [card]))
        case ["discard", *_]:
            raise MalformedAction("card", "a discard names exactly one card")
        case _:
            raise MalformedAction("action", f"no action is written {text!r}")


def _named_cards(cards: Iterable[Card]) -> Mask:
    try:
        mask = mask_of(cards)
    except CardError as error:
        raise MalformedAction("cards", str(error)) from error
    if not mask:
        raise MalformedAction("cards", "at least one card must be named")
    return mask


def _parsed_cards(field: str, words: Iterable[str]) -> tuple[Card, ...]:
    try:
        return tuple([parse_card(word) for word in words])
    except CardError as error:
        raise MalformedAction(field, str(error)) from error
