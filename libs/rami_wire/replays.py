"""Replays on the wire: from the pages of GetReplay to the record that the engine checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rami.game.v1 import rules_pb2
from rami_engine import ReplayRecord, ReplayRound
from rami_wire.actions import action_from_proto
from rami_wire.rules import guards_from_proto, options_from_proto, result_from_proto

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rami.game.v1 import replay_pb2


def replay_record(header: replay_pb2.ReplayHeader, rounds: Iterable[replay_pb2.ReplayRound]) -> ReplayRecord:
    """The record of a whole match from the header and the rounds of all pages, in order.

    Raises MalformedAction or OptionsError, naming the place, for what no service would send.
    """
    finished = header.HasField("result")
    return ReplayRecord(
        players=len(header.seats),
        options=options_from_proto(header.options, "header.options"),
        guards=guards_from_proto(header.guards),
        commitment=header.commitment,
        entropies=tuple(header.entropies),
        rounds=tuple(_round(number, message) for number, message in enumerate(rounds, 1)),
        winner=header.result.winner_seat if finished and header.result.HasField("winner_seat") else None,
        abandoned=finished and header.result.reason == rules_pb2.MATCH_END_REASON_ABANDONED,
    )


def _round(number: int, message: replay_pb2.ReplayRound) -> ReplayRound:
    return ReplayRound(
        number=message.round_number,
        seed=message.seed or None,
        actions=tuple(
            (played.seat, action_from_proto(played.action, f"round {number}, action {place}"))
            for place, played in enumerate(message.actions, 1)
        ),
        result=result_from_proto(message.result) if message.HasField("result") else None,
    )
