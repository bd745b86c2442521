"""Every error the engine raises, and the reasons for which it refuses an action.

    ValueError
    └── RulesError             root of all of them
        ├── CardError          a text or an index that is no card
        ├── OptionsError       a rule option, a guard or a player count outside its range
        ├── MalformedAction    an action that no state of a match could make sense of
        ├── IllegalAction      a well-formed action that the rules refuse now
        ├── SeatError          a seat that the match does not have
        ├── DealError          a round that cannot be dealt: wrong moment, or no permutation of the deck
        ├── HistoryError       bytes that are no round history
        ├── ShuffleError       a root, seed, round number or entropy outside its range
        └── ReplayError        a recorded match that does not follow from its seeds and actions

No message names a card that its reader may not see: they repeat what the caller passed, or counts.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Reason(StrEnum):
    """Why a well-formed action is refused, in the order in which the rules check."""

    MATCH_NOT_STARTED = "MATCH_NOT_STARTED"
    MATCH_OVER = "MATCH_OVER"
    NOT_YOUR_TURN = "NOT_YOUR_TURN"
    WRONG_PHASE = "WRONG_PHASE"
    CARD_NOT_IN_HAND = "CARD_NOT_IN_HAND"
    MELD_NOT_FOUND = "MELD_NOT_FOUND"
    INVALID_MELD = "INVALID_MELD"
    INVALID_LAY_OFF = "INVALID_LAY_OFF"
    MUST_KEEP_DISCARD = "MUST_KEEP_DISCARD"


class RulesError(ValueError):
    """Root of all errors of the engine."""


class CardError(RulesError):
    """A text or an index that names no card, or a card named twice where a set of cards is meant."""


class OptionsError(RulesError):
    """A setting of a match outside its range; `field` is its name, `description` says what is allowed."""

    def __init__(self, field: str, description: str) -> None:
        super().__init__(f"{field}: {description}")
        self.field = field
        self.description = description


class MalformedAction(RulesError):  # noqa: N818 - named, like IllegalAction, for what is wrong with the action
    """An action that is wrong whatever the state; `field` is the part of the action, as clients name it."""

    def __init__(self, field: str, description: str) -> None:
        super().__init__(f"{field}: {description}")
        self.field = field
        self.description = description


class IllegalAction(RulesError):  # noqa: N818 - see MalformedAction
    """A well-formed action that the rules refuse in this state, which has not changed; `reason` says why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class SeatError(RulesError):
    """A seat that the match does not have."""


class DealError(RulesError):
    """A round that cannot be dealt: one is in play, the match is over, or the deck is no permutation."""


class HistoryError(RulesError):
    """Bytes that are no encoded round history."""


class ShuffleError(RulesError):
    """A root, seed, round number or entropy outside its range. The message never repeats the bytes."""


class ReplayPlace(NamedTuple):
    """Where in a recorded match something is wrong: the whole record, a round, or one action of a round."""

    round_number: int | None = None
    """Counts from 1; None for what belongs to no round."""
    action_number: int | None = None
    """Counts from 1 within the round; None for what belongs to no action."""

    def __str__(self) -> str:
        if self.round_number is None:
            return "record"
        if self.action_number is None:
            return f"round {self.round_number}"
        return f"round {self.round_number}, action {self.action_number}"


class ReplayError(RulesError):
    """A recorded match that does not follow from its own seeds and actions; `place` is the first such
    place.
    """

    def __init__(self, place: ReplayPlace, description: str) -> None:
        super().__init__(f"{place}: {description}")
        self.place = place
        self.description = description
