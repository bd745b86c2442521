"""The match at a table: its start, its actions, the deals between rounds, its clocks and its end.

The engine plays; this module adds what a table has around the rules: who acts for which seat, what time does,
and what is told of it. As in `lobby.py`, every check comes before every change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from game_state.projection import match_ended_message, round_ended_message
from game_state.room import Status
from game_state.seats import come_back, require_seat
from game_state.steps import Played, dealt_change
from rami.game.v1 import event_pb2
from rami_engine import (
    IllegalAction,
    Phase,
    apply,
    deck_for_round,
    new_match,
    require_well_formed,
    start_round,
)
from rami_kit.errors import RamiError, parse_reason, reasons, refused

if TYPE_CHECKING:
    from game_state.draft import Draft
    from game_state.room import Room
    from rami_engine import Action, Reason


def begin(draft: Draft) -> None:
    """Start the match and deal its first round. Trusts its caller that every seat is filled."""
    room = draft.room
    room.status = Status.IN_MATCH
    room.start_ms = draft.now_ms
    room.advance_ms = 0
    room.match = new_match(len(room.seats), room.options.rules, room.guards)
    entropies = [seat.entropy for seat in room.seats]
    draft.note(event_pb2.Change(match_started=event_pb2.MatchStarted(entropies=entropies)))
    deal(draft)


def deal(draft: Draft) -> None:
    """Deal the next round from its seed and the frozen entropies. Trusts its caller that none is in play."""
    room = draft.room
    match = room.current_match()
    number = match.round.number + 1 if match.round is not None else 1
    room.chain = replace(room.chain)  # the version before has it, too, and this may move it on
    seed = room.chain.seed(number)
    start_round(match, deck_for_round(seed, number, [seat.entropy for seat in room.seats]))
    room.advance_ms = 0
    room.autopilot = False
    assert match.round is not None
    draft.changes.append(dealt_change(match.round))


def play_for_player(draft: Draft, player_id: str, expected_version: int, action: Action) -> None:
    """Play an action that a person chose, who by that takes the seat back from whatever stood in.

    Raises, first match first: MalformedAction, NOT_SEATED, MATCH_NOT_STARTED, MATCH_OVER, STALE_VERSION, and
    the reasons of the rules.
    """
    room = draft.room
    require_well_formed(action)
    seat = require_seat(room, player_id)
    if room.status == Status.LOBBY or room.match is None:
        raise _refusal(room, reasons.ERROR_REASON_MATCH_NOT_STARTED, "the match has not begun")
    if room.status == Status.OVER:
        raise _refusal(room, reasons.ERROR_REASON_MATCH_OVER, "the match has ended")
    require_version(room, expected_version)
    come_back(draft, seat, acting=True)
    try:
        play(draft, seat, action, event_pb2.ACTION_SOURCE_PLAYER)
    except IllegalAction as refusal:
        # The rules judge once, and the draft is thrown away.
        raise _rules_refusal(room, refusal.reason, action) from None


def require_version(room: Room, expected_version: int) -> None:
    """Raises ABORTED STALE_VERSION unless the room stands at the version that an action was chosen in."""
    if room.version != expected_version:
        raise refused(
            reasons.ERROR_REASON_STALE_VERSION,
            f"the room is at version {room.version}",
            current_version=room.version,
        )


def play(draft: Draft, seat: int, action: Action, source: event_pb2.ActionSource.ValueType) -> None:
    """Play an action of a seat, with everything that follows at once. Raises the engine's IllegalAction."""
    room = draft.room
    match = room.current_match()
    turn_before = match.turns
    outcome = apply(match, seat, action)
    draft.changes.append(Played(seat, action, source, outcome.drawn))
    if match.turns != turn_before or outcome.round_end is not None:
        room.autopilot = False
    if outcome.round_end is None:
        return
    draft.note(event_pb2.Change(round_ended=round_ended_message(room)))
    if outcome.match_end is not None:
        room.status = Status.OVER
        draft.note(event_pb2.Change(match_ended=match_ended_message(room)))
    elif room.options.round_interval_ms:
        room.advance_ms = draft.now_ms + room.options.round_interval_ms
    else:
        deal(draft)


def run_out(draft: Draft) -> bool:
    """The clock of the person to move has run out: autopilot plays this turn. False when it has not."""
    room = draft.room
    turn = room.turn_seat()
    deadline = room.deadline_ms()
    if turn is None or not deadline or draft.now_ms < deadline:
        return False
    seat = room.seats[turn]
    room.seats[turn] = replace(seat, missed=seat.missed + 1)
    room.autopilot = True
    draft.note_seat(turn, event_pb2.SEAT_CHANGE_CAUSE_TIMED_OUT)
    return True


def advance(draft: Draft) -> bool:
    """Deal the round, or start the match, whose time has come. False when none has."""
    room = draft.room
    if not room.advance_ms or draft.now_ms < room.advance_ms:
        return False
    if room.status == Status.LOBBY:
        begin(draft)
    else:
        deal(draft)
    return True


def abandon(draft: Draft) -> None:
    """End the match without a winner and reveal the seed of the round it was abandoned in."""
    room = draft.room
    match = room.current_match()
    match.phase = Phase.MATCH_OVER
    room.status = Status.OVER
    room.abandoned = True
    room.advance_ms = 0
    draft.note(event_pb2.Change(match_ended=match_ended_message(room)))


def _rules_refusal(room: Room, reason: Reason, action: Action) -> RamiError:
    """The rules' reason with the metadata that the contract promises for it."""
    wire_reason = parse_reason(reason.name)
    assert wire_reason is not None, "every reason of the rules is one of the contract"
    metadata: dict[str, str] = {}
    turn = room.turn_seat()
    if wire_reason == reasons.ERROR_REASON_NOT_YOUR_TURN:
        metadata["turn"] = str(turn)
    elif wire_reason == reasons.ERROR_REASON_WRONG_PHASE:
        metadata["phase"] = room.current_match().phase.name
    elif wire_reason in (reasons.ERROR_REASON_MELD_NOT_FOUND, reasons.ERROR_REASON_INVALID_LAY_OFF):
        metadata["meld"] = str(action.meld)
    return RamiError(wire_reason, f"the rules refuse the action: {reason.name}", metadata=metadata)


def _refusal(room: Room, reason: reasons.ErrorReason.ValueType, message: str) -> RamiError:
    return refused(reason, message, room_id=room.room_id)
