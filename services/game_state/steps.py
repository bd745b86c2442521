"""Steps: what a committed change of a room leaves in its log, hidden cards included.

The commonest step by far, an action, is written tightly. Public events are made from steps by `events.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rami.store.v1 import step_pb2
from rami_engine import Action, ActionKind, Phase, cards_of, mask_of

if TYPE_CHECKING:
    from rami.game.v1 import event_pb2
    from rami_engine import Card, RoundState

_SEAT_BITS: Final = 2
_KIND_BITS: Final = 3


def played_change(
    seat: int, action: Action, source: event_pb2.ActionSource.ValueType, drawn: Card | None
) -> step_pb2.StepChange:
    """A seat acted; `drawn` is the card that came to its hand."""
    kind, cards, meld = action
    return step_pb2.StepChange(
        played=step_pb2.PlayedChange(
            code=seat | kind << _SEAT_BITS | source << _SEAT_BITS + _KIND_BITS,
            cards=bytes(cards_of(cards)),
            meld=meld,
            drawn_plus_one=0 if drawn is None else drawn + 1,
        )
    )


def played_parts(
    played: step_pb2.PlayedChange,
) -> tuple[int, Action, event_pb2.ActionSource.ValueType, Card | None]:
    """The seat, action, source and drawn card of a step in which a seat acted."""
    code = played.code
    seat = code & (1 << _SEAT_BITS) - 1
    kind = ActionKind(code >> _SEAT_BITS & (1 << _KIND_BITS) - 1)
    source: event_pb2.ActionSource.ValueType = code >> _SEAT_BITS + _KIND_BITS  # type: ignore[assignment]  # an int
    drawn = played.drawn_plus_one - 1 if played.drawn_plus_one else None
    return seat, Action(kind, mask_of(played.cards), played.meld), source, drawn


def dealt_change(dealt: RoundState) -> step_pb2.StepChange:
    """A round was dealt."""
    return step_pb2.StepChange(
        dealt=step_pb2.DealtChange(number=dealt.number, hands=dealt.hands, up_card=dealt.discards[0])
    )


def public_change(change: event_pb2.Change) -> step_pb2.StepChange:
    """Something that hides nothing from anybody."""
    return step_pb2.StepChange(public=change.SerializeToString())


def privileged_seats(step: step_pb2.Step) -> frozenset[int] | None:
    """The seats that see more of a step than everybody else does; None where each sees something of its own."""
    seats = []
    for change in step.changes:
        if change.HasField("dealt"):
            return None
        if change.HasField("played") and hides_card(change.played):
            seats.append(played_seat(change.played))
    return frozenset(seats)


def hides_card(played: step_pb2.PlayedChange) -> bool:
    """Whether a card was drawn that only its seat may see."""
    kind = played.code >> _SEAT_BITS & (1 << _KIND_BITS) - 1
    return kind == ActionKind.DRAW_STOCK and played.drawn_plus_one != 0


def played_seat(played: step_pb2.PlayedChange) -> int:
    """The seat that acted."""
    return played.code & (1 << _SEAT_BITS) - 1


def seat_to_move(step: step_pb2.Step) -> int | None:
    """The seat to move after a step; None while no action is possible."""
    if step.turn_plus_one and step.phase in (Phase.DRAW, Phase.PLAY):
        return step.turn_plus_one - 1
    return None
