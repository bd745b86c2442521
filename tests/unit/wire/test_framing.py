"""Fields that are put together by hand are the ones that protobuf writes."""

from __future__ import annotations

import pytest

from rami.game.v1 import event_pb2
from rami.store.v1 import room_state_pb2
from rami_wire import encode_field, encode_varint, encode_varint_field, field_heads, small_fields, varint_tag


@pytest.mark.parametrize("length", [0, 1, 127, 128, 300, 16_383, 16_384, 100_000])
def test_bytes_of_any_length(length: int) -> None:
    cursor = bytes(length)
    event = event_pb2.Event.FromString(encode_field(2, cursor))
    assert event.cursor == cursor
    if length:
        assert encode_field(2, cursor) == event.SerializeToString()


@pytest.mark.parametrize("number", [0, 1, 127, 128, 16_383, 16_384, 2**32, 2**64 - 1])
def test_numbers_of_any_size(number: int) -> None:
    assert encode_varint_field(1, number) == event_pb2.Event(version=number).SerializeToString()


def test_fields_of_any_number() -> None:
    state = room_state_pb2.RoomState(bot_ms=300, match_id=b"123", autopilot=True)
    fields = encode_field(17, b"123") + encode_varint_field(19, 300) + encode_varint_field(22, 1)
    assert fields == state.SerializeToString()


@pytest.mark.parametrize("number", [1, 16, 300])
def test_ready_parts_are_those_of_whole_fields(number: int) -> None:
    assert list(small_fields(number)) == [encode_varint_field(number, value) for value in range(128)]
    assert varint_tag(number) + encode_varint(2**41) == encode_varint_field(number, 2**41)
    for length in (0, 1, 127, 128, 200):
        assert field_heads(number, 200)[length] + bytes(length) == encode_field(number, bytes(length))
