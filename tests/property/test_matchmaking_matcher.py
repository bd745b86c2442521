"""The matcher against its promises, over generated tickets, times and histories of a queue."""

from __future__ import annotations

from itertools import combinations, product

from hypothesis import given, settings
from hypothesis import strategies as st

from matchmaking.matcher import Matcher, make_tables
from matchmaking.tickets import BotProfile, MatchPolicy, Table, Ticket
from rami_engine.rules import RuleOptions

POLICY = MatchPolicy()
BOTS = (BotProfile("easy", 850.0), BotProfile("hard", 1150.0), BotProfile("normal", 1000.0))
RULES = (RuleOptions(), RuleOptions(50), RuleOptions(100, ace_high=True))
START_MS = 1_000_000


@st.composite
def tickets(draw: st.DrawFn, number: int, now_ms: int) -> Ticket:
    return Ticket(
        ticket_id=f"ticket-{number:03}",
        player_id=f"player-{number:03}",
        name=f"Player {number}",
        player_counts=tuple(sorted(draw(st.sets(st.integers(2, 4), min_size=1)))),
        rules=tuple(draw(st.lists(st.sampled_from(RULES), min_size=1, unique=True))),
        bots_allowed=draw(st.booleans()),
        bot=draw(st.sampled_from(["", "", "", "easy", "hard"])),
        skill=draw(st.integers(0, 60)) * 20.0,
        create_ms=now_ms - draw(st.integers(0, 120)) * 1000,
        not_before_ms=draw(st.sampled_from([0, 0, 0, now_ms + 5000])),
    )


@st.composite
def crowds(draw: st.DrawFn, largest: int = 10) -> list[Ticket]:
    return [draw(tickets(number, START_MS)) for number in range(draw(st.integers(0, largest)))]


def accept_each_other(one: Ticket, other: Ticket, now_ms: int) -> bool:
    distance = abs(one.skill - other.skill)
    return all(distance <= POLICY.width(now_ms - ticket.create_ms) for ticket in (one, other))


def content(ticket: Ticket, seats: int, now_ms: int) -> bool:
    return seats == max(ticket.player_counts) or now_ms - ticket.create_ms >= POLICY.larger_table_ms


def may_sit_together(group: tuple[Ticket, ...], seats: int, rules: RuleOptions, now_ms: int) -> bool:
    """The promise in its plainest form, for people at one table."""
    return all(
        seats in ticket.player_counts and rules in ticket.rules and ticket.not_before_ms <= now_ms for ticket in group
    ) and all(accept_each_other(one, other, now_ms) for one, other in combinations(group, 2))


def a_table_is_left(waiting: list[Ticket], now_ms: int) -> bool:
    for seats, rules in product((2, 3, 4), RULES):
        for group in combinations(waiting, seats):
            happy = any(content(ticket, seats, now_ms) for ticket in group)
            if happy and may_sit_together(group, seats, rules, now_ms):
                return True
    return any(
        ticket.bots_allowed and now_ms - ticket.create_ms >= POLICY.bot_fill_ms and ticket.not_before_ms <= now_ms
        for ticket in waiting
    )


def check_table(table: Table, now_ms: int) -> None:
    assert len(table.tickets) + len(table.bots) == table.seats
    assert len(table.tickets) >= 1
    assert may_sit_together(table.tickets, table.seats, table.rules, now_ms)
    if not table.bots:
        assert any(content(ticket, table.seats, now_ms) for ticket in table.tickets)
        return
    assert all(ticket.bots_allowed for ticket in table.tickets)
    assert any(now_ms - ticket.create_ms >= POLICY.bot_fill_ms for ticket in table.tickets)
    assert len(set(table.bots)) == 1
    assert {ticket.bot for ticket in table.tickets if ticket.bot} <= set(table.bots)


@settings(max_examples=150, deadline=None)
@given(crowds())
def test_nobody_sits_twice_no_table_is_short_and_none_is_left_unmade(crowd: list[Ticket]) -> None:
    tables = make_tables(crowd, START_MS, POLICY, BOTS)
    for table in tables:
        check_table(table, START_MS)
    seated = [ticket.ticket_id for table in tables for ticket in table.tickets]
    assert len(seated) == len(set(seated))
    waiting = [ticket for ticket in crowd if ticket.ticket_id not in set(seated)]
    assert not a_table_is_left(waiting, START_MS)


@settings(max_examples=60, deadline=None)
@given(crowds(), st.data())
def test_the_order_in_which_tickets_come_in_does_not_matter(crowd: list[Ticket], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(crowd))
    assert make_tables(crowd, START_MS, POLICY, BOTS) == make_tables(shuffled, START_MS, POLICY, BOTS)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_queue_that_lives_on_leaves_no_table_unmade_either(data: st.DataObject) -> None:
    matcher = Matcher(POLICY)
    waiting: dict[str, Ticket] = {}
    now_ms = START_MS
    for number in range(data.draw(st.integers(1, 25))):
        step = data.draw(st.sampled_from(["queue", "queue", "queue", "leave", "time", "again"]))
        if step == "queue":
            ticket = data.draw(tickets(number, now_ms))
            matcher.add(ticket)
            waiting[ticket.ticket_id] = ticket
        elif step == "leave" and waiting:
            ticket_id = data.draw(st.sampled_from(sorted(waiting)))
            assert matcher.remove(ticket_id) == waiting.pop(ticket_id)
        elif step == "again" and waiting:
            matcher.add(waiting[data.draw(st.sampled_from(sorted(waiting)))])
        else:
            now_ms += data.draw(st.sampled_from([1, 1000, 2999, 5000, 10_000, 60_000]))
        for table in matcher.run(now_ms, BOTS):
            check_table(table, now_ms)
            for ticket in table.tickets:
                assert waiting.pop(ticket.ticket_id) == ticket
        assert {ticket.ticket_id for ticket in matcher} == set(waiting)
        assert not a_table_is_left(list(waiting.values()), now_ms)
        moment = matcher.next_moment()
        assert moment is None or moment > now_ms


@settings(max_examples=60, deadline=None)
@given(crowds(), st.integers(1, 3))
def test_a_run_in_small_pieces_ends_where_a_whole_one_does(crowd: list[Ticket], limit: int) -> None:
    matcher = Matcher(POLICY)
    for ticket in crowd:
        matcher.add(ticket)
    tables = matcher.run(START_MS, BOTS, limit)
    while matcher.unfinished:
        tables += matcher.run(START_MS, BOTS, limit)
    assert tables == make_tables(crowd, START_MS, POLICY, BOTS)


@settings(max_examples=60, deadline=None)
@given(crowds(largest=8))
def test_tickets_that_can_sit_together_do_in_the_end(crowd: list[Ticket]) -> None:
    """Two people who accept the same small table, within the widest window, never both wait for ever."""
    matcher = Matcher(POLICY)
    for ticket in crowd:
        matcher.add(ticket)
    now_ms = START_MS
    matcher.run(now_ms, BOTS)
    while (moment := matcher.next_moment()) is not None:
        now_ms = moment
        matcher.run(now_ms, BOTS)
    for one, other in combinations(list(matcher), 2):
        same_rules = set(one.rules) & set(other.rules)
        if same_rules and 2 in one.player_counts and 2 in other.player_counts:
            assert abs(one.skill - other.skill) > POLICY.max_width
    assert not any(ticket.bots_allowed for ticket in matcher)
