from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rami_kit import keys

if TYPE_CHECKING:
    from collections.abc import Callable

TOKEN = "abcdefghij234567"


@given(st.integers(0, 1023), st.text("abcdefghijklmnopqrstuvwxyz234567", min_size=16, max_size=16))
def test_room_ids_round_trip(partition: int, token: str) -> None:
    assert keys.parse_room_id(keys.format_room_id(partition, token)) == (partition, token)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "p0",
        f"p-{TOKEN}",
        f"p00-{TOKEN}",
        f"p1024-{TOKEN}",
        f"p-1-{TOKEN}",
        f"p1-{TOKEN}x",
        f"p1-{TOKEN[:-1]}",
        f"p1-{TOKEN[:-1]}8",
        f"P1-{TOKEN}",
        f"p1-{TOKEN}\n",
        f"p٣-{TOKEN}",
        f"p1-{TOKEN[:-1]}}}",
    ],
)
def test_what_is_no_room_id_is_none(text: str) -> None:
    assert keys.parse_room_id(text) is None


@given(st.sampled_from([1, 2, 256, 1024]), st.text(keys.CROCKFORD, min_size=6, max_size=6), st.data())
def test_join_codes_round_trip(partitions: int, code: str, data: st.DataObject) -> None:
    partition = data.draw(st.integers(0, partitions - 1))
    text = keys.format_join_code(partition, code, partitions)
    assert len(text) == (6 if partitions == 1 else 8)
    assert keys.parse_join_code(text, partitions) == (partition, code)
    assert keys.parse_join_code(f" {text[:3].lower()}-{text[3:]} ", partitions) == (partition, code)


def test_join_codes_are_read_as_people_misread_them() -> None:
    assert keys.parse_join_code("iLo01z", 1) == (0, "11001Z")


@pytest.mark.parametrize(
    "text",
    [
        "ab3-c4d\n",
        "\tAB3 C4D\r\n",
        "AB3\u00a0C4D",
        "\u200bAB3\u2013C4D\ufeff",
        "\uff21\uff22\uff13\uff23\uff14\uff24",
        "AB3\u2011C4D",
    ],
)
def test_join_codes_are_read_as_people_paste_them(text: str) -> None:
    assert keys.parse_join_code(text, 1) == (0, "AB3C4D")


@pytest.mark.parametrize(
    ("text", "partitions"),
    [
        ("", 1),
        ("ABCDE", 1),
        ("ABCDEFG", 1),
        ("ABCDEU", 1),
        ("ABCDE!", 1),
        ("AB3C4D" + " " * 100, 1),
        ("ABCDEF", 256),
        ("ZZABCDEF", 256),
    ],
)
def test_what_is_no_join_code_is_none(text: str, partitions: int) -> None:
    assert keys.parse_join_code(text, partitions) is None


PARTITION_KEYS: list[Callable[..., str]] = [
    function
    for name, function in inspect.getmembers(keys, inspect.isfunction)
    if name.endswith(("_key", "_channel")) and "partition" in inspect.signature(function).parameters
]


@pytest.mark.parametrize("function", PARTITION_KEYS, ids=lambda function: function.__name__)
def test_all_keys_of_a_partition_share_its_hash_tag(function: Callable[..., str]) -> None:
    arguments = ["x"] * (len(inspect.signature(function).parameters) - 1)
    assert function(17, *arguments).startswith("{p17}:")


def test_every_key_stands_in_the_table() -> None:
    assert keys.__doc__ is not None
    table = keys.__doc__
    for name, function in inspect.getmembers(keys, inspect.isfunction):
        if not name.endswith(("_key", "_channel")):
            continue
        parameters = inspect.signature(function).parameters
        key = function(*(1 if name == "partition" else "*" for name in parameters))
        shape = key.replace("{p1}", "{p<n>}").partition("*")[0]
        assert shape in table, f"{name} makes {key}, which the table does not know"
