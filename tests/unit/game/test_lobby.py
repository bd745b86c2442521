"""Everything that happens at a table before the match: who may do it, what it changes, what is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from game_state.room import Status
from rami.game.v1 import event_pb2
from rami_kit.errors import RamiError, reason_name
from support.game_tables import EMPTY, TIMES, Table, table_options

if TYPE_CHECKING:
    from collections.abc import Callable

AUTO = table_options(auto_start=True)
PUBLIC = table_options(public=True)


def refused_for(table: Table, change: Callable[[], object]) -> str:
    """The reason of a refusal, which must leave the room as it was."""
    before, steps = table.room, len(table.log)
    with pytest.raises(RamiError) as caught:
        change()
    assert table.room is before
    assert len(table.log) == steps
    return reason_name(caught.value.reason)


def kinds(table: Table) -> list[str | None]:
    return [change.WhichOneof("kind") for change in table.changes()]


def holders(table: Table) -> list[str]:
    return [seat.player_id or (f"bot:{seat.bot}" if seat.bot else EMPTY) for seat in table.room.seats]


# Creating.


def test_a_new_room_is_a_lobby_at_version_1_that_tells_of_its_creation() -> None:
    table = Table(["ann", EMPTY])

    assert table.room.version == 1
    assert table.status() == Status.LOBBY
    assert table.room.match is None
    assert kinds(table) == ["room_created"]
    assert table.room.expire_ms == table.now_ms + TIMES.lobby_ttl_ms
    assert not table.room.advance_ms


def test_a_full_room_that_starts_by_itself_waits_for_entropy_from_the_first_moment() -> None:
    table = Table(["ann", "bot:easy"], options=AUTO)

    assert table.status() == Status.LOBBY
    assert table.room.advance_ms == table.now_ms + TIMES.entropy_window_ms


def test_a_room_of_bots_that_starts_by_itself_plays_from_the_first_moment() -> None:
    table = Table(["bot:easy", "bot:hard"], options=AUTO, host="ann")

    assert table.status() == Status.IN_MATCH
    assert kinds(table) == ["room_created", "match_started"]
    assert table.room.bot_ms == table.now_ms


# Joining.


def test_joining_takes_the_lowest_empty_seat() -> None:
    table = Table(["ann", "bot:easy", EMPTY, EMPTY])

    assert table.join("bob") == 2
    assert table.causes() == [(2, "JOINED")]
    assert table.join("cid") == 3
    assert holders(table) == ["ann", "bot:easy", "bob", "cid"]


def test_joining_takes_the_seat_wished_for() -> None:
    table = Table(["ann", EMPTY, EMPTY, EMPTY])

    assert table.join("bob", 3) == 3
    assert holders(table) == ["ann", EMPTY, EMPTY, "bob"]


def test_v5_the_same_player_joining_twice_holds_one_seat_and_changes_nothing() -> None:
    table = Table(["ann", EMPTY, EMPTY])
    table.join("bob")
    version = table.room.version

    assert table.join("bob", 2) == 1
    assert table.room.version == version
    assert holders(table) == ["ann", "bob", EMPTY]


def test_a_full_room_is_refused_whatever_seat_is_wished_for() -> None:
    table = Table(["ann", "bot:easy"])

    assert refused_for(table, lambda: table.join("bob")) == "ROOM_FULL"
    assert refused_for(table, lambda: table.join("bob", 1)) == "ROOM_FULL"


def test_a_seat_of_somebody_else_is_refused() -> None:
    table = Table(["ann", "bot:easy", EMPTY])

    assert refused_for(table, lambda: table.join("bob", 0)) == "SEAT_TAKEN"
    assert refused_for(table, lambda: table.join("bob", 1)) == "SEAT_TAKEN"


def test_a_seat_that_the_room_does_not_have_is_an_invalid_request() -> None:
    table = Table(["ann", EMPTY])

    assert refused_for(table, lambda: table.join("bob", 2)) == "INVALID_REQUEST"


def test_a_private_room_wants_its_code() -> None:
    table = Table(["ann", EMPTY])

    assert refused_for(table, lambda: table.join("bob", with_code=False)) == "JOIN_CODE_REQUIRED"
    assert table.join("bob", with_code=True) == 1


def test_a_public_room_wants_no_code() -> None:
    table = Table(["ann", EMPTY], options=PUBLIC)

    assert table.join("bob", with_code=False) == 1


def test_a_host_who_observes_may_sit_down_without_the_code() -> None:
    table = Table([EMPTY, "bob"], host="ann")

    assert table.join("ann", with_code=False) == 0


def test_nobody_new_joins_once_the_match_has_started() -> None:
    table = Table(["ann", "bot:easy"])
    table.start()

    assert refused_for(table, lambda: table.join("bob")) == "MATCH_ALREADY_STARTED"
    assert table.join("ann") == 0


# Leaving.


def test_leaving_a_lobby_empties_the_seat_and_takes_the_entropy_along() -> None:
    table = Table(["ann", "bob"])
    table.entropy("bob")
    table.leave("bob")

    assert holders(table) == ["ann", EMPTY]
    assert table.causes() == [(1, "LEFT")]
    assert not table.room.seats[1].entropy


def test_only_those_who_sit_can_leave() -> None:
    table = Table(["ann", EMPTY])

    assert refused_for(table, lambda: table.leave("bob")) == "NOT_SEATED"


def test_a_host_who_leaves_is_followed_by_the_person_in_the_lowest_seat() -> None:
    table = Table(["ann", "bot:easy", "bob", "cid"])
    table.leave("ann")

    assert table.room.host == "bob"
    assert kinds(table) == ["seat_changed", "host_changed"]
    assert table.changes()[1].host_changed.host_player_id == "bob"


def test_others_who_leave_leave_the_host_alone() -> None:
    table = Table(["ann", "bob", "cid"])
    table.leave("bob")

    assert table.room.host == "ann"
    assert kinds(table) == ["seat_changed"]


def test_the_last_person_who_leaves_a_lobby_closes_it() -> None:
    table = Table(["ann", "bot:easy"])
    table.leave("ann")

    assert table.status() == Status.CLOSED
    assert table.changes()[-1].room_closed.reason == event_pb2.ROOM_CLOSE_REASON_DESERTED


def test_leaving_ends_the_wait_for_entropy_and_sitting_down_begins_it_anew() -> None:
    table = Table(["ann", EMPTY], options=AUTO)
    table.join("bob")
    table.wait(1_500)
    table.leave("bob")
    assert not table.room.advance_ms

    table.join("cid")
    assert table.room.advance_ms == table.now_ms + TIMES.entropy_window_ms


def test_leaving_a_matched_table_keeps_the_seat_for_a_bot() -> None:
    table = Table(["ann", "bob"], options=AUTO, match_id=bytes(16))
    table.leave("bob")

    assert table.room.seats[1].player_id == "bob"
    assert table.stand_in(1)
    assert table.room.advance_ms, "the match begins all the same"
    table.leave("ann")
    assert table.status() == Status.CLOSED


# Bots.


def test_the_host_puts_bots_in_changes_them_and_takes_them_out() -> None:
    table = Table(["ann", EMPTY, EMPTY])
    table.bots("ann", {1: "easy", 2: "hard"})
    assert holders(table) == ["ann", "bot:easy", "bot:hard"]
    assert table.causes() == [(1, "HOST"), (2, "HOST")]

    table.bots("ann", {1: "normal", 2: ""})
    assert holders(table) == ["ann", "bot:normal", EMPTY]


def test_bots_that_are_there_already_change_nothing() -> None:
    table = Table(["ann", "bot:easy"])
    table.bots("ann", {1: "easy"})

    assert table.room.version == 1


def test_only_the_host_changes_bots() -> None:
    table = Table(["ann", "bob", EMPTY])

    assert refused_for(table, lambda: table.bots("bob", {2: "easy"})) == "NOT_HOST"


def test_a_matched_room_has_no_host() -> None:
    table = Table(["ann", "bob"], options=AUTO, match_id=bytes(16))

    assert refused_for(table, lambda: table.bots("", {1: "easy"})) in ("NOT_HOST", "SEAT_TAKEN")
    assert refused_for(table, lambda: table.bots("ann", {1: "easy"})) == "NOT_HOST"
    assert refused_for(table, lambda: table.start("ann")) == "NOT_HOST"


@pytest.mark.parametrize("bot", ["easy", ""])
def test_a_person_is_never_replaced_and_then_nothing_is_done(bot: str) -> None:
    table = Table(["ann", "bob", EMPTY])

    assert refused_for(table, lambda: table.bots("ann", {2: "easy", 1: bot})) == "SEAT_TAKEN"


def test_bots_are_fixed_once_the_match_has_started() -> None:
    table = Table(["ann", "bot:easy"])
    table.start()

    assert refused_for(table, lambda: table.bots("ann", {1: "hard"})) == "MATCH_ALREADY_STARTED"


def test_the_bot_that_fills_the_room_begins_the_wait_for_entropy() -> None:
    table = Table(["ann", EMPTY], options=AUTO)
    table.bots("ann", {1: "easy"})
    assert table.room.advance_ms == table.now_ms + TIMES.entropy_window_ms

    table.bots("ann", {1: ""})
    assert not table.room.advance_ms


# Entropy.


def test_entropy_is_brought_once_and_shown_as_a_fact_only() -> None:
    table = Table(["ann", "bob"])
    table.entropy("ann", b"\x01" * 32)

    assert table.room.seats[0].entropy == b"\x01" * 32
    assert table.causes() == [(0, "ENTROPY")]
    assert table.changes()[0].seat_changed.seat.entropy_set
    assert b"\x01" * 32 not in table.log[-1].encoded(None)
    assert refused_for(table, lambda: table.entropy("ann", b"again")) == "ENTROPY_ALREADY_SET"


@pytest.mark.parametrize("size", [0, 33])
def test_entropy_has_1_to_32_bytes(size: int) -> None:
    table = Table(["ann", "bob"])

    assert refused_for(table, lambda: table.entropy("ann", bytes(size))) == "INVALID_REQUEST"


def test_entropy_is_for_those_who_sit_and_before_the_match() -> None:
    table = Table(["ann", "bob"])

    assert refused_for(table, lambda: table.entropy("cid")) == "NOT_SEATED"
    table.start()
    assert refused_for(table, lambda: table.entropy("bob")) == "MATCH_ALREADY_STARTED"


def test_the_last_entropy_starts_a_waiting_match_at_once() -> None:
    table = Table(["ann", "bob"], options=AUTO)
    table.entropy("ann", b"a")
    assert table.status() == Status.LOBBY
    table.entropy("bob", b"b")

    assert table.status() == Status.IN_MATCH
    assert not table.room.advance_ms
    assert kinds(table) == ["seat_changed", "match_started"]
    assert list(table.changes()[1].match_started.entropies) == [b"a", b"b"]


def test_those_who_left_a_matched_table_are_not_waited_for() -> None:
    table = Table(["ann", "bob"], options=AUTO, match_id=bytes(16))
    table.leave("bob")
    table.entropy("ann", b"a")

    assert table.status() == Status.IN_MATCH


def test_the_wait_for_entropy_ends() -> None:
    table = Table(["ann", "bob"], options=AUTO)
    table.entropy("ann", b"a")
    table.wait(TIMES.entropy_window_ms - 1)
    table.tick()
    assert table.status() == Status.LOBBY

    table.wait(1)
    table.tick()
    assert table.status() == Status.IN_MATCH
    assert list(table.changes()[0].match_started.entropies) == [b"a", b""]


def test_all_entropy_counts_also_what_was_brought_before_the_room_was_full() -> None:
    table = Table(["ann", EMPTY], options=AUTO)
    table.entropy("ann")
    assert table.status() == Status.LOBBY
    table.bots("ann", {1: "easy"})

    assert table.status() == Status.IN_MATCH


# Starting.


def test_the_host_starts_a_full_room() -> None:
    table = Table(["ann", "bot:easy"])
    table.start()

    assert table.status() == Status.IN_MATCH
    assert table.room.start_ms == table.now_ms
    assert table.turn == 0
    assert table.round.number == 1
    assert table.room.expire_ms == table.now_ms + TIMES.match_ttl_ms


def test_only_the_host_starts() -> None:
    table = Table(["ann", "bob"])

    assert refused_for(table, lambda: table.start("bob")) == "NOT_HOST"


def test_a_room_with_an_empty_seat_does_not_start() -> None:
    table = Table(["ann", EMPTY])

    assert refused_for(table, lambda: table.start("ann")) == "SEATS_NOT_FILLED"


def test_a_match_starts_once() -> None:
    table = Table(["ann", "bob"])
    table.start()

    assert refused_for(table, lambda: table.start("ann")) == "MATCH_ALREADY_STARTED"


# Ending.


def test_a_lobby_in_which_nothing_happens_expires() -> None:
    table = Table(["ann", EMPTY])
    table.wait(1_000)
    table.join("bob")
    table.wait(TIMES.lobby_ttl_ms - 1)
    table.tick()
    assert table.status() == Status.LOBBY, "the clock began anew with the last change"

    table.wait(1)
    table.tick()
    assert table.status() == Status.CLOSED
    assert table.changes()[0].room_closed.reason == event_pb2.ROOM_CLOSE_REASON_EXPIRED
