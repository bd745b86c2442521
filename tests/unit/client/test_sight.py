"""The view that a client makes from events is the view that the server would send."""

import random
from dataclasses import replace

import pytest

from rami.cards.v1 import card_pb2
from rami.game.v1 import event_pb2
from rami_client.sight import DivergedError
from rami_client.state import RoomMirror
from rami_engine import Guards, RuleOptions, legal_actions, seat_view
from support.fake_room import FakeRoom
from support.matches import ENTROPY, fallback, lively_choice, new_room

OPTIONS = {
    "defaults": RuleOptions(),
    "ace_high": RuleOptions(ace_high=True),
    "discard_to_win": RuleOptions(discard_to_win=True),
}


def mirrors_of(room: FakeRoom) -> dict[int | None, RoomMirror]:
    """A mirror for every seat and for a spectator, all at the room's version."""
    mirrors: dict[int | None, RoomMirror] = {}
    for viewer in (*range(len(room.names)), None):
        mirrors[viewer] = RoomMirror(seat=viewer)
        mirrors[viewer].take_snapshot(room.snapshot(viewer, rewound=False))
    return mirrors


def follow(room: FakeRoom, mirrors: dict[int | None, RoomMirror]) -> None:
    """Feeds the newest step to every mirror, and compares what they hold with the truth."""
    for viewer, mirror in mirrors.items():
        for event in room.events_after(mirror.version, viewer):
            mirror.take_event(event)
        assert mirror.room == room.message()
        assert room.match is not None
        assert mirror.view == seat_view(room.match, viewer)
        expected = legal_actions(room.match, viewer) if viewer is not None else ()
        assert mirror.legal_actions == expected


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("deals_at_once", [True, False])
def test_events_give_the_servers_view_to_every_viewer(players: int, options: RuleOptions, deals_at_once: bool) -> None:
    # Enough for two rounds or more: a round brings the more the more hands are left.
    options = replace(options, target_score=(players - 1) * 130)
    room = new_room(["ann"] * players, options=options)
    room.deals_at_once = deals_at_once
    room.guards = Guards(max_turns_per_round=50, max_turns_per_match=200)
    mirrors = mirrors_of(room)
    room.start()
    follow(room, mirrors)
    chance = random.Random(players)
    rounds = set()
    while room.match is not None and room.match.winner is None:
        if room.match.phase.name == "ROUND_OVER":
            room.commit([room.deal()])
        else:
            room.play(*lively_choice(room, chance), event_pb2.ACTION_SOURCE_PLAYER)
        follow(room, mirrors)
        assert room.match.round is not None
        rounds.add(room.match.round.number)
    assert len(rounds) > 1


def test_every_way_to_end_a_round_is_followed() -> None:
    reasons = set()
    room = new_room(["ann", "bob", "cy"], options=RuleOptions(target_score=150))
    room.guards = Guards(max_turns_per_round=40, max_turns_per_match=200)
    mirrors = mirrors_of(room)
    room.start()
    chance = random.Random(2)
    while room.match is not None and room.match.winner is None:
        room.play(*lively_choice(room, chance), event_pb2.ACTION_SOURCE_PLAYER)
        follow(room, mirrors)
        if room.match.results is not None:
            reasons.add(room.match.results.reason.name)
    assert reasons == {"WENT_OUT", "STOCK_EXHAUSTED", "TURN_LIMIT"}


def started(viewer: int | None = 0) -> tuple[FakeRoom, RoomMirror]:
    room = new_room(["ann", "bob"])
    room.bring_entropy(0, ENTROPY)
    room.start()
    mirror = RoomMirror(seat=viewer)
    mirror.take_snapshot(room.snapshot(viewer, rewound=False))
    return room, mirror


def test_a_spectator_who_is_shown_a_hand_wants_a_snapshot() -> None:
    room = new_room(["ann", "bob"])
    mirror = RoomMirror()  # nothing says which seat this is
    mirror.take_snapshot(room.snapshot(None, rewound=False))
    room.start()
    (event,) = room.events_after(mirror.version, 0)
    with pytest.raises(DivergedError):
        mirror.take_event(event)
    assert mirror.version == event.version - 1
    assert mirror.view is None


def _turn(event: event_pb2.Event) -> event_pb2.ActionPlayed:
    return event.changes[0].action_played


def _wrong_seat(event: event_pb2.Event) -> None:
    _turn(event).seat = 1


def _wrong_phase(event: event_pb2.Event) -> None:
    _turn(event).action.discard.card = card_pb2.CARD_6C


def _no_action(event: event_pb2.Event) -> None:
    _turn(event).ClearField("action")


def _drawn_unspecified(event: event_pb2.Event) -> None:
    _turn(event).drawn = card_pb2.CARD_UNSPECIFIED


def _drawn_hidden(event: event_pb2.Event) -> None:
    _turn(event).ClearField("drawn")


@pytest.mark.parametrize("spoil", [_wrong_seat, _wrong_phase, _no_action, _drawn_unspecified, _drawn_hidden])
def test_an_event_that_cannot_follow_changes_nothing(spoil: object) -> None:
    room, mirror = started()
    before = (mirror.version, mirror.view, mirror.cursor)
    room.play(*fallback(room), event_pb2.ACTION_SOURCE_PLAYER)
    (event,) = room.events_after(mirror.version, 0)
    assert callable(spoil)
    spoil(event)
    with pytest.raises(DivergedError):
        mirror.take_event(event)
    assert (mirror.version, mirror.view, mirror.cursor) == before
