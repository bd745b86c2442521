"""The mirror: versions, gaps, duplicates, rewinds, and whose legal actions count."""

import pytest

from rami.game.v1 import event_pb2, room_pb2
from rami_client.sight import DivergedError
from rami_client.state import GapError, RoomMirror
from rami_engine import legal_actions_for
from rami_wire import legal_actions_to_proto
from support.fake_room import FakeRoom
from support.matches import fallback, new_room


def started() -> tuple[FakeRoom, RoomMirror]:
    room = new_room(["ann", "bob"])
    room.start()
    mirror = RoomMirror(seat=0)
    mirror.take_snapshot(room.snapshot(0, rewound=False))
    return room, mirror


def play(room: FakeRoom, times: int = 1) -> None:
    for _ in range(times):
        room.play(*fallback(room), event_pb2.ACTION_SOURCE_PLAYER)


def test_an_event_applies_exactly_if_it_is_the_next() -> None:
    room, mirror = started()
    held = mirror.version
    play(room, 3)
    first, second, third = room.events_after(held, 0)
    with pytest.raises(GapError):
        mirror.take_event(second)
    assert mirror.version == held
    assert mirror.take_event(first) is not None
    assert mirror.take_event(first) is None
    assert mirror.version == held + 1
    with pytest.raises(GapError):
        mirror.take_event(third)
    mirror.take_event(second)
    mirror.take_event(third)
    assert mirror.version == held + 3
    assert mirror.cursor == third.cursor


def test_a_duplicate_does_not_touch_the_view() -> None:
    room, mirror = started()
    play(room, 2)
    events = room.events_after(mirror.version, 0)
    for event in events:
        mirror.take_event(event)
    view = mirror.view
    assert [mirror.take_event(event) for event in events] == [None, None]
    assert mirror.view is view


def test_events_before_any_snapshot_are_a_gap() -> None:
    room, _ = started()
    mirror = RoomMirror(seat=0)
    for event in room.events_after(0, 0):
        with pytest.raises(GapError):
            mirror.take_event(event)
    assert mirror.version == 0


def test_a_rewound_snapshot_takes_back_what_was_held() -> None:
    room, mirror = started()
    past = mirror.version
    view = mirror.view
    play(room, 4)
    for event in room.events_after(past, 0):
        mirror.take_event(event)
    room.rewind(past)
    update = mirror.take_snapshot(room.snapshot(0, rewound=True))
    assert update.rewound
    assert (mirror.version, mirror.view) == (past, view)
    play(room)
    (event,) = room.events_after(past, 0)
    assert mirror.take_event(event) is not None


def test_how_a_round_and_the_match_ended_is_known_from_events_and_from_snapshots_alike() -> None:
    room, mirror = started()
    room.deals_at_once = False
    assert not room.snapshot(0, rewound=False).HasField("round_ended")
    ends = 0
    while room.status != room_pb2.ROOM_STATUS_OVER:
        if room.turn(room.match, room.version) is None:
            room.commit([room.deal()])
        else:
            play(room)
        for event in room.events_after(mirror.version, 0):
            mirror.take_event(event)
        late = RoomMirror(seat=0)
        late.take_snapshot(room.snapshot(0, rewound=False))
        assert (late.round_ended, late.match_ended) == (mirror.round_ended, mirror.match_ended)
        if mirror.round_ended is not None:
            ends += 1
            assert mirror.view is not None
            assert tuple(len(hand.cards) for hand in mirror.round_ended.hands) == mirror.view.hand_sizes
    assert ends > 1
    assert mirror.match_ended is not None
    assert mirror.match_ended.result == mirror.room.result


def test_an_update_shows_the_room_as_it_was_then() -> None:
    room, mirror = started()
    play(room, 2)
    updates = [mirror.take_event(event) for event in room.events_after(mirror.version, 0)]
    versions = [update.room.version for update in updates if update is not None]
    assert versions == [room.version - 1, room.version]


def test_the_servers_legal_actions_count_for_their_version_only() -> None:
    room, mirror = started()
    assert mirror.view is not None
    full = legal_actions_for(mirror.view)
    mirror.take_legal_actions(legal_actions_to_proto(mirror.version, full[:1]))
    assert mirror.legal_actions == full[:1]
    play(room, 1)
    for event in room.events_after(mirror.version, 0):
        mirror.take_event(event)
    assert mirror.legal_actions == legal_actions_for(mirror.view)
    assert len(mirror.legal_actions) > 1


def test_nothing_is_legal_once_the_room_is_gone() -> None:
    room, mirror = started()
    assert mirror.legal_actions
    room.close()
    for event in room.events_after(mirror.version, 0):
        mirror.take_event(event)
    assert mirror.room.status == room_pb2.ROOM_STATUS_CLOSED
    assert mirror.legal_actions == ()


def test_unknown_kinds_of_changes_are_skipped() -> None:
    _, mirror = started()
    event = event_pb2.Event(version=mirror.version + 1, cursor=b"next", changes=[event_pb2.Change()])
    update = mirror.take_event(event)
    assert update is not None
    assert mirror.cursor == b"next"


def test_seats_host_and_rematch_are_taken_on() -> None:
    room, mirror = started()
    bot = room_pb2.Seat(seat=1, bot=room_pb2.SeatedBot(bot="hard"))
    event = event_pb2.Event(version=mirror.version + 1, cursor=b"next", turn=mirror.room.turn)
    event.changes.add(seat_changed=event_pb2.SeatChanged(seat=bot))
    event.changes.add(host_changed=event_pb2.HostChanged(host_player_id="bob"))
    event.changes.add(rematch_created=event_pb2.RematchCreated(room_id="p0-other"))
    mirror.take_event(event)
    assert mirror.room.seats[1] == bot
    assert (mirror.room.host_player_id, mirror.room.rematch_room_id) == ("bob", "p0-other")
    assert mirror.room.turn == room.message().turn


def test_a_seat_that_does_not_exist_diverges() -> None:
    _, mirror = started()
    event = event_pb2.Event(version=mirror.version + 1, cursor=b"next")
    event.changes.add(seat_changed=event_pb2.SeatChanged(seat=room_pb2.Seat(seat=7)))
    with pytest.raises(DivergedError):
        mirror.take_event(event)


def test_a_snapshot_that_makes_no_sense_diverges() -> None:
    room, mirror = started()
    snapshot = room.snapshot(0, rewound=False)
    snapshot.view.hand.append(snapshot.view.hand[0])
    with pytest.raises(DivergedError):
        mirror.take_snapshot(snapshot)


def test_the_seat_is_found_by_the_player_before_the_match() -> None:
    room = new_room(["ann", "bob"])
    mirror = RoomMirror(player_id="bob")
    mirror.take_snapshot(room.snapshot(1, rewound=False))
    assert mirror.seat == 1
    room.start()
    for event in room.events_after(mirror.version, 1):
        mirror.take_event(event)
    assert mirror.view is not None
    assert mirror.view.viewer == 1
