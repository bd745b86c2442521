"""What GetView answers from memory is what it would answer anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from game_state import looks
from game_state.looks import Looks
from game_state.projection import encoded_legal_actions
from rami.game.v1 import event_pb2
from rami.game.v1 import game_service_pb2 as pb
from rami_engine import DRAW_STOCK
from support.game_tables import Table, snapshot_message, table_options

if TYPE_CHECKING:
    import pytest

PEOPLE = ("ann", "bob", "stranger")


def anew(table: Table, player_id: str, now_ms: int) -> pb.GetViewResponse:
    response = pb.GetViewResponse(snapshot=snapshot_message(table.room, player_id, now_ms))
    seat = table.room.turn_seat()
    if seat is not None and table.room.seat_of(player_id) == seat:
        legal = encoded_legal_actions(table.room, seat)
        response.legal_actions.CopyFrom(event_pb2.LegalActions.FromString(legal))
    return response


def looked(kept: Looks, table: Table, player_id: str, now_ms: int) -> pb.GetViewResponse:
    return pb.GetViewResponse.FromString(kept.encoded(table.room, player_id, now_ms))


def test_a_look_shows_each_player_its_own_cards_and_the_time_of_the_look() -> None:
    table = Table(["ann", "bob"], options=table_options(spectators_allowed=True))
    table.start()
    kept = Looks()

    for now_ms in (table.now_ms, table.now_ms + 1_234):
        for player_id in PEOPLE:
            assert looked(kept, table, player_id, now_ms) == anew(table, player_id, now_ms)
    assert len(kept) == len(PEOPLE)
    assert len({tuple(looked(kept, table, player_id, 0).snapshot.view.hand) for player_id in PEOPLE}) == len(PEOPLE)


def test_a_look_at_a_room_that_has_moved_on_is_a_new_one() -> None:
    table = Table(["ann", "bob"])
    table.start()
    kept = Looks()
    for player_id in PEOPLE[:2]:
        looked(kept, table, player_id, 0)
    table.play_seat(DRAW_STOCK)

    for player_id in PEOPLE[:2]:
        assert looked(kept, table, player_id, 0) == anew(table, player_id, 0)


def test_another_past_of_the_same_version_is_another_look() -> None:
    """The store may lose a step; the one that comes instead has the same number."""
    tables = Table(["ann", "bob"]), Table(["ann", "bob"])
    for table in tables:
        table.start()
    tables[1].play_seat(DRAW_STOCK)
    tables[1].room.version = tables[0].room.version
    kept = Looks()

    assert [looked(kept, table, "ann", 0) for table in tables] == [anew(table, "ann", 0) for table in tables]


def test_only_so_many_looks_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "LOOKS_KEPT", 2)
    table = Table(["ann", "bob"], options=table_options(spectators_allowed=True))
    kept = Looks()
    for player_id in PEOPLE:
        looked(kept, table, player_id, 0)

    assert len(kept) == 2
    assert looked(kept, table, "ann", 0) == anew(table, "ann", 0)
