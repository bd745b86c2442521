"""What whom sees of a room, and who may look at all."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from google.protobuf.duration_pb2 import Duration

from game_state.projection import (
    decode_cursor,
    duration,
    encode_cursor,
    encoded_legal_actions,
    match_result_message,
    require_reader,
    room_message,
    timestamp,
)
from game_state.replays import MAX_ACTIONS_PER_PAGE
from game_state.repository import decode_step_message, encode_step_message, finished_match
from game_state.room import Status
from rami.game.v1 import event_pb2, room_pb2, rules_pb2
from rami_engine import CHAIN_LENGTH, RULES_ID, RULES_VERSION, RuleOptions, cards_of, legal_actions
from rami_kit.errors import RamiError, reason_name
from support.game_tables import EMPTY, Table, snapshot_message, table_options

if TYPE_CHECKING:
    from google.protobuf.message import Message


def may_look(table: Table, player_id: str) -> bool:
    try:
        require_reader(table.room, player_id)
    except RamiError as error:
        if reason_name(error.reason) != "SPECTATORS_NOT_ALLOWED":
            raise
        return False
    return True


@pytest.mark.parametrize(
    ("public", "spectators", "in_lobby", "in_match"),
    [(False, False, False, False), (True, False, True, False), (False, True, True, True), (True, True, True, True)],
)
def test_strangers_look_where_spectators_may_and_into_public_lobbies(
    public: bool, spectators: bool, in_lobby: bool, in_match: bool
) -> None:
    table = Table(["bob", "bot:easy"], options=table_options(public=public, spectators_allowed=spectators), host="ann")
    assert may_look(table, "stranger") == in_lobby
    table.start("ann")
    assert may_look(table, "stranger") == in_match
    assert may_look(table, "bob")
    assert may_look(table, "ann"), "a host who observes may look in any case"
    table.leave("bob")
    assert table.status() == Status.OVER
    assert may_look(table, "bob"), "the seat stays a person's who has left"
    assert may_look(table, "stranger") == in_match


@pytest.mark.parametrize("spectators", [False, True])
def test_a_room_tells_each_reader_whether_its_match_may_be_watched(spectators: bool) -> None:
    table = Table(["bob", "bot:easy"], options=table_options(public=True, spectators_allowed=spectators), host="ann")
    told = {name: room_message(table.room, name).watchable for name in ("ann", "bob", "stranger")}
    assert told == {"ann": True, "bob": True, "stranger": spectators}
    table.start("ann")
    assert may_look(table, "stranger") == room_message(table.room, "stranger").watchable


def test_the_join_code_is_for_those_who_sit_and_the_host() -> None:
    table = Table(["bob", EMPTY], host="ann", join_code="ABC123")

    assert room_message(table.room, "ann").join_code == "ABC123"
    assert room_message(table.room, "bob").join_code == "ABC123"
    assert room_message(table.room, "stranger").join_code == ""


def test_entropies_are_public_once_the_match_has_started_and_not_before() -> None:
    table = Table(["ann", "bot:easy"])
    table.entropy("ann", b"from ann")
    assert list(room_message(table.room, "ann").entropies) == []
    assert b"from ann" not in snapshot_message(table.room, "bob", table.now_ms).SerializeToString()
    table.start()

    assert list(room_message(table.room, "stranger").entropies) == [b"from ann", b""]


def test_r7_room_and_view_name_the_rules_that_are_played() -> None:
    table = Table(["ann", "bot:easy"])
    table.start()
    snapshot = snapshot_message(table.room, "ann", table.now_ms)

    for message in (snapshot.room, snapshot.view):
        assert (message.rules_id, message.rules_version) == (RULES_ID, RULES_VERSION) == ("cardverse.rami", "1.1.0")


def test_a_hand_is_in_the_view_of_its_seat_alone() -> None:
    table = Table(["ann", "bob"])
    table.start()
    own = [card + 1 for card in cards_of(table.round.hands[1])]

    assert list(snapshot_message(table.room, "bob", table.now_ms).view.hand) == own
    assert list(snapshot_message(table.room, "ann", table.now_ms).view.hand) != own
    spectator = snapshot_message(table.room, "stranger", table.now_ms).view
    assert list(spectator.hand) == []
    assert not spectator.HasField("seat")


def test_a_snapshot_tells_the_time_of_the_store() -> None:
    assert snapshot_message(Table(["ann", "bob"]).room, "ann", 1_700_000_000_123).time == timestamp(1_700_000_000_123)


def told(table: Table, kind: str) -> Message:
    """What the latest event of a kind told everybody."""
    for step in reversed(table.log):
        for change in step.public_changes:
            if change.HasField(kind):  # type: ignore[arg-type]  # one of its kinds
                return getattr(change, kind)  # type: ignore[no-any-return]  # a message
    raise AssertionError(kind)


def test_a_snapshot_after_a_round_tells_what_its_event_told_until_the_next_is_dealt() -> None:
    table = Table(["ann", "bob"], options=table_options(round_interval_ms=5_000, rules=RuleOptions(target_score=500)))
    table.start()
    assert not snapshot_message(table.room, "ann", 0).HasField("round_ended"), "a round is played"
    table.play_on(random.Random(5))
    ended = snapshot_message(table.room, "ann", 0).round_ended
    assert ended == told(table, "round_ended")
    assert any(hand.cards for hand in ended.hands)
    assert len(ended.seed) == 32
    for player_id in ("bob", "stranger"):
        assert snapshot_message(table.room, player_id, 0).round_ended == ended
    table.wait(5_000)
    table.tick()
    assert table.round.number == 2
    snapshot = snapshot_message(table.room, "ann", 0)
    assert not snapshot.HasField("round_ended")
    assert snapshot.view.last_round == ended.result, "the result alone stays"


def test_a_snapshot_after_the_match_tells_what_its_events_told() -> None:
    table = Table(["ann", "bob"], options=table_options(rules=RuleOptions(target_score=1)))
    table.start()
    assert not snapshot_message(table.room, "ann", 0).HasField("match_ended")
    table.play_on(random.Random(1))
    snapshot = snapshot_message(table.room, "stranger", 0)

    assert snapshot.round_ended == told(table, "round_ended")
    assert snapshot.match_ended == told(table, "match_ended")
    assert not snapshot.match_ended.seed


def test_a_match_abandoned_in_a_round_reveals_its_seed_and_no_hand() -> None:
    table = Table(["ann", "bot:easy"])
    table.start()
    table.play_turn("ann")
    table.leave("ann")
    snapshot = snapshot_message(table.room, "stranger", 0)

    assert not snapshot.HasField("round_ended")
    assert snapshot.match_ended == told(table, "match_ended")
    assert snapshot.match_ended.seed == table.room.chain.seed(1)


def test_a_match_abandoned_between_rounds_tells_the_round_that_ended() -> None:
    table = Table(["ann", "bot:easy"], options=table_options(round_interval_ms=5_000))
    table.start()
    table.play_on(random.Random(5))
    table.leave("ann")
    snapshot = snapshot_message(table.room, "ann", 0)

    assert snapshot.round_ended == told(table, "round_ended")
    assert snapshot.match_ended == told(table, "match_ended")
    assert not snapshot.match_ended.seed, "no round was in play"


def test_a_lobby_has_no_view() -> None:
    assert not snapshot_message(Table(["ann", "bob"]).room, "ann", 0).HasField("view")


def test_the_pace_of_bots_is_shown_where_the_room_has_one_of_its_own() -> None:
    plain = room_message(Table(["ann", "bob"]).room, "ann").options
    assert not plain.HasField("bot_pace")
    assert plain.turn_time_limit == Duration(seconds=60)
    own = room_message(Table(["ann", "bob"], options=table_options(bot_pace_ms=0, turn_limit_ms=0)).room, "ann")

    assert own.options.HasField("bot_pace")
    assert own.options.HasField("turn_time_limit"), "no limit is told as 0, not as unset"


def test_who_sits_where_is_shown_with_what_stands_in() -> None:
    table = Table(["ann", "bot:hard", "bob", EMPTY])
    seats = room_message(table.room, "ann").seats
    assert [seat.WhichOneof("holder") for seat in seats] == ["player", "bot", "player", None]
    assert (seats[0].player.player_id, seats[0].player.display_name) == ("ann", "Ann")
    assert seats[1].bot.bot == "hard"
    table.bots("ann", {3: "easy"})
    table.start()
    table.leave("bob")

    assert room_message(table.room, "ann").seats[2].player.stand_in


def test_the_turn_has_a_deadline_only_while_a_person_moves() -> None:
    table = Table(["ann", "bot:easy"])
    assert not room_message(table.room, "ann").HasField("turn")
    table.start()
    turn = room_message(table.room, "ann").turn
    assert turn.seat == 0
    assert turn.phase == rules_pb2.PHASE_DRAW
    assert turn.deadline == timestamp(table.now_ms + 60_000)
    table.play_turn("ann")

    turn = room_message(table.room, "ann").turn
    assert turn.seat == 1
    assert not turn.HasField("deadline")


def test_the_result_of_a_match_says_how_it_ended() -> None:
    table = Table(["ann", "bob"], options=table_options(rules=RuleOptions(target_score=1)))
    assert match_result_message(table.room) is None
    table.start()
    assert match_result_message(table.room) is None
    table.play_on(random.Random(1))
    result = room_message(table.room, "stranger").result

    assert result.reason == rules_pb2.MATCH_END_REASON_TARGET_SCORE
    assert result.winner_seat == table.match.winner
    assert list(result.scores) == table.match.scores


def test_what_the_cluster_learns_of_an_ended_match() -> None:
    table = Table(["ann", "bot:easy"], options=table_options(auto_start=True), match_id=bytes(range(16)))
    table.entropy("ann")
    table.play_on(random.Random(4))
    ended = finished_match(table.room, 123)

    assert ended.schema == 1
    assert ended.room_id == table.room.room_id
    assert ended.match_id == bytes(range(16))
    assert ended.winner_plus_one == (table.match.winner or 0) + 1
    assert ended.end_reason == rules_pb2.MATCH_END_REASON_TARGET_SCORE
    assert ended.end_ms == 123
    assert [(seat.player_id, seat.bot, seat.score) for seat in ended.seats] == [
        ("ann", "", table.match.scores[0]),
        ("", "easy", table.match.scores[1]),
    ]


def test_an_abandoned_match_ends_without_a_winner_for_the_cluster_too() -> None:
    table = Table(["ann", "bot:easy"])
    table.start()
    table.leave("ann")
    ended = finished_match(table.room, 123)

    assert ended.winner_plus_one == 0
    assert ended.end_reason == rules_pb2.MATCH_END_REASON_ABANDONED


def test_legal_actions_name_the_version_they_are_for() -> None:
    table = Table(["ann", "bob"])
    table.start()
    message = event_pb2.LegalActions.FromString(encoded_legal_actions(table.room, 0))

    assert message.version == table.room.version
    assert len(message.actions) == len(legal_actions(table.match, 0)) == 2


def test_cursors_and_published_steps_are_read_as_they_were_written() -> None:
    cursor = encode_cursor(300, b"commitid")
    assert decode_cursor(cursor) == (300, b"commitid")
    for wrong in (b"", cursor[:-1], cursor + b"x"):
        assert decode_cursor(wrong) is None

    table = Table(["ann", "bob"])
    table.start()
    step = table.log[-1]
    read = decode_step_message(
        encode_step_message(step.version, step.previous_commit, step.commit_id, step.step.to_bytes())
    )
    assert (read.version, read.previous_commit, read.step) == (step.version, step.previous_commit, step.step)


def test_times_and_spans_keep_their_milliseconds() -> None:
    assert timestamp(1_234).ToMilliseconds() == 1_234
    assert duration(1_234).ToMilliseconds() == 1_234


def test_no_text_of_a_room_shows_a_card_or_a_seed() -> None:
    table = Table(["ann", "bob"])
    table.start()
    for text in (repr(table.room), repr(table.room.chain), repr(table.match), f"{table.room}"):
        assert "hands" not in text
        assert str(table.round.hands[0]) not in text
        assert table.room.chain.root.hex() not in text
        assert repr(table.room.chain.root) not in text


def test_a_page_of_a_replay_stays_below_the_size_of_a_message() -> None:
    # 60 bytes an action is more than any action takes; the longest round comes on top.
    assert (MAX_ACTIONS_PER_PAGE + CHAIN_LENGTH) * 60 < 4 << 20


def test_room_statuses_are_those_of_the_contract() -> None:
    assert {status.name: status.value for status in Status} == {
        name.removeprefix("ROOM_STATUS_"): value
        for name, value in room_pb2.RoomStatus.items()
        if not name.endswith("UNSPECIFIED")
    }
