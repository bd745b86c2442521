"""The checker on journals that are made up: it says nothing of a match as it should be, and finds each fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rami.cards.v1 import card_pb2
from rami.game.v1 import event_pb2
from rami.game.v1 import game_service_pb2 as pb
from support.chaos_checker import Fault, check, check_file
from support.chaos_journal import Expected, FinishedMatches, Journal, Lagged, Struck
from support.chaos_story import Story

if TYPE_CHECKING:
    from pathlib import Path

# The steps of these journals are made at no time at all: before or after any moment that is looked at.
LONG_BEFORE_NS, LONG_AFTER_NS = -1, 1 << 62


@pytest.fixture
def story() -> Story:
    made_up = Story()
    made_up.go_on(6)
    return made_up


def test_a_match_as_it_should_be_has_no_findings(story: Story) -> None:
    story.end()
    report = story.judge()
    assert not report.findings, str(report)
    actions = sum(len(played.actions) for played in story.room.rounds)
    assert report.counts["actions by the player"] == report.counts["acknowledgements that stand"] == actions
    assert report.counts["matches that ended"] == 1


def test_the_file_of_a_journal_is_read_as_it_was_written(story: Story, tmp_path: Path) -> None:
    story.end()
    story.judge()
    journal = Journal(tmp_path / "journal.jsonl")
    for record in story.records:
        journal.write(record)
    journal.close()
    with journal.path.open("ab") as file:
        file.write(b'{"kind": "Told", "at"')
    report = check_file(journal.path)
    assert not report.findings, str(report)
    assert report == check(story.records)


def test_an_acknowledged_action_that_is_missing(story: Story) -> None:
    asked = story.play()
    story.acknowledge(asked)
    story.room.rewind(story.room.version - 1)
    assert Fault.LOST_ACTION in story.judge().faults


def test_one_recorded_action_acknowledged_to_two_requests(story: Story) -> None:
    asked = story.play()
    story.tell_all()
    story.acknowledge(asked)
    twin = asked.__class__(**{name: getattr(asked, name) for name in asked.__slots__} | {"request_id": "x", "call": -1})
    story.write(twin)
    story.acknowledge(twin)
    assert story.judge().faults == {Fault.LOST_ACTION}


def test_an_acknowledged_action_with_another_content(story: Story) -> None:
    _, asked = story.ask()
    story.acknowledge(story.play())
    story.acknowledge(asked)
    faults = story.judge().faults
    assert faults & {Fault.CHANGED_ACTION, Fault.LOST_ACTION}


def test_an_acknowledged_action_with_another_version(story: Story) -> None:
    asked = story.play()
    story.go_on()
    story.acknowledge(asked)
    assert Fault.CHANGED_ACTION in story.judge().faults


def test_an_action_applied_that_nobody_asked_for(story: Story) -> None:
    asked = story.play()
    story.tell_all()
    story.acknowledge(asked)
    story.records.remove(asked)
    del story.records[-1]
    assert story.judge().faults == {Fault.DOUBLED_ACTION}


def test_a_refused_action_that_was_applied(story: Story) -> None:
    asked = story.play()
    story.tell_all()
    story.refuse(asked, "ABORTED", "STALE_VERSION", asked.expected_version + 1)
    assert story.judge().faults == {Fault.REFUSED_YET_APPLIED}


def test_an_action_left_open_that_was_applied_is_no_fault(story: Story) -> None:
    asked = story.play()
    story.tell_all()
    story.refuse(asked, "UNAVAILABLE", "STORE_UNAVAILABLE")
    report = story.judge()
    assert not report.findings, str(report)
    assert report.counts["actions applied but never acknowledged"] == 1


@pytest.mark.parametrize(
    ("code", "reason", "ahead"),
    [
        ("FAILED_PRECONDITION", "NOT_YOUR_TURN", 0),
        ("ABORTED", "STALE_VERSION", 0),
        ("ABORTED", "STALE_VERSION", -1),
    ],
)
def test_a_refusal_that_cannot_be_true(story: Story, code: str, reason: str, ahead: int) -> None:
    _, asked = story.ask()
    story.refuse(asked, code, reason, asked.expected_version + ahead)
    assert story.judge().faults == {Fault.FALSE_REFUSAL}


def test_a_refusal_that_is_true(story: Story) -> None:
    _, asked = story.ask()
    while not story.room.rounds[-1].actions or story.room.version == asked.expected_version:
        story.go_on()
    if story.records[-1] is not asked:
        story.refuse(asked, "ABORTED", "STALE_VERSION", asked.expected_version + 1)
    report = story.judge()
    # The same action may have been chosen twice; then it has been applied for the other request.
    assert not report.findings, str(report)


@pytest.mark.parametrize("times", [0, 2])
def test_a_match_that_was_not_passed_on_once(story: Story, times: int) -> None:
    story.end()
    story.write(FinishedMatches(story.tick(), [story.room.room_id] * times))
    assert story.judge().faults == {Fault.BAD_FINISH}


def test_a_match_that_was_passed_on_before_its_end(story: Story) -> None:
    story.write(FinishedMatches(story.tick(), [story.room.room_id]))
    assert story.judge().faults == {Fault.BAD_FINISH}


def test_a_match_that_was_passed_on(story: Story) -> None:
    story.end()
    story.write(FinishedMatches(story.tick(), [story.room.room_id]))
    assert not story.judge().findings


def test_a_defect(story: Story) -> None:
    _, asked = story.ask()
    story.refuse(asked, "INTERNAL", "INTERNAL")
    assert Fault.DEFECT in story.judge().faults


def test_a_step_that_a_watcher_missed(story: Story) -> None:
    story.play()
    story.play()
    for who in ("ann", "bob"):
        story.tell(who, story.news(who))
    news = story.news("eve")
    del news.events[0]
    story.tell("eve", news)
    assert story.judge().faults == {Fault.SKIPPED_STEP}


def test_a_step_that_a_watcher_got_twice(story: Story) -> None:
    story.play()
    news = story.news("eve")
    story.tell_all()
    story.tell("eve", news)
    assert story.judge().faults == {Fault.DOUBLED_STEP}


def test_a_stream_goes_on_from_its_cursor(story: Story) -> None:
    story.open("eve", story.room.cursor(story.room.version))
    story.go_on(2)
    report = story.judge()
    assert not report.findings, str(report)
    assert report.counts["streams resumed"] == 1


def test_a_stream_that_does_not_go_on_from_its_cursor(story: Story) -> None:
    story.open("eve", story.room.cursor(story.room.version - 1))
    story.go_on()
    assert story.judge().faults == {Fault.SKIPPED_STEP}


def test_a_watcher_that_was_not_told_of_the_last_step(story: Story) -> None:
    story.play()
    for who in ("ann", "bob"):
        story.tell(who, story.news(who))
    assert story.judge().faults == {Fault.LEFT_BEHIND}


def test_a_card_that_was_not_the_one_drawn(story: Story) -> None:
    while True:
        asked = story.play()
        news = story.news(asked.who)
        played = news.events[0].changes[0].action_played
        if played.HasField("drawn"):
            break
        story.tell_all()
        story.acknowledge(asked)
    played.drawn = card_pb2.Card.ValueType(53 - played.drawn)
    for who in ("ann", "bob", "eve"):
        story.tell(who, news if who == asked.who else story.news(who))
    story.acknowledge(asked)
    story.end()
    assert story.judge().faults == {Fault.CONTRADICTION}


def test_an_action_that_was_not_the_one_played(story: Story) -> None:
    asked = story.play()
    news = story.news("eve")
    news.events[0].changes[0].action_played.seat ^= 1
    news.events[0].cursor = b"another"
    for who in ("ann", "bob", "eve"):
        story.tell(who, news if who == "eve" else story.news(who))
    story.acknowledge(asked)
    assert story.judge().faults == {Fault.CONTRADICTION}


def test_a_snapshot_that_is_not_what_was_played(story: Story) -> None:
    snapshot = story.room.snapshot(None, rewound=False)
    snapshot.view.stock_size += 1
    story.tell("eve", pb.PlayResponse(snapshot=snapshot))
    story.end()
    assert story.judge().faults == {Fault.CONTRADICTION}


def test_a_result_before_its_event(story: Story) -> None:
    _, asked = story.ask()
    result = pb.ActionResult(request_id=asked.request_id, version=asked.expected_version + 1)
    story.tell(asked.who, pb.PlayResponse(results=[result]))
    assert Fault.SKIPPED_STEP in story.judge().faults


def test_a_rewind_without_a_loss(story: Story) -> None:
    story.tell("eve", pb.PlayResponse(snapshot=story.room.snapshot(None, rewound=True)))
    assert story.judge().faults == {Fault.FALSE_REWIND}


def tell_of_loss(story: Story, *, rewound: bool) -> None:
    for who in ("ann", "bob", "eve"):
        snapshot = story.room.snapshot(story.viewer(who), rewound=rewound)
        story.tell(who, pb.PlayResponse(snapshot=snapshot))


def test_a_loss_that_everybody_was_told_of_is_no_fault(story: Story) -> None:
    story.lose(2)
    tell_of_loss(story, rewound=True)
    story.go_on(4)
    report = story.judge()
    assert not report.findings, str(report)
    assert report.counts["acknowledged actions lost with the store"] > 0
    assert report.counts["snapshots rewound"] == 3


def test_a_loss_that_nobody_was_told_of(story: Story) -> None:
    story.lose(2)
    tell_of_loss(story, rewound=False)
    story.go_on(4)
    assert story.judge().faults == {Fault.SILENT_LOSS, Fault.SILENT_REWIND}


def test_a_watcher_that_was_led_on_over_a_loss(story: Story) -> None:
    version = story.room.version
    story.lose(2)
    for _ in range(3):
        story.play()
    # Told of the version after the one it holds, as if the one it holds were still true.
    story.tell("eve", pb.PlayResponse(events=story.room.events_after(version, None)))
    assert Fault.SILENT_REWIND in story.judge().faults


def test_a_record_that_does_not_verify(story: Story) -> None:
    story.end()
    replay = pb.GetReplayResponse(header=story.room.replay_header(), rounds=story.room.rounds)
    del replay.rounds[0].actions[-2]
    assert Fault.BAD_RECORD in story.judge(replay=replay).faults


def test_a_version_that_two_actions_claim(story: Story) -> None:
    replay = pb.GetReplayResponse(header=story.room.replay_header(), rounds=story.room.rounds)
    replay.rounds[0].actions[1].version = replay.rounds[0].actions[0].version
    assert Fault.BAD_RECORD in story.judge(replay=replay).faults


def test_a_record_that_nobody_could_read(story: Story) -> None:
    assert check(story.records).faults == {Fault.NO_RECORD}


def test_a_match_that_goes_on_in_time(story: Story) -> None:
    story.write(Expected(story.tick(), "a kill", 5.0, LONG_BEFORE_NS))
    story.go_on()
    story.at += 10
    report = story.judge()
    assert not report.findings, str(report)
    assert report.counts["recoveries in time"] == 1


def test_a_match_that_does_not_go_on(story: Story) -> None:
    story.write(Expected(story.tick(), "a kill", 5.0, LONG_BEFORE_NS))
    story.at += 6
    story.go_on()
    assert story.judge().faults == {Fault.STALLED}


@pytest.mark.parametrize(("lag", "faults"), [(0.5, {Fault.STALLED}), (3.0, set())])
def test_time_in_which_nobody_could_run_does_not_count(story: Story, lag: float, faults: set[Fault]) -> None:
    story.write(Expected(story.tick(), "a kill", 5.0, LONG_BEFORE_NS))
    story.at += 4
    story.write(Lagged(story.tick(), lag))
    story.at += 3
    story.go_on()
    assert story.judge().faults == faults


def test_old_news_is_no_going_on(story: Story) -> None:
    asked = story.play()
    story.write(Expected(story.tick(), "a kill", 5.0, LONG_AFTER_NS))
    # Made before the kill and only told after it: the service has done nothing since.
    story.tell_all()
    story.acknowledge(asked)
    story.at += 6
    story.write(Struck(story.tick(), "nothing"))
    assert story.judge().faults == {Fault.STALLED}


def test_every_source_but_the_player_needs_no_request() -> None:
    story = Story()
    mover, asked = story.ask()
    story.records.remove(asked)
    story.apply(mover, event_pb2.ACTION_SOURCE_AUTOPILOT)
    story.tell_all()
    assert not story.judge().findings
