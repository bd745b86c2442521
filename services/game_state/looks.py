"""What GetView answers: a snapshot and what the caller may do, kept ready for who looks again before anything happens.

Clients that do not listen to a stream look every so often, and mostly nothing has happened since. A version and its
commit id stand for one state of a room for ever, so what a player saw of it is still what there is to see, but for the
time of the look. Rooms come here confirmed, and callers allowed: nothing is decided from memory.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from game_state.actions import next_legal_actions
from game_state.projection import encode_sight, encode_snapshot_time
from rami.game.v1 import game_service_pb2 as pb
from rami_wire import encode_field

if TYPE_CHECKING:
    from game_state.room import Room

LOOKS_KEPT: Final = 2048
"""About 2 MB; of more, the oldest is forgotten."""

_FIELDS: Final = pb.GetViewResponse.DESCRIPTOR.fields_by_name
_SNAPSHOT: Final = _FIELDS["snapshot"].number
_LEGAL_ACTIONS: Final = _FIELDS["legal_actions"].number


class _Seen(NamedTuple):
    """Who has seen which state of which room: each player sees its own."""

    player_id: str
    room_id: str
    version: int
    commit_id: bytes


class _Look(NamedTuple):
    """What there was to see."""

    sight: bytes
    """A serialized Snapshot without its time."""
    legal_actions: bytes
    """The field of a serialized GetViewResponse; empty unless the player is to move."""


class Looks:
    """The latest looks of all players. One per process."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Seen, _Look] = OrderedDict()

    def __len__(self) -> int:
        """Looks that are kept."""
        return len(self._kept)

    def encoded(self, room: Room, player_id: str, now_ms: int) -> bytes:
        """The serialized GetViewResponse for a player, who may see the room, at a moment of the store's clock."""
        seen = _Seen(player_id, room.room_id, room.version, room.commit_id)
        look = self._kept.get(seen)
        if look is None:
            look = self._kept[seen] = _look(room, player_id)
            if len(self._kept) > LOOKS_KEPT:
                self._kept.popitem(last=False)
        return encode_field(_SNAPSHOT, look.sight + encode_snapshot_time(now_ms)) + look.legal_actions


def _look(room: Room, player_id: str) -> _Look:
    seat = room.seat_of(player_id)
    legal = None if seat is None else next_legal_actions(room, seat, room.version)
    return _Look(
        encode_sight(room, player_id),
        b"" if legal is None else encode_field(_LEGAL_ACTIONS, legal),
    )
