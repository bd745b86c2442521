"""Slots of keys and channels, against the library's own reckoning, and what nodes say of them."""

from __future__ import annotations

import pytest
from redis.crc import key_slot

from rami_kit import keys
from rami_kit.slots import SLOT_COUNT, first_key, parse_redirection, parse_slots, slot_of


@pytest.mark.parametrize(
    "key",
    ["", "a", "{p17}:room:x", "{}a", "{}{b}c", "a{b", "a}b{", "{{b}}c", "x{b}{c}", "ä{ö}ü", "{mm}:waiting", "b{a}"],
)
def test_a_key_lies_where_the_library_says(key: str) -> None:
    assert slot_of(key) == slot_of(key.encode()) == key_slot(key.encode())


def test_everything_of_a_partition_lies_in_one_slot() -> None:
    for partition in (0, 17, 1023):
        token = "abcdefghij234567"
        names = [
            keys.room_key(partition, token),
            keys.log_key(partition, token),
            keys.room_channel(partition, token),
            keys.due_key(partition),
            keys.finished_key(partition),
            keys.listing_key(partition, "lobby"),
            keys.code_key(partition, "ABCDEF"),
        ]
        assert len({slot_of(name) for name in names}) == 1


def test_everything_of_matchmaking_lies_in_one_slot() -> None:
    names = [
        *(keys.ticket_key("t"), keys.live_ticket_key("p"), keys.waiting_key(), keys.queue_changes_key()),
        *(keys.ticket_channel(), keys.claim_key("m"), keys.claims_key(), keys.waits_key("2"), keys.player_key("p")),
        *(keys.leaderboard_key(), keys.rated_key("p0-x")),
    ]
    assert len({slot_of(name) for name in names}) == 1


def test_256_partitions_spread_over_the_slots() -> None:
    slots = {slot_of(keys.partition_tag(partition)) for partition in range(256)}
    assert len(slots) > 250
    thirds = [sum(slot * 3 // SLOT_COUNT == third for slot in slots) for third in range(3)]
    assert min(thirds) > 60, "three masters share the rooms"


@pytest.mark.parametrize(
    ("command", "key"),
    [
        (("GET", "k"), "k"),
        (("XINFO", "STREAM", b"k"), b"k"),
        (("TIME",), None),
        (("INFO", "server"), None),
        (("COMMAND", "INFO", "GET"), None),
        (("NO-SUCH-COMMAND",), None),
        (("GET", 5), "5"),
    ],
)
def test_the_first_key_of_a_command(command: tuple[str, ...], key: str | bytes | None) -> None:
    assert first_key(command) == key


def test_a_table_of_slots() -> None:
    reply = [
        [0, 5, [b"one", 7000, b"id", []], [b"replica", 7001, b"id", []]],
        [6, 6, [b"", 7002, b"id", []]],
        [7, 9, [None, 7003]],
        [10, 10, [b"?", 7004, b"id"]],
    ]
    assert parse_slots(reply, "asked") == [
        (0, 5, "one", 7000),
        (6, 6, "asked", 7002),
        (7, 9, "asked", 7003),
        (10, 10, "asked", 7004),
    ]
    assert parse_slots([], "asked") == []
    for wrong in (None, [[1]], [[0, 1, [b"a"]]], [[0, b"x", [b"a", 1]]], 7):
        with pytest.raises(ValueError, match="no table of slots"):
            parse_slots(wrong, "asked")


def test_redirections() -> None:
    assert parse_redirection("MOVED 3999 127.0.0.1:6381", "asked") == (3999, "127.0.0.1", 6381)
    assert parse_redirection("ASK 1 :6381", "asked") == (1, "asked", 6381)
    assert parse_redirection("ASK 1 ?:6381", "asked") == (1, "asked", 6381)
    assert parse_redirection("MOVED 1 ::1:6381", "asked") == (1, "::1", 6381)
    with pytest.raises(ValueError, match="not enough values"):
        parse_redirection("MOVED", "asked")
