"""Texts that come from outside: page tokens; and news that finds its watchers."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from matchmaking.criteria import ticket_message
from matchmaking.page_tokens import format_page_token, parse_page_token
from matchmaking.records import CANCELLED, TicketState
from matchmaking.watchers import TicketWatchers
from rami_kit.errors import InvalidRequest
from rami_kit.instruments import Gauge


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_page_tokens_come_back(first: int) -> None:
    assert parse_page_token(format_page_token(first)) == first


@settings(deadline=None)
@given(st.text(max_size=12))
def test_other_tokens_are_refused_or_stand_for_a_place(text: str) -> None:
    try:
        first = parse_page_token(text)
    except InvalidRequest:
        return
    assert format_page_token(first).rstrip("=") == text.rstrip("=")[: len(format_page_token(first).rstrip("="))]


def test_a_ticket_whose_record_is_unreadable_can_still_be_shown() -> None:
    message = ticket_message(TicketState("t" * 26, CANCELLED, None, 1_500, "", ()), "ann")
    assert (message.ticket_id, message.state) == ("t" * 26, CANCELLED)
    assert message.create_time.ToMilliseconds() == 1_500
    assert not message.HasField("criteria")
    assert not message.HasField("assignment")


def test_news_wakes_the_watchers_of_its_ticket_alone() -> None:
    gauge = Gauge()
    watchers = TicketWatchers(gauge)
    with (
        watchers.watching("a", "ann") as first,
        watchers.watching("a", "bob") as second,
        watchers.watching("b", "ann") as other,
    ):
        counts = [watchers.count("a", "ann"), watchers.count("b", "ann"), watchers.count("b", "bob")]
        assert (counts, gauge.value) == ([1, 1, 0], 3)
        watchers.on_message(b"a")
        assert (first.is_set(), second.is_set(), other.is_set()) == (True, True, False)
        first.clear()
        watchers.on_message(b"\xff")  # nobody's
        assert not first.is_set()
        watchers.on_message(None)
        assert first.is_set()
        assert other.is_set()
    assert (watchers.count("a", "ann"), gauge.value) == (0, 0)
