"""Fields that are put together by hand are the ones that protobuf writes."""

from __future__ import annotations

import pytest

from rami.game.v1 import event_pb2
from rami.store.v1 import room_state_pb2
from rami_wire import encode_field, encode_varint_field


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
