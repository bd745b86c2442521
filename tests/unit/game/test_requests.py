"""What a room remembers of accepted mutations, and how repeats are told from new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from game_state.changes import _judge
from game_state.draft import Draft
from game_state.lobby import Person, join, leave
from game_state.requests import PLAYERS_REMEMBERED, REMEMBERED, RequestKey, RequestMemory, request_key
from rami_kit.errors import RamiError, reason_name
from support.game_tables import EMPTY, TIMES, Table, table_options

if TYPE_CHECKING:
    from game_state.room import Room

KEY = request_key("ann", "id", b"payload")


def test_a_mutation_is_found_again_with_the_version_it_made() -> None:
    memory = RequestMemory()
    assert memory.find(KEY) is None
    memory.remember(KEY, 7)
    found = memory.find(KEY)

    assert found is not None
    assert found.version == 7
    assert found.same_payload


def test_the_same_id_with_another_payload_is_told_apart() -> None:
    memory = RequestMemory()
    memory.remember(KEY, 7)
    found = memory.find(request_key("ann", "id", b"other"))

    assert found is not None
    assert not found.same_payload


def test_the_same_id_of_another_player_is_another_mutation() -> None:
    memory = RequestMemory()
    memory.remember(KEY, 7)

    assert memory.find(request_key("bob", "id", b"payload")) is None


def test_the_latest_16_mutations_of_a_player_are_remembered() -> None:
    memory = RequestMemory()
    made = [request_key("ann", f"id {number}", b"") for number in range(REMEMBERED + 3)]
    for version, key in enumerate(made, 1):
        memory.remember(key, version)
    memory.remember(request_key("bob", "id", b""), 99)

    assert [memory.find(key) is not None for key in made] == [False] * 3 + [True] * REMEMBERED
    last = memory.find(made[-1])
    assert last is not None
    assert last.version == REMEMBERED + 3


def test_an_entry_is_found_at_its_place_only() -> None:
    """A fingerprint that stands across two entries is none of them."""
    memory = RequestMemory()
    first = RequestKey("ann", b"\x01" * 6, b"\x02\x02\x02")
    second = RequestKey("ann", b"\x03" * 6, b"\x04\x04\x04")
    memory.remember(first, 0x050505)
    memory.remember(second, 0x060606)

    assert memory.find(RequestKey("ann", b"\x02\x02\x02\x05\x05\x05", b"")) is None
    assert memory.find(second) is not None


def test_a_copy_is_independent_and_equal_until_it_changes() -> None:
    memory = RequestMemory()
    memory.remember(KEY, 7)
    copied = memory.copy()
    assert copied == memory
    copied.remember(request_key("ann", "other", b""), 8)

    assert copied != memory
    assert memory.find(request_key("ann", "other", b"")) is None


def test_those_who_came_and_went_are_forgotten_before_those_who_are_there() -> None:
    memory = RequestMemory()
    memory.remember(request_key("host", "id", b""), 1)
    passers_by = [request_key(f"player {number}", "id", b"") for number in range(PLAYERS_REMEMBERED + 5)]
    for version, key in enumerate(passers_by, 2):
        memory.remember(key, version)
        memory.forget_absent({"host"})

    assert len(list(memory.entries())) == PLAYERS_REMEMBERED
    assert memory.find(request_key("host", "id", b"")) is not None
    assert memory.find(passers_by[-1]) is not None
    assert memory.find(passers_by[5]) is None


def test_a_room_does_not_grow_with_those_who_come_and_go() -> None:
    table = Table(["ann", EMPTY], options=table_options(public=True))
    for number in range(3 * PLAYERS_REMEMBERED):
        come_and_go(table, f"player {number}")

    assert len(list(table.room.requests.entries())) <= PLAYERS_REMEMBERED


def come_and_go(table: Table, name: str) -> None:
    person = Person(name, "Passer-by")
    table.change(
        lambda draft: _judge(
            draft,
            lambda to_change: join(to_change, person, None, with_code=False),
            request_key(name, "in", b""),
        )
    )
    table.change(lambda draft: _judge(draft, lambda to_change: leave(to_change, name), request_key(name, "out", b"")))


def judged(room: Room, key: RequestKey, person: str) -> tuple[int | None, int | None, Draft]:
    draft = Draft(room, 0, TIMES)
    repeat, result = _judge(draft, lambda to_change: join(to_change, Person(person, person), None, with_code=True), key)
    return repeat, result, draft


def test_a_repeat_is_not_judged_again_and_an_id_is_not_used_for_two_things() -> None:
    table = Table(["ann", EMPTY, EMPTY])
    key = request_key("bob", "id", b"join")
    repeat, seat, draft = judged(table.room, key, "bob")
    assert (repeat, seat) == (None, 1)
    draft.seal(bytes(8))

    repeat, seat, again = judged(draft.room, key, "bob")
    assert (repeat, seat) == (2, None)
    assert not again.changes
    with pytest.raises(RamiError) as caught:
        judged(draft.room, request_key("bob", "id", b"something else"), "bob")
    assert reason_name(caught.value.reason) == "REQUEST_ID_REUSED"


def test_what_changes_nothing_is_not_remembered() -> None:
    table = Table(["ann", EMPTY])
    key = request_key("ann", "id", b"join")
    _, _, draft = judged(table.room, key, "ann")

    assert not draft.changes
    assert draft.room.requests.find(key) is None
