"""Walking through a verified replay, one deal or action after the other, with every card face up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rami.game.v1 import game_service_pb2 as game
from rami_engine import ReplayPlace, apply, deck_for_round, new_match, start_round
from rami_wire import replay_record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rami_engine import MatchState, Outcome, ReplayRecord


class Moment(NamedTuple):
    """A match right after a deal or an action."""

    place: ReplayPlace
    """The round, and the action, which is None for the deal."""
    outcome: Outcome | None
    """What the action led to; None for the deal."""
    match: MatchState
    """The match as it stands. The next step of the walk changes it: copy what is to be kept."""


def walk(replay: game.GetReplayResponse | ReplayRecord) -> Iterator[Moment]:
    """Every moment of a replay that `verify` has accepted; a round whose seed is not revealed is left out.

    Trusts it: one that was not verified may raise any of the engine's errors.

    >>> replay = await client.replay(finished)
    >>> phases = [moment.match.phase.name for moment in walk(replay)]
    >>> phases[0], phases[-1]
    ('DRAW', 'MATCH_OVER')
    """
    record = replay_record(replay.header, replay.rounds) if isinstance(replay, game.GetReplayResponse) else replay
    match = new_match(record.players, record.options, record.guards)
    for played in record.rounds:
        if played.seed is None:
            return
        start_round(match, deck_for_round(played.seed, played.number, record.entropies))
        yield Moment(ReplayPlace(played.number), None, match)
        for number, (seat, action) in enumerate(played.actions, 1):
            outcome = apply(match, seat, action)
            yield Moment(ReplayPlace(played.number, number), outcome, match)
