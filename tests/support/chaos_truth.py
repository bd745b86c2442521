"""What really happened in a room: its verified record, version by version, to hold everything else against.

The record is walked through by the engine alone, so that drawn cards, hands and views follow from seeds and actions
and from nothing that a service says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rami.game.v1 import action_pb2
from rami_client import verify, walk
from rami_engine import RulesError, seat_view
from rami_wire import action_from_proto, encode_action, replay_record, to_cards, view_to_proto

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from rami.game.v1 import game_service_pb2, view_pb2

SPECTATOR = -1
"""Stands for the seat of who only watches."""


class Played(NamedTuple):
    """An action of the record."""

    version: int
    seat: int
    action: bytes
    """As `canonical` encodes it."""
    source: int
    time_ns: int


@dataclass(slots=True)
class Truth:
    """One room's record."""

    replay: game_service_pb2.GetReplayResponse
    played: dict[int, Played] = field(default_factory=dict)
    """Actions by the version that they made."""
    repeated_versions: list[int] = field(default_factory=list)
    """Versions that more than one action claims."""
    flaw: str = ""
    """Why the record does not verify; empty when it does."""
    drawn: dict[int, int] = field(default_factory=dict)
    """By version: the card that came to the hand, as a wire card, or 0; only for rounds whose seed is revealed."""
    dealt: dict[int, list[list[int]]] = field(default_factory=dict)
    """By number of the round: the hands that were dealt, as wire cards."""
    views: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """By version and seat: the view as `same_view` encodes it, for the versions that were wanted."""


def canonical(action: bytes) -> bytes:
    """A serialized rami.game.v1.Action in its one encoding. Raises MalformedAction for what is no action."""
    return encode_action(action_from_proto(action_pb2.Action.FromString(action)))


def same_view(message: view_pb2.SeatView) -> bytes:
    """A view in one fixed encoding, to be compared."""
    return message.SerializeToString(deterministic=True)


def truth_of(
    replay: game_service_pb2.GetReplayResponse, wanted_views: Iterable[int], deals: Mapping[int, Collection[int]]
) -> Truth:
    """Verify a record and work out what its versions held; views only of the versions that are wanted.

    `deals`: the versions in which each round was said to be dealt; a record does not tell.
    """
    truth = Truth(replay)
    try:
        for played in replay.rounds:
            for action in played.actions:
                if action.version in truth.played:
                    truth.repeated_versions.append(action.version)
                truth.played[action.version] = Played(
                    action.version,
                    action.seat,
                    canonical(action.action.SerializeToString()),
                    action.source,
                    action.time.ToNanoseconds(),
                )
        verify(replay)
        _walk(truth, wanted_views, deals)
    except RulesError as error:
        truth.flaw = str(error)
    return truth


def _walk(truth: Truth, wanted_views: Iterable[int], deals: Mapping[int, Collection[int]]) -> None:
    """Play the record anew. Trusts that it has been verified."""
    replay = truth.replay
    places = _versions(replay, deals)
    wanted = sorted(set(wanted_views))
    moments = walk(replay_record(replay.header, replay.rounds))
    for moment, (version, following) in zip(moments, pairwise([*places, 1 << 62]), strict=False):
        match, number = moment.match, moment.place.round_number
        if moment.outcome is None:
            assert match.round is not None
            assert number is not None
            truth.dealt[number] = [list(to_cards(hand)) for hand in match.round.hands]
        else:
            truth.drawn[version] = 0 if moment.outcome.drawn is None else moment.outcome.drawn + 1
        if not wanted or wanted[0] >= following:
            continue
        views = {seat: same_view(view_to_proto(seat_view(match, seat))) for seat in range(match.players)}
        views[SPECTATOR] = same_view(view_to_proto(seat_view(match, None)))
        while wanted and wanted[0] < following:
            for seat, view in views.items():
                truth.views[wanted[0], seat] = view
            del wanted[0]


def _versions(replay: game_service_pb2.GetReplayResponse, deals: Mapping[int, Collection[int]]) -> list[int]:
    """The version of every moment of the walk. A deal is in the step that ended the round before, or in a later one."""
    versions = []
    latest = 0
    for played in replay.rounds:
        following = played.actions[0].version if played.actions else 1 << 62
        dealt = [version for version in deals.get(played.round_number, ()) if latest <= version < following]
        versions.append(max(dealt, default=latest))
        for action in played.actions:
            latest = action.version
            versions.append(latest)
    return versions
