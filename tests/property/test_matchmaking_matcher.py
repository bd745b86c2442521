"""The matcher against its promises, over generated tickets, times and histories of a queue."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from matchmaking.matcher import Matcher
from matchmaking.tickets import DEFAULT_TEMPO, BotProfile, MatchPolicy, Member, Table, Tempo, Ticket
from rami_engine.rules import RuleOptions
from support.table_making import make_tables

if TYPE_CHECKING:
    from collections.abc import Iterable

POLICY = MatchPolicy()
PATIENT = MatchPolicy(spread_per_second=20.0)
POLICIES = st.sampled_from(
    [
        POLICY,
        PATIENT,
        MatchPolicy(base_width=300.0, open_ms=0, spread_per_second=5.0),
        MatchPolicy(max_width=150.0, open_ms=30_000, spread_per_second=1.0),
    ]
)
BOTS = (BotProfile("easy", 850.0), BotProfile("hard", 1150.0), BotProfile("normal", 1000.0))
RULES = (RuleOptions(), RuleOptions(50), RuleOptions(100, ace_high=True))
QUICK = Tempo(10_000, 0)
START_MS = 1_000_000


@st.composite
def tickets(draw: st.DrawFn, number: int, now_ms: int) -> Ticket:
    size = draw(st.sampled_from([1, 1, 1, 1, 2, 3, 4]))
    skills = [draw(st.integers(0, 60)) * 20.0 for _ in range(size)]
    members = tuple(Member(f"player-{number:03}-{place}", "", skill) for place, skill in enumerate(skills))
    bot = draw(st.sampled_from(["", "", "", "easy", "hard"]))
    return Ticket(
        ticket_id=f"ticket-{number:03}",
        player_id=members[0].player_id,
        name=f"Player {number}",
        player_counts=tuple(sorted(draw(st.sets(st.integers(max(2, size), 4), min_size=1)))),
        rules=tuple(draw(st.lists(st.sampled_from(RULES), min_size=1, unique=True))),
        bots_allowed=draw(st.booleans()),
        bot=bot,
        weakest_bot="" if bot else draw(st.sampled_from(["", "", "normal", "hard"])),
        party=members if size > 1 else (),
        skill=sum(skills) / size,
        create_ms=now_ms - draw(st.integers(0, 120)) * 1000,
        not_before_ms=draw(st.sampled_from([0, 0, 0, now_ms + 5000])),
        tempo=draw(st.sampled_from([DEFAULT_TEMPO, DEFAULT_TEMPO, DEFAULT_TEMPO, QUICK])),
    )


@st.composite
def crowds(draw: st.DrawFn, largest: int = 10) -> list[Ticket]:
    return [draw(tickets(number, START_MS)) for number in range(draw(st.integers(0, largest)))]


def accept_each_other(one: Ticket, other: Ticket, now_ms: int, policy: MatchPolicy) -> bool:
    distance = abs(one.skill - other.skill)
    return all(distance <= policy.width(now_ms - ticket.create_ms) for ticket in (one, other))


def content(ticket: Ticket, seats: int, now_ms: int, policy: MatchPolicy) -> bool:
    return seats == max(ticket.player_counts) or now_ms - ticket.create_ms >= policy.larger_table_ms


def people(group: Iterable[Ticket]) -> int:
    return sum(ticket.size for ticket in group)


def may_sit_together(
    group: tuple[Ticket, ...], seats: int, rules: RuleOptions, now_ms: int, policy: MatchPolicy
) -> bool:
    """The promise in its plainest form, for people at one table."""
    return (
        len({ticket.tempo for ticket in group}) == 1
        and all(
            seats in ticket.player_counts and rules in ticket.rules and ticket.not_before_ms <= now_ms
            for ticket in group
        )
        and all(accept_each_other(one, other, now_ms, policy) for one, other in combinations(group, 2))
    )


def ready(group: tuple[Ticket, ...], seats: int, now_ms: int, policy: MatchPolicy) -> bool:
    """Whether nothing holds a table back that may be made."""
    spread = max(ticket.skill for ticket in group) - min(ticket.skill for ticket in group)
    oldest_ms = min(ticket.create_ms for ticket in group)
    return (
        any(content(ticket, seats, now_ms, policy) for ticket in group) and policy.ready_ms(oldest_ms, spread) <= now_ms
    )


def a_table_is_left(waiting: list[Ticket], now_ms: int, policy: MatchPolicy = POLICY) -> bool:
    for seats, rules, number in product((2, 3, 4), RULES, (1, 2, 3, 4)):
        for group in combinations(waiting, number):
            if (
                people(group) == seats
                and ready(group, seats, now_ms, policy)
                and may_sit_together(group, seats, rules, now_ms, policy)
            ):
                return True
    return any(
        ticket.bots_allowed
        and now_ms - ticket.create_ms >= policy.bot_fill_ms
        and ticket.not_before_ms <= now_ms
        and max(ticket.player_counts) > ticket.size
        for ticket in waiting
    )


def two_tables_worth_are_left(waiting: list[Ticket], now_ms: int, policy: MatchPolicy) -> bool:
    """Whether players for two tables who all accept each other wait, and a table could be made of them."""
    for seats, rules, number in product((2, 3, 4), RULES, range(2, 9)):
        for group in combinations(waiting, number):
            if (
                people(group) >= 2 * seats
                and may_sit_together(group, seats, rules, now_ms, policy)
                and any(people(some) == seats for size in range(1, 5) for some in combinations(group, size))
            ):
                return True
    return False


def check_table(table: Table, now_ms: int, policy: MatchPolicy = POLICY) -> None:
    assert people(table.tickets) + len(table.bots) == table.seats
    assert {ticket.tempo for ticket in table.tickets} == {table.tempo}
    assert may_sit_together(table.tickets, table.seats, table.rules, now_ms, policy)
    if not table.bots:
        return
    assert all(ticket.bots_allowed for ticket in table.tickets)
    assert any(now_ms - ticket.create_ms >= policy.bot_fill_ms for ticket in table.tickets)
    (bot,) = set(table.bots)
    assert {ticket.bot for ticket in table.tickets if ticket.bot} <= {bot}
    levels = ["easy", "normal", "hard"]
    assert all(levels.index(bot) >= levels.index(ticket.weakest_bot or "easy") for ticket in table.tickets)


@settings(max_examples=150, deadline=None)
@given(crowds(), POLICIES)
def test_nobody_sits_twice_no_table_is_short_and_none_is_left_unmade(crowd: list[Ticket], policy: MatchPolicy) -> None:
    tables = make_tables(crowd, START_MS, policy, BOTS)
    for table in tables:
        check_table(table, START_MS, policy)
    seated = [member.player_id for table in tables for ticket in table.tickets for member in ticket.members]
    assert len(seated) == len(set(seated))
    left = {ticket.ticket_id for ticket in crowd} - {one.ticket_id for table in tables for one in table.tickets}
    waiting = [ticket for ticket in crowd if ticket.ticket_id in left]
    # A party sits down as a whole or not at all.
    assert people(crowd) == len(seated) + people(waiting)
    assert not a_table_is_left(waiting, START_MS, policy)
    assert not two_tables_worth_are_left(waiting, START_MS, policy)


@settings(max_examples=60, deadline=None)
@given(crowds(), st.data())
def test_the_order_in_which_tickets_come_in_does_not_matter(crowd: list[Ticket], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(crowd))
    assert make_tables(crowd, START_MS, POLICY, BOTS) == make_tables(shuffled, START_MS, POLICY, BOTS)


@settings(max_examples=60, deadline=None)
@given(st.data(), POLICIES)
def test_a_queue_that_lives_on_leaves_no_table_unmade_either(data: st.DataObject, policy: MatchPolicy) -> None:
    matcher = Matcher(policy)
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
            check_table(table, now_ms, policy)
            for ticket in table.tickets:
                assert waiting.pop(ticket.ticket_id) == ticket
        assert {ticket.ticket_id for ticket in matcher} == set(waiting)
        assert not a_table_is_left(list(waiting.values()), now_ms, policy)
        assert not two_tables_worth_are_left(list(waiting.values()), now_ms, policy)
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
@given(crowds(largest=8), POLICIES)
def test_tickets_that_can_sit_together_do_in_the_end(crowd: list[Ticket], policy: MatchPolicy) -> None:
    """Whoever could fill a table within the widest windows does not wait for ever."""
    matcher = Matcher(policy)
    for ticket in crowd:
        matcher.add(ticket)
    now_ms = START_MS
    matcher.run(now_ms, BOTS)
    while (moment := matcher.next_moment()) is not None:
        now_ms = moment
        matcher.run(now_ms, BOTS)
    for seats, rules, number in product((2, 3, 4), RULES, (1, 2, 3, 4)):
        for group in combinations(list(matcher), number):
            of_a_kind = all(
                seats in one.player_counts and rules in one.rules and one.tempo == group[0].tempo for one in group
            )
            if people(group) == seats and of_a_kind:
                skills = [ticket.skill for ticket in group]
                assert max(skills) - min(skills) > policy.max_width
                assert policy.open_ms == 0  # else all of them have come to accept any skill
    assert not any(ticket.bots_allowed and max(ticket.player_counts) > ticket.size for ticket in matcher)


@settings(max_examples=100, deadline=None)
@given(st.data(), POLICIES.filter(lambda policy: policy.open_ms > 0))
def test_the_longest_wait_is_capped_once_enough_have_waited_so_long(data: st.DataObject, policy: MatchPolicy) -> None:
    """However far apart their skills are, and whoever came meanwhile: no table's worth of players is left."""
    crowd = [data.draw(tickets(number, START_MS - policy.open_ms)) for number in range(data.draw(st.integers(0, 8)))]
    crowd += [data.draw(tickets(number, START_MS)) for number in range(8, 8 + data.draw(st.integers(0, 4)))]
    matcher = Matcher(policy)
    for ticket in crowd:
        matcher.add(ticket)
    for table in matcher.run(START_MS):
        check_table(table, START_MS, policy)
    waited = [one for one in matcher if START_MS - one.create_ms >= policy.open_ms and one.not_before_ms <= START_MS]
    for seats, rules, number in product((2, 3, 4), RULES, (2, 3, 4)):
        for group in combinations(waited, number):
            together = all(
                seats in one.player_counts and rules in one.rules and one.tempo == group[0].tempo for one in group
            )
            assert not (together and people(group) == seats)
