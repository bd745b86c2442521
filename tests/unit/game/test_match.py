"""The match at a table: refusals in order, clocks, autopilot, stand-ins, intervals, and how it ends."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from game_state.room import MISSED_TURNS_LIMIT, Status
from game_state.steps import Dealt, Played, Public
from rami.game.v1 import event_pb2, rules_pb2
from rami_engine import (
    DRAW_DISCARD,
    DRAW_STOCK,
    Action,
    ActionKind,
    Guards,
    MalformedAction,
    Phase,
    RuleOptions,
    cards_of,
    discard_action,
    lay_off_action,
    legal_actions,
    meld_action,
    verify_link,
)
from rami_kit.errors import RamiError, reason_name
from support.game_tables import TIMES, Table, table_options

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 60_000


def two(**options: object) -> Table:
    """Ann and Bob at the beginning of their match; Ann is to move."""
    table = Table(["ann", "bob"], options=table_options(**options))
    table.start()
    return table


def refusal(table: Table, change: Callable[[], object]) -> RamiError:
    """A refusal, which must leave the room as it was."""
    before, steps = table.room, len(table.log)
    with pytest.raises(RamiError) as caught:
        change()
    assert table.room is before
    assert len(table.log) == steps
    return caught.value


def reason(table: Table, change: Callable[[], object]) -> str:
    return reason_name(refusal(table, change).reason)


def a_discard(table: Table) -> Action:
    return next(action for action in table.legal() if action.kind == ActionKind.DISCARD)


# Actions of people.


def test_a_malformed_action_is_refused_before_anything_else() -> None:
    table = two()
    with pytest.raises(MalformedAction):
        table.play("stranger", Action(ActionKind.MELD, 0), version=0)


def test_only_those_who_sit_play() -> None:
    table = two()

    assert reason(table, lambda: table.play("cid", DRAW_STOCK, version=0)) == "NOT_SEATED"


def test_nobody_plays_in_a_lobby() -> None:
    table = Table(["ann", "bob"])

    assert reason(table, lambda: table.play("ann", DRAW_STOCK, version=99)) == "MATCH_NOT_STARTED"


def test_nobody_plays_after_the_match() -> None:
    table = two(rules=RuleOptions(target_score=1))
    table.play_on(random.Random(1))
    assert table.status() == Status.OVER

    assert reason(table, lambda: table.play("ann", DRAW_STOCK, version=99)) == "MATCH_OVER"


def test_another_version_is_stale_before_the_rules_are_asked() -> None:
    table = two()
    error = refusal(table, lambda: table.play("bob", DRAW_STOCK, version=1))

    assert reason_name(error.reason) == "STALE_VERSION"
    assert error.metadata == {"current_version": str(table.room.version)}


def test_the_rules_refuse_with_the_metadata_of_the_contract() -> None:
    table = two()
    error = refusal(table, lambda: table.play("bob", DRAW_STOCK))
    assert (reason_name(error.reason), error.metadata) == ("NOT_YOUR_TURN", {"turn": "0"})

    held = cards_of(table.round.hands[0])
    error = refusal(table, lambda: table.play("ann", discard_action(held[0])))
    assert (reason_name(error.reason), error.metadata) == ("WRONG_PHASE", {"phase": "DRAW"})

    table.play("ann", DRAW_STOCK)
    error = refusal(table, lambda: table.play("ann", DRAW_DISCARD))
    assert (reason_name(error.reason), error.metadata) == ("WRONG_PHASE", {"phase": "PLAY"})

    foreign = next(card for card in range(52) if not table.round.hands[0] >> card & 1)
    error = refusal(table, lambda: table.play("ann", discard_action(foreign)))
    assert (reason_name(error.reason), error.metadata) == ("CARD_NOT_IN_HAND", {})

    held = cards_of(table.round.hands[0])
    error = refusal(table, lambda: table.play("ann", lay_off_action(7, held[:1])))
    assert (reason_name(error.reason), error.metadata) == ("MELD_NOT_FOUND", {"meld": "7"})

    error = refusal(table, lambda: table.play("ann", meld_action(held[:1])))
    assert (reason_name(error.reason), error.metadata) == ("INVALID_MELD", {})


def test_between_two_rounds_every_action_comes_in_the_wrong_phase() -> None:
    table = two(round_interval_ms=5_000)
    table.play_on(random.Random(3))
    assert table.phase() == Phase.ROUND_OVER
    error = refusal(table, lambda: table.play("ann", DRAW_STOCK))

    assert (reason_name(error.reason), error.metadata) == ("WRONG_PHASE", {"phase": "ROUND_OVER"})


# The clock of a turn.


def test_the_clock_runs_for_the_whole_turn_and_anew_for_the_next() -> None:
    table = two()
    assert table.room.deadline_ms() == table.now_ms + LIMIT
    first_deadline = table.room.deadline_ms()

    table.wait(10_000)
    table.play("ann", DRAW_STOCK)
    assert table.room.deadline_ms() == first_deadline
    assert table.log[-1].step.deadline_ms == LIMIT - 10_000

    table.wait(10_000)
    table.play("ann", a_discard(table))
    assert table.room.deadline_ms() == table.now_ms + LIMIT


def test_without_a_limit_there_is_no_clock() -> None:
    table = two(turn_limit_ms=0)
    assert table.room.deadline_ms() == 0
    assert table.log[-1].step.deadline_ms == 0
    table.wait(1_000_000)
    version = table.room.version
    table.tick()

    assert table.room.version == version


def test_a_clock_that_has_run_out_gives_the_turn_to_autopilot() -> None:
    table = two()
    table.wait(LIMIT - 1)
    table.tick()
    assert not table.autopilot()
    table.wait(1)
    table.tick()

    assert table.causes() == [(0, "TIMED_OUT")]
    assert table.autopilot()
    assert table.room.seats[0].missed == 1
    assert not table.stand_in(0)
    assert table.room.acting_bot() == 0
    assert table.room.deadline_ms() == 0
    assert table.log[-1].step.deadline_ms == 0
    assert table.room.bot_ms == table.now_ms + TIMES.bot_pace_ms


def test_autopilot_ends_with_the_turn() -> None:
    table = two()
    table.wait(LIMIT)
    table.tick()
    table.play_seat(DRAW_STOCK)
    assert table.autopilot()
    table.play_seat(a_discard(table))

    assert not table.autopilot()
    assert table.room.acting_bot() is None
    assert table.room.deadline_ms() == table.now_ms + LIMIT


def missed_turn(table: Table) -> None:
    """The seat to move lets the clock run out, and autopilot plays."""
    table.wait(LIMIT)
    table.tick()
    table.play_turn()


def test_after_two_missed_turns_a_bot_stands_in() -> None:
    table = two()
    for _ in range(MISSED_TURNS_LIMIT):
        assert not table.stand_in(0)
        missed_turn(table)
        table.play_turn("bob")

    assert table.turn == 0
    assert table.stand_in(0)
    assert table.room.acting_bot() == 0
    assert table.room.deadline_ms() == 0
    assert table.room.bot_ms == table.now_ms + TIMES.bot_pace_ms


def test_turns_in_between_count_missed_ones_anew_and_tell_so() -> None:
    table = two()
    missed_turn(table)
    table.play_turn("bob")
    table.play("ann", DRAW_STOCK)

    assert table.room.seats[0].missed == 0
    assert table.causes() == [(0, "RETURNED")]
    assert table.changes()[0].seat_changed.seat.player.missed_turns == 0


def stood_in() -> Table:
    """Ann is to move and a bot stands in for her."""
    table = two()
    for _ in range(MISSED_TURNS_LIMIT):
        missed_turn(table)
        table.play_turn("bob")
    return table


def test_a_person_takes_the_seat_back_by_acting() -> None:
    table = stood_in()
    table.play("ann", DRAW_STOCK)

    assert not table.stand_in(0)
    assert table.causes() == [(0, "RETURNED")]
    assert table.room.acting_bot() is None
    assert table.room.bot_ms == 0
    assert table.room.deadline_ms() == table.now_ms + LIMIT


def test_a_person_takes_the_seat_back_by_joining() -> None:
    table = stood_in()
    assert table.join("ann") == 0

    assert not table.stand_in(0)
    assert table.causes() == [(0, "RETURNED")]
    assert table.room.acting_bot() is None
    assert table.room.deadline_ms() == table.now_ms + LIMIT


def test_joining_forgets_a_single_missed_turn_too() -> None:
    table = two()
    missed_turn(table)
    table.join("ann")

    assert table.room.seats[0].missed == 0
    assert table.causes() == [(0, "RETURNED")]


def test_a_refused_action_takes_no_seat_back() -> None:
    table = stood_in()
    reason(table, lambda: table.play("ann", discard_action(0)))

    assert table.stand_in(0)


def test_a_person_may_act_in_a_turn_that_autopilot_has_and_gets_a_new_clock() -> None:
    table = two()
    table.wait(LIMIT)
    table.tick()
    table.wait(100)
    table.play("ann", DRAW_STOCK)

    assert not table.autopilot()
    assert table.causes() == [(0, "RETURNED")]
    assert table.room.deadline_ms() == table.now_ms + LIMIT
    assert table.room.bot_ms == 0


# Nobody can hold up a table by coming and going.


def test_joining_does_not_stop_autopilot_nor_put_it_off() -> None:
    table = two()
    table.wait(LIMIT)
    table.tick()
    moment = table.room.bot_ms
    table.wait(500)
    table.join("ann")

    assert table.autopilot()
    assert table.room.acting_bot() == 0
    assert table.room.bot_ms == moment


def test_leaving_and_joining_in_the_own_turn_gives_no_new_clock() -> None:
    table = two()
    deadline = table.room.deadline_ms()
    for _ in range(3):
        table.wait(LIMIT // 4)
        table.leave("ann")
        assert table.room.deadline_ms() == 0
        assert table.room.bot_ms == table.now_ms + TIMES.bot_pace_ms
        table.join("ann")
        assert table.room.bot_ms == 0
        assert table.room.deadline_ms() == deadline
    table.wait(LIMIT // 4)
    table.tick()

    assert table.autopilot()


def test_the_coming_and_going_of_others_does_not_put_a_bot_off() -> None:
    table = Table(["bot:easy", "ann", "bob"])
    table.start()
    moment = table.room.bot_ms
    assert moment == table.now_ms + TIMES.bot_pace_ms
    table.wait(500)
    table.leave("bob")
    assert table.room.bot_ms == moment
    table.join("bob")
    assert table.room.bot_ms == moment


def test_every_action_of_a_bot_has_its_own_time_to_think() -> None:
    table = Table(["bot:easy", "ann"])
    table.start()
    table.wait(2_000)
    table.play_seat(DRAW_STOCK)

    assert table.room.bot_ms == table.now_ms + TIMES.bot_pace_ms


@pytest.mark.parametrize(
    ("seats", "pace", "expected"),
    [
        (["bot:easy", "ann"], None, TIMES.bot_pace_ms),
        (["bot:easy", "ann"], 0, 0),
        (["bot:easy", "ann"], 2_500, 2_500),
        (["bot:easy", "bot:hard"], None, 0),
        (["bot:easy", "bot:hard"], 2_500, 2_500),
    ],
)
def test_bots_think_as_long_as_the_room_says(seats: list[str], pace: int | None, expected: int) -> None:
    table = Table(seats, options=table_options(bot_pace_ms=pace), host="ann")
    table.start()

    assert table.room.bot_ms == table.now_ms + expected


# Leaving and being abandoned.


def test_a_bot_plays_for_who_left_until_the_person_is_back() -> None:
    table = two()
    table.leave("ann")
    assert table.stand_in(0)
    assert table.causes() == [(0, "LEFT")]
    assert table.room.acting_bot() == 0

    table.play_turn()
    table.join("ann")
    assert not table.stand_in(0)
    assert table.causes() == [(0, "RETURNED")]


def test_leaving_twice_changes_nothing() -> None:
    table = two()
    table.leave("ann")
    version = table.room.version
    table.leave("ann")

    assert table.room.version == version


def test_the_match_is_abandoned_when_the_last_person_leaves_and_its_seed_is_revealed() -> None:
    table = Table(["ann", "bot:easy", "bob"])
    table.start()
    table.play_turn("ann")
    table.leave("ann")
    assert table.status() == Status.IN_MATCH
    table.leave("bob")

    assert table.status() == Status.OVER
    assert table.room.abandoned
    ended = table.changes()[-1].match_ended
    assert ended.result.reason == rules_pb2.MATCH_END_REASON_ABANDONED
    assert not ended.result.HasField("winner_seat")
    assert verify_link(ended.seed, table.commitment)


def test_a_match_abandoned_between_rounds_has_no_seed_left_to_reveal() -> None:
    table = two(round_interval_ms=5_000)
    table.play_on(random.Random(3))
    table.leave("ann")
    table.leave("bob")

    assert table.status() == Status.OVER
    assert table.changes()[-1].match_ended.seed == b""
    table.wait(5_000)
    version = table.room.version
    table.tick()
    assert table.room.version == version, "no round is dealt any more"


def test_an_idle_match_is_abandoned_and_the_room_closed_later() -> None:
    table = two(turn_limit_ms=0)
    table.wait(TIMES.match_ttl_ms)
    table.tick()
    assert table.status() == Status.OVER
    assert table.changes()[-1].match_ended.result.reason == rules_pb2.MATCH_END_REASON_ABANDONED

    table.wait(TIMES.over_ttl_ms)
    table.tick()
    assert table.status() == Status.CLOSED
    assert table.changes()[-1].room_closed.reason == event_pb2.ROOM_CLOSE_REASON_EXPIRED


# Rounds and the end.


def test_the_next_round_is_dealt_with_the_action_that_ends_one() -> None:
    table = two()
    chance = random.Random(3)
    while table.round.number == 1:
        table.play_on(chance, 1)
    kinds = [type(change) for change in table.log[-1].step.changes]

    assert kinds == [Played, Public, Dealt]
    ended = table.changes()[0].round_ended
    assert verify_link(ended.seed, table.commitment)
    assert ended.result.round_number == 1
    assert table.phase() == Phase.DRAW
    assert table.turn == 1


def test_a_round_interval_holds_the_next_round_back() -> None:
    table = two(round_interval_ms=5_000)
    table.play_on(random.Random(3))

    assert table.phase() == Phase.ROUND_OVER
    assert table.room.advance_ms == table.now_ms + 5_000
    assert (table.room.deadline_ms(), table.room.bot_ms) == (0, 0)
    table.wait(4_999)
    table.tick()
    assert table.phase() == Phase.ROUND_OVER
    table.wait(1)
    table.tick()
    assert table.phase() == Phase.DRAW
    assert table.round.number == 2
    assert table.room.advance_ms == 0


def test_v6_after_the_match_no_clock_runs_but_that_of_the_room() -> None:
    table = two(rules=RuleOptions(target_score=1))
    table.play_on(random.Random(1))

    assert table.status() == Status.OVER
    assert table.changes()[-1].match_ended.result.reason == rules_pb2.MATCH_END_REASON_TARGET_SCORE
    assert (table.room.deadline_ms(), table.room.bot_ms, table.room.advance_ms) == (0, 0, 0)
    assert table.room.due_ms(TIMES.lease_ms) == table.room.expire_ms == table.now_ms + TIMES.over_ttl_ms
    assert legal_actions(table.match, 0) == ()


def test_the_guard_of_turns_ends_a_match_without_the_target() -> None:
    table = Table(["ann", "bob"], guards=Guards(max_turns_per_round=2, max_turns_per_match=2))
    table.start()
    table.play_turn("ann")
    table.play_turn("bob")

    assert table.status() == Status.OVER
    assert table.changes()[-1].match_ended.result.reason == rules_pb2.MATCH_END_REASON_TURN_LIMIT


# What the sweeper looks after.


def test_the_nearest_clock_is_due_and_what_a_replica_drives_only_after_its_lease() -> None:
    table = Table(["ann", "bot:easy"])
    assert table.room.due_ms(1_000) == table.room.expire_ms
    table.start()
    assert table.room.due_ms(1_000) == table.room.deadline_ms()
    table.play_turn("ann")
    assert table.room.due_ms(1_000) == table.room.bot_ms + 1_000

    waiting = Table(["ann", "bot:easy"], options=table_options(auto_start=True))
    assert waiting.room.due_ms(1_000) == waiting.room.advance_ms + 1_000
