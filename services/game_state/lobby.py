"""What happens at a table besides the play: creating, joining, leaving, bots, entropy, returning, closing.

Every function takes a draft, checks all it asks for before it changes anything, and raises RamiError with the
reason that the contract names for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from game_state import match
from game_state.requests import RequestMemory
from game_state.room import Room, RoomOptions, Seat, Status
from game_state.seats import come_back, require_host, require_seat
from rami.game.v1 import event_pb2
from rami_engine import MAX_ENTROPY_SIZE
from rami_kit.errors import InvalidRequest, RamiError, reasons, refused

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from game_state.draft import Draft
    from rami_engine import Guards, SeedChain


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who calls: the opaque player id and the name to show."""

    player_id: str
    name: str


@dataclass(frozen=True, slots=True)
class NewRoom:
    """What a room is created from."""

    room_id: str
    options: RoomOptions
    guards: Guards
    seats: tuple[Seat, ...]
    host: str
    """A player id; empty in matched rooms."""
    join_code: str
    """Empty for public and matched rooms."""
    chain: SeedChain
    commitment: bytes
    fingerprint: bytes
    """Of what the creator asked for."""
    match_id: bytes = b""


def blank_room(new: NewRoom, now_ms: int) -> Room:
    """The room before its first version, to be drafted upon and completed by `create`."""
    return Room(
        room_id=new.room_id,
        version=0,
        commit_id=b"",
        status=Status.LOBBY,
        options=new.options,
        guards=new.guards,
        seats=list(new.seats),
        host=new.host,
        join_code=new.join_code,
        chain=new.chain,
        commitment=new.commitment,
        create_ms=now_ms,
        create_fingerprint=new.fingerprint,
        expire_ms=0,
        requests=RequestMemory(),
        match_id=new.match_id,
    )


def create(draft: Draft) -> None:
    """The room opens; a full room that starts by itself begins to wait for entropy."""
    draft.note(event_pb2.Change(room_created=event_pb2.RoomCreated()))
    _consider_start(draft)


def join(draft: Draft, person: Person, wished: int | None, *, with_code: bool) -> int:
    """Take a seat, or the own seat back; returns its number. Changes nothing for who sits there already."""
    room = draft.room
    own = room.seat_of(person.player_id)
    if own is not None:
        come_back(draft, own)
        return own
    if room.status != Status.LOBBY:
        raise _already_started(room)
    if not (room.options.public or with_code or person.player_id == room.host):
        raise refused(reasons.ERROR_REASON_JOIN_CODE_REQUIRED, "the room is private: join with its code")
    number = _seat_to_take(room, wished)
    room.seats[number] = Seat(player_id=person.player_id, name=person.name)
    draft.note_seat(number, event_pb2.SEAT_CHANGE_CAUSE_JOINED)
    _consider_start(draft)
    return number


def leave(draft: Draft, player_id: str) -> None:
    """Leave the own seat. The last person's leaving closes a lobby and abandons a match.

    A host who only observes may leave as well: the lobby gets another host, or ends as above.
    """
    room = draft.room
    if player_id == room.host and room.seat_of(player_id) is None:
        _leave_as_observer(draft, player_id)
        return
    number = require_seat(room, player_id)
    if room.status == Status.LOBBY and not room.match_id:
        room.seats[number] = Seat()
        room.advance_ms = 0
        draft.note_seat(number, event_pb2.SEAT_CHANGE_CAUSE_LEFT)
        _pass_host_on(draft, player_id)
        return
    seat = room.seats[number]
    if seat.left:
        return
    # A matched table and a match go on with a bot in the seat, so that nobody is left at a short table.
    room.seats[number] = replace(seat, left=True)
    draft.note_seat(number, event_pb2.SEAT_CHANGE_CAUSE_LEFT)
    if room.people():
        return
    if room.status == Status.LOBBY:
        close(draft, event_pb2.ROOM_CLOSE_REASON_DESERTED)
    elif room.status == Status.IN_MATCH:
        match.abandon(draft)


def _leave_as_observer(draft: Draft, player_id: str) -> None:
    room = draft.room
    if room.status == Status.LOBBY:
        _pass_host_on(draft, player_id)
    elif room.status == Status.IN_MATCH and not room.people():
        match.abandon(draft)


def update_seats(draft: Draft, player_id: str, changes: Mapping[int, str]) -> None:
    """The host puts bots in seats, by profile id, or takes them out with an empty one. All or nothing."""
    room = draft.room
    require_host(room, player_id)
    if room.status != Status.LOBBY:
        raise _already_started(room)
    for number in changes:
        if room.seats[number].player_id:
            raise refused(reasons.ERROR_REASON_SEAT_TAKEN, "a person holds the seat", seat=number)
    for number, bot in changes.items():
        if room.seats[number].bot != bot:
            room.seats[number] = Seat(bot=bot)
            draft.note_seat(number, event_pb2.SEAT_CHANGE_CAUSE_HOST)
    if any(seat.empty for seat in room.seats):
        room.advance_ms = 0
    elif draft.changes:
        _consider_start(draft)


def set_entropy(draft: Draft, player_id: str, entropy: bytes) -> None:
    """Bring the own entropy, once, before the match. The last person's lets a waiting match start at once."""
    if not 1 <= len(entropy) <= MAX_ENTROPY_SIZE:
        raise InvalidRequest("entropy", f"must have 1 to {MAX_ENTROPY_SIZE} bytes")
    room = draft.room
    number = require_seat(room, player_id)
    if room.status != Status.LOBBY:
        raise _already_started(room)
    if room.seats[number].entropy:
        raise refused(reasons.ERROR_REASON_ENTROPY_ALREADY_SET, "the seat has its entropy", seat=number)
    room.seats[number] = replace(room.seats[number], entropy=entropy)
    draft.note_seat(number, event_pb2.SEAT_CHANGE_CAUSE_ENTROPY)
    if room.advance_ms:
        _consider_start(draft)


def start(draft: Draft, player_id: str) -> None:
    """The host starts the match of a full room."""
    room = draft.room
    require_host(room, player_id)
    if room.status != Status.LOBBY:
        raise _already_started(room)
    empty = sum(seat.empty for seat in room.seats)
    if empty:
        raise refused(reasons.ERROR_REASON_SEATS_NOT_FILLED, "a seat is empty", empty_seats=empty)
    match.begin(draft)


def note_rematch(draft: Draft, room_id: str) -> None:
    """Tell the room where its rematch is, the first time."""
    if not draft.room.rematch_room_id:
        draft.room.rematch_room_id = room_id
        draft.note(event_pb2.Change(rematch_created=event_pb2.RematchCreated(room_id=room_id)))


def rematch_options(options: RoomOptions) -> RoomOptions:
    """The options of a rematch: the same, but for those who played."""
    return replace(options, public=False)


def close(draft: Draft, reason: event_pb2.RoomCloseReason.ValueType) -> None:
    """The room ends. The repository removes it with this step."""
    draft.room.status = Status.CLOSED
    draft.room.advance_ms = 0
    draft.note(event_pb2.Change(room_closed=event_pb2.RoomClosed(reason=reason)))


def require_profile(bot: str, profiles: Collection[str]) -> None:
    """Raises NOT_FOUND BOT_NOT_FOUND unless the id is empty or one of the profiles."""
    if bot and bot not in profiles:
        raise refused(reasons.ERROR_REASON_BOT_NOT_FOUND, "no bot has this id", bot=bot)


def _already_started(room: Room) -> RamiError:
    return refused(reasons.ERROR_REASON_MATCH_ALREADY_STARTED, "the match has started", room_id=room.room_id)


def _seat_to_take(room: Room, wished: int | None) -> int:
    if wished is None:
        for number, seat in enumerate(room.seats):
            if seat.empty:
                return number
        raise refused(reasons.ERROR_REASON_ROOM_FULL, "every seat is taken", seats=len(room.seats))
    if wished >= len(room.seats):
        raise InvalidRequest("seat", f"must be a seat of the room, 0..{len(room.seats) - 1}")
    if not room.seats[wished].empty:
        if all(not seat.empty for seat in room.seats):
            raise refused(reasons.ERROR_REASON_ROOM_FULL, "every seat is taken", seats=len(room.seats))
        raise refused(reasons.ERROR_REASON_SEAT_TAKEN, "somebody else holds the seat", seat=wished)
    return wished


def _pass_host_on(draft: Draft, leaver: str) -> None:
    """A lobby without people closes; a host who leaves is followed by the person in the lowest seat."""
    room = draft.room
    people = room.people()
    if not people:
        close(draft, event_pb2.ROOM_CLOSE_REASON_DESERTED)
    elif room.host == leaver:
        room.host = people[0].player_id
        draft.note(event_pb2.Change(host_changed=event_pb2.HostChanged(host_player_id=room.host)))


def _consider_start(draft: Draft) -> None:
    """In a full room that starts by itself: wait for the entropy of people, or begin when all is there."""
    room = draft.room
    if not room.options.auto_start or any(seat.empty for seat in room.seats):
        return
    if all(seat.entropy for seat in room.people()):
        match.begin(draft)
    elif not room.advance_ms:
        room.advance_ms = draft.now_ms + draft.times.entropy_window_ms
