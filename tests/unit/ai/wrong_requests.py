"""Requests that are wrong in one place each, by what is wrong: how to spoil a good one, and the field that is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rami.cards.v1 import card_pb2
from rami.game.v1 import rules_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

    from unit.ai.requests import DecideRequest


class Spoiled(NamedTuple):
    """One way to spoil a request for the play phase."""

    what: str
    spoil: Callable[[DecideRequest], object]
    field: str

    def __str__(self) -> str:
        return self.what.replace(" ", "-")


def _swap_actions(request: DecideRequest) -> None:
    first, second = request.legal_actions[0], request.legal_actions[1]
    copy = type(first)()
    copy.CopyFrom(first)
    first.CopyFrom(second)
    second.CopyFrom(copy)


def _hand_card_on_the_pile(request: DecideRequest) -> None:
    request.view.discards.append(request.view.hand[0])


def _spectator(request: DecideRequest) -> None:
    request.view.ClearField("seat")


def _too_many_taken(request: DecideRequest) -> None:
    view = request.view
    shown = {*view.hand, *view.discards, *(card for meld in view.melds for card in meld.cards)}
    hidden = [card for card in range(1, 53) if card not in shown]
    del view.traces[:]
    for card in hidden[: view.hand_sizes[1 - view.seat] + 1]:
        view.traces.add(card=card_pb2.Card.ValueType(card), taken_by=1 - view.seat, taken_turn=1)


def _taken_by_the_seat_itself(request: DecideRequest) -> None:
    view = request.view
    shown = {*view.hand, *view.discards, *(card for meld in view.melds for card in meld.cards)}
    card = next(card for card in range(1, 53) if card not in shown)
    del view.traces[:]
    view.traces.add(card=card_pb2.Card.ValueType(card), taken_by=view.seat, taken_turn=1)


def _no_meld(request: DecideRequest) -> None:
    cards = [request.view.discards.pop(0) for _ in range(2)]
    request.view.melds.add(number=len(request.view.melds) + 1, cards=cards)


def _many_actions(request: DecideRequest) -> None:
    request.legal_actions.extend([request.legal_actions[0]] * 1024)


def _set(name: str, value: object) -> Callable[[DecideRequest], object]:
    return lambda request: setattr(request.view, name, value)


SPOILED = (
    Spoiled("no legal actions", lambda request: request.ClearField("legal_actions"), "legal_actions"),
    Spoiled("far too many legal actions", _many_actions, "legal_actions"),
    Spoiled("one legal action missing", lambda request: request.legal_actions.pop(), "legal_actions"),
    Spoiled("legal actions out of order", _swap_actions, "legal_actions"),
    Spoiled(
        "an action twice", lambda request: request.legal_actions.append(request.legal_actions[-1]), "legal_actions"
    ),
    Spoiled("an action without a kind", lambda request: request.legal_actions[2].Clear(), "legal_actions[2]"),
    Spoiled(
        "an unknown card in an action",
        lambda request: setattr(request.legal_actions[-1].discard, "card", 53),
        "legal_actions[{last}].discard.card",
    ),
    Spoiled("a spectator", _spectator, "view.seat"),
    Spoiled("a seat that is not there", _set("seat", 2), "view.seat"),
    Spoiled(
        "another seat to move", lambda request: _set("turn_seat", 1 - request.view.seat)(request), "view.turn_seat"
    ),
    Spoiled("no phase", _set("phase", rules_pb2.PHASE_UNSPECIFIED), "phase"),
    Spoiled("a round that is over", _set("phase", rules_pb2.PHASE_ROUND_OVER), "view.phase"),
    Spoiled("no round", _set("round_number", 0), "view.round_number"),
    Spoiled("no turn number", _set("turn_number", 0), "view.turn_number"),
    Spoiled("five seats", _set("players", 5), "view.players"),
    Spoiled(
        "a target out of range",
        lambda request: setattr(request.view.options, "target_score", 0),
        "view.options.target_score",
    ),
    Spoiled(
        "an unknown card in hand", lambda request: request.view.hand.append(card_pb2.CARD_UNSPECIFIED), "view.hand"
    ),
    Spoiled("a card twice in hand", lambda request: request.view.hand.append(request.view.hand[0]), "view.hand"),
    Spoiled("a hand of another size", lambda request: request.view.hand.pop(), "view.hand"),
    Spoiled("no hand", lambda request: request.view.ClearField("hand"), "view.hand"),
    Spoiled("a card in two places", _hand_card_on_the_pile, "view"),
    Spoiled("more cards than a deck", _set("stock_size", 50), "view"),
    Spoiled("two cards as a meld", _no_meld, "view.melds.cards"),
    Spoiled("more cards taken than held", _too_many_taken, "view.traces"),
    Spoiled("a hidden card taken by the seat itself", _taken_by_the_seat_itself, "view.traces"),
)
