"""A request decided: parse, check, ask the policy. Runs in a worker process and knows nothing of gRPC.

Requests come from other services, but nothing in them is taken for granted: a policy trusts its view, so here is
checked that the view is one of a seat to move, that its cards make up a deck, and that the legal actions are those
of the view. No description repeats a card.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import rami_bots
from ai_decision.frames import Answer, Chosen, Invalid, Weighed
from rami.ai.v1 import decision_service_pb2
from rami_bots import find_bot
from rami_bots.knowledge import held_cards
from rami_engine import (
    FULL_DECK,
    MalformedAction,
    OptionsError,
    Phase,
    SeatView,
    legal_actions_for,
    mask_of,
)
from rami_wire import action_from_proto, encode_actions, view_from_proto

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rami_engine import Action

_LEGAL_ACTIONS: Final = decision_service_pb2.DecideRequest.DESCRIPTOR.fields_by_name["legal_actions"].number
MAX_LEGAL_ACTIONS: Final = 1024
"""Far above what any position has: a longer list is not even parsed."""


def decide(request: bytes, out_of_time: Callable[[], bool]) -> Answer:
    """The answer to a serialized DecideRequest whose bot is known to exist."""
    message = decision_service_pb2.DecideRequest.FromString(request)
    if not message.legal_actions:
        return Invalid("legal_actions", "must have one action or more")
    if len(message.legal_actions) > MAX_LEGAL_ACTIONS:
        return Invalid("legal_actions", f"must have {MAX_LEGAL_ACTIONS} actions at most")
    try:
        view = view_from_proto(message.view)
        problem = _problem_of(view)
        if problem is not None:
            return problem
        legal = legal_actions_for(view)
        if not _has_actions(message, legal):
            return Invalid("legal_actions", "must be all legal actions of the view in canonical order")
    except (MalformedAction, OptionsError) as error:
        return Invalid(error.field, error.description)
    bot = find_bot(message.bot)
    decision = rami_bots.decide(bot, view, legal, message.policy_seed, out_of_time, explain=message.explain)
    weighed = [Weighed(legal.index(action), points, deals) for action, points, deals in decision.considered]
    return Chosen(legal.index(decision.action), tuple(weighed))


def _has_actions(message: decision_service_pb2.DecideRequest, legal: Sequence[Action]) -> bool:
    """Whether the actions of a request are the legal ones. Raises MalformedAction for one that is none."""
    expected = decision_service_pb2.DecideRequest.FromString(encode_actions(legal, _LEGAL_ACTIONS))
    if message.legal_actions == expected.legal_actions:
        return True
    # Something is wrong with them, or they have fields of a later version.
    told = [action_from_proto(action, f"legal_actions[{place}]") for place, action in enumerate(message.legal_actions)]
    return told == list(legal)


def _problem_of(view: SeatView) -> Invalid | None:
    """What keeps a view from being one that a policy can decide on."""
    if view.viewer is None:
        return Invalid("view.seat", "must be set: a spectator has nothing to decide")
    if view.phase not in (Phase.DRAW, Phase.PLAY):
        return Invalid("view.phase", "must be one in which a seat is to move")
    if view.turn != view.viewer:
        return Invalid("view.turn_seat", "must be the seat of the view")
    if view.turn_number < 1:
        return Invalid("view.turn_number", "must be 1 or more in a round")
    if view.phase == Phase.DRAW and not view.discards:
        return Invalid("view.discards", "must hold a card when a seat is to draw")
    return _problem_of_cards(view, view.viewer)


def _problem_of_cards(view: SeatView, seat: int) -> Invalid | None:
    """What keeps the cards of a view, together with the hidden ones, from making up a deck."""
    seen = 0
    for cards in (view.hand, mask_of(view.discards), *view.melds):
        if seen & cards:
            return Invalid("view", "must not show a card in two places")
        seen |= cards
    if not view.hand or view.hand.bit_count() != view.hand_sizes[seat]:
        return Invalid("view.hand", "must have as many cards as view.hand_sizes says, one or more")
    hidden = view.stock_count + sum(view.hand_sizes) - view.hand_sizes[seat]
    if (FULL_DECK & ~seen).bit_count() != hidden:
        return Invalid("view", "must account for 52 cards")
    held = held_cards(view)
    if held[seat] or any(cards.bit_count() > size for cards, size in zip(held, view.hand_sizes, strict=True)):
        return Invalid("view.traces", "must not put more cards into a hand than it has")
    return None
