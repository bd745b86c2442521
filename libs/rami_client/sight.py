"""What a viewer knows after each thing that happens: from one seat view to the next by the events alone.

The result equals, field by field, the view that the server would send at that moment. Where an event does not
fit the view it should follow, nothing is guessed: `DivergedError` asks for a snapshot.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rami_engine import (
    RULES_ID,
    Action,
    ActionKind,
    EndReason,
    MalformedAction,
    OptionsError,
    Phase,
    RoundHistory,
    SeatView,
)
from rami_wire import (
    action_from_proto,
    guards_from_proto,
    options_from_proto,
    result_from_proto,
    to_card,
    to_mask,
)

if TYPE_CHECKING:
    from rami.game.v1 import event_pb2, room_pb2
    from rami_engine import Card, RoundResult


class DivergedError(Exception):
    """An event that cannot follow what is held; caught in this library, which then asks for a snapshot."""


def opening_view(room: room_pb2.Room, viewer: int | None) -> SeatView:
    """The view between the start of the match and its first deal."""
    players = room.options.seats
    return SeatView(
        rules_id=room.rules_id or RULES_ID,
        rules_version=room.rules_version,
        players=players,
        viewer=viewer,
        options=options_from_proto(room.options.rules, "room.options.rules"),
        guards=guards_from_proto(room.guards),
        scores=(0,) * players,
        phase=Phase.NOT_STARTED,
        round_number=0,
        turn=None,
        turn_number=0,
        hand=0,
        hand_sizes=(0,) * players,
        stock_count=0,
        discards=(),
        melds=(),
        history=(),
        last_result=None,
        match_turns=0,
        winner=None,
    )


def after_deal(view: SeatView, dealt: event_pb2.RoundStarted) -> SeatView:
    """The view once a round has been dealt. Raises DivergedError when it shows a hand to a spectator, or none
    to a seat: then the viewer is somebody else than was thought.
    """
    if bool(dealt.hand) != (view.viewer is not None) or dealt.round_number != view.round_number + 1:
        raise DivergedError("the deal is not the viewer's")
    try:
        return replace(
            view,
            phase=Phase.DRAW,
            round_number=dealt.round_number,
            turn=dealt.starting_seat,
            turn_number=1,
            hand=to_mask(dealt.hand, "hand"),
            hand_sizes=(dealt.hand_size,) * view.players,
            stock_count=dealt.stock_size,
            discards=(to_card(dealt.up_card, "up_card"),),
            melds=(),
            history=(),
        )
    except MalformedAction as error:
        raise DivergedError(str(error)) from error


def after_action(view: SeatView, played: event_pb2.ActionPlayed) -> SeatView:
    """The view once a seat has acted; the end of the round, if it ends, is an event of its own. Raises
    DivergedError.
    """
    try:
        action = action_from_proto(played.action)
        drawn = to_card(played.drawn, "drawn") if played.HasField("drawn") else None
    except MalformedAction as error:
        raise DivergedError(str(error)) from error
    seat = played.seat
    draws = action.kind in (ActionKind.DRAW_STOCK, ActionKind.DRAW_DISCARD)
    if seat != view.turn or view.phase != (Phase.DRAW if draws else Phase.PLAY):
        raise DivergedError("another seat or phase is in turn")
    if draws:
        return _after_draw(view, seat, action, drawn)
    return _after_play(view, seat, action)


def after_round(view: SeatView, ended: event_pb2.RoundEnded) -> SeatView:
    """The view once a round has been scored. Raises DivergedError."""
    try:
        result = result_from_proto(ended.result)
    except OptionsError as error:
        raise DivergedError(str(error)) from error
    if result.number != view.round_number or len(result.scores) != view.players:
        raise DivergedError("another round is in play")
    return replace(
        view,
        phase=Phase.ROUND_OVER,
        turn=_last_to_act(view, result),
        scores=result.scores,
        last_result=result,
    )


def after_match(view: SeatView, ended: event_pb2.MatchEnded) -> SeatView:
    """The view once the match is over, decided or abandoned."""
    winner = ended.result.winner_seat if ended.result.HasField("winner_seat") else None
    return replace(view, phase=Phase.MATCH_OVER, winner=winner)


def _after_draw(view: SeatView, seat: int, action: Action, drawn: Card | None) -> SeatView:
    history = _history(view)
    if action.kind == ActionKind.DRAW_STOCK:
        if not view.stock_count:
            return view  # no card moves: the round ends
        history.record_pass(view.discards[-1], seat, view.turn_number)
        stock_count, discards = view.stock_count - 1, view.discards
    else:
        if not view.discards or drawn not in (None, view.discards[-1]):
            raise DivergedError("another card lies on the discard pile")
        drawn = view.discards[-1]
        history.record_taking(drawn, seat, view.turn_number)
        stock_count, discards = view.stock_count, view.discards[:-1]
    hand = view.hand
    if seat == view.viewer:
        if drawn is None or hand >> drawn & 1:
            raise DivergedError("the drawn card is missing")
        hand |= 1 << drawn
    return replace(
        view,
        phase=Phase.PLAY,
        hand=hand,
        hand_sizes=_resized(view, seat, 1),
        stock_count=stock_count,
        discards=discards,
        history=history.traces(),
    )


def _after_play(view: SeatView, seat: int, action: Action) -> SeatView:
    kind, cards, number = action
    if seat == view.viewer and cards & ~view.hand:
        raise DivergedError("a card that the hand lacks was played")
    hand = view.hand & ~cards if seat == view.viewer else view.hand
    sizes = _resized(view, seat, -cards.bit_count())
    history = _history(view)
    if kind == ActionKind.DISCARD:
        card = cards.bit_length() - 1
        history.record_discard(card, seat, view.turn_number)
        return replace(
            view,
            phase=Phase.DRAW,
            turn=(seat + 1) % view.players,
            turn_number=view.turn_number + 1,
            match_turns=view.match_turns + 1,
            hand=hand,
            hand_sizes=sizes,
            discards=(*view.discards, card),
            history=history.traces(),
        )
    melds = list(view.melds)
    if kind == ActionKind.MELD:
        melds.append(cards)
    elif 1 <= number <= len(melds):
        melds[number - 1] |= cards
    else:
        raise DivergedError("the meld laid off on is not on the table")
    history.record_laying(cards, seat, view.turn_number)
    return replace(view, hand=hand, hand_sizes=sizes, melds=tuple(melds), history=history.traces())


def _resized(view: SeatView, seat: int, by: int) -> tuple[int, ...]:
    sizes = list(view.hand_sizes)
    sizes[seat] += by
    if sizes[seat] < 0:
        raise DivergedError("a hand has more cards played than it held")
    return tuple(sizes)


def _last_to_act(view: SeatView, result: RoundResult) -> int | None:
    """The seat that ended the round. Only a discard has passed the turn on before the round ended."""
    if view.turn is None or view.phase != Phase.DRAW or result.reason == EndReason.STOCK_EXHAUSTED:
        return view.turn
    return (view.turn - 1) % view.players


def _history(view: SeatView) -> RoundHistory:
    return RoundHistory({trace.card: trace for trace in view.history})
