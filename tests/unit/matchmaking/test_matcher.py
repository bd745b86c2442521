"""The matcher by example: windows, tables, bots, and who comes first."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from matchmaking.matcher import Matcher
from matchmaking.tickets import BotProfile, MatchPolicy, Member, PoolKey, Table, Tempo, Ticket
from rami_engine.rules import RuleOptions
from support.table_making import make_tables

POLICY = MatchPolicy()
BOTS = (BotProfile("easy", 850.0), BotProfile("hard", 1150.0), BotProfile("normal", 1000.0))
NOW = 10_000_000
ACE_HIGH = RuleOptions(ace_high=True)


def ticket(name: str, skill: float = 1000.0, *, waited: float = 0.0, **values: Any) -> Ticket:
    """A ticket that has waited so many seconds at NOW."""
    fields: dict[str, Any] = {"player_counts": (2,), "rules": (RuleOptions(),), "bots_allowed": False, "bot": ""}
    fields |= values
    return Ticket(name, f"player-{name}", name, skill=skill, create_ms=NOW - round(waited * 1000), **fields)


def names(tables: list[Table]) -> list[list[str]]:
    return [[one.ticket_id for one in table.tickets] for table in tables]


def tables_at(seconds: float, *tickets: Ticket) -> list[list[str]]:
    return names(make_tables(tickets, NOW + round(seconds * 1000), POLICY, BOTS))


def test_m7_windows_widen_and_both_must_accept() -> None:
    near = (ticket("a", 1000), ticket("b", 1120))
    assert tables_at(9.999, *near) == []
    assert tables_at(10, *near) == [["a", "b"]]
    far = (ticket("a", 1000), ticket("b", 1450))
    assert tables_at(69.999, *far) == []
    assert tables_at(70, *far) == [["a", "b"]]
    # The one who has just come accepts 100 points, however wide the other's window is.
    assert tables_at(0, ticket("a", 1000, waited=600), ticket("b", 1101)) == []
    assert tables_at(0, ticket("a", 1000, waited=600), ticket("b", 1100)) == [["a", "b"]]


def test_m7_windows_have_an_end() -> None:
    assert tables_at(119, ticket("a", 1000), ticket("b", 1500)) == [["a", "b"]]
    assert tables_at(119, ticket("a", 1000), ticket("b", 1501)) == []


def test_whoever_has_waited_long_accepts_anybody_who_has_as_well() -> None:
    assert tables_at(119.999, ticket("a", 1000), ticket("b", 2900)) == []
    assert tables_at(120, ticket("a", 1000), ticket("b", 2900)) == [["a", "b"]]
    # Both must have: who has come later accepts 500 points at most.
    assert tables_at(120, ticket("a", 1000), ticket("b", 1501, waited=-0.001)) == []
    # Who has not may sit between two who have.
    three: dict[str, Any] = {"player_counts": (3,)}
    far = (ticket("a", 1000, **three), ticket("b", 1800, **three))
    assert tables_at(120, *far, ticket("c", 1400, waited=-30, **three)) == [["a", "b", "c"]]
    assert tables_at(120, *far, ticket("c", 1400, waited=-70, **three)) == []
    # And one who is held back for it is so no longer.
    policy = MatchPolicy(spread_per_second=1.0)
    matcher = Matcher(policy)
    for one in (ticket("a", 1000), ticket("b", 1400)):
        matcher.add(one)
    assert matcher.run(NOW + 119_999) == []
    assert matcher.next_moment() == NOW + 120_000
    assert names(matcher.run(NOW + 120_000)) == [["a", "b"]]
    never = MatchPolicy(open_ms=0)
    assert make_tables([ticket("a", 1000), ticket("b", 1501)], NOW + 10**9, never) == []


def test_too_few_for_a_table_are_looked_at_when_somebody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    search = Matcher._table_for

    def counting(self: Matcher, one: Ticket, now_ms: int, bots: Any) -> tuple[Table | None, int | None]:
        tried.append(one.ticket_id)
        return search(self, one, now_ms, bots)

    monkeypatch.setattr(Matcher, "_table_for", counting)
    matcher = Matcher(POLICY)
    for number in range(3):
        matcher.add(ticket(f"t{number}", 1000.0 + 100 * number, player_counts=(4,)))
    assert matcher.run(NOW) == []
    tried.clear()
    assert matcher.run(NOW + 15_000) == []
    assert tried == []
    # The fourth makes a table possible, if not yet: the windows of all count from now on.
    matcher.add(ticket("t3", 1300.0, waited=-15, player_counts=(4,)))
    assert matcher.run(NOW + 15_000) == []
    assert sorted(tried) == ["t0", "t1", "t2", "t3"]
    assert matcher.next_moment() == NOW + 20_000
    assert matcher.run(NOW + 54_999) == []
    assert names(matcher.run(NOW + 55_000)) == [["t0", "t1", "t2", "t3"]]


def test_who_is_alone_and_accepts_anybody_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    search = Matcher._table_for

    def counting(self: Matcher, one: Ticket, now_ms: int, bots: Any) -> tuple[Table | None, int | None]:
        tried.append(one.ticket_id)
        return search(self, one, now_ms, bots)

    monkeypatch.setattr(Matcher, "_table_for", counting)
    matcher = Matcher(POLICY)
    for number in range(3):
        matcher.add(ticket(f"t{number}", number * 1001.0, player_counts=(4,)))
    assert matcher.run(NOW) == []
    tried.clear()
    assert matcher.run(NOW + 119_999) == []
    assert tried == []
    assert matcher.next_moment() == NOW + 120_000
    assert matcher.run(NOW + 120_000) == []
    assert sorted(tried) == ["t0", "t1", "t2"]
    assert matcher.next_moment() is None
    assert matcher.run(NOW + 10**9) == []
    assert len(tried) == 3
    matcher.remove("t1")
    matcher.add(ticket("t3", 9_000, player_counts=(4,)))
    matcher.add(ticket("t4", 12_000, player_counts=(4,)))
    assert names(matcher.run(NOW + 10**9)) == [["t0", "t2", "t3", "t4"]]


@pytest.mark.parametrize(
    ("waited_ms", "width"),
    [
        (0, 100),
        (9_999, 100),
        (10_000, 150),
        (79_999, 450),
        (80_000, 500),
        (119_999, 500),
        (120_000, math.inf),
        (-5, 100),
    ],
)
def test_the_width_after_a_wait(waited_ms: int, width: float) -> None:
    assert POLICY.width(waited_ms) == width


def test_everybody_at_a_table_accepts_everybody() -> None:
    """The neighbours accept each other, the ends do not."""
    three: dict[str, Any] = {"player_counts": (3,)}
    assert tables_at(0, ticket("a", 900, **three), ticket("b", 1000, **three), ticket("c", 1100, **three)) == []
    assert tables_at(0, ticket("a", 950, **three), ticket("b", 1000, **three), ticket("c", 1050, **three)) == [
        ["a", "b", "c"]
    ]


def test_a_narrow_one_in_the_middle_is_left_out() -> None:
    three: dict[str, Any] = {"player_counts": (3,)}
    crowd = (
        ticket("a", 800, waited=60, **three),
        ticket("b", 1000, **three),
        ticket("c", 1200, waited=60, **three),
        ticket("d", 1100, waited=60, **three),
    )
    assert tables_at(0, *crowd) == [["a", "c", "d"]]


def test_the_oldest_comes_first() -> None:
    crowd = (ticket("new", waited=1), ticket("old", waited=5), ticket("middle", waited=3))
    assert tables_at(0, *crowd) == [["old", "middle"]]
    # Also when only the newest has changed since the last look, and can have either of the two.
    matcher = Matcher(POLICY)
    matcher.add(ticket("old", 940, waited=9))
    matcher.add(ticket("young", 1080, waited=2))
    assert matcher.run(NOW) == []
    matcher.add(ticket("new", 1010))
    assert names(matcher.run(NOW)) == [["old", "new"]]


def test_the_tightest_table_goes_before_an_older_one() -> None:
    crowd = (ticket("old", 930, waited=9), ticket("young", 1060, waited=2), ticket("new", 1010))
    assert tables_at(0, *crowd) == [["old", "new"]]  # it is the turn of the oldest, who has no nearer one
    matcher = Matcher(POLICY)
    for one in crowd[:2]:
        matcher.add(one)
    assert matcher.run(NOW) == []
    matcher.add(crowd[2])
    assert names(matcher.run(NOW)) == [["young", "new"]]


def test_tables_are_as_full_as_accepted() -> None:
    wishes: dict[str, Any] = {"player_counts": (2, 3, 4)}
    crowd = [ticket(f"t{number}", waited=5, **wishes) for number in range(7)]
    assert [len(one) for one in tables_at(0, *crowd)] == [4, 3]


def test_a_smaller_table_waits_for_a_larger_one_a_little() -> None:
    wishes: dict[str, Any] = {"player_counts": (2, 4)}
    crowd = (ticket("a", **wishes), ticket("b", **wishes))
    assert tables_at(2.999, *crowd) == []
    assert tables_at(3, *crowd) == [["a", "b"]]
    # Somebody who accepts nothing larger need not wait for it.
    assert tables_at(0, ticket("a", **wishes), ticket("b")) == [["a", "b"]]


def test_rules_must_be_shared_and_the_first_wish_goes_first() -> None:
    assert tables_at(0, ticket("a", rules=(ACE_HIGH,)), ticket("b")) == []
    both = (RuleOptions(), ACE_HIGH)
    (table,) = make_tables([ticket("a", rules=both, waited=1), ticket("b", rules=both[::-1])], NOW, POLICY)
    assert table.rules == RuleOptions()


def test_bots_come_after_the_wait_and_only_where_they_may() -> None:
    alone = ticket("a", player_counts=(4,), bots_allowed=True)
    assert make_tables([alone], NOW + 7_999, POLICY, BOTS) == []
    (table,) = make_tables([alone], NOW + 8_000, POLICY, BOTS)
    assert (table.seats, table.bots) == (4, ("normal", "normal", "normal"))
    assert make_tables([ticket("a", player_counts=(4,))], NOW + 999_000, POLICY, BOTS) == []
    assert make_tables([alone], NOW + 8_000, POLICY, ()) == []


def test_people_come_before_bots() -> None:
    allowed: dict[str, Any] = {"player_counts": (2, 4), "bots_allowed": True}
    old = ticket("old", waited=8, **allowed)
    # Three people are better company than one, although one would fill the smaller table.
    (table,) = make_tables([old, ticket("b", player_counts=(4,), bots_allowed=True)], NOW, POLICY, BOTS)
    assert (len(table.tickets), table.seats, len(table.bots)) == (2, 4, 2)
    # Who wants no bots is not made to take them.
    (table,) = make_tables([old, ticket("b", player_counts=(4,))], NOW, POLICY, BOTS)
    assert (len(table.tickets), len(table.bots)) == (1, 3)
    # A full table of people goes first.
    (table,) = make_tables([old, ticket("b")], NOW, POLICY, BOTS)
    assert (len(table.tickets), table.bots) == (2, ())


def test_the_bot_asked_for_or_the_nearest() -> None:
    def filled(*tickets: Ticket) -> list[tuple[str, ...]]:
        return [table.bots for table in make_tables(tickets, NOW, POLICY, BOTS)]

    allowed: dict[str, Any] = {"player_counts": (3,), "bots_allowed": True, "waited": 8}
    assert filled(ticket("a", 1900, **allowed)) == [("hard", "hard")]
    assert filled(ticket("a", 10, **allowed)) == [("easy", "easy")]
    assert filled(ticket("a", 1900, bot="easy", **allowed)) == [("easy", "easy")]
    assert filled(ticket("a", **allowed), ticket("b", bot="hard", **allowed)) == [("hard",)]
    # Two who ask for different bots do not share them.
    assert filled(ticket("a", bot="easy", **allowed), ticket("b", bot="hard", **allowed)) == [
        ("easy", "easy"),
        ("hard", "hard"),
    ]


def test_a_ticket_rests_until_its_time() -> None:
    matcher = Matcher(POLICY)
    matcher.add(ticket("a", not_before_ms=NOW + 1000))
    matcher.add(ticket("b"))
    assert matcher.run(NOW) == []
    assert matcher.next_moment() == NOW + 1000
    assert len(matcher) == 2
    assert names(matcher.run(NOW + 1000)) == [["a", "b"]]
    assert (len(matcher), matcher.next_moment(), matcher.pool_keys()) == (0, None, [])


def test_what_leaves_is_forgotten() -> None:
    matcher = Matcher(POLICY)
    matcher.add(ticket("a"))
    assert "a" in matcher
    assert matcher.remove("a") == ticket("a")
    assert matcher.remove("a") is None
    matcher.add(ticket("b"))
    assert matcher.run(NOW) == []
    assert [one.ticket_id for one in matcher] == ["b"]


def test_a_ticket_that_comes_again_replaces_itself() -> None:
    matcher = Matcher(POLICY)
    matcher.add(ticket("a", player_counts=(2, 3)))
    matcher.add(ticket("a", player_counts=(3,)))
    matcher.add(ticket("b"))
    assert matcher.run(NOW + 60_000) == []
    assert [key.seats for key in matcher.pool_keys()] == [2, 3]


def test_pools_are_listed_in_order_while_tickets_come_and_go() -> None:
    matcher = Matcher(POLICY)
    rules = [RuleOptions(target, ace, end) for target in (50, 100, 7) for ace in (True, False) for end in (True, False)]
    paces = (Tempo(), Tempo(0), Tempo(60_000, 5), Tempo(5))
    chance = random.Random(5)
    wanted = [PoolKey(seats, one, pace) for seats in (2, 3, 4) for one in rules for pace in paces]
    assert len({key.order for key in wanted}) == len(wanted), "no two have the same place"
    chance.shuffle(wanted)
    left: set[PoolKey] = set()
    for number, key in enumerate(wanted):
        matcher.add(ticket(f"t{number}", player_counts=(key.seats,), rules=(key.rules,), tempo=key.tempo))
        left.add(key)
        if number % 3 == 2:
            gone = chance.randrange(number)
            matcher.remove(f"t{gone}")
            left.discard(wanted[gone])
        assert matcher.pool_keys() == sorted(left, key=lambda one: one.order)
    listed = matcher.pool_keys()
    matcher.remove(f"t{len(wanted) - 1}")
    assert len(listed) == len(left), "who has asked keeps what was there"


def test_a_pass_looks_at_what_changed_and_not_at_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand who cannot sit down cost nothing while nothing changes."""
    tried: list[str] = []
    search = Matcher._table_for

    def counting(self: Matcher, one: Ticket, now_ms: int, bots: Any) -> tuple[Table | None, int | None]:
        tried.append(one.ticket_id)
        return search(self, one, now_ms, bots)

    monkeypatch.setattr(Matcher, "_table_for", counting)
    matcher = Matcher(POLICY)
    for number in range(10_000):
        matcher.add(ticket(f"t{number:05}", number * 1001.0))
    assert matcher.run(NOW) == []
    assert len(tried) == 10_000
    tried.clear()
    matcher.add(ticket("new", 499_999.5, waited=9))
    assert matcher.run(NOW + 250) == []
    assert tried == ["new"]
    assert matcher.run(NOW + 20_000) == []
    assert tried == ["new"]  # windows have widened, but nobody is within the widest
    tried.clear()
    # Somebody who comes near: both are tried, and again when the window of either widens.
    matcher.add(ticket("near", 500_300.0, waited=-20))
    assert matcher.run(NOW + 20_000) == []
    assert sorted(tried) == ["near", "new", "t00500"]
    tried.clear()
    assert matcher.run(NOW + 22_000) == []
    assert tried == ["new"]
    tried.clear()
    assert matcher.run(NOW + 30_000) == []
    assert sorted(tried) == ["near", "t00500"]


PATIENT = MatchPolicy(spread_per_second=20.0)


def test_a_loose_table_waits_for_a_tighter_one() -> None:
    loose = [ticket("a", 960, waited=2), ticket("b", 1040)]
    matcher = Matcher(PATIENT)
    for one in loose:
        matcher.add(one)
    assert matcher.run(NOW) == []
    assert matcher.next_moment() == NOW + 2_000  # 80 points are four seconds of the older one
    assert names(matcher.run(NOW + 2_000)) == [["a", "b"]]
    # A tighter one that comes meanwhile is made as soon as it is tight enough.
    assert names(make_tables([*loose, ticket("c", 1035)], NOW + 250, PATIENT)) == [["b", "c"]]


def test_nobody_waits_while_two_tables_worth_of_players_do() -> None:
    crowd = [ticket(name, skill) for name, skill in (("a", 955), ("b", 985), ("c", 1015), ("d", 1050))]
    assert make_tables(crowd[:3], NOW, PATIENT) == []
    assert len(make_tables(crowd, NOW, PATIENT)) == 1
    wishes: dict[str, Any] = {"player_counts": (2, 4)}
    crowd = [ticket(name, skill, **wishes) for name, skill in (("a", 955), ("b", 985), ("c", 1015), ("d", 1050))]
    # The larger table that all of them accept, rather than two small ones.
    assert names(make_tables(crowd, NOW, PATIENT)) == [["a", "b", "c", "d"]]


def test_bots_do_not_take_the_place_of_people_who_are_held_back() -> None:
    bots: dict[str, Any] = {"bots_allowed": True, "waited": 8}
    crowd = (ticket("a", 955, **bots), ticket("b", 1050, **bots))
    policy = MatchPolicy(spread_per_second=5.0)
    (table,) = make_tables(crowd, NOW, policy, BOTS)
    assert (len(table.tickets), table.bots) == (2, ())


def party(name: str, *skills: float, waited: float = 0.0, **values: Any) -> Ticket:
    members = tuple(Member(f"{name}{number}", "", skill) for number, skill in enumerate(skills))
    return ticket(name, sum(skills) / len(skills), waited=waited, party=members, **({"player_counts": (4,)} | values))


def test_a_party_sits_together_and_counts_as_its_mean() -> None:
    pair = party("pair", 900, 1100, waited=1)
    assert tables_at(0, pair, ticket("a", 1090, player_counts=(4,))) == []
    tables = make_tables(
        [pair, ticket("a", 1090, player_counts=(4,)), ticket("b", 1010, player_counts=(4,))], NOW, POLICY
    )
    assert names(tables) == [["pair", "a", "b"]]
    assert tables[0].spread == 200  # of the people, not of the tickets
    # Two pairs, but never two pairs and one more.
    assert tables_at(0, pair, party("other", 1000, 1000)) == [["pair", "other"]]
    assert tables_at(0, party("three", 1000, 1000, 1000), party("pair", 1000, 1000)) == []
    assert tables_at(0, party("four", 500, 1000, 1500, 2000)) == [["four"]]


def test_the_oldest_that_fits_is_taken_with_a_party() -> None:
    crowd = [
        party("pair", 1000, 1000, waited=9, player_counts=(3,)),
        party("other", 1000, 1000, waited=8, player_counts=(3,)),
        ticket("alone", 1000, player_counts=(3,)),
    ]
    assert tables_at(0, *crowd) == [["pair", "alone"]]


def test_bots_are_as_strong_as_everybody_asks_for() -> None:
    def filled(*tickets: Ticket) -> list[tuple[str, ...]]:
        return [table.bots for table in make_tables(tickets, NOW, POLICY, BOTS)]

    allowed: dict[str, Any] = {"player_counts": (3,), "bots_allowed": True, "waited": 8}
    assert filled(ticket("a", 850, weakest_bot="normal", **allowed)) == [("normal", "normal")]
    assert filled(ticket("a", 850, **allowed), ticket("b", 860, weakest_bot="hard", **allowed)) == [("hard",)]
    # An easy bot is too weak for somebody who wants a normal one at least: they do not share one.
    easy = ticket("a", 850, bot="easy", **allowed)
    assert filled(easy, ticket("b", 860, weakest_bot="normal", **allowed)) == [("easy", "easy"), ("normal", "normal")]
    # The order of the profiles is that in which they started, whatever they have lost since.
    bots = (BotProfile("easy", 1200.0, 850.0), BotProfile("hard", 700.0, 1150.0))
    (table,) = make_tables([ticket("a", 1200, weakest_bot="hard", **allowed)], NOW, POLICY, bots)
    assert table.bots == ("hard", "hard")
    # A profile that there is no more is no wish.
    assert filled(ticket("a", 850, bot="gone", **allowed)) == [("easy", "easy")]


def test_too_few_who_are_near_each_other_are_not_tried_again_until_somebody_comes() -> None:
    four: dict[str, Any] = {"player_counts": (4,)}
    matcher = Matcher(MatchPolicy(open_ms=0))
    for place, name in enumerate("abc"):
        matcher.add(ticket(name, 1000 + 200 * place, **four))
    assert matcher.run(NOW) == []
    assert matcher.next_moment() is None, "wider windows would find nobody more"
    matcher.add(ticket("d", 1500, **four))
    assert matcher.run(NOW) == []
    assert matcher.next_moment() == NOW + POLICY.step_ms
    assert names(matcher.run(NOW + 8 * POLICY.step_ms)) == [["a", "b", "c", "d"]]
