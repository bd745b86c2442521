"""Who may act for a seat, and how a person takes the seat back from what stood in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rami.game.v1 import event_pb2
from rami_kit.errors import reasons, refused

if TYPE_CHECKING:
    from game_state.draft import Draft
    from game_state.room import Room


def require_seat(room: Room, player_id: str) -> int:
    """The seat of a player. Raises PERMISSION_DENIED NOT_SEATED for anybody else."""
    number = room.seat_of(player_id)
    if number is None:
        raise refused(reasons.ERROR_REASON_NOT_SEATED, "the caller holds no seat in the room")
    return number


def require_host(room: Room, player_id: str) -> None:
    """Raises PERMISSION_DENIED NOT_HOST for anybody but the host."""
    if player_id != room.host:
        raise refused(reasons.ERROR_REASON_NOT_HOST, "only the host may do this")


def come_back(draft: Draft, number: int, *, acting: bool = False) -> None:
    """The person of a seat plays for itself again; nothing to do where it never stopped.

    A person who is `acting` takes a turn back that autopilot has, and gets a new clock for it. One who only says to be
    there does not: else saying so again and again would hold up the table.
    """
    room = draft.room
    seat = room.seats[number]
    if not (seat.left or seat.missed or room.autopilot):
        return  # as almost always: nothing can have taken the seat over
    takes_turn = acting and room.acting_bot() == number
    if not (seat.left or seat.missed or takes_turn):
        return
    room.seats[number] = replace(seat, left=False, missed=0)
    if takes_turn:
        room.autopilot = False
        room.turn_deadline_ms = 0
    draft.note_seat(number, event_pb2.SEAT_CHANGE_CAUSE_RETURNED)
