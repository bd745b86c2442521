"""Everything the engine makes survives the wire and the store unchanged."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rami.game.v1 import event_pb2
from rami.store.v1 import room_state_pb2
from rami_engine import (
    Guards,
    MatchState,
    Phase,
    RuleOptions,
    apply,
    legal_actions,
    new_match,
    seat_view,
    start_round,
)
from rami_wire import (
    action_from_proto,
    action_to_proto,
    encode_actions,
    encode_match,
    legal_actions_to_proto,
    match_from_store,
    options_from_proto,
    options_to_proto,
    view_from_proto,
    view_to_proto,
)


def played_match(players: int, options: RuleOptions, seed: int, steps: int) -> MatchState:
    """A match after some random legal actions."""
    rng = random.Random(seed)
    match = new_match(players, options, Guards(40, 200))
    for _ in range(steps):
        if match.phase in (Phase.NOT_STARTED, Phase.ROUND_OVER):
            deck = list(range(52))
            rng.shuffle(deck)
            start_round(match, bytes(deck))
        elif match.phase == Phase.MATCH_OVER:
            break
        else:
            current = match.round
            assert current is not None
            apply(match, current.turn, rng.choice(legal_actions(match, current.turn)))
    return match


matches = st.builds(
    played_match,
    st.integers(2, 4),
    st.builds(RuleOptions, st.integers(1, 1000), st.booleans(), st.booleans()),
    st.integers(0, 2**32),
    st.integers(0, 300),
)


@given(matches)
def test_a_stored_match_reads_back_equal(match: MatchState) -> None:
    stored = room_state_pb2.StoredMatch.FromString(encode_match(match))
    assert match_from_store(stored, match.options, match.guards) == match


@given(matches, st.sampled_from([0, 1, None]))
def test_a_view_survives_the_wire(match: MatchState, viewer: int | None) -> None:
    view = seat_view(match, viewer)
    sent = view_to_proto(view).SerializeToString()
    message = type(view_to_proto(view)).FromString(sent)
    assert view_from_proto(message) == view


@given(matches)
def test_legal_actions_survive_the_wire_in_order(match: MatchState) -> None:
    seat = match.round.turn if match.round is not None else 0
    legal = legal_actions(match, seat)
    message = legal_actions_to_proto(7, legal)
    assert message.version == 7
    assert tuple(action_from_proto(action) for action in message.actions) == legal
    assert [action_to_proto(action) for action in legal] == list(message.actions)


def test_encoded_actions_merge_into_a_message() -> None:
    match = played_match(4, RuleOptions(), 1, 1)
    legal = legal_actions(match, 0)
    message = event_pb2.LegalActions(version=1)
    message.MergeFromString(encode_actions(legal, 2))
    assert message == legal_actions_to_proto(1, legal)


@pytest.mark.parametrize("options", [RuleOptions(), RuleOptions(1, True, True), RuleOptions(1000, False, True)])
def test_options_survive_the_wire(options: RuleOptions) -> None:
    assert options_from_proto(options_to_proto(options), "options") == options
