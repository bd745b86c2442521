"""Stored records survive the way there and back, and nonsense is told from records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchmaking import claim_records, records
from matchmaking.game_rooms import room_request
from matchmaking.tickets import (
    DEFAULT_TEMPO,
    MAX_ROUND_INTERVAL_MS,
    MAX_TURN_LIMIT_MS,
    Member,
    PoolKey,
    Table,
    Tempo,
    Ticket,
)
from rami.game.v1 import room_pb2
from rami.store.v1 import ticket_pb2
from rami_engine.rules import RuleOptions

RULES = st.builds(RuleOptions, st.integers(1, 1000), st.booleans(), st.booleans())
TEMPOS = st.one_of(
    st.just(DEFAULT_TEMPO), st.builds(Tempo, st.integers(0, MAX_TURN_LIMIT_MS), st.integers(0, MAX_ROUND_INTERVAL_MS))
)
TICKETS = st.builds(
    Ticket,
    ticket_id=st.just("a" * 26),
    player_id=st.text(min_size=1, max_size=30),
    name=st.text(max_size=32),
    player_counts=st.sets(st.integers(2, 4), min_size=1).map(lambda counts: tuple(sorted(counts))),
    rules=st.lists(RULES, min_size=1, max_size=8, unique=True).map(tuple),
    bots_allowed=st.booleans(),
    bot=st.sampled_from(["", "easy", "hard"]),
    skill=st.floats(-1e6, 1e6),
    create_ms=st.integers(0, 2**50),
    not_before_ms=st.integers(0, 2**50),
    weakest_bot=st.sampled_from(["", "normal"]),
    tempo=TEMPOS,
)


@settings(deadline=None)
@given(TICKETS)
def test_tickets_come_back_as_they_went(ticket: Ticket) -> None:
    encoded = records.encode_ticket(ticket)
    assert records.decode_ticket(ticket.ticket_id, encoded, ticket.create_ms, ticket.not_before_ms) == ticket


@settings(deadline=None)
@given(
    st.lists(TICKETS, min_size=1, max_size=4, unique_by=lambda ticket: ticket.player_id),
    RULES,
    TEMPOS,
    st.uuids(version=4),
)
def test_claims_come_back_as_they_went(crowd: list[Ticket], rules: RuleOptions, tempo: Tempo, match_id: UUID) -> None:
    seats = max(2, len(crowd))
    claim = claim_records.claim_of(Table(seats, rules, tuple(crowd), ("easy",) * (seats - len(crowd)), tempo), match_id)
    assert claim_records.decode_claim(claim_records.encode_claim(claim)) == claim
    assert sorted(seat.player_id for seat in claim.seats if not seat.bot) == sorted(one.player_id for one in crowd)
    assert [number for number, _ in claim.people] == sorted(number for number, _ in claim.people)


def test_who_sits_first_is_left_to_the_match_id() -> None:
    crowd = [plain(ticket_id=name * 26) for name in "abcd"]
    table = Table(4, RuleOptions(), tuple(crowd), ())
    firsts = {claim_records.claim_of(table, uuid4()).seats[0].ticket_id for _ in range(100)}
    assert len(firsts) == 4
    match_id = uuid4()
    assert claim_records.claim_of(table, match_id) == claim_records.claim_of(table, match_id)


def test_the_room_of_a_claim_is_always_asked_for_in_the_same_words() -> None:
    claim = claim_records.claim_of(Table(3, RuleOptions(50, ace_high=True), (plain(),), ("hard", "hard")), uuid4())
    request = room_request(claim)
    assert request == room_request(claim_records.decode_claim(claim_records.encode_claim(claim)))
    assert request.match_id == str(claim.match_id)
    assert request.options.seats == 3
    assert request.options.visibility == room_pb2.VISIBILITY_PRIVATE
    assert request.options.auto_start
    assert (request.options.rules.target_score, request.options.rules.ace_high) == (50, True)
    assert sorted(seat.WhichOneof("holder") or "" for seat in request.seats) == ["bot", "bot", "player"]


def test_the_room_of_a_claim_plays_at_its_tempo_and_is_asked_for_without_a_word_of_the_usual_one() -> None:
    usual = room_request(claim_records.claim_of(Table(2, RuleOptions(), (plain(),), ("easy",)), uuid4())).options
    assert not usual.HasField("turn_time_limit")
    assert not usual.HasField("round_interval")
    other = Table(2, RuleOptions(), (plain(),), ("easy",), Tempo(0, 4500))
    options = room_request(claim_records.claim_of(other, uuid4())).options
    assert options.HasField("turn_time_limit")
    assert options.turn_time_limit.ToMilliseconds() == 0, "no limit, which is not the same as none named"
    assert options.round_interval.ToMilliseconds() == 4500


def test_builds_that_know_of_no_tempo_leave_those_with_one_out() -> None:
    for tempo, schema in ((DEFAULT_TEMPO, 1), (Tempo(1000), 2), (Tempo(round_interval_ms=1), 2)):
        ticket = ticket_pb2.StoredTicket.FromString(records.encode_ticket(plain(tempo=tempo)))
        claim = claim_records.claim_of(Table(2, RuleOptions(), (plain(),), ("easy",), tempo), uuid4())
        assert ticket.schema == schema
        assert ticket_pb2.StoredClaim.FromString(claim_records.encode_claim(claim)).schema == schema


def test_pools_and_wishes_of_another_tempo_are_others() -> None:
    tempos = (DEFAULT_TEMPO, Tempo(0), Tempo(60_000, 4000), Tempo(0, 4000))
    assert len({records.wishes_of(plain(tempo=tempo)) for tempo in tempos}) == 4
    names = [PoolKey(2, RuleOptions(50, ace_high=True), tempo).name for tempo in tempos]
    assert names == ["2:50a", "2:50at0r0", "2:50at60000r4000", "2:50at0r4000"]


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": 3},
        {"schema": 2, "tempo": ticket_pb2.StoredTempo(turn_limit_ms=86_400_001)},
        {"schema": 2, "tempo": ticket_pb2.StoredTempo(round_interval_ms=60_001)},
        {"player_id": ""},
        {"player_counts": []},
        {"player_counts": [1]},
        {"player_counts": [3, 2]},
        {"player_counts": [2, 2]},
        {"rules": []},
        {"rules": [ticket_pb2.StoredRules(target_score=0)]},
        {"skill": float("nan")},
    ],
)
def test_tickets_without_sense_are_unreadable(changes: dict[str, Any]) -> None:
    whole: dict[str, Any] = {
        "schema": 1,
        "player_id": "ann",
        "player_counts": [2],
        "rules": [ticket_pb2.StoredRules(target_score=100)],
    }
    records.decode_ticket("t", ticket_pb2.StoredTicket(**whole).SerializeToString(), 1, 0)
    encoded = ticket_pb2.StoredTicket(**(whole | changes)).SerializeToString()
    with pytest.raises(records.UnreadableRecord):
        records.decode_ticket("t", encoded, 1, 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": 7},
        {"schema": 2, "tempo": ticket_pb2.StoredTempo(round_interval_ms=60_001)},
        {"match_id": b"short"},
        {"rules": ticket_pb2.StoredRules(target_score=1001)},
        {"seats": []},
        {"seats": [ticket_pb2.ClaimedSeat(bot="easy")] * 2},
        {"seats": [ticket_pb2.ClaimedSeat(ticket_id="t", bot="easy")] * 2},
        {"seats": [ticket_pb2.ClaimedSeat(ticket_id="t"), ticket_pb2.ClaimedSeat()]},
        {"seats": [ticket_pb2.ClaimedSeat(ticket_id="t")] * 5},
    ],
)
def test_claims_without_sense_are_unreadable(changes: dict[str, Any]) -> None:
    whole: dict[str, Any] = {
        "schema": 1,
        "match_id": bytes(16),
        "rules": ticket_pb2.StoredRules(target_score=100),
        "seats": [ticket_pb2.ClaimedSeat(ticket_id="t"), ticket_pb2.ClaimedSeat(bot="easy")],
    }
    claim_records.decode_claim(ticket_pb2.StoredClaim(**whole).SerializeToString())
    with pytest.raises(records.UnreadableRecord):
        claim_records.decode_claim(ticket_pb2.StoredClaim(**(whole | changes)).SerializeToString())


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_record_or_unreadable(raw: bytes) -> None:
    for decode in (lambda: records.decode_ticket("t", raw, 1, 0), lambda: claim_records.decode_claim(raw)):
        try:
            decode()
        except records.UnreadableRecord as error:
            assert repr(raw) not in str(error)  # noqa: PT017 - most inputs are unreadable, a few are not


@pytest.mark.parametrize(
    "fields",
    [
        (None, b"", b"1", None, None, None),
        (b"what", b"", b"1", None, None, None),
        (b"9", b"", b"1", None, None, None),
        (b"1", b"", None, None, None, None),
        (b"1", b"", b"soon", None, None, None),
        (b"1", b"", b"1", b"later", None, None),
        (b"3", b"", b"1", None, b"p0-room", b"first"),
    ],
)
def test_hashes_that_are_no_ticket_are_unreadable(fields: tuple[bytes | None, ...]) -> None:
    with pytest.raises(records.UnreadableRecord):
        records.ticket_state("t", ticket_fields(fields))


def test_a_ticket_whose_record_alone_is_unreadable_still_has_a_state() -> None:
    fields = (b"3", b"\xff", b"5", None, b"p0-room", b"2", b"ann")
    state = records.ticket_state("t", ticket_fields(fields))
    assert (state.state, state.ticket, state.create_ms) == (records.MATCHED, None, 5)
    assert (state.room_id, state.seat_of("ann")) == ("p0-room", 2)


PARTY = [
    records.encode_member(Member(name, name.title(), 1000.0 + number)) for number, name in enumerate(("bob", "cid"))
]


def test_a_party_is_one_only_when_it_is_complete() -> None:
    encoded = records.encode_ticket(plain(player_counts=(3,), skill=970.0), ["bob", "cid"])
    known = (b"6", encoded, b"5", None, None, None, b"ann bob cid", None, None, b"9", PARTY[0])
    state = records.ticket_state("t", ticket_fields(known))
    assert (state.player_ids, state.confirmed, state.confirm_by_ms) == (("ann", "bob", "cid"), {"bob": "Bob"}, 9)
    assert state.ticket is not None
    assert state.ticket.party == ()
    ticket = records.ticket_state("t", ticket_fields((*known, PARTY[1]))).ticket
    assert ticket is not None
    assert [member.player_id for member in ticket.party] == ["ann", "bob", "cid"]
    assert (ticket.size, ticket.skill) == (3, (970 + 1000 + 1001) / 3)


@pytest.mark.parametrize("members", [PARTY[:1], PARTY[::-1], [b"", PARTY[1]], [b"\xff", PARTY[1]]])
def test_a_party_that_is_not_the_one_named_is_unreadable(members: list[bytes]) -> None:
    encoded = records.encode_ticket(plain(player_counts=(3,)), ["bob", "cid"])
    with pytest.raises(records.UnreadableRecord):
        records.decode_ticket("t", encoded, 1, 0, members)


def test_a_party_larger_than_a_table_it_accepts_is_unreadable() -> None:
    with pytest.raises(records.UnreadableRecord):
        records.decode_ticket("t", records.encode_ticket(plain(player_counts=(2,)), ["bob", "cid"]), 1, 0, PARTY)


def test_every_member_of_a_party_gets_the_own_seat() -> None:
    party = (Member("ann", "Ann", 900.0), Member("bob", "Bob", 1000.0))
    pair = plain(player_id="ann", player_counts=(3,), party=party)
    other = plain(ticket_id="b" * 26, player_id="cid", player_counts=(3,))
    claim = claim_records.claim_of(Table(3, RuleOptions(), (pair, other), ()), UUID(int=7, version=4))
    claim = claim_records.decode_claim(claim_records.encode_claim(claim))
    assert sorted(seat.player_id for seat in claim.seats) == ["ann", "bob", "cid"]
    by_id = {ticket.ticket_id: ticket for ticket in claim.tickets}
    assert by_id["a" * 26].player_ids == ("ann", "bob")
    for ticket in claim.tickets:
        assert [claim.seats[seat].player_id for seat in ticket.seats] == list(ticket.player_ids)


def test_attributes_come_back_and_nonsense_is_none() -> None:
    encoded = records.encode_attributes({"map": "blue", "": ""})
    fields = (b"1", b"", b"5", None, None, None, b"ann", encoded)
    assert records.ticket_state("t", ticket_fields(fields)).attributes == {"map": "blue", "": ""}
    assert records.ticket_state("t", ticket_fields((*fields[:7], b"\xff"))).attributes == {}


def ticket_fields(first: tuple[bytes | None, ...]) -> list[bytes | None]:
    """The fields of a ticket's hash, of which the first are given."""
    return [*first, *[None] * (len(records.TICKET_FIELDS) - len(first))]


def test_wishes_are_equal_only_for_equal_wishes() -> None:
    wishes = records.wishes_of(plain())
    assert wishes == records.wishes_of(plain(ticket_id="b" * 26, skill=1.0, create_ms=9))
    for other in (
        {"player_counts": (2, 3)},
        {"rules": (RuleOptions(50),)},
        {"bots_allowed": True},
        {"bot": "easy"},
    ):
        assert records.wishes_of(plain(**other)) != wishes


def test_ticket_ids_follow_from_player_and_request() -> None:
    request_id = uuid4()
    made = records.ticket_id_for("ann", request_id)
    assert made == records.ticket_id_for("ann", request_id)
    assert records.is_ticket_id(made)
    assert made not in {records.ticket_id_for("bob", request_id), records.ticket_id_for("ann", uuid4())}
    for wrong in ("", made.upper(), made + "a", made[:-1] + "\n", made[:-1] + "é"):
        assert not records.is_ticket_id(wrong)


def plain(**changes: Any) -> Ticket:
    ticket = Ticket("a" * 26, "ann", "Ann", (2,), (RuleOptions(),), bots_allowed=False, bot="", skill=0.0, create_ms=1)
    return replace(ticket, **changes)
