"""A replay that is not what a receipt saw is found, and the place is named; and so is what a receipt does not cover."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rami.cards.v1 import card_pb2
from rami.game.v1 import event_pb2, rules_pb2
from rami.game.v1 import game_service_pb2 as game
from rami_client import Coverage, Receipt, verify
from rami_client.receipt import Sighting
from rami_engine import ReplayError, seat_view
from support.matches import ENTROPY, copy_of, played_match

if TYPE_CHECKING:
    from collections.abc import Callable


def receipt_with(match: tuple[game.GetReplayResponse, Receipt]) -> Receipt:
    """A copy of the receipt that can be changed."""
    receipt = match[1]
    copied = Receipt(
        room_id=receipt.room_id,
        rules_id=receipt.rules_id,
        rules_version=receipt.rules_version,
        players=receipt.players,
        options=receipt.options,
        guards=receipt.guards,
        commitment=receipt.commitment,
        seat=receipt.seat,
        entropy=receipt.entropy,
    )
    for seen in receipt.sightings:
        changes = [event_pb2.Change.FromString(change.SerializeToString()) for change in seen.changes]
        copied.sightings.append(replace(seen, changes=tuple(changes)))
    return copied


def first_change(receipt: Receipt, kind: str) -> tuple[int, event_pb2.Change]:
    """The place of the sighting that first saw a kind of change, and the change."""
    for place, seen in enumerate(receipt.sightings):
        for change in seen.changes:
            if change.WhichOneof("kind") == kind:
                return place, change
    raise AssertionError(kind)


def _receipt_room(receipt: Receipt) -> None:
    receipt.room_id = "p0-other"


def _receipt_commitment(receipt: Receipt) -> None:
    receipt.commitment = bytes(32)


def _receipt_players(receipt: Receipt) -> None:
    receipt.players = 4


def _receipt_rules(receipt: Receipt) -> None:
    receipt.rules_version = "1.0.0"


def _receipt_options(receipt: Receipt) -> None:
    receipt.options = rules_pb2.RuleOptions(target_score=150, ace_high=True)


def _receipt_guards(receipt: Receipt) -> None:
    receipt.guards = rules_pb2.Guards(max_turns_per_round=1, max_turns_per_match=1)


def _receipt_entropy(receipt: Receipt) -> None:
    receipt.entropy = bytes(32)


def _receipt_frozen(receipt: Receipt) -> None:
    first_change(receipt, "match_started")[1].match_started.entropies[1] = b"x"


def _receipt_action(receipt: Receipt) -> None:
    first_change(receipt, "action_played")[1].action_played.action.discard.card = card_pb2.CARD_7H


def _receipt_seat(receipt: Receipt) -> None:
    first_change(receipt, "action_played")[1].action_played.seat = 2


def _receipt_source(receipt: Receipt) -> None:
    played = first_change(receipt, "action_played")[1].action_played
    played.source = event_pb2.ACTION_SOURCE_AUTOPILOT


def _receipt_drawn(receipt: Receipt) -> None:
    for seen in receipt.sightings:
        for change in seen.changes:
            if change.action_played.HasField("drawn"):
                drawn = change.action_played.drawn
                change.action_played.drawn = card_pb2.CARD_2C if drawn != card_pb2.CARD_2C else card_pb2.CARD_3C
                return


def _receipt_up_card(receipt: Receipt) -> None:
    dealt = first_change(receipt, "round_started")[1].round_started
    dealt.up_card = card_pb2.CARD_2C if dealt.up_card != card_pb2.CARD_2C else card_pb2.CARD_3C


def _receipt_hand(receipt: Receipt) -> None:
    hand = first_change(receipt, "round_started")[1].round_started.hand
    del hand[0]


def _receipt_deal(receipt: Receipt) -> None:
    first_change(receipt, "round_started")[1].round_started.stock_size = 37


def _receipt_result(receipt: Receipt) -> None:
    first_change(receipt, "round_ended")[1].round_ended.result.points += 1


def _receipt_seed(receipt: Receipt) -> None:
    first_change(receipt, "round_ended")[1].round_ended.seed = bytes(32)


def _receipt_left(receipt: Receipt) -> None:
    hands = first_change(receipt, "round_ended")[1].round_ended.hands
    del hands[-1]


def _receipt_end(receipt: Receipt) -> None:
    first_change(receipt, "match_ended")[1].match_ended.result.scores[0] += 1


def _receipt_saw_more(receipt: Receipt) -> None:
    place, change = first_change(receipt, "action_played")
    receipt.sightings[place].changes += (change,)


def _receipt_saw_less(receipt: Receipt) -> None:
    place, _ = first_change(receipt, "action_played")
    receipt.sightings[place].changes = ()


UNLIKE: dict[str, tuple[Callable[[Receipt], None], str]] = {
    "room": (_receipt_room, "record: its room"),
    "commitment": (_receipt_commitment, "record: its commitment"),
    "players": (_receipt_players, "record: its number of seats"),
    "rules": (_receipt_rules, "record: its rules"),
    "options": (_receipt_options, "record: its option ace_high is false, and the receipt has true"),
    "guards": (_receipt_guards, "record: its guard max_turns_per_round is 60, and the receipt has 1"),
    "own entropy": (_receipt_entropy, "record: the entropy of seat 0"),
    "frozen entropy": (_receipt_frozen, "record: the entropy of seat 1"),
    "action": (_receipt_action, "round 1, action 1: the receipt saw seat 0 play 'discard 7H'"),
    "seat": (_receipt_seat, "round 1, action 1: the receipt saw seat 2"),
    "source": (_receipt_source, "round 1, action 1: the receipt saw that somebody else"),
    "drawn card": (_receipt_drawn, "round 1, action 1: the receipt saw it draw"),
    "card turned up": (_receipt_up_card, "round 1: the receipt saw"),
    "dealt hand": (_receipt_hand, "round 1: the receipt saw another hand dealt to seat 0"),
    "deal": (_receipt_deal, "round 1: the receipt saw it dealt by other rules"),
    "result": (_receipt_result, "round 1: its result"),
    "seed": (_receipt_seed, "round 1: its seed"),
    "hands left": (_receipt_left, "round 1: the receipt saw other hands"),
    "end": (_receipt_end, "record: its result"),
    "an action more": (_receipt_saw_more, "record: after it the receipt saw seat 0 play"),
    "an action less": (_receipt_saw_less, "round 1, action 1: the receipt saw no such action"),
}


@pytest.mark.parametrize(("change", "place"), UNLIKE.values(), ids=UNLIKE)
def test_what_a_receipt_saw_otherwise_is_named(
    match: tuple[game.GetReplayResponse, Receipt], change: Callable[[Receipt], None], place: str
) -> None:
    receipt = receipt_with(match)
    change(receipt)
    with pytest.raises(ReplayError) as caught:
        verify(match[0], receipt)
    assert str(caught.value).startswith(place)


def _bot_profile(replay: game.GetReplayResponse) -> None:
    replay.header.seats[2].bot.bot = "hard"


def _display_name(replay: game.GetReplayResponse) -> None:
    replay.header.seats[1].player.display_name = "Mallory"


def _player_id(replay: game.GetReplayResponse) -> None:
    replay.header.seats[1].player.player_id = "mallory"


def _bot_for_player(replay: game.GetReplayResponse) -> None:
    replay.header.seats[1].bot.bot = "easy"


def _entropy_set(replay: game.GetReplayResponse) -> None:
    replay.header.seats[1].entropy_set = True


def _action_time(replay: game.GetReplayResponse) -> None:
    replay.rounds[1].actions[2].time.seconds += 1


def _no_action_time(replay: game.GetReplayResponse) -> None:
    replay.rounds[1].actions[2].ClearField("time")


def _start_time(replay: game.GetReplayResponse) -> None:
    replay.header.start_time.seconds -= 60


SEEN_OTHERWISE: dict[str, tuple[Callable[[game.GetReplayResponse], None], str]] = {
    "bot profile": (_bot_profile, "record: the bot of seat 2 is hard, and the receipt saw easy"),
    "display name": (_display_name, "record: the display name of seat 1 is Mallory, and the receipt saw Bob"),
    "player id": (_player_id, "record: the player id of seat 1 is mallory, and the receipt saw bob"),
    "bot for a player": (_bot_for_player, "record: the bot of seat 1 is easy, and the receipt saw none"),
    "entropy": (_entropy_set, "record: the entropy of seat 1 is there, and the receipt saw none"),
    "time of an action": (_action_time, "round 2, action 3: its time is 2023-"),
    "no time of an action": (_no_action_time, "round 2, action 3: its time is not recorded"),
    "start time": (_start_time, "record: its start time is 2023-"),
}


@pytest.mark.parametrize(("tamper", "place"), SEEN_OTHERWISE.values(), ids=SEEN_OTHERWISE)
def test_seats_and_times_are_those_that_the_receipt_saw(
    match: tuple[game.GetReplayResponse, Receipt],
    tamper: Callable[[game.GetReplayResponse], None],
    place: str,
) -> None:
    replay = copy_of(match[0])
    tamper(replay)
    verify(replay)  # nothing in the record itself tells
    with pytest.raises(ReplayError) as caught:
        verify(replay, match[1])
    assert str(caught.value).startswith(place)


def test_a_whole_receipt_says_so(match: tuple[game.GetReplayResponse, Receipt]) -> None:
    replay, receipt = match
    coverage = verify(replay, receipt).coverage
    assert coverage == Coverage(len(receipt.sightings), ((1, receipt.sightings[-1].version),), True, True)
    assert coverage.whole


@pytest.mark.parametrize(("first", "last", "versions"), [(7, 7, "7"), (7, 9, "7 to 9")])
def test_lines_that_are_missing_in_a_receipt_are_named(
    match: tuple[game.GetReplayResponse, Receipt], first: int, last: int, versions: str
) -> None:
    receipt = receipt_with(match)
    receipt.sightings = [seen for seen in receipt.sightings if not first <= seen.version <= last]
    with pytest.raises(ReplayError, match=f"record: the receipt has a gap: its lines of version {versions} are"):
        verify(match[0], receipt)


def test_lines_that_are_doubled_or_without_a_beginning_are_refused(
    match: tuple[game.GetReplayResponse, Receipt],
) -> None:
    receipt = receipt_with(match)
    receipt.sightings.insert(8, receipt.sightings[7])
    with pytest.raises(ReplayError, match="has version 8 again after 8"):
        verify(match[0], receipt)
    del receipt.sightings[8]
    del receipt.sightings[0]
    with pytest.raises(ReplayError, match="begins with version 2, without a snapshot"):
        verify(match[0], receipt)


def test_a_receipt_that_was_cut_does_not_reach_the_end(match: tuple[game.GetReplayResponse, Receipt]) -> None:
    receipt = receipt_with(match)
    del receipt.sightings[20:]
    assert verify(match[0], receipt).coverage == Coverage(20, ((1, 20),), True, False)
    receipt.sightings.clear()
    nothing = verify(match[0], receipt).coverage
    assert nothing == Coverage(0, (), False, False)
    assert not nothing.whole


def test_a_snapshot_may_skip_versions_and_the_coverage_says_which() -> None:
    room, replay, receipt = played_match(["ann", "bob"], seed=5)
    last = receipt.sightings[-1].version
    at = room.steps[14].match
    assert at is not None
    later = [seen for seen in receipt.sightings if seen.version > 15]
    snapshot = Sighting(15, view=seat_view(at, 0), snapshot=True, seats=receipt.sightings[0].seats)
    receipt.sightings = [*receipt.sightings[:5], snapshot, *later]
    snapshot.seats[0].entropy_set = True  # it was brought after the first snapshot
    assert verify(replay, receipt).coverage == Coverage(len(receipt.sightings), ((1, 5), (15, last)), True, True)


def test_a_replay_that_ends_too_early_is_found_by_the_receipt(
    match: tuple[game.GetReplayResponse, Receipt],
) -> None:
    replay = copy_of(match[0])
    del replay.rounds[2:]
    replay.header.ClearField("result")
    assert verify(replay).replay.rounds == 2  # sound in itself: a match that is still played
    with pytest.raises(ReplayError) as caught:
        verify(replay, match[1])
    assert caught.value.place.round_number == 2 or "left out" in str(caught.value)


def test_snapshots_are_compared_with_the_replayed_state() -> None:
    room, replay, receipt = played_match(["ann", "bob"], seed=5)
    places = [place for place, seen in enumerate(receipt.sightings) if seen.changes]
    for place in places[::7]:
        version = receipt.sightings[place].version
        match = room.steps[version - 1].match
        view = seat_view(match, 0) if match is not None else None
        receipt.sightings[place] = Sighting(version, view=view, snapshot=True)
    assert verify(replay, receipt).sightings == len(receipt.sightings)
    seen = next(seen for seen in receipt.sightings if seen.view is not None)
    assert seen.view is not None
    seen.view = replace(seen.view, hand=seen.view.hand ^ 1)
    with pytest.raises(ReplayError, match=r"the receipt saw another hand there"):
        verify(replay, receipt)


def test_the_entropy_of_the_player_is_in_the_replay(match: tuple[game.GetReplayResponse, Receipt]) -> None:
    assert match[0].header.entropies[0] == ENTROPY


def test_a_replay_of_a_match_in_play_leaves_its_last_round_open(
    match: tuple[game.GetReplayResponse, Receipt],
) -> None:
    replay = copy_of(match[0])
    last = replay.rounds[-1]
    last.ClearField("seed")
    last.ClearField("result")
    replay.header.ClearField("result")
    verification = verify(replay)
    assert verification.replay.unchecked_round == len(replay.rounds)
    receipt = receipt_with(match)
    until = next(
        place
        for place, seen in enumerate(receipt.sightings)
        if any(change.round_ended.result.round_number == last.round_number for change in seen.changes)
    )
    del receipt.sightings[until:]
    assert verify(replay, receipt).sightings == until
