"""Traces of views are kept decoded: for what they say and for how many play, and none that is of any length."""

from __future__ import annotations

import pytest

from rami.cards.v1 import card_pb2
from rami.game.v1 import view_pb2
from rami_engine import CardTrace, Guards, MalformedAction, RuleOptions, SeatView, new_match, seat_view, start_round
from rami_wire import view_from_proto, view_to_proto
from rami_wire.framing import encode_field
from rami_wire.views import _decode_trace

A_LATER_FIELD = 2000


def view_of(players: int, *traces: view_pb2.CardTrace) -> SeatView:
    match = new_match(players, RuleOptions(), Guards())
    start_round(match, bytes(range(52)))
    message = view_to_proto(seat_view(match, 0))
    message.traces.extend(traces)
    return view_from_proto(message)


def test_a_trace_that_was_good_for_four_is_not_for_two() -> None:
    trace = view_pb2.CardTrace(card=card_pb2.CARD_2C, taken_by=3, taken_turn=4)
    assert view_of(4, trace).history[-1] == CardTrace(card_pb2.CARD_2C - 1, taken_by=3, taken_turn=4)
    with pytest.raises(MalformedAction, match="must be a seat"):
        view_of(2, trace)


def test_a_trace_with_long_fields_of_a_later_version_is_understood_and_not_kept() -> None:
    trace = view_pb2.CardTrace(card=card_pb2.CARD_2C, discarded_by=1, discarded_turn=2)
    longer = view_pb2.CardTrace.FromString(trace.SerializeToString() + encode_field(A_LATER_FIELD, bytes(1000)))
    expected = view_of(2, trace).history
    kept = _decode_trace.cache_info().currsize
    assert view_of(2, longer).history == expected
    assert _decode_trace.cache_info().currsize == kept
