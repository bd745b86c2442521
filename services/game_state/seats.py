"""Who may act for a seat, and how a person takes the seat back from what stood in."""

from __future__ import annotations

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


def come_back(draft: Draft, number: int) -> None:
    """The person of a seat plays for itself again; nothing to do where it never stopped."""
    room = draft.room
    seat = room.seats[number]
    on_autopilot = room.autopilot and room.turn_seat() == number
    if not (seat.left or seat.missed or on_autopilot):
        return
    was_away = seat.stand_in or on_autopilot
    seat.left = False
    seat.missed = 0
    if on_autopilot:
        room.autopilot = False
    if was_away:
        draft.note_seat(number, event_pb2.SEAT_CHANGE_CAUSE_RETURNED)
