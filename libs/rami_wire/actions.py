"""Actions on the wire.

The serialized form of every action is kept once made: lists of legal actions are then concatenations of ready
bytes, which is what makes it cheap to send them with every turn.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rami.game.v1 import action_pb2, event_pb2
from rami_engine import (
    DRAW_DISCARD,
    DRAW_STOCK,
    Action,
    ActionKind,
    MalformedAction,
    discard_action,
)
from rami_wire.cards import to_card, to_cards, to_mask
from rami_wire.framing import encode_field, encode_varint_field

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

_LEGAL_FIELDS: Final = event_pb2.LegalActions.DESCRIPTOR.fields_by_name
_LEGAL_VERSION: Final = _LEGAL_FIELDS["version"].number
_LEGAL_ACTIONS: Final = _LEGAL_FIELDS["actions"].number


def action_from_proto(message: action_pb2.Action, field: str = "action") -> Action:
    """The engine's action. Raises MalformedAction, naming the field, as the rules ask: no kind set, an
    unspecified or unknown card, the same card twice, an empty list of cards.
    """
    kind = message.WhichOneof("kind")
    match kind:
        case "draw_stock":
            return DRAW_STOCK
        case "draw_discard":
            return DRAW_DISCARD
        case "discard":
            return discard_action(to_card(message.discard.card, f"{field}.discard.card"))
        case "meld":
            return Action(ActionKind.MELD, _some_cards(message.meld.cards, f"{field}.meld.cards"))
        case "lay_off":
            cards = _some_cards(message.lay_off.cards, f"{field}.lay_off.cards")
            return Action(ActionKind.LAY_OFF, cards, message.lay_off.meld)
        case _:
            raise MalformedAction(field, "no action is set")


def action_to_proto(action: Action) -> action_pb2.Action:
    """The message of a well-formed action."""
    return action_pb2.Action.FromString(encode_action(action))


@lru_cache(maxsize=8192)
def encode_action(action: Action) -> bytes:
    """The serialized rami.game.v1.Action of a well-formed action."""
    message = action_pb2.Action()
    kind, cards, meld = action
    if kind == ActionKind.DRAW_STOCK:
        message.draw_stock.SetInParent()
    elif kind == ActionKind.DRAW_DISCARD:
        message.draw_discard.SetInParent()
    elif kind == ActionKind.MELD:
        message.meld.cards.extend(to_cards(cards))
    elif kind == ActionKind.LAY_OFF:
        message.lay_off.meld = meld
        message.lay_off.cards.extend(to_cards(cards))
    else:
        message.discard.card = to_cards(cards)[0]
    return message.SerializeToString()


@lru_cache
def _entry_encoder(field_number: int) -> Callable[[Action], bytes]:
    """What makes the serialized field of one action, and keeps it: lists of actions are put together without a call
    of ours for each.
    """
    return lru_cache(maxsize=8192)(lambda action: encode_field(field_number, encode_action(action)))


def encode_actions(actions: Iterable[Action], field_number: int) -> bytes:
    """The serialized repeated field `field_number` (below 16) of type rami.game.v1.Action: bytes to append
    to, or merge into, a message that has such a field.
    """
    return b"".join(map(_entry_encoder(field_number), actions))


def encode_legal_actions(version: int, actions: Iterable[Action]) -> bytes:
    """The serialized rami.game.v1.LegalActions."""
    return encode_varint_field(_LEGAL_VERSION, version) + encode_actions(actions, _LEGAL_ACTIONS)


def legal_actions_to_proto(version: int, actions: Iterable[Action]) -> event_pb2.LegalActions:
    """The message that tells a seat what it may do in a version of its room."""
    return event_pb2.LegalActions.FromString(encode_legal_actions(version, actions))


def _some_cards(values: Collection[int], field: str) -> int:
    mask = to_mask(values, field)
    if not mask:
        raise MalformedAction(field, "must name at least one card")
    return mask
