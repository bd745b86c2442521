"""Rooms that earlier builds have stored are read by this one, whole; those of later builds are refused.

A file for each layout that was ever written, made by the build that brought it: none is ever made anew.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import grpc
import pytest

from game_state.codec import HEADER_BYTES, READ, SCHEMA, NewerRoom, decode_room, encode_room, room_header
from golden.vectors import lines_of
from rami.store.v1 import room_state_pb2
from rami_kit.errors import StoreError
from support.stored_rooms import layout_fields, summary

FILES = sorted(Path(__file__).with_name("data").glob("rooms-*.jsonl"))
KEPT = [(file.name, line) for file in FILES for line in lines_of(file.name)]


def stored(line: dict[str, Any]) -> bytes:
    return base64.b64decode(line["stored"])


@pytest.mark.parametrize(("_file", "line"), KEPT, ids=[f"{name}: {line['about']}" for name, line in KEPT])
def test_a_kept_room_is_read_and_written_back_without_loss(_file: str, line: dict[str, Any]) -> None:
    room = decode_room(line["room_id"], stored(line))
    assert json.loads(json.dumps(summary(room))) == line["holds"]
    again = decode_room(line["room_id"], room_header(room) + encode_room(room))
    assert json.loads(json.dumps(summary(again))) == line["holds"]


def test_rooms_of_every_layout_that_is_read_are_kept() -> None:
    numbers = {int(match[1]) for file in FILES if (match := re.fullmatch(r"rooms-(\d+)\.jsonl", file.name))}
    assert numbers == READ
    assert max(READ) == SCHEMA


def test_the_layout_has_the_fields_that_its_number_stands_for() -> None:
    """A field more is lost when an older build writes the room back: it needs a layout with a number of its own."""
    kept = Path(__file__).with_name("data") / f"rooms-{SCHEMA}.fields"
    assert layout_fields() == kept.read_text().splitlines(), (
        "raise SCHEMA, keep the old one in READ, keep rooms of the new"
    )


def with_schema(line: dict[str, Any], schema: int) -> bytes:
    whole = stored(line)
    message = room_state_pb2.RoomState.FromString(whole[HEADER_BYTES:])
    message.schema = schema
    return whole[:HEADER_BYTES] + message.SerializeToString()


def test_a_room_of_a_later_build_is_refused_clearly() -> None:
    _, line = KEPT[0]
    with pytest.raises(NewerRoom, match=f"layout {SCHEMA + 1} of a newer version .* reads {SCHEMA}") as caught:
        decode_room(line["room_id"], with_schema(line, SCHEMA + 1))
    assert caught.value.code is grpc.StatusCode.UNAVAILABLE, "the client comes again, and another replica answers"
    assert caught.value.retry_after_seconds


def test_what_no_build_has_written_is_a_defect() -> None:
    _, line = KEPT[0]
    for wrong in (with_schema(line, 0), stored(line)[:HEADER_BYTES] + b"\xff\xff"):
        with pytest.raises(StoreError, match="is stored in"):
            decode_room(line["room_id"], wrong)
